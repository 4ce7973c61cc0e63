"""How a model is told to think, where its wire has words for that (wire facts A4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from geode.domain.errors import Misuse
from geode.domain.models import ThinkingKind

# The least budget that a server takes.
MIN_BUDGET: Final = 1024


@dataclass(frozen=True, slots=True)
class AdaptiveThinking:
    """The model decides how much it thinks."""


@dataclass(frozen=True, slots=True)
class ThinkingBudget:
    """Manual thinking: at most `tokens` of each reply, 1024 or more; Misuse for less."""

    tokens: int

    def __post_init__(self) -> None:
        if self.tokens < MIN_BUDGET:
            raise Misuse("thinking", f"a thinking budget is {MIN_BUDGET} tokens or more, got {self.tokens}")


Thinking: TypeAlias = AdaptiveThinking | ThinkingBudget


def thinking_kind(thinking: Thinking) -> ThinkingKind:
    return "budget" if isinstance(thinking, ThinkingBudget) else "adaptive"


def parse_thinking(value: object) -> Thinking | None:
    """The setting in the words of a caller: "adaptive", a number of tokens, one of the values, or None. Else Misuse."""
    if value is None or isinstance(value, AdaptiveThinking | ThinkingBudget):
        return value
    if value == "adaptive":
        return AdaptiveThinking()
    if isinstance(value, int) and not isinstance(value, bool):
        return ThinkingBudget(value)
    raise Misuse("thinking", f'thinking must be "adaptive" or a budget in tokens, got {value!r:.80}')
