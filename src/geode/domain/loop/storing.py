"""Which stored results a run still speaks of."""

from __future__ import annotations

from geode.domain.loop.state import State
from geode.domain.offload import named, named_in


def refs_of(state: State) -> frozenset[str]:
    """The ids in the conversation of the run, its open round included."""
    found = named_in(state.closed.turns)
    if state.open is None:
        return found
    last = [recovery.last for recovery in state.open.recovering.values() if recovery.last is not None]
    return found | named(state.open.results.values()) | named(last)
