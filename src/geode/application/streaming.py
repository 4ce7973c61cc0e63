"""A run as the stream of its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from geode.domain.loop.outcome import Outcome
from geode.ports.events import Event

Put: TypeAlias = Callable[[Event], Awaitable[None]]


async def streamed(perform: Callable[[Put], Awaitable[Outcome]]) -> AsyncGenerator[Event]:
    """The events of what `perform` hands over, at the pace of the reader."""
    waiting: asyncio.Queue[Event | None] = asyncio.Queue(64)

    async def work() -> None:
        try:
            await perform(waiting.put)
        finally:
            await waiting.put(None)

    task = asyncio.create_task(work())
    try:
        while (event := await waiting.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        while not task.done():
            # The run may be waiting for room in the queue that nobody reads any more.
            while not waiting.empty():
                waiting.get_nowait()
            await asyncio.wait((task,), timeout=0.05)
