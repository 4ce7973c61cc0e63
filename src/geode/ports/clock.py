"""Time and chance."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """`now` is epoch seconds and never goes back; `sleep` takes seconds and passes cancellation;
    `jitter` draws from [0, 1), for the spread of retries."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def jitter(self) -> float: ...
