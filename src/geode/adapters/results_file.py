"""The result store over a folder: for each result a file with its text and one with its record, which comes last."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from geode.adapters.private_files import PrivateFolder
from geode.adapters.text_blocks import Record, Span, Writing, read_record
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

Value = TypeVar("Value")

MAX_BYTES: Final = 4 << 30
# After this long, what has no record was left behind by a process that is gone.
LEFT_BEHIND_SECONDS: Final = 3600.0
_OURS: Final = re.compile(r"(?:(r_[a-z2-7]{26})\.(?:text|json)|\.r_[a-z2-7]{26}\.[0-9a-f]{16}\.new)")


class FileResults:
    """Keeps texts in `folder`, at most `max_bytes` together; other processes may use it too.

    The folder is made where it is missing, 0700, and refused where others may write into it; files are 0600.
    No link in it is followed. `now` gives epoch seconds.
    """

    def __init__(self, folder: str | Path, *, max_bytes: int = MAX_BYTES, now: Callable[[], float] = time.time) -> None:
        self.folder = Path(folder)
        self._max_bytes, self._now = max_bytes, now

    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
        checked_ref(ref_id)
        stop = threading.Event()
        writing = asyncio.ensure_future(
            asyncio.to_thread(self._told, lambda: self._put(ref_id, text, origin, expires_at, stop))
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait((writing,))
            if not writing.cancelled() and writing.exception() is None:
                await asyncio.shield(self.delete((ref_id,)))
            raise

    async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Piece:
        checked_ref(ref_id)
        checked_span(offset, limit)
        return await asyncio.to_thread(self._told, lambda: self._read(ref_id, offset, limit))

    async def expire(self, ref_id: str, expires_at: float | None) -> None:
        checked_ref(ref_id)
        await asyncio.to_thread(self._told, lambda: self._expire(ref_id, expires_at))

    async def delete(self, ref_ids: Collection[str]) -> None:
        names = [checked_ref(ref_id) for ref_id in ref_ids]
        await asyncio.to_thread(self._told, lambda: self._delete(names))

    async def sweep(self) -> int:
        return await asyncio.to_thread(self._told, self._sweep)

    def _told(self, work: Callable[[], Value]) -> Value:
        """What the work gives; what the system refuses is an error of the store that names the folder."""
        try:
            return work()
        except OSError as error:
            raise ResultStoreError(f"the result store {self.folder}: {error}") from error

    def _put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None, stop: threading.Event) -> None:
        with PrivateFolder(self.folder) as folder:
            names = dict(folder.entries())
            if _record(ref_id) in names:
                raise ResultStoreError(f"{ref_id} is kept already")
            free = self._free(names)
            new_text, new_record = (f".{ref_id}.{secrets.token_hex(8)}.new" for _ in range(2))
            try:
                record = self._written(folder, new_text, text, free, stop).record(origin, expires_at)
                _write(folder, new_record, record.dump())
                # Others have written meanwhile.
                over = -self._free(dict(folder.entries()))
                if over > 0:
                    raise StoreFull(record.size, record.size - over, f"the result store {self.folder}")
                # Whoever cancelled it in this moment deletes it.
                if not stop.is_set():
                    folder.put_in_place(new_text, _text(ref_id))
                    folder.put_in_place(new_record, _record(ref_id))
            finally:
                folder.remove(new_text)
                folder.remove(new_record)

    def _free(self, names: Mapping[str, os.stat_result]) -> int:
        """How many bytes there is room for, when these are there; what is half written counts too."""
        return self._max_bytes - sum(found.st_size for name, found in names.items() if _OURS.fullmatch(name))

    def _written(self, folder: PrivateFolder, name: str, text: str, free: int, stop: threading.Event) -> Writing:
        writing = Writing(text)
        with os.fdopen(folder.new(name), "wb") as file:
            for block in writing.blocks():
                if writing.bytes > free:
                    raise StoreFull(max(len(text), writing.bytes), free, f"the result store {self.folder}")
                if stop.is_set():
                    break
                file.write(block)
        return writing

    def _read(self, ref_id: str, offset: int, limit: int | None) -> Piece:
        with PrivateFolder(self.folder) as folder:
            record = self._record_of(folder, ref_id)
            span = record.span(offset, limit)
            with contextlib.closing(_Reading(folder, _text(ref_id))) as reading:
                if reading.size != record.size:
                    raise ResultStoreError(f"{self.folder / _text(ref_id)} is damaged: it does not hold what was stored there")
                return span.piece(reading.bytes_of(span), str(self.folder / _text(ref_id)))

    def _record_of(self, folder: PrivateFolder, ref_id: str) -> Record:
        try:
            with os.fdopen(folder.open(_record(ref_id)), "rb") as file:
                record = read_record(file.read(), str(self.folder / _record(ref_id)))
        except FileNotFoundError:
            raise UnknownResult(ref_id) from None
        if record.is_over(self._now()):
            raise ExpiredResult(ref_id)
        return record

    def _expire(self, ref_id: str, expires_at: float | None) -> None:
        with PrivateFolder(self.folder) as folder:
            record = replace(self._record_of(folder, ref_id), expires_at=expires_at)
            new = f".{ref_id}.{secrets.token_hex(8)}.new"
            _write(folder, new, record.dump())
            folder.put_in_place(new, _record(ref_id))

    def _delete(self, ref_ids: Collection[str]) -> None:
        if not self.folder.exists():
            return
        with PrivateFolder(self.folder) as folder:
            for ref_id in ref_ids:
                folder.remove(_record(ref_id))
                folder.remove(_text(ref_id))

    def _sweep(self) -> int:
        """Names that geode does not make are nobody's business here."""
        if not self.folder.exists():
            return 0
        with PrivateFolder(self.folder) as folder:
            ours = {name: found for name, found in folder.entries() if _OURS.fullmatch(name)}
            old = {name for name, found in ours.items() if found.st_mtime + LEFT_BEHIND_SECONDS <= self._now()}
            over = {name for name in ours if name.endswith(".json") and self._is_over(folder, name, old)}
            texts = {name for name in ours if name.endswith(".text")}
            alone = {name for name in texts & old if f"{name.removesuffix('.text')}.json" not in ours}
            gone = over | alone | {name for name in old if name.endswith(".new")}
            for name in gone:
                folder.remove(name)
                if name in over:
                    folder.remove(f"{name.removesuffix('.json')}.text")
            return len(gone)

    def _is_over(self, folder: PrivateFolder, name: str, old: Collection[str]) -> bool:
        try:
            self._record_of(folder, name.removesuffix(".json"))
        except ExpiredResult:
            return True
        except (ResultStoreError, OSError):
            return name in old
        return False


class _Reading:
    """The file of a text, open."""

    def __init__(self, folder: PrivateFolder, name: str) -> None:
        self._file: Any = os.fdopen(folder.open(name), "rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size

    def bytes_of(self, span: Span) -> bytearray:
        self._file.seek(span.start)
        data = bytearray(span.end - span.start)
        view, filled = memoryview(data), 0
        while filled < len(data) and (count := self._file.readinto(view[filled:])):
            filled += count
        return data if filled == len(data) else bytearray()

    def close(self) -> None:
        self._file.close()


def _write(folder: PrivateFolder, name: str, data: bytes) -> None:
    with os.fdopen(folder.new(name), "wb") as file:
        file.write(data)


def _text(ref_id: str) -> str:
    return f"{ref_id}.text"


def _record(ref_id: str) -> str:
    return f"{ref_id}.json"
