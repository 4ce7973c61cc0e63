"""The journal port in memory."""

from __future__ import annotations

from collections.abc import Sequence

from geode.domain.loop.inputs import Input
from geode.domain.loop.recording import Began, Happened, Left, Record, Recording, described
from geode.domain.loop.state import State
from geode.ports.journal import JournalError


class MemoryJournal:
    """Keeps each run's first state and its inputs; folding `step` over them gives the run again.

    `states` and `inputs` are those since the run was last taken up.
    """

    def __init__(self) -> None:
        self.states: dict[str, State] = {}
        self.inputs: dict[str, list[Input]] = {}
        self._records: dict[str, list[Record]] = {}
        self._running = set[str]()

    def began(self, state: State) -> None:
        run_id = state.terms.run_id
        self.states[run_id], self.inputs[run_id] = state, []
        self._records.setdefault(run_id, []).append(Began(state))
        self._running.add(run_id)

    def happened(self, before: State, input: Input) -> None:
        run_id = before.terms.run_id
        self.inputs[run_id].append(input)
        self._records[run_id].append(Happened(described(before.pending), input))

    def left(self, state: State) -> None:
        self._records[state.terms.run_id].append(Left(described(state.pending)))
        self._running.discard(state.terms.run_id)

    def run_ids(self) -> Sequence[str]:
        return tuple(self._records)

    def recorded(self, run_id: str) -> Recording:
        if run_id not in self._records:
            raise JournalError(f"this journal has no run {run_id!r}")
        return Recording(run_id, tuple(self._records[run_id]))

    def taken(self, run_id: str) -> Recording:
        if run_id in self._running:
            raise JournalError(f"run {run_id} is being run already, in this process")
        found = self.recorded(run_id)
        self._running.add(run_id)
        return found

    def let_go(self, run_id: str) -> None:
        self._running.discard(run_id)


class NoJournal:
    """Writes nothing down: a run of which only the outcome is wanted."""

    def began(self, state: State) -> None:
        """Nothing is kept."""

    def happened(self, before: State, input: Input) -> None:
        """Nothing is kept."""

    def left(self, state: State) -> None:
        """Nothing is kept."""
