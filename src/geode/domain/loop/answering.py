"""What happens to the calls of an open round: answers, changes and vetoes, checks, results."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.approval import Approve, Decision, Deny, Grant, Later
from geode.domain.budget import room_for
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.errors import IllegalInput
from geode.domain.loop.actions import RunStage
from geode.domain.loop.inputs import CallChanged, CallVetoed, Checked, Decided, ToolFinished
from geode.domain.loop.stages import NOT_STARTED, advance, left_off, settled, time_is_up
from geode.domain.loop.state import OpenRound, State
from geode.domain.offload import cut, remedy_for
from geode.domain.recovery import Recovery, concluded, next_step
from geode.domain.rounds import as_decided, cleared, refusal, unapproved
from geode.domain.tools import ToolFacts


def askable(state: State) -> tuple[str, ...]:
    """Calls that an answer may come for: those asked about, and those whose answer was put off."""
    asked = state.pending.ask if isinstance(state.pending, RunStage) else ()
    return asked if state.open is None else (*asked, *(call.id for call in state.open.postponed))


def decided(state: State, input: Decided) -> State:
    """A person answered for a call."""
    if input.call_id not in askable(state):
        raise IllegalInput(f"call {input.call_id!r} is not asked about")
    round, call = state.round, state.round.call(input.call_id)
    decision = input.decision
    if isinstance(decision, Deny):
        return _not_run(state, _denied(state, call, decision.why))
    if isinstance(decision, Approve) and decision.input is not None:
        if input.verdict is None:
            raise IllegalInput(f"the edited arguments of call {call.id!r} have no verdict")
        refused = refusal(call, input.verdict)
        if refused is not None:
            return _not_run(state, refused)
    decisions = {**round.decisions, call.id: decision}
    grants = (*state.grants, *_granted(call, state.terms.tools[call.name], decision))
    return advance(replace(state, open=replace(round, decisions=decisions), grants=grants))


def _denied(state: State, call: ToolUseBlock, why: str) -> ToolResult:
    """What a person or a hook said, within the limit of the tool's results: it has no other guard."""
    limits = state.terms.policy.limits_of(call.name).within(state.terms.window).without_store
    found = result(call.id, "denied", f"denied: {why}")
    return cut(found, limits) if remedy_for(found, limits) == "cut" else found


def _granted(call: ToolUseBlock, facts: ToolFacts, decision: Decision) -> tuple[Grant, ...]:
    match decision:
        case Approve(always="tool"):
            return (Grant(call.name, None, facts.asked_about),)
        case Approve(input=edited, always="arguments"):
            return (Grant(call.name, call.input if edited is None else edited, facts.asked_about),)
        case Approve() | Deny() | Later():
            return ()


def stepped_in(state: State, input: CallChanged | CallVetoed) -> State:
    """A call that is about to be asked about or started does not run, or with other arguments: if they may, by an answer."""
    stage, round, id = state.stage, state.round, input.call_id
    # What a person was shown and allowed is not changed any more; it may still be forbidden.
    if id not in (*stage.start, *stage.ask) or (id in round.decisions and isinstance(input, CallChanged)):
        raise IllegalInput(f"call {id!r} is not about to run")
    held = replace(state, pending=replace(stage, start=tuple(other for other in stage.start if other != id)))
    if isinstance(input, CallVetoed):
        return _not_run(held, _denied(state, round.call(id), input.why))
    changed = round.with_arguments(id, input.input)
    call, tools = changed.call(id), state.terms.tools
    if cleared(call, tools[call.name], state.grants):
        return advance(replace(state, open=changed))
    if not state.terms.can_ask:
        return _not_run(held, unapproved(call, tools[call.name]))
    if state.stopping:
        return settled(held, left_off(state, call, "interrupted", NOT_STARTED))
    return advance(replace(held, open=changed))


def checked(state: State, input: Checked) -> State:
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


def finished(state: State, input: ToolFinished) -> State:
    """A call was executed."""
    found, stage, round = input.result, state.stage, state.round
    id = found.call_id
    if id not in stage.start:
        raise IllegalInput(f"call {id!r} was not started")
    name, recovery = round.call(id).name, round.recovering.get(id)
    ran = {**round.ran, name: round.ran.get(name, 0) + 1}
    results = round.results if recovery is not None else {**round.results, id: found}
    open = OpenRound(round.turn, results, round.decisions, ran, round.recovering, round.changed, round.forwarded)
    running = tuple(other for other in stage.start if other != id)
    pending = RunStage(running, stage.ask, stage.timeout_seconds, stage.check)
    now = max(state.now, input.at)
    counters = state.counters if input.spent is None else state.counters.charged(input.spent)
    # Written out, since this is done for every call: `replace` would cost as much as all the rest.
    after = State(
        *(state.terms, state.closed, now, pending, open, counters, state.grants, state.stopping),
        *(state.habits, state.said_before, state.ids_before, state.left),
    )
    if recovery is not None:
        return _recovered(after, recovery.executed(as_decided(recovery.call, round), found))
    # While others of the stage run, a result lets nothing new start, and only the time may end what waits.
    return after if running and not time_is_up(after) else advance(after)


def _not_run(state: State, answer: ToolResult) -> State:
    """The answer of a call that will not run; in a recovery that has begun, of one step of it."""
    recovery = state.round.recovering.get(answer.call_id)
    if recovery is None or recovery.last is None:
        return settled(state, answer)
    # What a person put in for the call counts for the steps that follow, also where it was forbidden after that.
    return _recovered(state, replace(recovery, call=as_decided(recovery.call, state.round)).passed_over(answer))


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
        return settled(state, concluded(recovery))
    return advance(replace(state, open=round.on_to(following)))
