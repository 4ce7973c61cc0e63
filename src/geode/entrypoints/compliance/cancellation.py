"""Calls that are broken off: spec section 7."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from geode.domain.script import hangs, says
from geode.entrypoints.compliance.contract import ModelContract
from geode.entrypoints.compliance.playing import STREAMED, Playing, reply_of, until, visible
from geode.entrypoints.compliance.servers import OURS
from geode.entrypoints.compliance.streaming import LONG
from geode.ports.model import Delta

ONCE_OR_TWICE = pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])


class CancellationContract(ModelContract):
    """Cancelling passes through, at once, and leaves nothing behind: no connection, no task, no broken adapter."""

    @STREAMED
    @ONCE_OR_TWICE
    async def test_cancelling_while_nothing_has_come(self, times: int, streamed: bool) -> None:
        async with self.playing(hangs()) as playing:
            before = asyncio.all_tasks()
            task = asyncio.create_task(playing.ask(streamed=streamed))
            await until(lambda: playing.count > 0)
            await self._cancelled(task, times)
            await self._nothing_left(playing, before)

    @ONCE_OR_TWICE
    async def test_cancelling_in_the_middle_of_a_reply(self, times: int) -> None:
        shown = asyncio.Event()

        async def take(delta: Delta) -> None:
            if visible(delta):
                shown.set()

        async with self.playing(says(LONG) if self.live else hangs(), pace_seconds=0.1) as playing:
            before = asyncio.all_tasks()
            task = asyncio.create_task(playing.adapter.acomplete(playing.request(streamed=True), take))
            await until(lambda: shown.is_set() if self.live else playing.count > 0)
            await self._cancelled(task, times)
            await self._nothing_left(playing, before)

    async def test_the_next_call_is_not_touched(self) -> None:
        async with self.playing(hangs(), says("well")) as playing:
            task = asyncio.create_task(playing.ask())
            await until(lambda: playing.count > 0)
            await self._cancelled(task, 1)
            assert reply_of(await playing.ask()).text == "well"

    async def _cancelled(self, task: asyncio.Task[Any], times: int) -> None:
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        done, _ = await asyncio.wait((task,), timeout=2)
        assert done, "the call goes on although it was cancelled"
        assert task.cancelled(), f"cancelling did not pass through: {task!r}"

    async def _nothing_left(self, playing: Playing, before: set[asyncio.Task[Any]]) -> None:
        if playing.left is not None:
            async with asyncio.timeout(2):
                await playing.left.wait()
        await asyncio.sleep(0.02)
        left = {task for task in asyncio.all_tasks() - before if task.get_name() != OURS}
        assert left == set(), "tasks were left behind"
