"""Going on in an open round: its next stage, its end, and what becomes of calls that run no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from geode.domain.content import ResultKind, ToolResult, ToolUseBlock, result
from geode.domain.errors import IllegalInput
from geode.domain.loop.actions import RunStage
from geode.domain.loop.closing import close
from geode.domain.loop.state import State
from geode.domain.recovery import concluded
from geode.domain.repair import INTERRUPTED
from geode.domain.rounds import next_stage

NOT_STARTED: Final = "interrupted: the run was stopped before this call was started"
OUT_OF_TIME: Final = "not executed: the run's time budget is used up"


def advance(state: State) -> State:
    """The next stage of the open round, or its end when every call has its result."""
    running = _running(state)
    if not state.round.waiting:
        return close(state)
    if state.stopping:
        return replace(state, pending=RunStage(running, ()))
    if time_is_up(state):
        late = [call for call in state.round.waiting if call.id not in running]
        if late:
            return settled(state, *(left_off(state, call, "failed", OUT_OF_TIME) for call in late))
        return replace(state, pending=RunStage(running, ()))
    current = state.pending if isinstance(state.pending, RunStage) else RunStage((), ())
    stage = next_stage(state.round, state.terms.tools, state.grants, state.remaining_seconds, current)
    return replace(state, pending=stage)


def settled(state: State, *found: ToolResult) -> State:
    """The state after these results, which no further step of a recovery follows."""
    results = {**state.round.results, **{one.call_id: one for one in found}}
    return advance(replace(state, open=replace(state.round, results=results)))


def left_off(state: State, call: ToolUseBlock, kind: ResultKind, text: str) -> ToolResult:
    """The result of a call that does not run any more: these words, unless its recovery has got somewhere."""
    recovery = state.round.recovering.get(call.id)
    return result(call.id, kind, text) if recovery is None or recovery.last is None else concluded(recovery)


def time_is_up(state: State) -> bool:
    """Whether the run has a time budget and it is used up."""
    remaining = state.remaining_seconds
    return remaining is not None and remaining <= 0


def out_of_time(state: State) -> State:
    """Questions are withdrawn and nothing new starts; what runs keeps its own deadline."""
    if not isinstance(state.pending, RunStage) or not time_is_up(state):
        raise IllegalInput("no stage is pending whose time is up")
    return advance(state)


def wound_down(state: State) -> State:
    """Nothing new starts. What runs may finish; the rest of the round is interrupted."""
    running = _running(state)
    left = (call for call in state.round.waiting if call.id not in running)
    return settled(replace(state, stopping=True), *(left_off(state, call, "interrupted", NOT_STARTED) for call in left))


def broken_off(state: State) -> State:
    """What finished is kept, every other call of the round is interrupted, the running ones too."""
    running = _running(state)
    found = (
        result(call.id, "interrupted", INTERRUPTED) if call.id in running else left_off(state, call, "interrupted", NOT_STARTED)
        for call in state.round.waiting
    )
    return settled(replace(state, stopping=True), *found)


def _running(state: State) -> tuple[str, ...]:
    """Calls that were started and have no result yet."""
    if not isinstance(state.pending, RunStage):
        return ()
    return tuple(id for id in state.pending.start if id not in state.round.results)
