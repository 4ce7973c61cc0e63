"""The journal port in memory."""

from __future__ import annotations

from geode.domain.loop.inputs import Input
from geode.domain.loop.state import State


class MemoryJournal:
    """Keeps each run's first state and its inputs; folding `step` over them gives the run again."""

    def __init__(self) -> None:
        self.states: dict[str, State] = {}
        self.inputs: dict[str, list[Input]] = {}

    def began(self, state: State) -> None:
        self.states[state.terms.run_id] = state
        self.inputs[state.terms.run_id] = []

    def happened(self, run_id: str, input: Input) -> None:
        self.inputs[run_id].append(input)


class NoJournal:
    """Writes nothing down: a run of which only the outcome is wanted."""

    def began(self, state: State) -> None:
        """Nothing is kept."""

    def happened(self, run_id: str, input: Input) -> None:
        """Nothing is kept."""
