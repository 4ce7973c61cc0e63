"""The engine: `regex`, with every search bounded.

Why `regex`: what people write needs lookahead (pydantic writes one for each Decimal, zod for each e-mail address),
which the engines that never backtrack (RE2, Rust's) refuse; `re` cannot be stopped. `regex` stops at a deadline, and
has wheels for every Python that geode runs on. Its deadline is looked at between steps, one of which may go over
all of the text: hence the bounds on the text below. What its compiler may be given is bounded by `dialect`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from time import thread_time
from typing import Any, Final

from geode.adapters.patterns.dialect import translated
from geode.ports.patterns import Pattern, PatternTimeout

# A longer text is not searched as a whole by a pattern that repeats: a step over it could take seconds.
MAX_CHARS_REPEATED: Final = 100_000
# How much of a long text is searched at a time, and how much of a longer line is searched twice.
WINDOW_CHARS: Final = 50_000
OVERLAP_CHARS: Final = 1_000

# A search of so few steps at most, which are a millisecond, needs no deadline.
QUICK_STEPS: Final = 50_000

# Of a text that every match has to hold, the engine makes tables before its first search, in a time that grows with
# the third power of its length (8,000 letters: two minutes) and that no deadline ends. A branch that never matches
# holds nothing, so that there is no such text.
_LONG: Final = 256
_NEVER: Final = "(?!)|"

_FEW: Final = 14
_REPEATS: Final = frozenset("*+{")


def compile_pattern(pattern: str) -> Pattern:
    """`geode.ports.patterns.CompilePattern`, for the dialect that `translated` describes."""
    return _Bounded(pattern)


class _Bounded:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._repeats = not _REPEATS.isdisjoint(pattern)
        made = translated(pattern, lines=False)
        self._whole, self._choices, self._parts = _compiled(made.form), made.choices, made.parts

    @cached_property
    def _lines(self) -> Any:
        return _compiled(translated(self._pattern, lines=True).form, lines=True)

    def is_quick(self, text: str) -> bool:
        """See `Pattern.is_quick`."""
        return self._choices < _FEW and (len(text) + 1) ** (self._choices + 1) * self._parts <= QUICK_STEPS

    def search(self, text: str, *, seconds: float) -> bool:
        """See `Pattern.search`. The seconds are those of the processor; up to as many again may pass in one step."""
        if self.is_quick(text):
            return self._whole.search(text) is not None
        if self._repeats and len(text) > MAX_CHARS_REPEATED:
            raise PatternTimeout(f"the text has more than {MAX_CHARS_REPEATED} characters")
        if seconds <= 0:
            raise PatternTimeout("the search took too long")
        try:
            return self._whole.search(text, timeout=seconds) is not None
        except (TimeoutError, MemoryError):
            raise PatternTimeout("the search took too long") from None

    def find(self, text: str, *, seconds: float, start: int = 0) -> Iterator[tuple[int, int]]:
        """See `Pattern.find`. In a line of more than 50,000 characters, a match of more than 1,000 may be cut or missed."""
        left, position, done = seconds, start, (-1, -1)
        while position < len(text):
            end = _window_end(text, position)
            inside = end < len(text) and text[end - 1] != "\n"
            began = thread_time()
            found = self._in_window(text, position, end, left)
            left -= thread_time() - began
            for span in found:
                # What touches a cut may go on behind it: the next window begins before the cut, and has it whole.
                is_of_next = end < len(text) and (span[0] == end or (inside and span[1] == end))
                if span > done and not is_of_next:
                    yield span
                    done = span
            position = max(end - OVERLAP_CHARS, done[1]) if inside else end

    def _in_window(self, text: str, position: int, end: int, seconds: float) -> list[tuple[int, int]]:
        if seconds <= 0:
            raise PatternTimeout("the search took too long")
        try:
            found = self._lines.finditer(text, position, end, timeout=seconds, concurrent=True)
            # In the order of the text: `(?r)` searches from its end.
            return sorted(match.span() for match in found)
        except (TimeoutError, MemoryError):
            raise PatternTimeout("the search took too long") from None


def _window_end(text: str, position: int) -> int:
    """The end of the last line that fits into a window, or of the window where no line does."""
    end = position + WINDOW_CHARS
    if end >= len(text):
        return len(text)
    line_end = text.rfind("\n", position, end)
    return end if line_end < 0 else line_end + 1


def _compiled(form: str, *, lines: bool = False) -> Any:
    # Loaded when a pattern is first met, which in most sessions is never.
    import regex

    try:
        made = form if len(form) <= _LONG else _NEVER + form
        return regex.compile(made, regex.MULTILINE if lines else 0, cache_pattern=False)
    except regex.error as error:
        raise ValueError(str(error)) from None
    except (RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"it cannot be compiled ({type(error).__name__})") from None
