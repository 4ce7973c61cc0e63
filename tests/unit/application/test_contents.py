"""Tools that give their results piece by piece, return errors, or show pictures that are too large."""

from __future__ import annotations

import asyncio
import itertools
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import geode
from geode import Image, ToolError
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.content import Text, ToolResult
from geode.domain.loop.outcome import Failed
from geode.domain.pictures import PictureLimits
from geode.domain.policy import Policy
from geode.domain.request import Capabilities
from geode.domain.script import calls, says
from geode.domain.turns import UserTurn
from geode.ports.events import Notice
from tests.unit.application.rig import Asks, Recorder, answered, loop_of, quick, results, tasks_left


async def given(tool: Callable[..., Any], tier: geode.SafetyTier = geode.SafetyTier.SAFE, **options: Any) -> ToolResult:
    """What came of one call of `tool`."""
    declared = geode.tool(tier=tier)(tool)
    loop = loop_of(calls((tool.__name__, {})), says("done"), tools=[declared], approver=Asks(), **options)
    (result,) = results(answered(await loop.run("go")))
    return result


# ---- piece by piece ------------------------------------------------------------------------------


def sync_lines() -> Iterator[str]:
    """Gives lines in a thread."""
    yield "a"
    yield "b"


async def async_lines() -> AsyncIterator[str]:
    """Gives lines on the event loop."""
    yield "a"
    await asyncio.sleep(0)
    yield "b"


async def returns_async() -> AsyncIterator[str]:
    """Returns an asynchronous generator."""
    return async_lines()


async def returns_sync() -> Iterator[str]:
    """Returns a generator from a coroutine."""
    return sync_lines()


def returns_async_from_a_thread() -> AsyncIterator[str]:
    """Returns an asynchronous generator from a function that may block."""
    return async_lines()


@pytest.mark.parametrize("tool", [sync_lines, async_lines, returns_async, returns_sync, returns_async_from_a_thread])
async def test_every_way_to_give_items_is_read_to_its_end(tool: Callable[..., Any]) -> None:
    result = await given(tool)
    assert (result.kind, result.text) == ("ok", '["a","b"]')
    assert not tasks_left()


async def test_a_generator_runs_in_the_thread_of_its_tool() -> None:
    async def on_the_loop() -> AsyncIterator[bool]:
        yield threading.current_thread() is threading.main_thread()

    def in_a_thread() -> Iterator[bool]:
        yield threading.current_thread() is threading.main_thread()

    assert (await given(on_the_loop)).text == "[true]"
    assert (await given(in_a_thread)).text == "[false]"


def sync_endless() -> Iterator[int]:
    """Never ends."""
    yield from itertools.count()


async def async_endless() -> AsyncIterator[int]:
    """Never ends."""
    for number in itertools.count():
        yield number


@pytest.mark.parametrize("tool", [sync_endless, async_endless])
async def test_the_bound_is_the_policys_and_a_line_says_that_it_was_reached(tool: Callable[..., Any]) -> None:
    result = await given(tool, policy=Policy(max_iterated_items=4))
    assert result.kind == "ok"
    assert result.text == "[0,1,2,3]\n[there is more: these are its first 4 items; an iterator is read up to 4 items]"


@pytest.mark.parametrize(
    ("error", "told"),
    [(ToolError("the disk is gone"), "the disk is gone"), (ValueError("secret"), "tool failed with ValueError")],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_failure_midway_keeps_what_came_before(error: Exception, told: str, is_async: bool) -> None:
    picture = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(9))

    def sync() -> Iterator[object]:
        yield from ("line", picture.data)
        raise error

    async def later() -> AsyncIterator[object]:
        for item in ("line", picture.data):
            yield item
        raise error

    tool = later if is_async else sync
    tool.__name__ = "tool"
    result = await given(tool)
    assert result.kind == "failed"
    assert result.content == (Text(told), Text("What it gave before (2 items):"), Text("line"), picture)


async def test_a_failure_before_the_first_item_is_that_failure_alone() -> None:
    def nothing() -> Iterator[str]:
        if threading.active_count():
            raise ToolError("no such log")
        yield "never"

    result = await given(nothing)
    assert (result.kind, result.content) == ("failed", (Text("no such log"),))


