"""The result store in memory: nothing is left when the process has ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

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

MAX_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class _Kept:
    text: str
    origin: Origin
    expires_at: float | None


class MemoryResults:
    """Keeps at most `max_bytes` of texts, as they lie in memory: a text that somebody else still holds takes no more room."""

    def __init__(self, *, max_bytes: int = MAX_BYTES, now: Callable[[], float] = time.time) -> None:
        self._max_bytes, self._now = max_bytes, now
        self._kept: dict[str, _Kept] = {}

    @property
    def ref_ids(self) -> frozenset[str]:
        """Of everything that is kept."""
        return frozenset(self._kept)

    async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
        if checked_ref(ref_id) in self._kept:
            raise ResultStoreError(f"{ref_id} is kept already")
        free = self._max_bytes - sum(sys.getsizeof(kept.text) for kept in self._kept.values())
        if sys.getsizeof(text) > free:
            raise StoreFull(sys.getsizeof(text), free, "the result store in memory")
        self._kept[ref_id] = _Kept(text, origin, expires_at)

    async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Piece:
        checked_span(offset, limit)
        text = self._found(ref_id).text
        return Piece(text[offset : None if limit is None else offset + limit], min(offset, len(text)), len(text))

    async def expire(self, ref_id: str, expires_at: float | None) -> None:
        self._kept[ref_id] = replace(self._found(ref_id), expires_at=expires_at)

    async def delete(self, ref_ids: Collection[str]) -> None:
        for ref_id in [checked_ref(ref_id) for ref_id in ref_ids]:
            self._kept.pop(ref_id, None)

    async def sweep(self) -> int:
        over = [ref_id for ref_id, kept in self._kept.items() if self._is_over(kept)]
        await self.delete(over)
        return len(over)

    def _found(self, ref_id: str) -> _Kept:
        kept = self._kept.get(checked_ref(ref_id))
        if kept is None:
            raise UnknownResult(ref_id)
        if self._is_over(kept):
            raise ExpiredResult(ref_id)
        return kept

    def _is_over(self, kept: _Kept) -> bool:
        return kept.expires_at is not None and kept.expires_at <= self._now()
