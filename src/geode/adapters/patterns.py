"""Patterns by the package regex, whose searches have a time limit."""

from __future__ import annotations

import regex

from geode.ports.patterns import PatternError, SearchTimeout


class Patterns:
    def compile(self, pattern: str) -> _Pattern:
        try:
            return _Pattern(regex.compile(pattern, regex.MULTILINE))
        except (regex.error, RecursionError) as error:
            raise PatternError(str(error)) from None


class _Pattern:
    def __init__(self, pattern: regex.Pattern[str]) -> None:
        self._pattern = pattern

    def search(self, text: str, start: int, seconds: float) -> tuple[int, int] | None:
        try:
            found = self._pattern.search(text, start, timeout=seconds, concurrent=True)
        except TimeoutError:
            raise SearchTimeout from None
        return None if found is None else found.span()
