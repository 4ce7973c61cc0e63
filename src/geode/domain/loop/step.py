"""The decision table. Every rule of the loop that is not in here is called from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from geode.domain.approval import Approve, Decision, Deny, Grant, Later
from geode.domain.budget import WRAP_UP_TEXT
from geode.domain.choice import Auto, ToolChoice
from geode.domain.content import Owner, ToolResult, result
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.failures import FailureClass, classify_retry_error, describe
from geode.domain.loop.actions import Action, CallModel, Finish, RunStage, Wait
from geode.domain.loop.calling import next_call
from geode.domain.loop.ending import end, exhaust, fail
from geode.domain.loop.inputs import (
    CallRefused,
    Decided,
    Input,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StopRequested,
    TimePassed,
    ToolFinished,
    Waited,
)
from geode.domain.loop.outcome import FailedReason
from geode.domain.loop.replies import judge_reply
from geode.domain.loop.state import OpenRound, State, Terms
from geode.domain.policy import Policy
from geode.domain.repair import INTERRUPTED
from geode.domain.retry import retry_delay_for
from geode.domain.rounds import next_stage, refusal
from geode.domain.tools import ToolFacts
from geode.domain.turns import Hint, ToolResultsTurn, UserTurn

Pending = TypeVar("Pending")

NOT_STARTED: Final = "interrupted: the run was stopped before this call was started"
OUT_OF_TIME: Final = "not executed: the run's time budget is used up"


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
    first_choice: ToolChoice = Auto(),
) -> State:
    """The state of a run that has not started: its first model call is pending."""
    closed = conversation.grown(turn)
    unplanned = CallModel(0, 0, first_choice, None, None, 0.0)
    terms = Terms(run_id, owner, policy, tools, can_ask, first_choice, len(closed.turns), now)
    return next_call(State(terms, closed, now, unplanned, grants=policy.grants))


def step(state: State, input: Input) -> State:
    """The state after `input`. IllegalInput, and nothing changed, for one that the pending action does not allow."""
    if isinstance(input, ModelReplied):
        return _replied(state, input)
    if isinstance(input, ToolFinished):
        return _tool_finished(state, input)
    now = replace(state, now=max(state.now, input.at))
    match input:
        case ModelFailed():
            return _failed(now, input)
        case CallRefused():
            _pending(now, CallModel)
            return fail(now, "request_error", input.why)
        case Waited():
            return next_call(now, _pending(now, Wait).call)
        case Decided():
            return _decided(now, input)
        case TimePassed():
            return _out_of_time(now)
        case StopRequested():
            return _stop(now)
        case Interrupted():
            return _interrupt(now)


def _pending(state: State, kind: type[Pending]) -> Pending:
    if not isinstance(state.pending, kind):
        raise IllegalInput(f"{type(state.pending).__name__} is pending, not {kind.__name__}")
    return state.pending


# ---- the model ---------------------------------------------------------------------------------


def _replied(state: State, input: ModelReplied) -> State:
    call = _pending(state, CallModel)
    wanted = input.reply.calls
    if len(wanted) != len(input.verdicts):
        raise IllegalInput(f"the reply has {len(wanted)} calls and {len(input.verdicts)} verdicts")
    valid = (one.name for one, verdict in zip(wanted, input.verdicts, strict=True) if refusal(one, verdict) is None)
    unknown = [name for name in valid if name not in state.terms.tools]
    if unknown:
        raise IllegalInput(f"a call of no known tool has the verdict Valid: {', '.join(unknown)}")
    spent = replace(
        state.counters,
        rounds=call.round,
        usage=state.counters.usage + input.reply.usage,
        last_usage=input.reply.usage,
    )
    now = replace(state, now=max(state.now, input.at), counters=spent)
    judged = judge_reply(now, call, input.reply, input.verdicts)
    return advance(judged) if judged.open is not None else judged


def _failed(state: State, input: ModelFailed) -> State:
    call = _pending(state, CallModel)
    kind = classify_retry_error(input.failure)
    delay = retry_delay_for(state.terms.policy.retry, input.failure, call.attempt, input.jitter)
    why = describe(state.terms.owner.adapter, input.failure, call.attempt, state.now - state.counters.call_started_at)
    if _too_late(state, kind, delay):
        return exhaust(state, "time_budget", why=why)
    if delay is not None:
        return replace(state, pending=Wait(delay, replace(call, attempt=call.attempt + 1)))
    if kind is FailureClass.CONTEXT_OVERFLOW:
        return exhaust(state, "context_exhausted", why=why)
    return fail(state, _reason(kind), why, input.failure)


def _too_late(state: State, kind: FailureClass, delay: float | None) -> bool:
    """Whether the time budget is what ended the call, or leaves no room to wait for the next attempt."""
    remaining = state.remaining_seconds
    if remaining is None:
        return False
    return (remaining <= 0 and kind is FailureClass.TIMEOUT) or (delay is not None and delay >= remaining)


def _reason(kind: FailureClass) -> FailedReason:
    match kind:
        case FailureClass.BILLING:
            return "billing_error"
        case FailureClass.AUTH:
            return "auth_error"
        case FailureClass.REQUEST_FATAL | FailureClass.OTHER_CLIENT:
            return "request_error"
        case _:
            return "model_error"


# ---- the round ---------------------------------------------------------------------------------


def _decided(state: State, input: Decided) -> State:
    if input.call_id not in askable(state):
        raise IllegalInput(f"call {input.call_id!r} is not asked about")
    round, call = state.round, state.round.call(input.call_id)
    decision = input.decision
    if isinstance(decision, Deny):
        return _settled(state, result(call.id, "denied", f"denied: {decision.why}"))
    if isinstance(decision, Approve) and decision.input is not None:
        if input.verdict is None:
            raise IllegalInput(f"the edited arguments of call {call.id!r} have no verdict")
        refused = refusal(call, input.verdict)
        if refused is not None:
            return _settled(state, refused)
    decisions = {**round.decisions, call.id: decision}
    grants = (*state.grants, *_granted(call.name, call.input, decision))
    return advance(replace(state, open=replace(round, decisions=decisions), grants=grants))


def askable(state: State) -> tuple[str, ...]:
    """Calls that an answer may come for: those asked about, and those whose answer was put off."""
    asked = state.pending.ask if isinstance(state.pending, RunStage) else ()
    return asked if state.open is None else (*asked, *(call.id for call in state.open.postponed))


def _granted(tool: str, arguments: Mapping[str, object], decision: Decision) -> tuple[Grant, ...]:
    match decision:
        case Approve(always="tool"):
            return (Grant(tool),)
        case Approve(input=edited, always="arguments"):
            return (Grant(tool, arguments if edited is None else edited),)
        case Approve() | Deny() | Later():
            return ()


def _tool_finished(state: State, input: ToolFinished) -> State:
    found, stage, round = input.result, state.stage, state.round
    if found.call_id not in stage.start:
        raise IllegalInput(f"call {found.call_id!r} was not started")
    open = OpenRound(round.turn, {**round.results, found.call_id: found}, round.decisions, round.ran + 1)
    running = tuple(id for id in stage.start if id != found.call_id)
    # While others of the stage run, a result lets nothing new start.
    pending = RunStage(running, stage.ask, stage.timeout_seconds)
    now = max(state.now, input.at)
    # Written out, since this is done for every call: `replace` would cost as much as all the rest.
    after = State(state.terms, state.closed, now, pending, open, state.counters, state.grants, state.stopping)
    return after if running else advance(after)


def _settled(state: State, *found: ToolResult, stopping: bool = False) -> State:
    results = {**state.round.results, **{one.call_id: one for one in found}}
    return advance(replace(state, open=replace(state.round, results=results), stopping=state.stopping or stopping))


def advance(state: State) -> State:
    """The next stage of the open round, or its end when every call has its result."""
    running = _running(state)
    if not state.round.waiting:
        return _close(state)
    if state.stopping:
        return replace(state, pending=RunStage(running, ()))
    remaining = state.remaining_seconds
    if remaining is not None and remaining <= 0:
        late = [call for call in state.round.waiting if call.id not in running]
        if late:
            return _settled(state, *(result(call.id, "failed", OUT_OF_TIME) for call in late))
        return replace(state, pending=RunStage(running, ()))
    current = state.pending if isinstance(state.pending, RunStage) else RunStage((), ())
    stage = next_stage(state.round, state.terms.tools, state.grants, remaining, current)
    return _close(state) if stage is None else replace(state, pending=stage)


def _out_of_time(state: State) -> State:
    """Questions are withdrawn and nothing new starts; what runs keeps its own deadline."""
    remaining = state.remaining_seconds
    if not isinstance(state.pending, RunStage) or remaining is None or remaining > 0:
        raise IllegalInput("no stage is pending whose time is up")
    return advance(state)


def _running(state: State) -> tuple[str, ...]:
    """Calls that were started and have no result yet."""
    if not isinstance(state.pending, RunStage):
        return ()
    return tuple(id for id in state.pending.start if id not in state.round.results)


def _close(state: State) -> State:
    """The round becomes part of the conversation: results in call order, then hints."""
    round = state.round
    results = tuple(round.results[call.id] for call in round.turn.calls)
    counters = replace(state.counters, tool_calls=state.counters.tool_calls + round.ran)
    closed = replace(state, open=None, closed=state.closed.grown(round.turn, ToolResultsTurn(results)), counters=counters)
    if state.stopping:
        return end(closed, "stopped")
    if state.counters.calls_under_none > state.terms.policy.max_calls_under_none:
        return _never_concluded(closed, state.pending)
    planned = next_call(closed)
    if isinstance(planned.pending, CallModel) and planned.pending.wrap_up and not _hinted(state):
        hinted = ToolResultsTurn(results, (Hint("wrap_up", WRAP_UP_TEXT),))
        return replace(planned, closed=state.closed.grown(round.turn, hinted))
    return planned


def _never_concluded(state: State, last: Action) -> State:
    """The model was asked for text alone and called again."""
    if isinstance(last, CallModel) and last.wrap_up is not None:
        return exhaust(state, last.wrap_up)
    return fail(state, "model_error", f"{state.terms.owner.adapter}: the model keeps calling tools although the choice is none")


def _hinted(state: State) -> bool:
    turns = state.closed.turns[state.terms.first_turn :]
    return any(isinstance(turn, ToolResultsTurn) and turn.hints for turn in turns)


# ---- the caller --------------------------------------------------------------------------------


def _stop(state: State) -> State:
    """Nothing new starts. What runs may finish; the rest of its round is interrupted."""
    if isinstance(state.pending, Finish):
        raise IllegalInput("the run is over")
    if state.open is None:
        return end(state, "stopped")
    running = _running(state)
    left = (call.id for call in state.round.waiting if call.id not in running)
    return _settled(state, *(result(id, "interrupted", NOT_STARTED) for id in left), stopping=True)


def _interrupt(state: State) -> State:
    """The run was cancelled: what finished is kept, every other call of the round is interrupted."""
    if isinstance(state.pending, Finish):
        raise IllegalInput("the run is over")
    if state.open is None:
        return end(state, "stopped")
    running = state.pending.start if isinstance(state.pending, RunStage) else ()
    found = (result(call.id, "interrupted", INTERRUPTED if call.id in running else NOT_STARTED) for call in state.round.waiting)
    return _settled(state, *found, stopping=True)
