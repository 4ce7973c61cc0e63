"""Where the inputs of a run are written as they happen, and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from geode.domain.errors import GeodeError
from geode.domain.loop.inputs import Input
from geode.domain.loop.recording import Recording
from geode.domain.loop.state import State


class JournalError(GeodeError):
    """A journal cannot be read or written: names the file, the line and the way out."""


@runtime_checkable
class Journal(Protocol):
    """`began` is written before the first action of a run, or of one that is taken up again; `happened`
    before the input takes effect; `left` when whoever runs it lets go of it.

    The state that `began` and the inputs in their order are the whole run: folding `step` over them
    gives every later state. `happened` gets the state before the input, so that the action which the
    input answers can be written beside it. All are plain calls, so that nothing, a cancellation least of
    all, comes between what is written and its effect; a journal that has to wait for something writes
    behind. An exception ends the run; its conversation keeps what happened all the same.
    """

    def began(self, state: State) -> None: ...

    def happened(self, before: State, input: Input) -> None: ...

    def left(self, state: State) -> None: ...


@runtime_checkable
class JournalStore(Journal, Protocol):
    """A journal that gives runs back: what resuming a run by its id needs.

    `recorded` only looks. `taken` is for whoever goes on with the run: until `left` nobody else can take
    it, and JournalError says who has it. Both raise JournalError for a run that is not there, and where
    anything but the very last line is damaged. `run_ids` are the ids of all runs, oldest first.
    """

    def run_ids(self) -> Sequence[str]: ...

    def recorded(self, run_id: str) -> Recording: ...

    def taken(self, run_id: str) -> Recording: ...

    def let_go(self, run_id: str) -> None: ...
