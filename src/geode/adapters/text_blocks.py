"""Long texts as bytes of which any characters can be read alone: UTF-8 in blocks of equally many characters.

What is kept beside the text, its record, tells where each block begins. It is plain JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final, cast

from geode.domain.json_value import dump_bytes
from geode.ports.results import Origin, Piece, ResultStoreError

FORMAT: Final = 1
BLOCK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a stored text. `size` is in bytes, and so are `starts`, where blocks begin; ASCII needs none."""

    characters: int
    size: int
    starts: tuple[int, ...]
    origin: Origin
    expires_at: float | None

    def dump(self) -> bytes:
        return dump_bytes({"geode_result": FORMAT, **asdict(self)})

    def is_over(self, now: float) -> bool:
        """Whether its time is up."""
        return self.expires_at is not None and self.expires_at <= now

    def span(self, offset: int, limit: int | None) -> Span:
        """Which bytes hold these characters."""
        offset = min(offset, self.characters)
        end = self.characters if limit is None else min(offset + limit, self.characters)
        if offset == end:
            return Span(0, 0, 0, 0, offset, self.characters)
        if not self.starts:
            return Span(offset, end, 0, end - offset, offset, self.characters)
        first, last = offset // BLOCK, (end - 1) // BLOCK
        until = self.starts[last + 1] if last + 1 < len(self.starts) else self.size
        return Span(self.starts[first], until, offset - first * BLOCK, end - offset, offset, self.characters)


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes to read, and which characters of them are wanted."""

    start: int
    end: int
    skip: int
    length: int
    offset: int
    characters: int

    def piece(self, data: bytes | bytearray, place: str) -> Piece:
        """The characters in `data`, which are the bytes; ResultStoreError names the `place` where they are others."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = ""
        if len(data) != self.end - self.start or len(text) < self.skip + self.length:
            raise ResultStoreError(f"{place} is damaged: it does not hold what was stored there")
        whole = self.skip == 0 and len(text) == self.length
        return Piece(text if whole else text[self.skip : self.skip + self.length], self.offset, self.characters)


class Writing:
    """A text on its way into a store: its bytes, block by block, and then its record."""

    def __init__(self, text: str) -> None:
        self._text, self._ascii = text, text.isascii()
        self._starts: list[int] = []
        self.bytes = 0

    def blocks(self) -> Iterator[bytes]:
        for start in range(0, len(self._text), BLOCK):
            data = self._text[start : start + BLOCK].encode()
            if not self._ascii:
                self._starts.append(self.bytes)
            self.bytes += len(data)
            yield data

    def record(self, origin: Origin, expires_at: float | None) -> Record:
        """When all blocks were taken."""
        return Record(len(self._text), self.bytes, tuple(self._starts), origin, expires_at)


def read_record(data: bytes, place: str) -> Record:
    """What `Record.dump` wrote. ResultStoreError names the `place` where it is something else."""
    try:
        found = cast("dict[str, Any]", json.loads(data))
        written_as = found.pop("geode_result")
        record = Record(**{**found, "origin": Origin(**found["origin"]), "starts": tuple(found["starts"])})
        _check(written_as, record)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ResultStoreError(f"{place} is damaged, or written by another geode: {error}") from None
    return record


def _check(written_as: object, record: Record) -> None:
    if written_as != FORMAT:
        raise ValueError(f"its format is {written_as!r:.20}")
    numbers = (record.characters, record.size, *record.starts)
    if not all(type(number) is int and 0 <= number <= record.size for number in numbers):
        raise ValueError("its sizes are none")
    if record.starts:
        blocks = -(-record.characters // BLOCK)
        in_order = all(one < other for one, other in pairwise(record.starts))
        if record.starts[0] != 0 or len(record.starts) != blocks or not in_order:
            raise ValueError("its blocks are none")
    elif record.characters != record.size:
        raise ValueError("it is not ASCII and has no blocks")
    if type(record.expires_at) not in (int, float, type(None)):
        raise ValueError("its time is none")
