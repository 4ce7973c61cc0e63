"""What may leave for an adapter, and what is refused before it does (architecture law 7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal, TypeAlias

from returns.result import Failure, Result, Success

from geode.domain.answer_schema import answer_problem
from geode.domain.binding import without_unbound
from geode.domain.choice import Auto, Named, NoTools, Required, choice_word
from geode.domain.content import Image, Opaque, Owner, Text, media_word
from geode.domain.effort import effort_problem
from geode.domain.models import ModelRow, row_of
from geode.domain.reply import ReplyItem
from geode.domain.request import AdapterCallRequest, Capabilities, not_there
from geode.domain.sent_media import carried, shown, with_words
from geode.domain.sent_tools import tools_problem
from geode.domain.thinking import ThinkingBudget, thinking_kind
from geode.domain.tool_search import SEARCH
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, hints_of, visible
from geode.domain.without_calls import without_calls

AdjustmentKind: TypeAlias = Literal["text_only", "media_left_out", "thinking_dropped", "output_unbounded"]
# What every provider takes to be the temperature when none is given.
_DEFAULT_TEMPERATURE: Final = 1.0
_MOST_TEMPERATURE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One thing that goes out otherwise than it was given, for observers to be told."""

    kind: AdjustmentKind
    text: str


@dataclass(frozen=True, slots=True)
class Negotiated:
    """A request as it leaves, and what of it was adjusted."""

    request: AdapterCallRequest
    adjustments: tuple[Adjustment, ...] = ()


@dataclass(frozen=True, slots=True)
class _Target:
    """Who the request is for: the adapter with its model, and what they take."""

    owner: Owner
    able: Capabilities
    row: ModelRow


def negotiate(adapter: str, request: AdapterCallRequest, able: Capabilities) -> Result[Negotiated, str]:
    """The request as it may leave for `adapter`, or why it must not.

    A choice is kept only where tools are sent; a text-only adapter gets no tools, and what it cannot carry
    is refused, never weakened. Only what a tool gave may be replaced by words, and pictures of long ago where there
    are too many: a run does not end for them.
    """
    target = _Target(Owner(adapter, request.model), able, row_of(request.model, able.models))
    request = _with_deferred(request, target)
    if not target.row.sampling and request.temperature == _DEFAULT_TEMPERATURE:
        request = replace(request, temperature=None)
    problem = next(_problems(request, target), None)
    if problem is not None:
        return Failure(f"{adapter}: {problem}" if problem.startswith("model ") else problem)
    adjustments: list[Adjustment] = []
    for adjust in (_without_tools, _with_words, _without_stale_thinking, _without_late_budget, _without_calls, _unbounded):
        request, adjustment = adjust(request, target)
        adjustments += [adjustment] if adjustment else []
    return Success(Negotiated(request, tuple(adjustments)))


# ---- what speaks against it --------------------------------------------------------------------


def _problems(request: AdapterCallRequest, target: _Target) -> Iterator[str]:
    """Everything that speaks against sending it, the weightiest first; those of the model begin with its name."""
    for about in (_of_choice, _of_tools, _of_settings, _of_thinking, _of_turns):
        yield from about(request, target)


def _of_choice(request: AdapterCallRequest, target: _Target) -> Iterator[str]:
    choice, names = request.tool_choice, [tool.name for tool in request.tools]
    if isinstance(choice, Auto | NoTools) and not (names and target.able.supports_tools):
        return
    if isinstance(choice, Required) and not names:
        yield "tool_choice required needs tools, this request has none"
    if isinstance(choice, Named) and choice.name not in names:
        yield not_there(choice, names)
    word, forced = choice_word(choice), isinstance(choice, Required | Named)
    shown = f'"{choice.name}"' if isinstance(choice, Named) else word
    if not target.able.supports_tools or word not in target.able.choices or (forced and not target.row.forced_choice):
        yield f"model {request.model} cannot be given tool_choice {shown}"
    if forced and isinstance(request.thinking, ThinkingBudget):
        yield f"model {request.model} cannot be given tool_choice {shown} beside a thinking budget; leave one of them out"
    if forced and request.effort not in (None, "none") and not target.row.forced_with_effort:
        yield f"model {request.model} would lose its reasoning to tool_choice {shown}; leave the choice or the effort out"


def _of_tools(request: AdapterCallRequest, target: _Target) -> Iterator[str]:
    able = target.able
    problem = tools_problem(request.tools, able.schemas) if able.supports_tools and able.schemas else None
    if problem is not None:
        yield f"{target.owner.adapter}: {problem}"


