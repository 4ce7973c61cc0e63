"""Where the inputs of a run are written as they happen."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from geode.domain.loop.inputs import Input
from geode.domain.loop.state import State


@runtime_checkable
class Journal(Protocol):
    """`began` is written once per run, before its first action; `happened` before the input takes effect.

    The state that `began` and the inputs in their order are the whole run: folding `step` over them
    gives every later state. Both are plain calls, so that nothing, a cancellation least of all, comes
    between what is written and its effect; a journal that has to wait for something writes behind.
    An exception ends the run; its conversation keeps what happened all the same.
    """

    def began(self, state: State) -> None: ...

    def happened(self, run_id: str, input: Input) -> None: ...
