"""One piece of work at a time, for all who wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from geode.adapters.in_flight import InFlight


class Work:
    """Counts how often it began and was cancelled; ends when it is told to."""

    def __init__(self, result: str | Exception = "done") -> None:
        self.result, self.began, self.cancelled, self.go = result, 0, 0, asyncio.Event()

    async def __call__(self) -> str:
        self.began += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_all_who_ask_meanwhile_share_one() -> None:
    work = Work()
    flight = InFlight(work)
    tasks = [asyncio.create_task(flight.result()) for _ in range(5)]
    await turns()
    work.go.set()
    assert await asyncio.gather(*tasks) == ["done"] * 5
    assert work.began == 1
    assert await flight.result() == "done"
    assert work.began == 2


async def test_a_failure_is_everybodys_and_is_not_kept() -> None:
    work = Work(LookupError("no"))
    flight = InFlight(work)
    tasks = [asyncio.create_task(flight.result()) for _ in range(3)]
    await turns()
    work.go.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(one) for one in found] == ["no"] * 3
    work.result = "well"
    assert await flight.result() == "well"


async def test_who_is_cancelled_leaves_it_to_the_others() -> None:
    work = Work()
    flight = InFlight(work)
    tasks = [asyncio.create_task(flight.result()) for _ in range(3)]
    await turns()
    tasks[0].cancel()
    tasks[2].cancel()
    await turns()
    work.go.set()
    assert await tasks[1] == "done"
    assert (work.began, work.cancelled) == (1, 0)


async def test_the_last_one_takes_it_with_him_and_the_next_begins_anew() -> None:
    work = Work()
    flight = InFlight(work)
    tasks = [asyncio.create_task(flight.result()) for _ in range(2)]
    await turns()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert work.cancelled == 1
    work.go.set()
    assert await flight.result() == "done"
    assert work.began == 2


async def test_what_must_not_be_lost_is_waited_for() -> None:
    work = Work()
    flight = InFlight(work, linger_seconds=60)
    task = asyncio.create_task(flight.result())
    await turns()
    task.cancel()
    await turns()
    assert not task.done()
    work.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (work.began, work.cancelled) == (1, 0)


async def test_a_second_cancellation_passes_and_the_work_goes_on() -> None:
    work = Work()
    flight = InFlight(work, linger_seconds=60)
    task = asyncio.create_task(flight.result())
    await turns()
    for _ in range(2):
        task.cancel()
        await turns()
    assert task.done()
    joined = asyncio.create_task(flight.result())
    await turns()
    work.go.set()
    assert await joined == "done"
    assert (work.began, work.cancelled) == (1, 0)


def test_work_of_an_event_loop_that_is_gone_is_begun_anew() -> None:
    calls: list[Callable[[], Awaitable[str]]] = []

    async def work() -> str:
        calls.append(work)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return "done"

    flight = InFlight(work, linger_seconds=60)

    async def abandoned() -> None:
        task = asyncio.create_task(flight.result())
        await turns()
        for _ in range(2):
            task.cancel()
            await turns()

    asyncio.run(abandoned())
    assert asyncio.run(flight.result()) == "done"
    assert len(calls) == 2
