"""One model call as the domain sees it, and what is refused before it leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from returns.result import Failure, Result, Success

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice, choice_word, parse_choice
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.tools import ToolSpec
from geode.domain.turns import Turn

ImageMode: TypeAlias = Literal["in_result", "after_results", "none"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one call. Seconds: `call_timeout_seconds` for the whole call, `idle_timeout_seconds` between bytes."""

    max_output_tokens: int | None = None
    call_timeout_seconds: float = 600.0
    idle_timeout_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class AdapterCallRequest:
    """One model call. No provider's field ever appears in it.

    `streamed` says whether anyone wants deltas; the reply is the same either way.
    """

    model: str
    conversation: Conversation
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = Auto()
    limits: Limits = Limits()
    effort: str | None = None
    temperature: float | None = None
    streamed: bool = False

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.conversation.turns


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can carry.

    `choices` are the kinds of tool choice its wire can express: auto, none, required, named.
    `auto_only_models` are model-id prefixes whose models take no forced choice.
    `images` says where a picture in a result goes: inside it, in a user message after all results, or nowhere.
    """

    supports_tools: bool = True
    choices: frozenset[str] = frozenset({"auto", "none", "required", "named"})
    auto_only_models: tuple[str, ...] = ()
    images: ImageMode = "in_result"
    temperature: bool = True
    effort: bool = True


def negotiate(adapter: str, request: AdapterCallRequest, able: Capabilities) -> Result[AdapterCallRequest, str]:
    """The request as it may leave for `adapter`, or why it must not (architecture law 7).

    A choice is kept only where tools are sent; a text-only adapter gets no tools, and a forced
    choice it cannot carry is refused, never weakened.
    """
    for problem in (_choice_problem(adapter, request, able), _setting_problem(adapter, request, able)):
        if problem:
            return Failure(problem)
    if not able.supports_tools and request.tools:
        return Success(replace(request, tools=(), tool_choice=Auto()))
    return Success(request)


def _choice_problem(adapter: str, request: AdapterCallRequest, able: Capabilities) -> str | None:
    choice, names = request.tool_choice, [tool.name for tool in request.tools]
    if isinstance(choice, Auto | NoTools) and not (names and able.supports_tools):
        return None
    if isinstance(choice, Required) and not names:
        return "tool_choice required needs tools, this request has none"
    if isinstance(choice, Named) and choice.name not in names:
        return _not_there(choice, names)
    word = choice_word(choice)
    bound = isinstance(choice, Required | Named) and request.model.startswith(able.auto_only_models)
    if not able.supports_tools or word not in able.choices or bound:
        shown = f'"{choice.name}"' if isinstance(choice, Named) else word
        return f"{adapter}: model {request.model} cannot be given tool_choice {shown}"
    return None


def _setting_problem(adapter: str, request: AdapterCallRequest, able: Capabilities) -> str | None:
    if request.temperature is not None and not able.temperature:
        return f"{adapter}: model {request.model} takes no temperature; leave it out"
    if request.effort is not None and not able.effort:
        return f"{adapter}: model {request.model} takes no effort; leave it out"
    return None


def forced_choice(value: object, tools: tuple[ToolSpec, ...]) -> ToolChoice:
    """The caller's choice for the first round, in any accepted spelling; None is auto.

    Misuse for an unknown spelling and for a tool that is not there.
    """
    if value is None:
        return Auto()
    parsed = parse_choice(value)
    wrong = parsed.swap().value_or(None)
    if wrong is not None:
        raise Misuse("tool-choice", wrong)
    choice = parsed.unwrap()
    names = [tool.name for tool in tools]
    if isinstance(choice, Named) and choice.name not in names:
        raise Misuse("tool-choice", _not_there(choice, names))
    return choice


def _not_there(choice: Named, names: list[str]) -> str:
    return f'tool_choice names "{choice.name}", this request has: {", ".join(names) or "no tools"}'
