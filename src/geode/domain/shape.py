"""What kind of text it is, told from its beginning: JSON with which keys, or lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# What is looked at. A summary tells a few keys, and the rest of the text is searched with a pattern.
_SEEN: Final = 1 << 18
_KEYS: Final = 12
_KEY_LETTERS: Final = 40

# A string, closed or cut off, with the colon after it where it is a key; or a bracket; or the begin of another value.
# It never fails on a string, so that one pass over the text is enough.
_TOKEN: Final = re.compile(r'"((?:[^"\\]++|\\(?:.|\Z))*+)(?:"(\s*+:)?|\Z)|[\[\]{}]|[^\s\[\]{}",:]++', re.DOTALL)
_OPENS: Final = {"{": "}", "[": "]"}


def shape_of(text: str) -> str:
    """In a few words: `JSON object: rows[], total` or `JSON array of {id, tags[]}` or `text, 3 lines`.

    Keys beyond the first 12, and those that come late in the text, are not told.
    """
    start = text[:_SEEN].lstrip()
    if start.startswith("{"):
        keys = _listed(_keys(start, 1))
        return f"JSON object: {keys}" if keys else "JSON object"
    if start.startswith("["):
        inside = start[1:].lstrip()
        return f"JSON array of {{{_listed(_keys(start, 2))}}}" if inside.startswith("{") else "JSON array"
    # Piece by piece: whoever shares the interpreter gets a turn in between.
    breaks = sum(text.count("\n", place, place + _SEEN) for place in range(0, len(text), _SEEN))
    lines = breaks + (not text.endswith("\n"))
    return f"text, {lines} {'line' if lines == 1 else 'lines'}"


def _listed(keys: Iterator[str]) -> str:
    found: dict[str, None] = {}
    for key in keys:
        if len(found) == _KEYS and key not in found:
            return f"{', '.join(found)}, …"
        found[key] = None
    return ", ".join(found)


def _keys(text: str, depth: int) -> Iterator[str]:
    """The keys of the first object that stands `depth` brackets deep, each with the brackets that its value opens with."""
    now, key = 0, None
    for token in _TOKEN.finditer(text):
        found = token[0]
        if key is not None:
            yield key + (found + _OPENS[found] if found in _OPENS else "")
            key = None
        if found in _OPENS:
            now += 1
        elif found in _OPENS.values():
            now -= 1
            if now < depth:
                return
        elif now == depth and token[2] is not None:
            name = token[1]
            key = name if len(name) <= _KEY_LETTERS else name[:_KEY_LETTERS] + "…"
