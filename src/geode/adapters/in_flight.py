"""One piece of work at a time, for all who wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class InFlight(Generic[_T]):
    """Runs `work` once for all who ask while it runs; who is cancelled leaves it to the others.

    When the last of them is cancelled the work is cancelled too, unless it is given `linger_seconds`: then it is
    waited for that long, and goes on by itself after that or after a second cancellation.
    """

    def __init__(self, work: Callable[[], Awaitable[_T]], *, linger_seconds: float = 0.0) -> None:
        self._work, self._linger = work, linger_seconds
        self._task: asyncio.Task[_T] | None = None
        self._waiting = 0

    async def result(self) -> _T:
        """What comes of the work that is under way, or that begins now."""
        task = self._task
        # One of an event loop that is gone will never end.
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            task = self._task = asyncio.create_task(self._done())
            task.add_done_callback(_looked_at)
            self._waiting = 0
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._waiting == 1 and task is self._task:
                await self._abandon(task)
            raise
        finally:
            if task is self._task:
                self._waiting -= 1

    async def _done(self) -> _T:
        return await self._work()

    async def _abandon(self, task: asyncio.Task[_T]) -> None:
        if not self._linger:
            self._task = None  # whoever asks meanwhile begins anew
            task.cancel()
        await asyncio.wait((task,), timeout=self._linger or None)


def _looked_at(task: asyncio.Task[_T]) -> None:
    """An exception that nobody waited for any more is no news."""
    if not task.cancelled():
        task.exception()
