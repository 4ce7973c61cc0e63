"""Tokens and money, in one form for every wire."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from geode.domain.quota import Quota


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or a sum of calls.

    `input_tokens` is the whole input on every wire: `cached_input_tokens` of them came from the provider's cache and
    `cache_write_input_tokens` went into it, `cache_write_1h_input_tokens` of those for an hour, the others for some
    minutes. `output_tokens` has the `reasoning_tokens` in it. `cost_usd`, in US dollars, is what the provider itself
    charged, else what its tokens cost by the table of prices; None where neither is known. Of a sum it is what is
    known: the `unpriced_calls` come on top. `quota` is what was told last of the account's limits.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    quota: tuple[Quota, ...] = ()
    cache_write_input_tokens: int = 0
    cache_write_1h_input_tokens: int = 0
    unpriced_calls: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            sum(costs, Decimal(0)) if costs else None,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            other.quota or self.quota,
            self.cache_write_input_tokens + other.cache_write_input_tokens,
            self.cache_write_1h_input_tokens + other.cache_write_1h_input_tokens,
            self.unpriced_calls + other.unpriced_calls,
        )


def dollars(cost: Decimal) -> str:
    """An amount as people read it, to its last digit."""
    return f"${cost.normalize():f}"
