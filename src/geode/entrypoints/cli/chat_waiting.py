"""Where the runs of a chat wait for a person, in case that the chat ends before they are answered."""

from __future__ import annotations

from pathlib import Path

from geode.adapters.journal_file import FileJournal
from geode.domain.codec import loads
from geode.domain.errors import Misuse
from geode.domain.loop.actions import Finish, Suspend
from geode.domain.loop.inputs import Input
from geode.domain.loop.recording import replay
from geode.domain.loop.state import State


class WaitingRuns:
    """A journal that has a run in `folder` from the moment on when it is put off, until its end, and no other run."""

    def __init__(self, folder: Path) -> None:
        self._files = FileJournal(folder)
        self._kept: set[str] = set()

    def keeps(self, run_id: str) -> bool:
        """Whether the run is in the folder."""
        return run_id in self._kept

    def check_unchanged(self, run_id: str, snapshot: str) -> None:
        """Misuse where another process went on with the run since: its calls would run twice."""
        if run_id not in self._kept or run_id not in self._files.run_ids():
            return
        if replay(self._files.recorded(run_id)).state != loads(State, snapshot):
            way_out = f"geode runs show {run_id[:8]} says where it is"
            raise Misuse("stale-snapshot", f"run {run_id} has been gone on with outside of this chat; {way_out}")

    # ---- the journal ---------------------------------------------------------------------------

    def began(self, state: State) -> None:
        if state.terms.run_id in self._kept:
            self._files.began(state)

    def happened(self, before: State, input: Input) -> None:
        if before.terms.run_id in self._kept:
            self._files.happened(before, input)

    def left(self, state: State) -> None:
        run_id = state.terms.run_id
        if isinstance(state.pending, Suspend) and run_id not in self._kept:
            self._files.began(state)
            self._kept.add(run_id)
        if run_id not in self._kept:
            return
        self._files.left(state)
        if isinstance(state.pending, Finish):
            self._kept.remove(run_id)
            self._files.delete(run_id)
