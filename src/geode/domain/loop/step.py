"""The decision table. Every rule of the loop that is not in here is called from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from geode.domain.answers import AnswerTerms
from geode.domain.choice import Auto, ToolChoice
from geode.domain.content import Owner
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.loop.actions import CallModel, Compact, Finish, SwitchModel, Wait
from geode.domain.loop.answering import checked, decided, finished, stepped_in
from geode.domain.loop.calling import next_call
from geode.domain.loop.compacting import compacted
from geode.domain.loop.ending import fail, stop
from geode.domain.loop.failing import judge_failure
from geode.domain.loop.inputs import (
    CallChanged,
    CallRefused,
    CallVetoed,
    Checked,
    Compacted,
    Decided,
    Input,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StopRequested,
    Switched,
    TimePassed,
    ToolFinished,
    ToolsChanged,
    Waited,
)
from geode.domain.loop.replies import answer_given, judge_reply
from geode.domain.loop.stages import advance, broken_off, out_of_time, wound_down
from geode.domain.loop.state import State, Terms
from geode.domain.loop.switching import switched, with_others
from geode.domain.policy import Policy
from geode.domain.rounds import refusal
from geode.domain.spent import Spent
from geode.domain.tool_search import as_run
from geode.domain.tools import ToolFacts
from geode.domain.turns import UserTurn

Pending = TypeVar("Pending")


def begin(
    *,
    run_id: str,
    owner: Owner,
    policy: Policy,
    tools: Mapping[str, ToolFacts],
    conversation: Conversation,
    turn: UserTurn,
    now: float,
    can_ask: bool = False,
    can_compact: bool = False,
    first_choice: ToolChoice = Auto(),
    fallbacks: tuple[Owner, ...] = (),
    windows: Mapping[str, int] | None = None,
    answer: AnswerTerms | None = None,
) -> State:
    """The state of a run that has not started: its first model call is pending.

    `fallbacks` are the models after `owner` that the run may switch to, in their order; `windows` and `answer`
    are as in `Terms`.
    """
    closed = conversation.grown(turn)
    unplanned = CallModel(0, 0, first_choice, None, None, 0.0)
    chain = (owner, *fallbacks) if fallbacks else ()
    terms = Terms(
        run_id, owner, policy, tools, can_ask, first_choice, len(closed.turns), now, can_compact, chain, windows or {}, answer
    )
    return next_call(State(terms, closed, now, unplanned, grants=policy.grants))


def step(state: State, input: Input) -> State:
    """The state after `input`. IllegalInput, and nothing changed, for one that the pending action does not allow."""
    if isinstance(input, ModelReplied):
        return _replied(state, input)
    if isinstance(input, ToolFinished):
        return finished(state, input)
    now = replace(state, now=max(state.now, input.at))
    match input:
        case ModelFailed() | CallRefused() | Switched() | Compacted() | Waited():
            return _of_a_call(now, input)
        case ToolsChanged():
            return _with_tools(now, input)
        case Decided():
            return decided(now, input)
        case Checked():
            return checked(now, input)
        case CallChanged() | CallVetoed():
            return stepped_in(now, input)
        case TimePassed():
            return out_of_time(now)
        case StopRequested(partial=partial, spent=spent):
            return _ended_early(now, wound_down, spent, partial)
        case Interrupted(spent=spent):
            return _ended_early(now, broken_off, spent)


def _of_a_call(state: State, input: ModelFailed | CallRefused | Switched | Compacted | Waited) -> State:
    """What came of a call of the model that brought no reply, or of what was done to make it again."""
    match input:
        case ModelFailed():
            return judge_failure(state, _pending(state, CallModel), input)
        case CallRefused():
            _pending(state, CallModel)
            return fail(state, "request_error", with_others(state, input.why))
        case Switched():
            return switched(state, _pending(state, SwitchModel), input)
        case Compacted():
            return compacted(state, _pending(state, Compact), input)
        case Waited():
            return next_call(state, _pending(state, Wait).call)


def _with_tools(state: State, input: ToolsChanged) -> State:
    """Only between rounds: while calls wait for their results, the tools are those that the model was shown."""
    _pending(state, CallModel)
    return replace(state, terms=replace(state.terms, tools=input.tools))


def _pending(state: State, kind: type[Pending]) -> Pending:
    if not isinstance(state.pending, kind):
        raise IllegalInput(f"{type(state.pending).__name__} is pending, not {kind.__name__}")
    return state.pending


def _replied(state: State, input: ModelReplied) -> State:
    call = _pending(state, CallModel)
    wanted = tuple(as_run(one, state.terms.tools) for one in input.reply.calls)
    if len(wanted) != len(input.verdicts):
        raise IllegalInput(f"the reply has {len(wanted)} calls and {len(input.verdicts)} verdicts")
    valid = (one.name for one, verdict in zip(wanted, input.verdicts, strict=True) if refusal(one, verdict) is None)
    unknown = [name for name in valid if name not in state.terms.tools]
    if unknown:
        raise IllegalInput(f"a call of no known tool has the verdict Valid: {', '.join(unknown)}")
    if (answer_given(state, call, input.reply) is None) != (input.answer is None):
        raise IllegalInput("a text that has to fit a schema has a verdict, and no other text has one")
    spent = replace(
        state.counters,
        rounds=call.round,
        usage=state.counters.usage + input.reply.usage,
        last_usage=input.reply.usage,
    )
    now = replace(state, now=max(state.now, input.at), counters=spent)
    judged = judge_reply(now, call, input.reply, input.verdicts, input.answer)
    return advance(judged) if judged.open is not None else judged


def _ended_early(state: State, ended: Callable[[State], State], spent: Spent, partial: str = "") -> State:
    """The caller wants no more of it: an open round is ended that way."""
    if isinstance(state.pending, Finish):
        raise IllegalInput("the run is over")
    state = replace(state, counters=state.counters.charged(spent))
    return stop(state, partial) if state.open is None else ended(state)
