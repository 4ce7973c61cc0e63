"""What a tool returned, as the content of its result (spec section 5).

`render` turns any value into text and media. `docs/results.md` has the table of values, each of its rows a
test; in short:

| returned | in the result |
|---|---|
| str | the text itself |
| None, and whatever is empty | words that say so |
| Text, Image, Document, their `…Url`, bytes of a picture or a PDF; a list or tuple of these and str | those blocks, in order |
| an iterator | as a list, up to a bound |
| an own type with a renderer | what its renderer makes of it, rendered in turn |
| anything else | compact JSON text, non-ASCII unescaped; if the JSON is one string, its text |

A medium inside of JSON is `{"image": N}` or `{"document": N}`, and follows the text as the N-th of all of
them. Keys that are no strings become the text of their JSON. Lone surrogates are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, cast

from geode.domain.content import Part, Text
from geode.domain.value_walk import (
    Renderer,
    Rendering,
    Unrenderable,
    Walk,
    cut_line,
    gather,
    is_stream,
    shown_text,
    visible_blocks,
)

__all__ = ["PLAIN", "Renderer", "Rendering", "Stream", "Unrenderable", "gather", "is_stream", "render"]

PLAIN: Final = Rendering()


def render(value: object, how: Rendering = PLAIN) -> tuple[Part, ...]:
    """The content of the result of a tool that returned `value`: never empty, no text of it blank.

    Raises Unrenderable, and nothing else, for what has no such form: objects of unknown types, a value
    inside itself or over 100 levels deep, keys that become the same text, media whose bytes are broken.
    """
    if type(value) is str and str not in how.renderers:
        return (shown_text(value),)
    walk = Walk(how)
    try:
        value = walk.standing_in(value)
        return _rendered(walk, value)
    except Unrenderable:
        raise
    except Exception as error:
        # An iterator of the application may raise anything, and so may the class that a value says it has.
        raise walk.raised(value, error) from error


def _rendered(walk: Walk, value: object) -> tuple[Part, ...]:
    if is_stream(value):
        stream = Stream(walk.how)
        gather(cast("Iterator[object]", value), stream.take)
        return stream.content()
    blocks = walk.blocks(value)
    return walk.said(value, walk.data(value)) if blocks is None else blocks


class Stream:
    """The items of an iterator as they come, each rendered at once: what came before a failure stays."""

    def __init__(self, how: Rendering = PLAIN) -> None:
        self._how, self._walk = how, Walk(how)
        self._taken: list[tuple[Any, Part | None]] = []
        self._only_text, self._full = True, False

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, item: object) -> bool:
        """Take the item in; False where there is no room for it. Unrenderable if it cannot be rendered."""
        walk = self._walk
        if len(self) >= self._how.max_items or walk.characters > self._how.max_characters:
            self._full = True
            return False
        walk.path.append(str(len(self)))
        item = walk.standing_in(item)
        block = Text(item) if isinstance(item, str) and not isinstance(item, Enum) else walk.block(item)
        data = walk.data(item)
        walk.path.pop()
        self._only_text = self._only_text and isinstance(item, str)
        self._taken.append((data, block))
        return True

    def content(self) -> tuple[Part, ...]:
        """What was taken so far, as a list of it would be rendered; a line says where there was more."""
        taken, walk = list(self._taken), self._walk
        blocks = [block for _, block in taken if block is not None]
        cut = (Text(cut_line(self._how, len(taken))),) if self._full else ()
        if self._only_text or len(blocks) < len(taken):
            data = [data for data, _ in taken]
            return (*walk.said(data, data), *cut)
        return (*visible_blocks(blocks), *cut)
