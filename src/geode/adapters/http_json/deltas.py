"""Deltas whose texts anybody can write."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.json_value import clean_text
from geode.ports.model import CallPart, Delta


class Halves:
    """Joins characters that a server cut in two: the first half of a surrogate pair waits for the delta that goes on.

    A half that stays alone is replaced, as it is in the reply.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[type[Delta], int], str] = {}

    def joined(self, delta: Delta) -> Delta:
        """The delta with what waited for it, and without what is not whole yet."""
        text = delta.arguments if isinstance(delta, CallPart) else delta.text
        if not self._waiting and _writable(text) and not (isinstance(delta, CallPart) and not _writable(delta.name)):
            return delta
        place = (type(delta), delta.index)
        text = self._waiting.pop(place, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._waiting[place], text = text[-1], text[:-1]
        if isinstance(delta, CallPart):
            return replace(delta, name=clean_text(delta.name), arguments=clean_text(text))
        return replace(delta, text=clean_text(text))


def _writable(text: str) -> bool:
    return text.isascii() or clean_text(text) is text
