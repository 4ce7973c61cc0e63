"""The contract of a clock: `geode.ports.Clock`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

import pytest

from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.clock import Clock

SHORT = 0.02


class ClockHarness(ABC):
    @abstractmethod
    def clock(self) -> Clock: ...


class ClockContract(Contract):
    """Time goes on and never back, sleeping takes its time and nobody else's, and chance is chance."""

    @property
    def made(self) -> ClockHarness:
        found: ClockHarness = made(type(self), ClockHarness)
        return found

    async def test_time_never_goes_back(self) -> None:
        clock = self.made.clock()
        seen = [clock.now() for _ in range(100)]
        await clock.sleep(SHORT)
        seen.append(clock.now())
        assert seen == sorted(seen)
        assert all(isinstance(one, float) for one in seen)

    async def test_sleeping_takes_as_long_as_it_says(self) -> None:
        clock = self.made.clock()
        began = clock.now()
        await clock.sleep(SHORT)
        assert clock.now() - began >= SHORT * 0.9

    async def test_others_go_on_meanwhile(self) -> None:
        clock, went_on = self.made.clock(), asyncio.Event()
        asyncio.get_running_loop().call_soon(went_on.set)
        await clock.sleep(SHORT)
        assert went_on.is_set(), "sleeping held the event loop"

    async def test_cancelling_passes_through(self) -> None:
        """Unless the sleep was over by then, as on a clock that stands still."""
        clock = self.made.clock()
        began = clock.now()
        task = asyncio.create_task(clock.sleep(3600))
        for _ in range(3):
            await asyncio.sleep(0)
        if task.done():
            assert clock.now() - began >= 3600
            return
        task.cancel()
        done, _ = await asyncio.wait((task,), timeout=2)
        assert done, "the sleep goes on although it was cancelled"
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_no_time_is_no_sleep(self) -> None:
        async with asyncio.timeout(1):
            await self.made.clock().sleep(0)

    async def test_jitter_is_from_0_to_1_and_never_1(self) -> None:
        clock = self.made.clock()
        assert all(0 <= clock.jitter() < 1 for _ in range(1000))
