"""What observers see. Every event carries `run_id`, `seq` (total order in a run), `round` and `attempt`.

New kinds may come: a `match` over events needs a `case _`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from geode.domain.approval import Decision, Question
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.loop.outcome import Outcome
from geode.domain.negotiation import AdjustmentKind
from geode.domain.quota import Quota
from geode.domain.reply import Stop
from geode.domain.turns import HintKind
from geode.domain.usage import Usage
from geode.ports.hooks import HookPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    run_id: str
    seq: int
    round: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(_Numbered):
    """A request leaves for the model; `tool_choice` is the neutral word or `named:NAME`."""

    adapter: str
    model: str
    tool_choice: str
    wrap_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(_Numbered):
    """More text of the reply's part `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(_Numbered):
    """More reasoning of the reply's part `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta(_Numbered):
    """More argument text of the call at part `index`."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied(_Numbered):
    """The reply is complete."""

    text: str
    calls: tuple[ToolUseBlock, ...]
    stop: Stop
    usage: Usage
    route: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed(_Numbered):
    """The attempt failed, and its deltas are void; whether it is made again is told after it.

    `usage` is what had been told of its tokens, with their cost; None for nothing: what it cost is then not known if
    any of its reply had come.
    """

    why: str
    usage: Usage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying(_Numbered):
    """The call failed and is made again after `seconds`; deltas of this attempt are void.

    `quota`: what the provider told of the account's limits.
    """

    seconds: float
    why: str
    quota: tuple[Quota, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSwitched(_Numbered):
    """The model that was asked failed for good, as `why` says, and another one is asked for the rest of the run.

    Deltas of the last attempt are void.
    """

    from_adapter: str
    from_model: str
    to_adapter: str
    to_model: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised(_Numbered):
    """A summary was asked for, of a conversation that is too long.

    `adapter` and `model` are who was asked, `usage` is what all attempts at it took; `why` tells what keeps it from
    being used, "" for nothing.
    """

    adapter: str
    model: str
    usage: Usage
    route: str
    request_id: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked(_Numbered):
    """A person is asked about calls."""

    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswered(_Numbered):
    """A person, or what stands for one, has answered for one call; an answer that came too late is not told."""

    call: ToolUseBlock
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooked(_Numbered):
    """A hook changed or vetoed something. `call` is as it was before; None before a model call.

    `changes` are the new values by name, as JSON: system, tools (their names), effort, temperature;
    input; kind, text. `veto` says why, where it vetoed.
    """

    point: HookPoint
    call: ToolUseBlock | None
    changes: Mapping[str, Any]
    veto: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_Numbered):
    """A call is executed; `index` is its place in its round, `call` has the tool and the arguments it runs with.

    Once for each execution: a tool that keeps failing is tried again, and others may stand in for it.
    """

    index: int
    call: ToolUseBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgressed(_Numbered):
    """A tool reports how far it is."""

    call: ToolUseBlock
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(_Numbered):
    """A call has its result after `seconds` of execution. Told once for every call, before the round closes.

    A call that never ran (it was denied, invalid, unknown, cut off or out of time) has no ToolStarted
    before it and took 0.0 seconds; those that are settled at the same time come in call order.
    """

    index: int
    call: ToolUseBlock
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundClosed(_Numbered):
    """Every call of the round is answered; `results` are in call order."""

    results: tuple[ToolResult, ...]


NoticeKind: TypeAlias = (
    HintKind
    | Literal[
        "recovery",
        "compacted",
        "not_compacted",
        "tools_denied",
        "tools_changed",
        "tool_source",
        "toolkit_failed",
        "observer_failed",
        "approver_failed",
        "hook_failed",
        "loop_blocked",
        "model_changed",
        "offload",
        "result_cut",
        "store_failed",
        "image_resized",
        "image_left_out",
    ]
    | AdjustmentKind
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_Numbered):
    """Something the operator should know."""

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(_Numbered):
    """The run is over, or suspended."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted(_Numbered):
    """The run was cancelled, or an exception ended it: there is no outcome. What had finished is in the conversation."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested(_Numbered):
    """Something happened in the run inside `call`: `event` is as that run tells it, with its own `run_id` and `seq`.

    It may be Nested itself. Deltas come only where this run is streamed.
    """

    call: ToolUseBlock
    event: Event


Event: TypeAlias = (
    ModelCalled
    | TextDelta
    | ThinkingDelta
    | CallDelta
    | ModelReplied
    | ModelFailed
    | Retrying
    | ModelSwitched
    | Summarised
    | ApprovalAsked
    | ApprovalAnswered
    | Hooked
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | RoundClosed
    | Notice
    | Finished
    | Aborted
    | Nested
)
# May return an awaitable, which is awaited. One that raises is noticed once and never ends the run.
Observer: TypeAlias = Callable[[Event], Any]
