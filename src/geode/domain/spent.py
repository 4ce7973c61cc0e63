"""What a call has spent beside its own execution: a tool may ask models itself, or be a whole run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from geode.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """Counts in the budgets of a run: tokens and their cost, and executions of tools.

    `broken_off` are those of the `unpriced_calls` whose reply broke off before all of its tokens were told.
    """

    usage: Usage = Usage()
    tool_calls: int = 0
    broken_off: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.usage + other.usage, self.tool_calls + other.tool_calls, self.broken_off + other.broken_off)


# A call of whose reply something had come, or may have, and nobody told what it took.
BROKEN_OFF: Final = Spent(Usage(unpriced_calls=1), broken_off=1)
