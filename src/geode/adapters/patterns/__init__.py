"""Regular expressions that cannot hang: `geode.ports.patterns` over the package `regex`."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from geode.ports.patterns import Pattern, PatternTimeout


def compile_pattern(pattern: str) -> Pattern:
    try:
        return _Pattern(regex.compile(pattern, regex.MULTILINE))
    except (regex.error, RecursionError) as error:
        raise ValueError(str(error)) from None


class _Pattern:
    def __init__(self, pattern: regex.Pattern[str]) -> None:
        self._pattern = pattern

    def search(self, text: str, *, seconds: float) -> bool:
        return next(self.find(text, seconds=seconds), None) is not None

    def find(self, text: str, *, seconds: float, start: int = 0) -> Iterator[tuple[int, int]]:
        try:
            for found in self._pattern.finditer(text, start, timeout=seconds, concurrent=True):
                yield found.span()
        except TimeoutError:
            raise PatternTimeout from None
