"""The contract of a source of tools: `geode.ports.ToolSource`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar, Final, Self, TypeAlias

import pytest

from geode.domain.content import Text
from geode.domain.results import render
from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.tool_sources import Listing, OpenSource, ToolSource, ToolSourceError
from geode.ports.tools import Tool, ToolContext, ToolError

Called: TypeAlias = tuple[str, Mapping[str, Any]]
# As long as a busy machine may take for what should be at once.
SOON_SECONDS: Final = 5.0
# As long as what is left behind may take to end by itself.
_REST_SECONDS: Final = 2.0


class ToolSourceHarness(ABC):
    """A source of tools that the suite makes up.

    `answers`: one of its tools by the source's own name, its arguments, and a text that its result contains. `fails`
    and `hangs`: a call that fails, and one that never ends, where there are such. `changes`: its tools may become
    others while it is open.
    """

    answers: ClassVar[tuple[str, Mapping[str, Any], str]]
    fails: ClassVar[Called | None] = None
    hangs: ClassVar[Called | None] = None
    changes: ClassVar[bool] = False

    def __new__(cls, *given: object) -> Self:
        if cls.changes and cls.change is ToolSourceHarness.change:
            raise TypeError(f"{cls.__name__} declares changes = True and does not say how: override change()")
        return super().__new__(cls)

    @abstractmethod
    def source(self) -> AbstractAsyncContextManager[ToolSource]:
        """A new source of the same tools each time, with whatever it needs for as long as the block lasts."""

    @abstractmethod
    def gone(self) -> AbstractAsyncContextManager[ToolSource]:
        """A source that cannot be opened."""

    async def change(self, source: ToolSource) -> None:
        """Make the tools of the last source others; asked only where `changes` is said."""
        raise AssertionError("tools that do not change were to be changed")


class ToolSourceContract(Contract):
    """It tells its tools, runs them, notices what changes, and leaves nothing behind, however it ends."""

    @property
    def made(self) -> ToolSourceHarness:
        found: ToolSourceHarness = made(type(self), ToolSourceHarness)
        return found

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple[OpenSource, Listing]]:
        async with self.made.source() as source, source.opened() as found:
            yield found, await found.listing()

    async def test_it_says_who_it_is(self) -> None:
        async with self.made.source() as source:
            assert isinstance(source, ToolSource)
            said = (source.name, source.origin, source.required)
            assert [one for one in said[:2] if one.strip() != one or not one] == []
            assert said[2] in (True, False)
            async with source.opened():
                assert (source.name, source.origin, source.required) == said

    async def test_its_tools_have_names_of_their_own_and_say_where_they_are_from(self) -> None:
        async with self.made.source() as source, source.opened() as opened:
            listing = await opened.listing()
        names = [tool.spec.name for tool in listing.tools]
        assert self.made.answers[0] in names
        assert len(set(names)) == len(names)
        assert {tool.origin for tool in listing.tools} == {source.origin}
        told: tuple[object, ...] = listing.left_out
        assert [text for text in told if not isinstance(text, str) or not text.strip()] == []

    async def test_two_listings_of_the_same_are_the_same(self) -> None:
        async with self.opened() as (opened, first):
            second = await opened.listing()
        assert [_facts(tool) for tool in first.tools] == [_facts(tool) for tool in second.tools]

    async def test_nothing_has_changed_after_a_listing(self) -> None:
        async with self.opened() as (opened, _):
            assert opened.changed() is False

    async def test_a_tool_answers(self) -> None:
        async with self.opened() as (_, listing):
            assert await _text(listing, *self.made.answers[:2]) == await _text(listing, *self.made.answers[:2])
            assert self.made.answers[2] in await _text(listing, *self.made.answers[:2])

    async def test_calls_at_the_same_time_each_get_their_answer(self) -> None:
        async with self.opened() as (_, listing):
            texts = await asyncio.gather(*(_text(listing, *self.made.answers[:2]) for _ in range(8)))
        assert [text for text in texts if self.made.answers[2] not in text] == []

    async def test_a_tool_that_fails_says_so_and_leaves_the_others(self) -> None:
        async with self.opened() as (_, listing):
            if self.made.fails is not None:
                with pytest.raises(ToolError) as caught:
                    await _text(listing, *self.made.fails)
                assert str(caught.value).strip()
            assert self.made.answers[2] in await _text(listing, *self.made.answers[:2])

    async def test_a_call_that_is_cancelled_ends_and_leaves_the_others(self) -> None:
        async with self.opened() as (_, listing):
            if self.made.hangs is not None:
                call = asyncio.create_task(_text(listing, *self.made.hangs))
                await asyncio.sleep(0.05)
                assert not call.done()
                call.cancel()
                assert (await asyncio.wait({call}, timeout=SOON_SECONDS))[0]
                assert call.cancelled()
            assert self.made.answers[2] in await _text(listing, *self.made.answers[:2])

    async def test_it_is_opened_as_often_as_one_likes(self) -> None:
        async with self.made.source() as source:
            for _ in range(2):
                async with source.opened() as opened:
                    assert self.made.answers[2] in await _text(await opened.listing(), *self.made.answers[:2])

    async def test_a_failure_inside_passes_through_and_leaves_nothing(self) -> None:
        before = asyncio.all_tasks()
        async with self.made.source() as source:
            with pytest.raises(ZeroDivisionError):
                await _failing_inside(source)
            async with source.opened() as opened:
                assert self.made.answers[2] in await _text(await opened.listing(), *self.made.answers[:2])
        assert await _left(before) == set()

    async def test_cancelling_passes_through_and_leaves_nothing(self) -> None:
        before, inside = asyncio.all_tasks(), asyncio.Event()

        async def held() -> None:
            async with self.opened():
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(held())
        await asyncio.wait_for(inside.wait(), SOON_SECONDS)
        task.cancel()
        assert (await asyncio.wait({task}, timeout=SOON_SECONDS))[0]
        assert task.cancelled()
        assert await _left(before) == set()

    async def test_it_may_be_closed_in_another_task(self) -> None:
        """A runtime opens its sources where they are first used, and closes them where it ends itself."""
        before = asyncio.all_tasks()
        async with self.made.source() as source:
            context = source.opened()
            opened = await asyncio.create_task(_entered(context))
            assert (await opened.listing()).tools
            await asyncio.create_task(_left_again(context))
        assert await _left(before) == set()

    async def test_what_is_called_after_it_was_closed_fails(self) -> None:
        async with self.opened() as (_, listing):
            pass
        with pytest.raises(ToolError):
            await asyncio.wait_for(_text(listing, *self.made.answers[:2]), SOON_SECONDS)

    async def test_what_cannot_be_opened_says_so_by_name_and_leaves_nothing(self) -> None:
        before = asyncio.all_tasks()
        async with self.made.gone() as source:
            with pytest.raises(ToolSourceError) as caught:
                async with source.opened():
                    pass
            assert source.name in str(caught.value)
        assert await _left(before) == set()

    async def test_a_change_is_noticed_and_listed(self) -> None:
        if not self.made.changes:
            return
        harness = self.made
        async with harness.source() as source, source.opened() as opened:
            first = await opened.listing()
            await harness.change(source)
            async with asyncio.timeout(SOON_SECONDS):
                while not opened.changed():
                    await asyncio.sleep(0.01)
            second = await opened.listing()
            assert {tool.spec.name for tool in first.tools} != {tool.spec.name for tool in second.tools}
            assert opened.changed() is False


def _facts(tool: Tool) -> tuple[object, ...]:
    return tool.spec, tool.tier, tool.origin, tool.deferred, tool.idempotent, tool.timeout_seconds


async def _text(listing: Listing, name: str, arguments: Mapping[str, Any]) -> str:
    """What the model would read of a call."""
    tool = next(tool for tool in listing.tools if tool.spec.name == name)
    value = tool.invoke(arguments, ToolContext(None, "call_1", "run/call_1", SOON_SECONDS))
    value = await value if asyncio.iscoroutine(value) or isinstance(value, asyncio.Future) else value
    return "\n".join(part.text for part in render(value) if isinstance(part, Text))


async def _failing_inside(source: ToolSource) -> None:
    async with source.opened() as opened:
        await opened.listing()
        raise ZeroDivisionError


async def _entered(context: AbstractAsyncContextManager[OpenSource]) -> OpenSource:
    return await context.__aenter__()


async def _left_again(context: AbstractAsyncContextManager[OpenSource]) -> None:
    await context.__aexit__(None, None, None)


async def _left(before: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """The tasks that were not there before, and do not end by themselves soon."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _REST_SECONDS
    while (left := asyncio.all_tasks() - before - {asyncio.current_task()}) and loop.time() < until:
        await asyncio.sleep(0.01)
    return left
