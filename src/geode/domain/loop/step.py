"""The decision table. Every rule of the loop that is not in here is called from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from geode.domain.approval import Approve, Decision, Deny, Grant, Later
from geode.domain.budget import room_for
from geode.domain.choice import Auto, ToolChoice
from geode.domain.content import Owner, ResultKind, ToolResult, ToolUseBlock, result
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.failures import FailureClass, classify_retry_error, describe
from geode.domain.loop.actions import CallModel, Finish, RunStage, Wait
from geode.domain.loop.calling import next_call
from geode.domain.loop.closing import close
from geode.domain.loop.ending import end, exhaust, fail
from geode.domain.loop.inputs import (
    CallChanged,
    CallRefused,
    CallVetoed,
    Checked,
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
from geode.domain.recovery import Recovery, concluded, next_step
from geode.domain.repair import INTERRUPTED
from geode.domain.retry import retry_delay_for
from geode.domain.rounds import as_decided, cleared, next_stage, refusal, unapproved
from geode.domain.tools import ToolFacts
from geode.domain.turns import UserTurn

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
        case Checked():
            return _checked(now, input)
        case CallChanged() | CallVetoed():
            return _stepped_in(now, input)
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
        return _not_run(state, result(call.id, "denied", f"denied: {decision.why}"))
    if isinstance(decision, Approve) and decision.input is not None:
        if input.verdict is None:
            raise IllegalInput(f"the edited arguments of call {call.id!r} have no verdict")
        refused = refusal(call, input.verdict)
        if refused is not None:
            return _not_run(state, refused)
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


def _stepped_in(state: State, input: CallChanged | CallVetoed) -> State:
    """A call that is about to be asked about or started does not run, or with other arguments: if they may, by an answer."""
    stage, round, id = state.stage, state.round, input.call_id
    if id not in (*stage.start, *stage.ask) or id in round.decisions:
        raise IllegalInput(f"call {id!r} is not about to run")
    held = replace(state, pending=replace(stage, start=tuple(other for other in stage.start if other != id)))
    if isinstance(input, CallVetoed):
        return _not_run(held, result(id, "denied", f"denied: {input.why}"))
    changed = round.with_arguments(id, input.input)
    call, tools = changed.call(id), state.terms.tools
    if cleared(call, tools[call.name], state.grants):
        return advance(replace(state, open=changed))
    if not state.terms.can_ask:
        return _not_run(held, unapproved(call, tools[call.name]))
    if state.stopping:
        return _settled(held, _left_off(state, call, "interrupted", NOT_STARTED))
    return advance(replace(held, open=changed))


def _tool_finished(state: State, input: ToolFinished) -> State:
    found, stage, round = input.result, state.stage, state.round
    id = found.call_id
    if id not in stage.start:
        raise IllegalInput(f"call {id!r} was not started")
    call, recovery = round.call(id), round.recovering.get(id)
    ran = {**round.ran, call.name: round.ran.get(call.name, 0) + 1}
    results = round.results if recovery is not None else {**round.results, id: found}
    open = OpenRound(round.turn, results, round.decisions, ran, round.recovering, round.changed)
    running = tuple(other for other in stage.start if other != id)
    pending = RunStage(running, stage.ask, stage.timeout_seconds, stage.check)
    now = max(state.now, input.at)
    # Written out, since this is done for every call: `replace` would cost as much as all the rest.
    after = State(state.terms, state.closed, now, pending, open, state.counters, state.grants, state.stopping, state.habits)
    if recovery is not None:
        return _recovered(after, recovery.executed(as_decided(call, round), found))
    # While others of the stage run, a result lets nothing new start, and only the time may end what waits.
    return after if running and not _time_is_up(after) else advance(after)


def _checked(state: State, input: Checked) -> State:
    """A tool may stand in if it takes the arguments and may run, by its tier or by an answer that somebody can give."""
    if input.call_id not in state.stage.check:
        raise IllegalInput(f"call {input.call_id!r} is not to be checked")
    round, tools = state.round, state.terms.tools
    recovery = round.recovering[input.call_id]
    call = recovery.call
    refused = refusal(call, input.verdict)
    if refused is None and call.name not in tools:
        raise IllegalInput(f"a call of no known tool has the verdict Valid: {call.name}")
    if refused is None and not state.terms.can_ask and not cleared(call, tools[call.name], state.grants):
        refused = unapproved(call, tools[call.name])
    if refused is not None:
        return _recovered(state, recovery.passed_over(refused))
    recovering = {**round.recovering, call.id: replace(recovery, verdict=input.verdict)}
    return advance(replace(state, open=replace(round, recovering=recovering)))


def _not_run(state: State, answer: ToolResult) -> State:
    """The answer of a call that will not run; in a recovery that has begun, of one step of it."""
    recovery = state.round.recovering.get(answer.call_id)
    if recovery is None or recovery.last is None:
        return _settled(state, answer)
    return _recovered(state, recovery.passed_over(answer))


def _recovered(state: State, recovery: Recovery) -> State:
    """The next step of a recovery, or the result of its call. Nothing new begins in a run that is being stopped."""
    terms, round, id = state.terms, state.round, recovery.call.id
    following = (
        None
        if state.stopping
        else next_step(
            recovery,
            round.called(id).name,
            terms.tools,
            terms.policy.max_recovery_executions,
            can_ask=terms.can_ask,
            room=lambda name: room_for(state, name, id),
        )
    )
    if following is None:
        return _settled(state, concluded(recovery))
    decisions = {other: decision for other, decision in round.decisions.items() if other != id}
    return advance(replace(state, open=replace(round, decisions=decisions, recovering={**round.recovering, id: following})))


def _settled(state: State, *found: ToolResult, stopping: bool = False) -> State:
    results = {**state.round.results, **{one.call_id: one for one in found}}
    return advance(replace(state, open=replace(state.round, results=results), stopping=state.stopping or stopping))


def advance(state: State) -> State:
    """The next stage of the open round, or its end when every call has its result."""
    running = _running(state)
    if not state.round.waiting:
        return close(state)
    if state.stopping:
        return replace(state, pending=RunStage(running, ()))
    if _time_is_up(state):
        late = [call for call in state.round.waiting if call.id not in running]
        if late:
            return _settled(state, *(_left_off(state, call, "failed", OUT_OF_TIME) for call in late))
        return replace(state, pending=RunStage(running, ()))
    current = state.pending if isinstance(state.pending, RunStage) else RunStage((), ())
    stage = next_stage(state.round, state.terms.tools, state.grants, state.remaining_seconds, current)
    return close(state) if stage is None else replace(state, pending=stage)


def _out_of_time(state: State) -> State:
    """Questions are withdrawn and nothing new starts; what runs keeps its own deadline."""
    if not isinstance(state.pending, RunStage) or not _time_is_up(state):
        raise IllegalInput("no stage is pending whose time is up")
    return advance(state)


def _time_is_up(state: State) -> bool:
    remaining = state.remaining_seconds
    return remaining is not None and remaining <= 0


def _running(state: State) -> tuple[str, ...]:
    """Calls that were started and have no result yet."""
    if not isinstance(state.pending, RunStage):
        return ()
    return tuple(id for id in state.pending.start if id not in state.round.results)


def _left_off(state: State, call: ToolUseBlock, kind: ResultKind, text: str) -> ToolResult:
    """The result of a call that does not run any more: these words, unless its recovery has got somewhere."""
    recovery = state.round.recovering.get(call.id)
    return result(call.id, kind, text) if recovery is None or recovery.last is None else concluded(recovery)


# ---- the caller --------------------------------------------------------------------------------


def _stop(state: State) -> State:
    """Nothing new starts. What runs may finish; the rest of its round is interrupted."""
    if isinstance(state.pending, Finish):
        raise IllegalInput("the run is over")
    if state.open is None:
        return end(state, "stopped")
    running = _running(state)
    left = (call for call in state.round.waiting if call.id not in running)
    return _settled(state, *(_left_off(state, call, "interrupted", NOT_STARTED) for call in left), stopping=True)


def _interrupt(state: State) -> State:
    """The run was cancelled: what finished is kept, every other call of the round is interrupted."""
    if isinstance(state.pending, Finish):
        raise IllegalInput("the run is over")
    if state.open is None:
        return end(state, "stopped")
    running = state.pending.start if isinstance(state.pending, RunStage) else ()
    found = (
        result(call.id, "interrupted", INTERRUPTED)
        if call.id in running
        else _left_off(state, call, "interrupted", NOT_STARTED)
        for call in state.round.waiting
    )
    return _settled(state, *found, stopping=True)
