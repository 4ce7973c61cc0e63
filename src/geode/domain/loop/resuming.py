"""Taking up a stored state: with the tools of today, at the time of today."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from geode.domain.content import Owner, result
from geode.domain.errors import CodecError, Misuse
from geode.domain.loop.actions import Suspend
from geode.domain.loop.state import State
from geode.domain.loop.step import advance
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
    round = state.round
    names = {call.id: call.name for call in round.turn.calls}
    if not {*round.results, *round.decisions} <= names.keys():
        raise CodecError("the snapshot is damaged: its open round has results or answers for calls that are not in it")
    gone = {id: result(id, "failed", f"the tool {names[id]} is no longer there") for id in names if names[id] not in tools}
    terms = replace(state.terms, owner=owner, tools=tools, started_at=state.terms.started_at + max(0.0, now - state.now))
    asked_again = {call.id for call in round.postponed if call.id not in answered}
    decisions = {id: decision for id, decision in round.decisions.items() if names[id] not in changed and id not in asked_again}
    reopened = replace(round, results={**gone, **round.results}, decisions=decisions)
    grants = tuple(grant for grant in state.grants if grant.tool not in changed)
    return advance(replace(state, terms=terms, now=max(now, state.now), grants=grants, open=reopened))
