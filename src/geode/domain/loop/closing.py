"""Closing a round: it becomes part of the conversation, and what it adds up to decides whether the run goes on."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.budget import exhausted
from geode.domain.content import ToolResult
from geode.domain.habits import Judgement, judge_round
from geode.domain.loop.actions import CallModel
from geode.domain.loop.calling import next_call, wrap_up_hints
from geode.domain.loop.ending import exhaust, fail, stop
from geode.domain.loop.state import State
from geode.domain.turns import Hint, ToolResultsTurn


def close(state: State) -> State:
    """`state`, all of whose calls are answered, with its next model call pending or with its outcome."""
    round, judged = state.round, _judged(state)
    spent = state.counters
    calls_of = {name: spent.calls_of.get(name, 0) + round.ran.get(name, 0) for name in {**spent.calls_of, **round.ran}}
    counters = replace(spent, tool_calls=spent.tool_calls + round.executions, calls_of=calls_of)
    after = replace(state, open=None, counters=counters, habits=judged.habits)
    if state.stopping:
        return stop(_grown(state, after))
    if spent.calls_under_none > state.terms.policy.max_calls_under_none:
        return _never_concluded(_grown(state, after))
    if judged.no_progress:
        return exhaust(_grown(state, after), "no_progress", why=judged.no_progress)
    hints = () if exhausted(after) is not None else (*judged.hints, *wrap_up_hints(after))
    return next_call(_grown(state, after, *hints))


def _judged(state: State) -> Judgement:
    """A round in which no tool might be called says nothing about how the model uses them."""
    if state.counters.calls_under_none:
        return Judgement(state.habits)
    calls, round = state.round.calls, state.counters.rounds
    terms = state.terms
    return judge_round(state.habits, calls, _results(state), round=round, tools=terms.tools, policy=terms.policy)


def _results(state: State) -> tuple[ToolResult, ...]:
    """In call order."""
    return tuple(state.round.results[call.id] for call in state.round.turn.calls)


def _grown(before: State, after: State, *hints: Hint) -> State:
    """`after` with the round that was open `before`: the results in call order, then hints."""
    return replace(after, closed=before.closed.grown(before.round.turn, ToolResultsTurn(_results(before), hints)))


def _never_concluded(state: State) -> State:
    """The model was asked for text alone and called again."""
    last = state.pending
    if isinstance(last, CallModel) and last.wrap_up is not None:
        return exhaust(state, last.wrap_up)
    return fail(state, "model_error", f"{state.terms.owner.adapter}: the model keeps calling tools although the choice is none")
