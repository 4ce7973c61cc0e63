"""Where an application steps in: before a model call, before a tool call, after a result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, Self, TypeAlias

from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_text
from geode.domain.naming import refuse_unknown
from geode.domain.request import AdapterCallRequest

HookPoint: TypeAlias = Literal["before_model", "before_tool", "after_result", "compact"]


@dataclass(frozen=True, slots=True)
class Veto:
    """This must not be; `why` is told to the model, or, before a model call, to the operator."""

    why: str = "the application does not allow it"

    def __post_init__(self) -> None:
        if not isinstance(self.why, str):
            raise Misuse("hooks-type", f"Veto(…) takes a text, got {type(self.why).__name__}")
        object.__setattr__(self, "why", clean_text(self.why))


BeforeModel: TypeAlias = Callable[
    [AdapterCallRequest], AdapterCallRequest | Veto | Awaitable[AdapterCallRequest | Veto | None] | None
]
BeforeTool: TypeAlias = Callable[[ToolUseBlock], ToolUseBlock | Veto | Awaitable[ToolUseBlock | Veto | None] | None]
AfterResult: TypeAlias = Callable[[ToolUseBlock, ToolResult], ToolResult | Veto | Awaitable[ToolResult | Veto | None] | None]

Shorten: TypeAlias = Callable[[Conversation], Conversation | Veto | Awaitable[Conversation | Veto | None] | None]

# What a hook may change of a request. The rest belongs to the run: its model, its history, its limits, its choice.
CHANGEABLE: Final = ("system", "tools", "effort", "temperature")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Functions, or coroutine functions, of which each lets pass (None), changes (the changed value) or vetoes.

    `before_model(request)`, before each attempt: may change `system`, `effort`, `temperature`, and leave
    tools out of `tools`; one left out is unknown to that call. A veto ends the run as Failed, and so
    does a hook that breaks.

    `before_tool(call)`, before a person is asked and before anything runs: may change the arguments, which
    are checked again. A veto is a `denied` result, and so is a hook that breaks. What a person then edits is
    not shown to it again: the person has the last word. Each step of a recovery is a call of its own, shown
    with the arguments that the model gave, or a person edited, not with what the hook made of them before.
    A run that is taken up in another process shows again what it had shown and was not changed.

    `after_result(call, result)`, for a call that ran: may change the result. A veto withholds it, as a
    `denied` result. When the hook breaks the result stands and a Notice says so: what must not get
    through is vetoed in the hook itself. What a reconciler finds of a call is shown to it too.

    `compact(conversation)`, when the provider says that the conversation is too long: returns one that is
    shorter, with the same last turn; then the call is made again, at most `Policy.max_compactions` times
    in a run. Where each hook returned None geode writes a summary, unless `Policy.compact_above` is None. Where there is
    no shorter one, or a hook breaks or vetoes, the run ends as Exhausted, `context_exhausted`. It is asked before a round
    too, where the window is fuller than `Policy.compact_above`; then the run goes on in any case.

    A hook breaks when it raises, returns something else, or takes longer than `Policy.tool_timeout_seconds`.
    What it does is an event `Hooked`, and what comes of it is in the inputs of the run: replay calls no hook.
    """

    before_model: BeforeModel | None = None
    before_tool: BeforeTool | None = None
    after_result: AfterResult | None = None
    compact: Shorten | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        refuse_unknown("Hooks", kwargs, (field.name for field in fields(cls)))
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for field in fields(self):
            hook = getattr(self, field.name)
            if hook is not None and not callable(hook):
                raise Misuse("hooks-type", f"Hooks({field.name}=…) takes a function, got {type(hook).__name__}")
