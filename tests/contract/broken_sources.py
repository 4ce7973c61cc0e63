"""Sources of tools broken on purpose, each in one way, and the tests that have to notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

from geode.compliance import ToolSourceHarness
from geode.domain.tiers import SafetyTier
from geode.ports import Tool, ToolSpec
from geode.ports.tool_sources import Listing, ToolSource, ToolSourceError
from geode.ports.tools import ToolContext, ToolError

Call = tuple[str, Mapping[str, Any]]


class _Source:
    """A source as it should be."""

    name, origin, required = "lab", "lab:1", True

    def __init__(self, *, there: bool = True) -> None:
        self.there, self.names, self.news, self.closed = there, ["say", "fail", "hang"], False, False

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        if not self.there:
            raise ToolSourceError(f"{self.name} is not there")
        self.closed = False
        try:
            yield self
        finally:
            self.closed = True

    async def listing(self) -> Listing:
        self.news = False
        return Listing(tuple(self.tool(name) for name in self.names))

    def changed(self) -> bool:
        return self.news

    def tool(self, name: str) -> Tool:
        async def invoke(arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
            return await self.called(name, arguments)

        return Tool(ToolSpec(name, "", {"type": "object"}), SafetyTier.DANGEROUS, invoke, origin=self.origin)

    async def called(self, name: str, arguments: Mapping[str, Any]) -> str:
        if self.closed or name == "fail":
            raise ToolError("no such thing")
        if name == "hang":
            await asyncio.Event().wait()
        return str(arguments["text"])


class _Sources(ToolSourceHarness):
    answers: ClassVar[tuple[str, Mapping[str, Any], str]] = ("say", {"text": "hello"}, "hello")
    fails: ClassVar[Call | None] = ("fail", {})
    hangs: ClassVar[Call | None] = ("hang", {})
    changes: ClassVar[bool] = True
    kind: ClassVar[type[_Source]] = _Source

    @asynccontextmanager
    async def source(self) -> AsyncIterator[ToolSource]:
        yield self.kind()

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[ToolSource]:
        yield self.kind(there=False)

    async def change(self, source: Any) -> None:
        source.names.append("more")
        source.news = True


class ListsTwice(_Sources):
    """Two tools of one name."""

    class Source(_Source):
        async def listing(self) -> Listing:
            found = await super().listing()
            return Listing((*found.tools, found.tools[0]))

    kind = Source


class HidesItsOrigin(_Sources):
    class Source(_Source):
        def tool(self, name: str) -> Tool:
            return replace(super().tool(name), origin="")

    kind = Source


class NoticesNothing(_Sources):
    class Source(_Source):
        def changed(self) -> bool:
            return False

    kind = Source


class AlwaysChanges(_Sources):
    class Source(_Source):
        def changed(self) -> bool:
            return True

    kind = Source


class AnswersWhenClosed(_Sources):
    class Source(_Source):
        @asynccontextmanager
        async def opened(self) -> AsyncIterator[Any]:
            async with super().opened():
                yield self
            self.closed = False

    kind = Source


class CallsFailuresResults(_Sources):
    class Source(_Source):
        async def called(self, name: str, arguments: Mapping[str, Any]) -> str:
            return "Error: no such thing" if name == "fail" else await super().called(name, arguments)

    kind = Source


class SwallowsCancelling(_Sources):
    class Source(_Source):
        async def called(self, name: str, arguments: Mapping[str, Any]) -> str:
            with suppress(asyncio.CancelledError):
                return await super().called(name, arguments)
            return "never mind"

    kind = Source


class LeavesATask(_Sources):
    class Source(_Source):
        @asynccontextmanager
        async def opened(self) -> AsyncIterator[Any]:
            self.task = asyncio.create_task(asyncio.sleep(15))
            async with super().opened():
                yield self

    kind = Source


class FailsWithoutAName(_Sources):
    class Source(_Source):
        @asynccontextmanager
        async def opened(self) -> AsyncIterator[Any]:
            if not self.there:
                raise ToolSourceError("cannot be opened")
            async with super().opened():
                yield self

    kind = Source


BROKEN_SOURCES: Final[Mapping[type[Any], frozenset[str]]] = {
    ListsTwice: frozenset({"its_tools_have_names_of_their_own_and_say_where_they_are_from"}),
    HidesItsOrigin: frozenset({"its_tools_have_names_of_their_own_and_say_where_they_are_from"}),
    NoticesNothing: frozenset({"a_change_is_noticed_and_listed"}),
    AlwaysChanges: frozenset({"a_change_is_noticed_and_listed", "nothing_has_changed_after_a_listing"}),
    AnswersWhenClosed: frozenset({"what_is_called_after_it_was_closed_fails"}),
    CallsFailuresResults: frozenset({"a_tool_that_fails_says_so_and_leaves_the_others"}),
    SwallowsCancelling: frozenset({"a_call_that_is_cancelled_ends_and_leaves_the_others"}),
    LeavesATask: frozenset(
        {
            "a_failure_inside_passes_through_and_leaves_nothing",
            "cancelling_passes_through_and_leaves_nothing",
            "it_may_be_closed_in_another_task",
            "what_cannot_be_opened_says_so_by_name_and_leaves_nothing",
        }
    ),
    FailsWithoutAName: frozenset({"what_cannot_be_opened_says_so_by_name_and_leaves_nothing"}),
}
