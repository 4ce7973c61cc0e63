"""What calls have taken that are under way: it is known also where nobody waits for them to their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from geode.domain.request import Limits
from geode.domain.spent import BROKEN_OFF, Spent
from geode.domain.usage import Usage

# The limits of another attempt, after what was spent, of which the last one took so much, and so many seconds from now;
# None where the budgets have no room for one.
Room = Callable[[Spent, Usage, float], Limits | None]


def _anything(_: Spent, __: Usage, ___: float) -> Limits:
    return Limits()


class Tab:
    """Of one call with its attempts. `spent` is what came to its end, failed attempts and replies; `last` the last of it."""

    def __init__(self, room: Room = _anything) -> None:
        self.spent, self.last = Spent(), Usage()
        self._room, self._asked = room, False

    def room(self, seconds: float = 0.0) -> Limits | None:
        """The limits of an attempt in so many seconds; None where there may be none."""
        return self._room(self.spent, self.last, seconds)

    def took(self, spent: Spent) -> None:
        """An attempt came to its end."""
        self.spent += spent
        self.last = self.last if spent.broken_off else spent.usage

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Inside it a model works on an attempt; whoever is cancelled in it leaves it open."""
        self._asked = True
        yield
        self._asked = False

    @property
    def open(self) -> bool:
        """Whether an attempt was left open."""
        return self._asked

    @property
    def whole(self) -> Spent:
        """With the attempt that was left open: what it took nobody told."""
        return self.spent + BROKEN_OFF if self._asked else self.spent

    @contextmanager
    def part(self) -> Iterator[Tab]:
        """A tab of its own for some of the attempts, which are on this one in the end, whatever becomes of them."""
        part = Tab(lambda spent, last, seconds: self._room(self.spent + spent, self.last if last == Usage() else last, seconds))
        try:
            yield part
        finally:
            self.spent += part.whole
            self.last = self.last if part.last == Usage() else part.last