def _of_settings(request: AdapterCallRequest, target: _Target) -> Iterator[str]:
    able, row = target.able, target.row
    model, temperature, effort = request.model, request.temperature, request.effort
    if temperature is not None and not able.temperature:
        yield f"model {model} takes no temperature; leave it out"
    if request.response_schema is not None and not able.response_schema:
        yield f"model {model} cannot be given a response_schema here; leave it out, and ask for JSON in words"
    elif request.response_schema is not None:
        unfit = answer_problem(request.response_schema, able.schemas) if able.schemas else ""
        yield from (f"model {model} cannot be given a response_schema: {one}" for one in (able.schema_barred, unfit) if one)
    asked = request.limits.max_output_tokens
    if asked is not None and able.most_output is not None and not 1 <= asked <= able.most_output:
        yield f"model {model} takes from 1 to {able.most_output} output tokens here, not {asked}"
    free = row.sampling or (row.sampling_at_none and effort in (None, "none"))
    if temperature is not None and not 0 <= temperature <= _MOST_TEMPERATURE:
        yield f"model {model} takes a temperature from 0 to {_MOST_TEMPERATURE:g}, not {temperature:g}"
    if temperature not in (None, _DEFAULT_TEMPERATURE) and not free:
        yield f"model {model} takes no temperature but its default; leave it out"
    if problem := effort_problem(f"model {model}", row.efforts if able.effort else (), effort):
        yield problem
    taken = {"any": True, "unset_or_none": effort in (None, "none"), "none": effort == "none"}
    if request.tools and not taken[row.effort_beside_tools]:
        unset = "leave it out, or " if row.effort_beside_tools == "unset_or_none" else ""
        yield f'model {model} takes tools on this wire only without effort: {unset}effort="none", or the Responses wire'


def _of_thinking(request: AdapterCallRequest, target: _Target) -> Iterator[str]:
    thinking, model = request.thinking, request.model
    if thinking is None:
        return
    kind = thinking_kind(thinking)
    if kind not in target.able.thinking:
        yield f"model {model} takes no thinking setting on this wire; effort is what it has"
    elif kind not in target.row.thinking:
        yield f"model {model} takes no {kind} thinking; it takes {' or '.join(sorted(target.row.thinking)) or 'none'}"
    limit = request.limits.max_output_tokens
    if isinstance(thinking, ThinkingBudget) and limit is not None and limit <= thinking.tokens:
        yield f"model {model} needs more output tokens than its thinking budget of {thinking.tokens}, not {limit}"
    if _is_late_budget(request, target) and not _was_cut(request):
        yield f"model {model} cannot think by a budget after calls that it made without; leave the budget out here"


def _is_late_budget(request: AdapterCallRequest, target: _Target) -> bool:
    return isinstance(request.thinking, ThinkingBudget) and _goes_on_without_thinking(request, target.owner)


def _was_cut(request: AdapterCallRequest) -> bool:
    """Whether a summary stands in the place of its beginning: the thinking of the calls that are kept may be gone with it."""
    return any(hint.kind == "summary" for hint in hints_of(request.turns))


def _goes_on_without_thinking(request: AdapterCallRequest, owner: Owner) -> bool:
    """Whether the tool loop that goes on did not begin with thinking, as it has to under a budget (wire facts C1.9).

    The provider merges neighbours of one role: what the user says after results belongs to the loop too.
    """
    sent = (turn for turn in request.turns if _surely_says(turn, owner))
    messages = [list(turns) for _, turns in groupby(sent, key=lambda turn: isinstance(turn, AssistantTurn))]
    first: AssistantTurn | None = None
    for message in reversed(messages):
        begin = message[0]
        if isinstance(begin, AssistantTurn):
            first = begin if message is not messages[-1] else None
        elif not any(isinstance(turn, ToolResultsTurn) for turn in message):
            break
    if first is None:
        return False
    item = next(_goes_out(first, owner))
    return not isinstance(item, Opaque) or "thinking" not in item.kind


def _surely_says(turn: Turn, owner: Owner) -> bool:
    """The same, but what the server itself called does not count: a wire may hold that back."""
    if not isinstance(turn, AssistantTurn):
        return _says(turn, owner)
    return any(not isinstance(item, Opaque) or "thinking" in item.kind for item in _goes_out(turn, owner))


def _says(turn: Turn, owner: Owner) -> bool:
    """Whether anything of the turn goes out."""
    match turn:
        case UserTurn():
            return bool(visible(turn.items, turn.hints))
        case AssistantTurn():
            return any(_goes_out(turn, owner))
        case ToolResultsTurn():
            return True