async def test_an_item_that_cannot_be_rendered_keeps_those_before() -> None:
    def odd() -> Iterator[object]:
        yield 1
        yield object()

    result = await given(odd)
    assert result.text == "the tool's result could not be rendered\nWhat it gave before (1 items):\n[1]"
    assert result.detail.startswith("odd returned a value of type object at /1;")


async def test_the_deadline_keeps_what_came_before() -> None:
    async def slow() -> AsyncIterator[str]:
        yield "one"
        await asyncio.sleep(9)

    result = await given(slow, policy=quick())
    assert result.text == 'timeout: slow did not finish within 0.1 s\nWhat it gave before (1 items):\n["one"]'


async def test_a_thread_that_is_left_behind_ends_with_its_next_item() -> None:
    release, ended = threading.Event(), threading.Event()

    def stuck() -> Iterator[int]:
        try:
            yield 1
            release.wait(9)
            yield from itertools.count(2)
        finally:
            ended.set()

    result = await given(stuck, geode.SafetyTier.WRITE, policy=quick())
    assert result.kind == "outcome_unknown"
    assert result.text.endswith("What it gave before (1 items):\n[1]")
    release.set()
    assert await asyncio.to_thread(ended.wait, 9)


async def test_a_generator_that_is_cancelled_from_inside_keeps_what_came_before() -> None:
    async def cancels() -> AsyncIterator[str]:
        yield "one"
        raise asyncio.CancelledError

    result = await given(cancels)
    assert result.text == 'cancels was cancelled from inside\nWhat it gave before (1 items):\n["one"]'


