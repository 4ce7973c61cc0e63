"""A conversation that is too long for its model is made shorter by the application, a few times in a run."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.budget import exhausted
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.loop.actions import CallModel, Compact
from geode.domain.loop.calling import next_call
from geode.domain.loop.ending import exhaust
from geode.domain.loop.inputs import Compacted
from geode.domain.loop.state import Counters, State
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage


def too_long(state: State, call: CallModel, why: str) -> State:
    """The state after the provider refused `call` for its length: compaction, or the end."""
    made, reason = state.counters.compactions, exhausted(state)
    if reason is not None:
        return exhaust(state, reason, why=why)
    if not state.terms.can_compact or made >= state.terms.policy.max_compactions:
        return exhaust(state, "context_exhausted", why=why)
    return replace(state, pending=Compact(call, why), counters=replace(state.counters, compactions=made + 1))


def compacted(state: State, asked: Compact, input: Compacted) -> State:
    """The same call again over the shorter conversation. Where there is none it is the end, unless the call may do anyway.

    Its attempts stay counted: what is bounded is how often one call of the model is tried.
    """
    shorter = input.conversation
    state = replace(state, counters=_with_summary(state.counters, input))
    if shorter is None and asked.ahead:
        return next_call(state, asked.call)
    if shorter is None and (reason := exhausted(state)) is not None:
        return exhaust(state, reason, why=f"{asked.why}. It was not compacted: {input.why}")
    if shorter is None:
        return exhaust(state, "context_exhausted", why=f"{asked.why}. It was not compacted: {input.why}")
    problem = compaction_problem(state.closed, shorter)
    if problem:
        raise IllegalInput(f"the compacted conversation does not do: {problem}")
    added = len(shorter.turns) - len(state.closed.turns)
    first = max(len(shorter.turns) - _kept(state.closed, shorter), state.terms.first_turn + added)
    taken_out = (*state.ids_before, *sorted(state.closed.call_ids - shorter.call_ids))
    after = replace(state, closed=shorter, terms=replace(state.terms, first_turn=first), said_before="", ids_before=taken_out)
    # What the run has said stays its outcome's text, also where the turns are gone.
    gone = state.said.removesuffix(after.said).removesuffix("\n")
    return next_call(replace(after, said_before=gone), asked.call)


def _with_summary(counters: Counters, input: Compacted) -> Counters:
    """A summary is a call like any other. Before the first round it is all that tells how much the next one may take."""
    spent = counters.charged(input.spent)
    return replace(spent, last_usage=input.last) if counters.last_usage == Usage() else spent


def compaction_problem(before: Conversation, after: Conversation) -> str:
    """Why the run cannot go on with `after` in the place of `before`; "" if it can."""
    if after.turns == before.turns:
        return "it is the same as before"
    if after.turns[-1:] != before.turns[-1:]:
        return "its last turn must be the one that it had"
    if not isinstance(after.turns[0], UserTurn) and after.turns[0] != before.turns[0]:
        return "its first turn must be a UserTurn"
    return ""


def _kept(before: Conversation, after: Conversation) -> int:
    """How many turns at the end are the same."""
    pairs = zip(reversed(before.turns), reversed(after.turns), strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(before.turns), len(after.turns)))
