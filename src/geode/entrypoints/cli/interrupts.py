"""Ctrl-C while something runs that may be stopped without ending the process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Found = TypeVar("Found")


async def unless_cut_off(work: Coroutine[Any, Any, Found], stop: Callable[[], None]) -> Found | None:
    """What `work` gives. The first Ctrl-C calls `stop`; the second cancels the work, which then gives None."""
    task = asyncio.create_task(work)
    presses = 0

    def pressed() -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            stop()
        else:
            task.cancel()

    with _on_ctrl_c(pressed):
        try:
            return await task
        except asyncio.CancelledError:
            if presses > 1 and task.cancelled():
                return None
            raise


@contextmanager
def _on_ctrl_c(pressed: Callable[[], None]) -> Iterator[None]:
    """Have the event loop call `pressed` at each Ctrl-C. Outside of the main thread nothing changes."""
    running = asyncio.get_running_loop()

    def handle(_signal: int, _frame: object) -> None:
        running.call_soon_threadsafe(pressed)

    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
