"""The tools of a runtime: its own, and those of its sources, which are opened once and looked at again when they change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from geode.application.catalog import Catalog
from geode.application.foreign import Noted, explained, text_of, warn
from geode.domain.tool_names import OwnName, visible_names
from geode.ports.clock import Clock
from geode.ports.schema import SchemaValidator
from geode.ports.tool_sources import Listing, OpenSource, ToolSource, ToolSourceError
from geode.ports.tools import Tool

# How long a source that failed is left alone, in seconds: it may take its whole deadline each time.
AGAIN_SECONDS: Final = 60.0
# How long one may take to close before it is left behind.
CLOSE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Offer:
    """All tools of a runtime at one time.

    `owns` says of each tool of a source what that calls it; `told` is what operators should know.
    """

    catalog: Catalog
    owns: Mapping[str, OwnName] = field(default_factory=dict[str, OwnName])
    told: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class _Kept:
    """A source as it is now. `failed` says why it has no tools, or not those of today; `not_before` bounds trying again."""

    source: ToolSource
    open: OpenSource | None = None
    listing: Listing = Listing(())
    failed: str = ""
    not_before: float = 0.0


class SharedTools:
    """`reserved` are names that geode's own tools have in some sessions. It belongs to one event loop while it is open."""

    def __init__(
        self,
        own: Sequence[Tool],
        sources: Sequence[ToolSource],
        validator: SchemaValidator,
        clock: Clock,
        *,
        prefixed: Collection[str] = (),
        reserved: Collection[str] = (),
    ) -> None:
        self._own, self._validator, self._clock = tuple(own), validator, clock
        self._taken = frozenset((*reserved, *(tool.spec.name for tool in own)))
        self._prefixed = frozenset(prefixed)
        self._sources = tuple(sources)
        self._kept: list[_Kept] = []
        self._stack = AsyncExitStack()
        # What is being opened when this is closed belongs to nobody: it counts the closings.
        self._closings = 0
        self._looking: asyncio.Task[None] | None = None
        self._reopening: asyncio.Task[None] | None = None
        self.offer = Offer(Catalog.of(own, validator))

    @property
    def has_sources(self) -> bool:
        """Whether there may be tools that nobody knows before it is opened."""
        return bool(self._sources)

    async def open(self) -> bool:
        """Open all sources, side by side; False where that has been done. ToolSourceError for a required one that fails."""
        if self._kept or not self._sources:
            return False
        kept, closings = [_Kept(source) for source in self._sources], self._closings
        async with AsyncExitStack() as opening:
            await asyncio.gather(*(self._begin(one, opening) for one in kept))
            wanted = [one.failed for one in kept if one.failed and one.source.required]
            if wanted:
                raise ToolSourceError("; ".join(wanted))
            if closings != self._closings:
                raise ToolSourceError("the sources of tools were closed while they were being opened")
            self._kept, self._stack = kept, opening.pop_all()
        self._remake()
        for text in self.offer.told:
            warn(text)
        return True

    async def close(self) -> None:
        """Close all sources; `open` opens them again."""
        at_work = [task for task in (self._looking, self._reopening) if task is not None]
        for task in at_work:
            task.cancel()
        stack, self._stack, self._closings = self._stack, AsyncExitStack(), self._closings + 1
        self._kept, self._looking, self._reopening = [], None, None
        self.offer = Offer(Catalog.of(self._own, self._validator))
        async with stack:
            if at_work:
                await asyncio.wait(at_work, timeout=CLOSE_SECONDS)

    async def refreshed(self, seconds: float) -> Offer:
        """What there is now, looked at again where a source says that it changed. What fails keeps what it had.

        So does what takes longer than `seconds`; the look itself goes on, and the next one who asks has what it found.
        A source that could not be opened is tried again beside the runs, which do not wait for it.
        """
        if self._reopening is None and any(one.open is None and self._rested(one) for one in self._kept):
            self._reopening = asyncio.create_task(self._reopen())
        if self._looking is None and any(self._changed(one) for one in self._kept):
            self._looking = asyncio.create_task(self._look())
        if self._looking is not None:
            # Several runs wait for one look, and one that is cancelled does not take it from the others.
            await asyncio.wait({self._looking}, timeout=seconds)
        return self.offer

    def _rested(self, kept: _Kept) -> bool:
        return self._clock.now() >= kept.not_before

    def _changed(self, kept: _Kept) -> bool:
        try:
            return kept.open is not None and self._rested(kept) and bool(kept.open.changed())
        except (Exception, SystemExit) as error:
            self._failed(kept, f"{kept.source.name} broke when it was asked for changes: {explained(error)}")
            return False

    async def _look(self) -> None:
        closings = self._closings
        try:
            await asyncio.gather(*(self._list(one) for one in self._kept if self._changed(one)))
            if closings == self._closings:
                self._remake()
        finally:
            if closings == self._closings:
                self._looking = None

    async def _reopen(self) -> None:
        closings = self._closings
        lost = [one for one in self._kept if one.open is None and self._rested(one)]
        try:
            async with AsyncExitStack() as opening:
                await asyncio.gather(*(self._begin(one, opening) for one in lost))
                if closings == self._closings:
                    self._stack.push_async_callback(opening.pop_all().aclose)
                    self._remake()
        finally:
            if closings == self._closings:
                self._reopening = None

    async def _begin(self, kept: _Kept, stack: AsyncExitStack) -> None:
        """Opened and listed, or `failed`: what a source raises is its own affair."""
        with self._contained(kept, "cannot be opened"):
            opening = kept.source.opened()
            kept.open = await opening.__aenter__()
            stack.push_async_callback(_left, kept.source, opening)
        await self._list(kept)

    async def _list(self, kept: _Kept) -> None:
        if kept.open is None:
            return
        with self._contained(kept, "cannot list its tools"):
            kept.listing = _checked(await kept.open.listing())
            kept.failed = ""

    @contextmanager
    def _contained(self, kept: _Kept, what: str) -> Iterator[None]:
        """Also a cancellation that nobody asked for: what a source runs on may cancel whoever waits for it."""
        task = asyncio.current_task()
        asked = 0 if task is None else task.cancelling()
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > asked):
                raise
            told = isinstance(error, ToolSourceError)
            self._failed(kept, text_of(error) if told else f"{kept.source.name} {what}: {explained(error)}")

    def _failed(self, kept: _Kept, why: str) -> None:
        kept.failed, kept.not_before = why, self._clock.now() + AGAIN_SECONDS

    def _remake(self) -> None:
        own_names = [OwnName(kept.source.name, tool.spec.name) for kept in self._kept for tool in kept.listing.tools]
        names = visible_names(self._taken, own_names, self._prefixed, [source.name for source in self._sources])
        tools, told = list(self._own), list[str]()
        owns: dict[str, OwnName] = {}
        for kept in self._kept:
            told += [*filter(None, (kept.failed,)), *kept.listing.left_out]
            for tool in kept.listing.tools:
                own = OwnName(kept.source.name, tool.spec.name)
                if own not in names:
                    told.append(f"{own.source}: the tool {own.tool!r:.80} has no name that is its own, and is left out")
                    continue
                if own.tool in self._taken:
                    told.append(f"{own.source}: its tool {own.tool} is called {names[own]}; this session has one of that name")
                tools.append(_named(tool, names[own], kept.source))
                owns[names[own]] = own
        self.offer = Offer(Catalog.of(tools, self._validator), owns, tuple(told))


def _named(tool: Tool, name: str, source: ToolSource) -> Tool:
    spec = tool.spec if tool.spec.name == name else replace(tool.spec, name=name)
    return replace(tool, spec=spec, origin=tool.origin or source.origin, place=tool.place or source.name)


async def _left(source: ToolSource, opening: AbstractAsyncContextManager[OpenSource]) -> None:
    with Noted(f"{source.name} failed when it was closed"):
        async with asyncio.timeout(CLOSE_SECONDS):
            await opening.__aexit__(None, None, None)


def _checked(listing: object) -> Listing:
    """What a source gave, as long as it is a listing of tools with names of their own."""
    if not isinstance(listing, Listing) or not all(isinstance(tool, Tool) for tool in listing.tools):
        raise ToolSourceError(f"its listing is of type {type(listing).__name__}, not a Listing of Tools")
    names = [tool.spec.name for tool in listing.tools]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ToolSourceError(f"its listing has two tools called {twice!r:.80}")
    return listing
