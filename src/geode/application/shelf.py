"""What one session keeps in the result store. Through it nothing else in the store can be read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Final

from geode.application.foreign import Noted, kind_of, warn
from geode.domain.errors import Misuse
from geode.domain.naming import shown_name
from geode.domain.offload import REF_BYTES, is_ref, new_ref
from geode.ports.clock import Clock
from geode.ports.results import ExpiredResult, Origin, Piece, ResultStore, StoreFull, UnknownResult
from geode.ports.tools import ToolError

# How long a store may take to do one thing, before it counts as one that failed.
STORE_SECONDS: Final = 60.0


class Shelf:
    """Made in the event loop that its session runs in. `chance` gives random bytes; entries live for `seconds`."""

    def __init__(self, store: ResultStore, clock: Clock, chance: Callable[[int], bytes], seconds: float) -> None:
        self._store, self._clock, self._chance, self._seconds = store, clock, chance, seconds
        self._home, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._refs: set[str] = set()
        self._swept_at: float | None = None
        # What suspended runs name, by their ids.
        self._held: dict[str, frozenset[str]] = {}

    def new_ref(self) -> str:
        """An id that nobody can guess."""
        return new_ref(self._chance(REF_BYTES))

    async def keep(self, ref_id: str, text: str, origin: Origin) -> None:
        """Store a text. Raises whatever the store raises; TimeoutError where it does not answer."""
        async with _in_time():
            # A session may live much longer than what it stores.
            if self._swept_at is None or self._clock.now() >= self._swept_at + self._seconds:
                await self._sweep()
            # Before it is there: what is cut short is deleted with the others.
            self._refs.add(ref_id)
            try:
                await self._put(ref_id, text, origin)
            except StoreFull:
                await self._sweep()
                await self._put(ref_id, text, origin)

    async def _put(self, ref_id: str, text: str, origin: Origin) -> None:
        await self._store.put(ref_id, text, origin, self._clock.now() + self._seconds)

    async def _sweep(self) -> None:
        self._swept_at = self._clock.now()
        with Noted("the result store could not be swept"):
            await self._store.sweep()

    # ---- reading -------------------------------------------------------------------------------

    async def piece(self, ref_id: str, offset: int, limit: int | None) -> Piece:
        """A part of a stored text. ToolError, in words for the model, where there is none to be had."""
        if not is_ref(ref_id):
            raise _refused(f"{shown_name(ref_id)} is no ref_id: use one that a result of this conversation has told, as it is")
        if ref_id not in self._refs:
            raise _refused(f"no result is kept here as {ref_id}: call the tool again that gave it")
        try:
            async with _in_time():
                return _piece(await self._store.read(ref_id, offset, limit))
        except UnknownResult:
            raise _refused(f"the result {ref_id} is not kept any more: call the tool again that gave it") from None
        except ExpiredResult:
            raise _refused(f"the result {ref_id} has expired: call the tool again that gave it") from None
        except (Exception, SystemExit) as error:
            warn(f"the result store failed to give {ref_id}", error)
            raise ToolError(f"the result {ref_id} could not be read: the store failed") from error

    async def text(self, ref_id: str) -> str:
        """See geode.ports.StoredResults."""
        return (await self.piece(ref_id, 0, None)).text

    def text_now(self, ref_id: str) -> str:
        """See geode.ports.StoredResults."""
        if threading.get_ident() == self._thread:
            raise Misuse("text-now", "text_now(…) would block the event loop: await ctx.results.text(…)")
        return asyncio.run_coroutine_threadsafe(self.text(ref_id), self._home).result()

    # ---- suspended runs, and the end -----------------------------------------------------------

    async def hold(self, run_id: str, ref_ids: frozenset[str]) -> None:
        """A suspended run names these: they live until it has ended, in whichever session.

        What is gone already is gone; one that fails keeps no other from living. Raises the first that the store raises.
        """
        self._held[run_id] = ref_ids & self._refs
        async with _in_time():
            kept = (self._store.expire(ref_id, None) for ref_id in self._held[run_id])
            found = await asyncio.gather(*kept, return_exceptions=True)
        for error in found:
            if error is not None and not isinstance(error, UnknownResult | ExpiredResult):
                raise error

    def take_over(self, run_id: str, ref_ids: Collection[str]) -> None:
        """A run that names these goes on in this session."""
        self._refs.update(ref_ids)
        self._held.pop(run_id, None)

    def take_all(self, other: Shelf) -> None:
        """The conversation of another session goes on in this one, over the same store: what it kept is kept here."""
        self._refs |= other._refs
        self._held |= other._held
        other._refs, other._held = set(), {}

    async def close(self) -> None:
        """The session is over: nothing of it is kept but what suspended runs name. What fails is logged."""
        gone = self._refs.difference(*self._held.values())
        self._refs = set()
        if gone:
            with Noted("results of a session could not be deleted; they are when they have expired"):
                async with _in_time():
                    await self._store.delete(gone)
                    await self._store.sweep()


@asynccontextmanager
async def _in_time() -> AsyncGenerator[None]:
    """TimeoutError that says so where the store does not answer."""
    deadline = asyncio.timeout(STORE_SECONDS)
    try:
        async with deadline:
            yield
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise TimeoutError(f"it did not answer within {STORE_SECONDS:g} s") from error


def _piece(found: object) -> Piece:
    if not isinstance(found, Piece):
        raise TypeError(f"read gave {kind_of(found)}, not a Piece")
    return found


def _refused(text: str) -> ToolError:
    return ToolError(text, recoverable=False)
