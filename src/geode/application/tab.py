"""What calls have taken that are under way: it is known also where nobody waits for them to their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from geode.domain.spent import BROKEN_OFF, Spent

# Whether the budgets have room for another attempt, after what was spent and so many seconds from now.
Allows = Callable[[Spent, float], bool]


def _always(_: Spent, __: float) -> bool:
    return True


class Tab:
    """Of one call with its attempts. `spent` is what came to its end: failed attempts, and a reply."""

    def __init__(self, allows: Allows = _always) -> None:
        self.spent = Spent()
        self._allows, self._asked = allows, False

    def inside(self) -> Tab:
        """For a part of it, which whoever made it adds up."""
        return Tab(lambda spent, seconds: self._allows(self.spent + spent, seconds))

    def allows(self, seconds: float) -> bool:
        """Whether there may be another attempt in so many seconds."""
        return self._allows(self.spent, seconds)

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
