"""The result store over a bucket (S3, GCS, Azure and what speaks like them) by obstore: the extra `objects`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from geode.adapters.text_blocks import Record, Writing, read_record
from geode.domain.errors import Misuse
from geode.domain.offload import is_ref
from geode.ports.results import (
    ExpiredResult,
    Origin,
    Piece,
    ResultStoreError,
    StoreFull,
    UnknownResult,
    checked_ref,
    checked_span,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore

Value = TypeVar("Value")

MAX_BYTES: Final = 16 << 30
LEFT_BEHIND_SECONDS: Final = 3600.0
_AT_ONCE: Final = 16
# Parts of a long text that are on their way at once, 5 MB each.
_UPLOADS: Final = 2
_NEVER: Final = ("", None)


class ObjectResults:
    """Keeps texts under `prefix` in a bucket, at most `max_bytes` together; other processes may use it too.

    `store` is one of obstore's, with the credentials and timeouts that it was made with, or an address such as
    `s3://bucket/folder`. `now` gives epoch seconds. Misuse where obstore is not installed.
    """

    def __init__(
        self,
        store: ObjectStore | str,
        *,
        prefix: str = "geode-results/",
        max_bytes: int = MAX_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        try:
            import obstore.store
        except ImportError:
            raise Misuse("missing-extra", "ObjectResults needs obstore: pip install 'geode[objects]'") from None
        self._obstore: Any = obstore
        self._store: Any = obstore.store.from_url(store) if isinstance(store, str) else store
        self._prefix, self._max_bytes, self._now = prefix, max_bytes, now
        # The tags of records that were read, and when they expire: a sweep reads only what is new.
        self._seen: dict[str, tuple[str | None, float | None]] = {}

    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
        checked_ref(ref_id)
        record = await asyncio.to_thread(_record_of, text, origin, expires_at)
        listed = await self._listed_now()
        if self._record(ref_id) in listed:
            raise ResultStoreError(f"{ref_id} is kept already")
        dumped = record.dump()
        size = record.size + len(dumped)
        self._check_room(size, listed)
        with self._told():
            await self._obstore.put_async(self._store, self._text(ref_id), _blocks(text), max_concurrency=_UPLOADS)
        try:
            # Others have written meanwhile.
            others = {path: found for path, found in (await self._listed_now()).items() if path != self._text(ref_id)}
            self._check_room(size, others)
        except StoreFull:
            await self._remove([self._text(ref_id)])
            raise
        with self._told():
            # The record comes last: without it there is nothing.
            await self._obstore.put_async(self._store, self._record(ref_id), dumped, mode="create")

    def _check_room(self, size: int, listed: Mapping[str, Any]) -> None:
        """StoreFull where so many bytes more do not go beside what is listed."""
        free = self._max_bytes - sum(found["size"] for found in listed.values())
        if size > free:
            raise StoreFull(size, free, f"the result store {self._prefix}")

    async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Piece:
        checked_ref(ref_id)
        checked_span(offset, limit)
        span = (await self._read_record(ref_id)).span(offset, limit)
        place, data = self._text(ref_id), b""
        if span.end > span.start:
            with self._told():
                try:
                    data = await self._obstore.get_range_async(self._store, place, start=span.start, end=span.end)
                except FileNotFoundError:
                    raise ResultStoreError(f"{place} is gone, and its record is there") from None
        return span.piece(bytes(data), place)

    async def expire(self, ref_id: str, expires_at: float | None) -> None:
        checked_ref(ref_id)
        record = replace(await self._read_record(ref_id), expires_at=expires_at)
        with self._told():
            await self._obstore.put_async(self._store, self._record(ref_id), record.dump())

    async def delete(self, ref_ids: Collection[str]) -> None:
        refs = [checked_ref(ref_id) for ref_id in ref_ids]
        await self._remove([self._record(ref) for ref in refs])
        await self._remove([self._text(ref) for ref in refs])

    async def sweep(self) -> int:
        listed = await self._listed_now()
        records = [path for path in listed if path.endswith(".json")]
        self._seen = {path: self._seen[path] for path in records if self._seen.get(path, _NEVER)[0] == listed[path]["e_tag"]}
        new = [path for path in records if path not in self._seen]
        for path, at in zip(new, await self._gathered(self._ends_at, new, listed), strict=True):
            self._seen[path] = (listed[path]["e_tag"], at)
        over = {path for path, (_, at) in self._seen.items() if at is not None and at <= self._now()}
        alone = {path for path in listed if path.endswith(".text") and _sibling(path) not in listed}
        left = {path for path in alone if _written_at(listed[path]) + LEFT_BEHIND_SECONDS <= self._now()}
        await self._remove([*over, *left])
        await self._remove([_sibling(path) for path in over])
        return len(over) + len(left)

    async def _ends_at(self, path: str, listed: Mapping[str, Any]) -> float | None:
        """When the record says that its text expires; soon, where it is none."""
        try:
            with self._told():
                return read_record(await self._bytes_of(path), path).expires_at
        except ResultStoreError:
            return _written_at(listed[path]) + LEFT_BEHIND_SECONDS

    # ---- one record ----------------------------------------------------------------------------

    async def _read_record(self, ref_id: str) -> Record:
        place = self._record(ref_id)
        with self._told():
            try:
                data = await self._bytes_of(place)
            except FileNotFoundError:
                raise UnknownResult(ref_id) from None
        record = read_record(data, place)
        if record.is_over(self._now()):
            raise ExpiredResult(ref_id)
        return record

    async def _bytes_of(self, path: str) -> bytes:
        return bytes(await (await self._obstore.get_async(self._store, path)).bytes_async())

    def _text(self, ref_id: str) -> str:
        return f"{self._prefix}{ref_id}.text"

    def _record(self, ref_id: str) -> str:
        return f"{self._prefix}{ref_id}.json"

    # ---- the bucket ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What the bucket refuses is an error of the store that names it."""
        try:
            yield
        except (self._obstore.exceptions.BaseError, OSError) as error:
            said = " ".join(str(error).split())
            raise ResultStoreError(f"the result store {self._prefix} in {self._store}: {said:.500}") from error

    async def _listed_now(self) -> dict[str, Any]:
        """What lies under the prefix and is geode's, by path."""
        found: dict[str, Any] = {}
        with self._told():
            async for batch in self._obstore.list(self._store, self._prefix):
                found.update((one["path"], one) for one in batch if _is_ours(one["path"].removeprefix(self._prefix)))
        return found

    async def _remove(self, paths: Collection[str]) -> None:
        async def remove(path: str, _: object) -> None:
            with contextlib.suppress(FileNotFoundError):
                await self._obstore.delete_async(self._store, path)

        with self._told():
            await self._gathered(remove, paths, {})

    async def _gathered(
        self, work: Callable[[str, Mapping[str, Any]], Awaitable[Value]], paths: Collection[str], listed: Mapping[str, Any]
    ) -> list[Value]:
        """`work` for each path, not too many at once."""
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(path: str) -> Value:
            async with places:
                return await work(path, listed)

        return list(await asyncio.gather(*map(one, paths)))


def _record_of(text: str, origin: Origin, expires_at: float | None) -> Record:
    writing = Writing(text)
    for _ in writing.blocks():
        pass
    return writing.record(origin, expires_at)


async def _blocks(text: str) -> AsyncIterator[bytes]:
    for block in Writing(text).blocks():
        yield block


def _is_ours(name: str) -> bool:
    stem, _, suffix = name.rpartition(".")
    return is_ref(stem) and suffix in ("text", "json")


def _sibling(path: str) -> str:
    """The record of a text, or the text of a record."""
    stem, _, suffix = path.rpartition(".")
    return f"{stem}.{'json' if suffix == 'text' else 'text'}"


def _written_at(found: Mapping[str, Any]) -> float:
    return float(found["last_modified"].timestamp())
