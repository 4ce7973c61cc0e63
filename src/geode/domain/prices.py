"""What tokens cost, as data with its source, and what a call has cost by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from geode.domain.models import dotted_version
from geode.domain.usage import Usage

_DATE: Final = re.compile(r"-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$")
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached`, `cache_write` and `cache_write_1h` are None where they are not known.

    `cache_write` is for what is kept some minutes, `cache_write_1h` for an hour. `above` is a count of input tokens
    beyond which the whole request costs `input_above` times as much for what goes in and `output_above` times for what
    comes out; 0 is never. `source` says where the figures are from.
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None
    above: int = 0
    input_above: Decimal = Decimal(1)
    output_above: Decimal = Decimal(1)
    source: str = ""


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of `model`, whoever relays it: that of its id, or of its id without the date. None: not known.

    OpenRouter writes the versions of Anthropic's models with a dot. Never that of a model whose name merely begins alike:
    such a one may cost ten times as much.
    """
    names = (model, _DATE.sub("", model))
    dotted = {dotted_version(name): price for name, price in prices.items() if name.startswith("claude-")}
    return next((known[name] for known in (prices, dotted) for name in names if name in known), None)


def cost_of(usage: Usage, price: Price) -> Decimal | None:
    """What the tokens cost, in US dollars and not rounded; None where a price that it takes is not known.

    Each token has one price: what came from the cache or went to it is not paid as input once more. A usage
    without any input is one that nobody reported.
    """
    if usage.input_tokens <= 0:
        return None
    short = usage.cache_write_input_tokens - usage.cache_write_1h_input_tokens
    fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_input_tokens
    dear = bool(price.above) and usage.input_tokens > price.above
    parts = (
        (fresh, price.input),
        (usage.cached_input_tokens, price.cached),
        (short, price.cache_write),
        (usage.cache_write_1h_input_tokens, price.cache_write_1h),
    )
    if fresh < 0 or short < 0 or any(tokens and each is None for tokens, each in parts):
        return None
    went_in: Decimal | int = sum(tokens * each for tokens, each in parts if each is not None)
    came_out = usage.output_tokens * price.output
    if dear:
        went_in, came_out = went_in * price.input_above, came_out * price.output_above
    return (went_in + came_out) / _MILLION


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage of one call with its cost: the provider's own charge before any table, and unknown where there is neither."""
    if usage.cost_usd is not None or usage.unpriced_calls:
        return usage
    cost = None if price is None else cost_of(usage, price)
    return replace(usage, unpriced_calls=1) if cost is None else replace(usage, cost_usd=cost)
