"""Taking up a stored state: with the tools of today, at the time of today."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from geode.domain.content import Owner, result
from geode.domain.errors import CodecError, Misuse
from geode.domain.loop.actions import Suspend
from geode.domain.loop.state import OpenRound, State
from geode.domain.loop.step import advance
from geode.domain.recovery import Recovery
from geode.domain.tools import ToolFacts


def taken_up(state: State, owner: Owner, tools: Mapping[str, ToolFacts], now: float, answered: Collection[str]) -> State:
    """`state`, suspended some time ago, with its tools bound again by name.

    Answers for the calls `answered` are at hand; the others that were put off are asked again, and so
    is a tool that changed its schema or tier: its answers and grants are void. A call whose tool is
    gone gets a failed result. The time of waiting does not count against the budget.
    """
    if not isinstance(state.pending, Suspend):
        raise Misuse("not-suspended", f"run {state.terms.run_id} is not suspended; {type(state.pending).__name__} is pending")
    changed = {name for name, facts in state.terms.tools.items() if tools.get(name) != facts}
    round = _checked_round(state.round)
    names = {call.id: round.current(call).name for call in round.turn.calls}
    gone = {
        call.id: result(call.id, "failed", f"the tool {call.name} is no longer there")
        for call in round.turn.calls
        if call.name not in tools
    }
    terms = replace(state.terms, owner=owner, tools=tools, started_at=state.terms.started_at + max(0.0, now - state.now))
    asked_again = {call.id for call in round.postponed if call.id not in answered}
    decisions = {id: decision for id, decision in round.decisions.items() if names[id] not in changed and id not in asked_again}
    recovering = {id: _as_of_today(recovery, changed, tools) for id, recovery in round.recovering.items()}
    reopened = replace(round, results={**gone, **round.results}, decisions=decisions, recovering=recovering)
    grants = tuple(grant for grant in state.grants if grant.tool not in changed)
    return advance(replace(state, terms=terms, now=max(now, state.now), grants=grants, open=reopened))


def _checked_round(round: OpenRound) -> OpenRound:
    """The open round of a snapshot; CodecError for one in which things do not belong together."""
    calls = {call.id for call in round.turn.calls}
    if not {*round.results, *round.decisions, *round.recovering} <= calls:
        raise CodecError("the snapshot is damaged: its open round has results or answers for calls that are not in it")
    if not all(_makes_sense(id, recovery) for id, recovery in round.recovering.items()):
        raise CodecError("the snapshot is damaged: the recovery of a call in its open round contradicts itself")
    return round


def _makes_sense(id: str, recovery: Recovery) -> bool:
    if recovery.step == "retry":
        return recovery.call.id == id and recovery.last is None and recovery.verdict is not None
    return recovery.call.id == id and recovery.last is not None


def _as_of_today(recovery: Recovery, changed: Collection[str], tools: Mapping[str, ToolFacts]) -> Recovery:
    """What stands in is checked again if it is another tool than it was."""
    name = recovery.call.name
    stands_in = recovery.step != "retry"
    return replace(recovery, verdict=None) if stands_in and (name in changed or name not in tools) else recovery
