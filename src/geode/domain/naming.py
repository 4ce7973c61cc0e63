"""Finding the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from geode.domain.errors import Misuse

_SHOWN: Final = 3
_SHOWN_LETTERS: Final = 64
# Names are short; what a model made up may be a megabyte.
_COMPARED: Final = 100
_MIN_LIKENESS: Final = 0.4


def closest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """At most three of `known` that look like `name`, best first; equal looks in alphabetical order."""
    wanted = name[:_COMPARED].lower()
    scored = sorted((-_likeness(wanted, other[:_COMPARED].lower()), other) for other in set(known))
    return tuple(other for score, other in scored[:_SHOWN] if -score >= _MIN_LIKENESS)


def shown_name(name: str) -> str:
    """A name that a model made up, escaped and bounded."""
    return repr(name if len(name) <= _SHOWN_LETTERS else name[:_SHOWN_LETTERS] + "…")


def first_of(names: Sequence[str], most: int) -> str:
    """The first `most` of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def refuse_unknown(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Misuse for the first of `given` that is not `known`, with the closest known name."""
    names = list(known)
    for name in given:
        if name not in names:
            close = closest(name, names)
            hint = f"; did you mean {close[0]}?" if close else f". Known: {', '.join(names)}"
            raise Misuse("unknown-name", f'{what} has no "{name}"{hint}')


def _likeness(a: str, b: str) -> float:
    """Shared pairs of letters (the Dice coefficient), 1.0 for equal names; letters in another order, or a
    name inside the other, count as close."""
    if a == b:
        return 1.0
    if sorted(a) == sorted(b):
        return 0.9  # letters that changed places
    pairs_a, pairs_b = _pairs(a), _pairs(b)
    shared = len(pairs_a & pairs_b)
    alike = 2 * shared / ((len(pairs_a) + len(pairs_b)) or 1)
    return max(alike, 0.5) if a and b and (a in b or b in a) else alike


def _pairs(name: str) -> set[str]:
    return {name[place : place + 2] for place in range(len(name) - 1)}
