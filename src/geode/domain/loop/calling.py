"""Planning the next model call: whether there is one, and what the model may do in it."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.budget import WRAP_UP_TEXT, call_seconds, exhausted, tokens_left, why_exhausted, wrap_up_cause
from geode.domain.choice import Auto, NoTools, ToolChoice
from geode.domain.compaction import cut_for
from geode.domain.content import Opaque
from geode.domain.conversation import Conversation
from geode.domain.loop.actions import CallModel, Compact
from geode.domain.loop.ending import exhaust
from geode.domain.loop.outcome import ExhaustedReason
from geode.domain.loop.state import State
from geode.domain.turns import AssistantTurn, Hint, UserTurn, hints_of


def next_call(state: State, again: CallModel | None = None, *, told: tuple[Hint, ...] = ()) -> State:
    """`state` with its next call pending, or finished when a budget leaves no room for one.

    `again` is a call to be repeated: its round and choice stay, only its limits are drawn anew. `told` are hints for a new one.
    """
    reason = exhausted(state)
    if reason is not None:
        return exhaust(state, reason, why=why_exhausted(state, reason))
    if again is not None:
        return replace(state, pending=replace(again, timeout_seconds=call_seconds(state)))
    cause, hints = wrap_up_cause(state), told
    if told or not _to_be_continued(state.closed):
        hints = (*told, *wrap_up_hints(state))
    call = CallModel(
        state.counters.rounds + 1, 1, _choice(state, cause), cause, output_limit(state, cause), call_seconds(state)
    )
    closed = state.closed.grown(UserTurn((), hints)) if hints else state.closed
    planned = replace(state, pending=call, closed=closed, counters=replace(state.counters, call_started_at=state.now))
    return planned if cause is not None else compacted_ahead(planned, call)


def compacted_ahead(state: State, call: CallModel) -> State:
    """`state`, whose conversation is made shorter before `call` where the last one filled too much of the window.

    Not again before there is a round that could be left out, whatever came of it: the round before cannot tell yet.
    """
    policy, window, last = state.terms.policy, state.terms.window, state.counters.last_usage.total_tokens
    if policy.compact_above is None or window is None or last <= policy.compact_above * window:
        return state
    before, turns = state.counters.compacted_ahead, state.closed.turns
    early = before is not None and call.round - before <= policy.compact_keep_rounds
    if early or isinstance(turns[-1], AssistantTurn) or cut_for(turns, policy.compact_keep_rounds) is None:
        return state
    why = f"the last call filled {last} of the {window} tokens that {state.terms.owner.model} reads"
    counters = replace(state.counters, compacted_ahead=call.round)
    return replace(state, pending=Compact(call, why, ahead=True), counters=counters)


def _to_be_continued(closed: Conversation) -> bool:
    """Whether the last turn is a paused one that has to go back with nothing after it: a tool of the server may run in it."""
    last = closed.turns[-1]
    return isinstance(last, AssistantTurn) and any(isinstance(item, Opaque) for item in last.items)


def wrap_up_hints(state: State) -> tuple[Hint, ...]:
    """What the model is told, once in a run, before the first call that has to conclude."""
    if exhausted(state) is not None or wrap_up_cause(state) is None:
        return ()
    told = any(hint.kind == "wrap_up" for hint in hints_of(state.closed.turns[state.terms.first_turn :]))
    return () if told else (Hint("wrap_up", WRAP_UP_TEXT),)


def _choice(state: State, cause: ExhaustedReason | None) -> ToolChoice:
    """Auto in ordinary rounds; none to conclude, and after calls that came although the choice was none."""
    if cause is not None or state.counters.calls_under_none:
        return NoTools()
    return state.terms.first_choice if state.counters.rounds == 0 else Auto()


def output_limit(state: State, cause: ExhaustedReason | None = None) -> int | None:
    """How many tokens the next reply may have; fewer where it has to conclude, for `cause`."""
    small = state.terms.policy.wrap_up_output_tokens if cause is not None else None
    limits = [limit for limit in (state.terms.policy.max_output_tokens, small, tokens_left(state)) if limit is not None]
    return min(limits) if limits else None
