"""Regular expressions that may come from anybody, over text that may come from anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias


class PatternTimeout(Exception):
    """The search was given up before it was known whether the text matches."""


class Pattern(Protocol):
    """A pattern that was accepted; it may be used in several threads at once."""

    def is_quick(self, text: str) -> bool:
        """Whether a search of `text` takes so little time that no time need be taken: to look at the clock takes longer."""
        ...

    def search(self, text: str, *, seconds: float) -> bool:
        """Whether the pattern matches somewhere in `text`. PatternTimeout where `seconds` do not tell."""
        ...

    def find(self, text: str, *, seconds: float, start: int = 0) -> Iterator[tuple[int, int]]:
        """Where the pattern matches in the lines of `text` from `start` on: begin and end, in order.

        `^` and `$` are the ends of a line. The text may be hundreds of megabytes. PatternTimeout once
        `seconds` have been spent; what was found before it stays found. Other threads go on meanwhile.
        """
        ...


# Raises ValueError that says what is wrong, for a text that is no pattern or one too big to be compiled.
CompilePattern: TypeAlias = Callable[[str], Pattern]