async def test_a_run_that_is_cancelled_closes_the_generator() -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    @geode.tool(tier="safe")
    async def waits() -> AsyncIterator[str]:
        try:
            yield "one"
            begun.set()
            await asyncio.sleep(99)
        finally:
            closed.set()

    task = asyncio.create_task(loop_of(calls(("waits", {})), tools=[waits]).run("go"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()
    assert not tasks_left()


# ---- errors as values, own types -----------------------------------------------------------------


@pytest.mark.parametrize("error", [ToolError("no such file"), ValueError("secret"), KeyboardInterrupt(), StopIteration()])
@pytest.mark.parametrize("blocking", [False, True])
async def test_an_error_that_is_returned_is_one_that_is_raised(error: BaseException, blocking: bool) -> None:
    def fails() -> BaseException:
        return error

    async def fails_later() -> BaseException:
        return error

    tool: Callable[..., Any] = fails if blocking else fails_later
    tool.__name__ = "fails"
    result = await given(tool)
    told = "no such file" if isinstance(error, ToolError) else f"fails failed with {type(error).__name__}"
    assert (result.kind, result.text) == ("failed", told)


class Table:
    def __aiter__(self) -> AsyncIterator[int]:
        raise AssertionError("a renderer says what it is")


async def test_own_types_are_rendered_as_the_session_says() -> None:
    async def table() -> Table:
        return Table()

    assert (await given(table, renderers={Table: lambda table: {"rows": 2}})).text == '{"rows":2}'


async def test_a_write_that_ran_and_cannot_be_rendered_says_that_it_ran() -> None:
    async def writes() -> object:
        return object()

    result = await given(writes, geode.SafetyTier.WRITE)
    assert result.text == "the tool's result could not be rendered; the tool itself has run to its end"


# ---- pictures ------------------------------------------------------------------------------------


def png(width: int, height: int, length: int = 40) -> Image:
    header = struct.pack(">I4sII", 13, b"IHDR", width, height)
    return Image("image/png", (b"\x89PNG\r\n\x1a\n" + header).ljust(length, b"\0"))


class Halves:
    """A resizer: it keeps the limits, and remembers on which threads it was called."""

    def __init__(self, why_not: str = "") -> None:
        self.why_not = why_not
        self.threads: list[threading.Thread] = []

    def fitted(self, image: Image, *, max_bytes: int, max_side: int) -> Image:
        self.threads.append(threading.current_thread())
        if self.why_not:
            raise ValueError(self.why_not)
        return png(max_side, max_side // 2)


LIMITS = PictureLimits(max_bytes=100, max_side=800, many=2, max_side_of_many=200)
LARGE, WIDE, SMALL = png(400, 300, 101), png(900, 2), png(10, 10)


def model(*steps: Any) -> ScriptedModel:
    return ScriptedModel(*steps, capabilities=Capabilities(pictures=LIMITS))


async def shown(value: object, **options: Any) -> tuple[ToolResult, list[tuple[str, str]]]:
    """What came of a tool that returned `value`, and the notices."""

    @geode.tool(tier="safe")
    async def shoot() -> object:
        return value

    seen = Recorder()
    loop = loop_of(model=model(calls(("shoot", {})), says("done")), tools=[shoot], observe=[seen], **options)
    (result,) = results(answered(await loop.run("go")))
    return result, [(notice.kind, notice.text) for notice in seen.of(Notice)]


async def test_a_picture_over_the_limit_is_made_smaller_and_the_model_is_told() -> None:
    resizer = Halves()
    result, notices = await shown(["before", SMALL, LARGE, "after"], resizer=resizer)
    line = "[image 2 was made to fit: image/png, 101 bytes, 400x300 pixels, now image/png, 40 bytes, 200x100 pixels]"
    assert result.kind == "ok"
    assert result.content == (Text("before"), SMALL, png(200, 100), Text(line), Text("after"))
    assert notices == [("image_resized", f"shoot (call_1_0): {line}")]
    assert threading.main_thread() not in resizer.threads


async def test_what_can_be_made_smaller_stays_takeable_when_many_follow() -> None:
    """With more than `many` pictures the provider takes none over 200 pixels, and a run must not fail late for it."""
    fine = png(200, 10)
    result, _ = await shown([png(201, 10), fine], resizer=Halves())
    assert result.media == (png(200, 100), fine)
    kept, notices = await shown(png(201, 10), resizer=Halves("it cannot"))
    assert (kept.kind, kept.content, notices) == ("ok", (png(201, 10),), [])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, ""),
        ({"resizer": Halves("no Pillow")}, "; no Pillow"),
        ({"resizer": Halves(), "policy": Policy(oversize_images="refuse")}, ""),
    ],
)
async def test_a_picture_that_cannot_be_shown_is_words_and_the_run_goes_on(options: dict[str, Any], why: str) -> None:
    line = "[image 1 is not shown: image/png, 101 bytes, 400x300 pixels; over the limit of 100 bytes]"
    result, notices = await shown(LARGE, **options)
    assert (result.kind, result.content) == ("failed", (Text(line),))
    assert notices == [
        ("image_left_out", f"shoot (call_1_0): image 1, image/png, 101 bytes, 400x300 pixels: over the limit of 100 bytes{why}")
    ]
    beside, _ = await shown(["the chart:", LARGE], **options)
    assert (beside.kind, beside.content) == ("ok", (Text("the chart:"), Text(line)))


@pytest.mark.parametrize("found", [LARGE, None, "picture"])
async def test_a_resizer_that_keeps_no_promise_does_no_harm(found: Any) -> None:
    class Careless:
        def fitted(self, image: Image, *, max_bytes: int, max_side: int) -> Image:
            answer: Image = found
            return answer

    result, _ = await shown(LARGE, resizer=Careless())
    assert result.kind == "failed"
    assert "is not shown" in result.text


async def test_a_picture_in_the_prompt_is_made_smaller_too() -> None:
    seen, asked = Recorder(), model(says("fine"))
    await loop_of(model=asked, resizer=Halves(), observe=[seen]).run(["look", WIDE])
    (turn,) = asked.requests[0].turns
    line = "[image 1 was made to fit: image/png, 40 bytes, 900x2 pixels, now image/png, 40 bytes, 200x100 pixels]"
    assert turn == UserTurn((Text("look"), png(200, 100), Text(line)))
    assert [notice.kind for notice in seen.of(Notice)] == ["image_resized"]


async def test_a_prompt_with_a_picture_that_cannot_be_is_refused_before_it_leaves() -> None:
    asked = model(says("never"))
    outcome = await loop_of(model=asked).run(["look", WIDE])
    assert isinstance(outcome, Failed)
    assert asked.requests == []
    assert "900x2 pixels, over the limit of 800 on a side; make it smaller" in outcome.why
    assert "geode[images]" in outcome.why
