"""The clock port over the system."""

from __future__ import annotations

import asyncio
import random
import time


class SystemClock:
    """Epoch seconds that never go back, however the machine's clock is set meanwhile."""

    def __init__(self) -> None:
        self._epoch = time.time() - time.monotonic()

    def now(self) -> float:
        return self._epoch + time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def jitter(self) -> float:
        return random.random()
