"""Between the end of a call and its result: those look at it who may change it, then it is made short enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeAlias, TypeVar

from geode.application.announcer import Announcer
from geode.application.guard import ResultGuard
from geode.domain.content import ToolResult, ToolUseBlock

# What a result becomes once those have seen it who may change it.
Review: TypeAlias = Callable[[ToolUseBlock, ToolResult], Coroutine[Any, Any, ToolResult]]

Call = TypeVar("Call")
_Task: TypeAlias = asyncio.Task[ToolResult]


class Finishing(Generic[Call]):
    """`deliver` is called once for each result, at once where nothing is to be done."""

    def __init__(
        self,
        *,
        review: Review | None,
        guard: ResultGuard | None,
        announcer: Announcer,
        deliver: Callable[[Call, ToolResult], None],
    ) -> None:
        self._review, self._guard, self._announcer, self._deliver = review, guard, announcer, deliver
        self._reviewing: dict[_Task, tuple[Call, ToolUseBlock, ToolResult]] = {}
        self._guarding: dict[_Task, tuple[Call, ToolUseBlock, ToolResult]] = {}

    def begin(self, call: Call, block: ToolUseBlock, found: ToolResult, *, reviewed: bool) -> None:
        """The call has come to its end with `found`; `reviewed` says whether anybody may look at that."""
        if self._review is None or not reviewed:
            self._made_short(call, block, found)
            return
        task = asyncio.create_task(self._review(block, found))
        self._reviewing[task] = (call, block, found)
        task.add_done_callback(self._reviewed)

    def cancel(self) -> list[_Task]:
        """The run is cancelled: a result that was looked at is told at once, cut; any other counts no more than one that
        has not come. The tasks that end soon."""
        reviewing, self._reviewing = self._reviewing, {}
        guarding, self._guarding = self._guarding, {}
        for task in (*reviewing, *guarding):
            task.cancel()
        for call, block, found in guarding.values():
            self._deliver(call, self._cut(block, found))
        return [*reviewing, *guarding]

    def _reviewed(self, task: _Task) -> None:
        """A review that broke, or cancelled itself, has changed nothing."""
        if task not in self._reviewing:
            return
        call, block, found = self._reviewing.pop(task)
        if _broke(task):
            text = f"the hook after_result failed: it cancelled itself; the result of {block.name} ({block.id}) stands"
            self._announcer.soon(self._announcer.notice("hook_failed", text))
        self._made_short(call, block, found if _broke(task) else task.result())

    def _made_short(self, call: Call, block: ToolUseBlock, found: ToolResult) -> None:
        if self._guard is None or not self._guard.needed(block, found):
            self._deliver(call, found)
            return
        task = asyncio.create_task(self._guard.guarded(block, found))
        self._guarding[task] = (call, block, found)
        task.add_done_callback(self._guarded)

    def _guarded(self, task: _Task) -> None:
        if task in self._guarding:
            call, block, found = self._guarding.pop(task)
            self._deliver(call, self._cut(block, found) if _broke(task) else task.result())

    def _cut(self, block: ToolUseBlock, found: ToolResult) -> ToolResult:
        return found if self._guard is None else self._guard.cut(block, found)


def _broke(task: _Task) -> bool:
    return task.cancelled() or task.exception() is not None
