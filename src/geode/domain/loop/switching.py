"""Going on with the next model of the chain, for the rest of the run (spec section 7)."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.loop.actions import SwitchModel
from geode.domain.loop.calling import next_call
from geode.domain.loop.ending import fail
from geode.domain.loop.inputs import Switched
from geode.domain.loop.state import State


def switched(state: State, asked: SwitchModel, input: Switched) -> State:
    """The same call of the next model, with all its attempts before it; or the end where that one cannot be asked."""
    left = replace(state, left=(*state.left, asked.why))
    if input.refused:
        why = f"{asked.to.adapter} {asked.to.model} cannot be asked: {input.refused}"
        return fail(left, "model_error", with_others(left, why))
    counters = replace(state.counters, call_started_at=state.now)
    return next_call(
        replace(left, terms=replace(state.terms, owner=asked.to), counters=counters), replace(asked.call, attempt=1)
    )


def with_others(state: State, why: str) -> str:
    """`why`, and what became of the models that were asked before."""
    return f"{why}. Before that, {'; '.join(state.left)}" if state.left else why
