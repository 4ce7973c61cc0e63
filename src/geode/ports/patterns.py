"""Searching with patterns that a model wrote: whatever they are, it ends."""

from __future__ import annotations

from typing import Protocol

from geode.domain.errors import GeodeError


class PatternError(GeodeError, ValueError):
    """The pattern is none that can be searched with; the message says why."""


class SearchTimeout(GeodeError):
    """The search took longer than it may."""


class Pattern(Protocol):
    """A regular expression. `^` and `$` are the begin and the end of a line.

    `search` gives where the first match at or after `start` begins and ends; what stands before `start` is
    looked at (by `^` or `\\b`) and no part of a match. SearchTimeout after `seconds`. It may be called in
    any thread.
    """

    def search(self, text: str, start: int, seconds: float) -> tuple[int, int] | None: ...


class PatternEngine(Protocol):
    """Makes patterns; PatternError for a text that is none, soon and whatever the text is."""

    def compile(self, pattern: str) -> Pattern: ...