def _goes_out(turn: AssistantTurn, owner: Owner) -> Iterator[ReplyItem]:
    """The items of the turn that `owner` is sent: no blank text, and nothing opaque of others."""
    for item in turn.items:
        match item:
            case Text(text=text):
                if text.strip():
                    yield item
            case Opaque():
                if item.owner == owner:
                    yield item
            case _:
                yield item


def _of_turns(request: AdapterCallRequest, target: _Target) -> Iterator[str]:
    if not any(_says(turn, target.owner) for turn in request.turns):
        yield "the conversation says nothing that could be answered; give it a user's turn with text"
    for place, part in shown(request.conversation).by_users:
        if not carried(part, target.able):
            yield f"model {request.model} cannot be sent {media_word(part)} (user turn {place}) on this wire"
        elif isinstance(part, Image) and (problem := target.able.pictures.problem(part.data)):
            way_out = 'make it smaller, or have geode do it: pip install "geode[images]"'
            yield f"model {request.model} cannot be sent {media_word(part)} (user turn {place}): {problem}; {way_out}"


# ---- what goes out otherwise -------------------------------------------------------------------


def _with_deferred(request: AdapterCallRequest, target: _Target) -> AdapterCallRequest:
    """Deferred tools stay behind, and the search tool goes out; or they go out marked, where the server searches them.

    One that the choice names goes out as any other. Where they are too many to be sent the server cannot search them.
    """
    if not request.deferred:
        return request
    named = request.tool_choice.name if isinstance(request.tool_choice, Named) else None
    deferred = request.deferred.intersection(tool.name for tool in request.tools) - {named}
    schemas = target.able.schemas
    if deferred and target.able.supports_tools and target.able.tool_search and target.row.tool_search:
        tools = tuple(tool for tool in request.tools if tool.name != SEARCH or named == SEARCH)
        if schemas is None or tools_problem(tools, schemas) is None:
            return replace(request, tools=tools, deferred=deferred)
    tools = tuple(tool for tool in request.tools if tool.name not in deferred)
    return replace(request, tools=tools, deferred=frozenset())


_Adjusted: TypeAlias = tuple[AdapterCallRequest, Adjustment | None]


def _without_tools(request: AdapterCallRequest, target: _Target) -> _Adjusted:
    if target.able.supports_tools or not request.tools:
        return request, None
    text = f"{target.owner.adapter} takes no tools: the request goes out as text alone"
    return replace(request, tools=(), tool_choice=Auto()), Adjustment("text_only", text)


def _without_calls(request: AdapterCallRequest, target: _Target) -> _Adjusted:
    """Calls and results of before, where the model had tools, are told to one that has none."""
    told = request.conversation if target.able.supports_tools else without_calls(request.conversation)
    if told is request.conversation:
        return request, None
    text = f"{target.owner.adapter} takes no tools: the calls and results of before go out in words"
    return replace(request, conversation=told), Adjustment("text_only", text)


def _with_words(request: AdapterCallRequest, target: _Target) -> _Adjusted:
    """Media in results that cannot be carried become words that say what they are, and so do pictures that are too many."""
    worded = with_words(request.conversation, target.able)
    if worded is None:
        return request, None
    conversation, what = worded
    text = f"{target.owner.adapter} cannot show the model {what} go out instead"
    return replace(request, conversation=conversation), Adjustment("media_left_out", text)


def _without_stale_thinking(request: AdapterCallRequest, target: _Target) -> _Adjusted:
    left = without_unbound(request, target.owner) if target.row.binds_prefix else request
    if left is request:
        return request, None
    changed = "system text, tools or earlier turns changed, so the thinking from before stays behind"
    return left, Adjustment("thinking_dropped", f"model {request.model}: {changed}")


def _without_late_budget(request: AdapterCallRequest, target: _Target) -> _Adjusted:
    """What a summary took away is no mistake of the caller: the budget holds again from the next prompt on."""
    if not _is_late_budget(request, target):
        return request, None
    text = f"model {request.model}: the thinking before its last calls was summarised, so it goes on without a budget"
    return replace(request, thinking=None), Adjustment("thinking_dropped", text)


def _unbounded(request: AdapterCallRequest, target: _Target) -> _Adjusted:
    """A bound of the output that the server would refuse stays behind: a budget of the run holds all the same."""
    if target.able.output_limit or request.limits.max_output_tokens is None:
        return request, None
    text = f"{target.owner.adapter} takes no bound of output tokens: the request goes out without one"
    return replace(request, limits=replace(request.limits, max_output_tokens=None)), Adjustment("output_unbounded", text)
