"""A clock that stands still until it is told."""

from __future__ import annotations

import asyncio


class ManualClock:
    """For tests: `sleep` moves the time on at once and remembers how long was asked for."""

    def __init__(self, now: float = 0.0, jitter: float = 0.5) -> None:
        self._now, self._jitter = now, jitter
        self.slept: list[float] = []

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds
        await asyncio.sleep(0)

    def jitter(self) -> float:
        return self._jitter
