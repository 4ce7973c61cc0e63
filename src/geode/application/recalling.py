"""The tool by which the model reads parts of results that were too long to show, and searches them.

It is in the tool list from the start, so that the list, and with it the prefix, stays as it is within a run.
What it gives is bounded by the limits of its own results, and is never stored again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from geode.application.shelf import Shelf
from geode.domain.offload import RECALL
from geode.domain.tiers import SafetyTier
from geode.domain.tokens import CountTokens, longest_head
from geode.domain.tools import ToolSpec
from geode.ports.patterns import CompilePattern, Pattern, PatternTimeout
from geode.ports.results import Piece
from geode.ports.tools import Tool, ToolContext, ToolError

READ_CHARACTERS: Final = 4_000
SHOWN_MATCHES: Final = 10
SEARCH_SECONDS: Final = 10.0
PATTERN_CHARACTERS: Final = 1_000
# How much is searched at a time; a match that is longer than the second may be missed.
WINDOW: Final = 1 << 20
LONGEST_MATCH: Final = 1 << 14
_AROUND: Final = 100
# A number as long as any that is told.
_HUGE: Final = 10**12

SPEC: Final = ToolSpec(
    RECALL,
    "Read or search a result that was too long to show. A result that says it is kept as a ref_id can be read in parts "
    "with offset and limit. With pattern it is searched instead: you get where each match is, with the text around it; "
    "read on from there with offset. All places are counted in characters, from 0.",
    {
        "type": "object",
        "properties": {
            "ref_id": {"type": "string", "description": "As the long result told it: r_ and 26 letters."},
            "offset": {"type": "integer", "minimum": 0, "description": "The character to begin at; 0 by default."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "description": f"How many characters to read ({READ_CHARACTERS} by default), or, with pattern, how many "
                f"matches to show ({SHOWN_MATCHES} by default). You may get fewer, and are told where to go on.",
            },
            "pattern": {
                "type": "string",
                "description": "A regular expression to search for; ^ and $ are the ends of a line, (?i) ignores case.",
            },
        },
        "required": ["ref_id"],
        "additionalProperties": False,
    },
)


def recall_tool(shelf: Shelf, compiled: CompilePattern, tokens: int, count: CountTokens) -> Tool:
    """The tool for one session. What it gives has at most `tokens`."""
    return Tool(SPEC, SafetyTier.SAFE, _Recall(shelf, compiled, tokens, count), place="geode")


@dataclass(frozen=True, slots=True)
class _Recall:
    shelf: Shelf
    compiled: CompilePattern
    tokens: int
    count: CountTokens

    async def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
        ref_id, offset = arguments["ref_id"], int(arguments.get("offset", 0))
        pattern: str | None = arguments.get("pattern")
        if pattern is None:
            return await self._read(ref_id, offset, int(arguments.get("limit", READ_CHARACTERS)))
        return await self._search(ref_id, offset, int(arguments.get("limit", SHOWN_MATCHES)), pattern)

    async def _read(self, ref_id: str, offset: int, limit: int) -> str:
        # No token has no character, but one may have many: what is asked for beyond that is not needed.
        piece = await self.shelf.piece(ref_id, offset, min(limit, self.tokens * 8))
        _check_within(offset, piece)
        room = self.tokens - self.count(_heading(_HUGE, _HUGE, _HUGE + 1))
        text = longest_head(piece.text, room, self.count)
        return _heading(offset, offset + len(text), piece.characters) + text

    # ---- search --------------------------------------------------------------------------------

    async def _search(self, ref_id: str, offset: int, limit: int, written: str) -> str:
        if len(written) > PATTERN_CHARACTERS:
            raise ToolError(f"the pattern is too long: at most {PATTERN_CHARACTERS} characters", recoverable=False)
        first = await self.shelf.piece(ref_id, offset, 0)
        _check_within(offset, first)
        try:
            pattern = await asyncio.to_thread(self.compiled, written)
        except ValueError as error:
            raise ToolError(f"the pattern is no regular expression that can be searched with: {error}") from None
        found = _Found(first.characters, offset, self.tokens - self.count(_told(_HUGE, _HUGE, _HUGE + 1)), self.count)
        deadline = time.monotonic() + SEARCH_SECONDS
        late = await self._look_through(ref_id, _Search(pattern, limit, deadline), found)
        if late and not found.shown and found.searched == offset:
            raise ToolError(f"the search took longer than {SEARCH_SECONDS:g} s: use a simpler pattern")
        return found.text()

    async def _look_through(self, ref_id: str, search: _Search, found: _Found) -> bool:
        """Window by window, until there are matches enough or the end is reached; whether the time was up before."""
        while found.searched < found.characters and len(found.shown) < search.limit:
            at = found.searched
            before, end = max(at - _AROUND, 0), min(at + WINDOW, found.characters)
            window = await self.shelf.piece(ref_id, before, end - before + LONGEST_MATCH)
            most = search.limit - len(found.shown)
            spans, late = await asyncio.to_thread(search.spans, window.text, at - before, end - before, most)
            for start, stop in spans:
                if not found.took(before + start, before + stop, _shown(window.text, start, stop)):
                    return False
            if late:
                return True
            if len(spans) < most:
                found.searched = max(found.searched, end)
        return False


@dataclass(frozen=True, slots=True)
class _Search:
    pattern: Pattern
    limit: int
    deadline: float

    def spans(self, text: str, start: int, end: int, most: int) -> tuple[list[tuple[int, int]], bool]:
        """Where the first matches that begin before `end` are, and whether the time was up before all were found."""
        spans: list[tuple[int, int]] = []
        try:
            for span in self.pattern.find(text, seconds=max(self.deadline - time.monotonic(), 0.0), start=start):
                if span[0] >= end:
                    break
                spans.append(span)
                if len(spans) == most:
                    break
        except PatternTimeout:
            return spans, True
        return spans, False


def _shown(text: str, start: int, stop: int) -> str:
    """The match and what stands around it, a long match cut in its middle."""
    match = (
        text[start:stop] if stop - start <= 2 * _AROUND else f"{text[start : start + _AROUND]}…{text[stop - _AROUND : stop]}"
    )
    return f"{text[max(start - _AROUND, 0) : start]}{match}{text[stop : stop + _AROUND]}"


@dataclass(slots=True)
class _Found:
    """The matches so far, as far as there is room for them; `searched` is how far the search is."""

    characters: int
    searched: int
    room: int
    count: CountTokens
    shown: list[str] = field(default_factory=list[str])

    def took(self, start: int, stop: int, text: str) -> bool:
        """Whether there was room for one more; the first is cut to what there is."""
        line = f"\n--- at {start}\n{text}"
        cost = self.count(line)
        if cost > self.room and self.shown:
            return False
        self.shown.append(longest_head(line, self.room, self.count))
        self.room -= cost
        self.searched = max(stop, start + 1)
        return True

    def text(self) -> str:
        return _told(len(self.shown), self.searched, self.characters) + "".join(self.shown)


def _told(matches: int, end: int, characters: int) -> str:
    number = {0: "No match", 1: "1 match"}.get(matches, f"{matches} matches")
    rest = "" if end >= characters else f" There may be more: search on with offset {end}."
    return f"{number} up to character {end} of {characters}.{rest}"


def _heading(offset: int, end: int, characters: int) -> str:
    rest = "the end" if end >= characters else f"go on with offset {end}"
    return f"Characters {offset} to {end} of {characters}, {rest}:\n"


def _check_within(offset: int, piece: Piece) -> None:
    if offset >= piece.characters and offset > 0:
        raise ToolError(f"offset {offset} is beyond the end: the result has {piece.characters} characters", recoverable=False)
