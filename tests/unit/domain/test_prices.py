"""A price is that of the very model; each token has one price, and what is not known is not nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from geode.domain.prices import Price, cost_of, price_of, priced
from geode.domain.usage import Usage

PRICES = {"gpt-7": Price(Decimal(1), Decimal(2)), "gpt-7-2027-01-02": Price(Decimal(3), Decimal(4))}


@pytest.mark.parametrize(
    ("model", "input"),
    [
        ("gpt-7", 1),
        ("gpt-7-latest", 1),
        ("gpt-7-20270101", 1),
        ("gpt-7-2027-01-01", 1),
        ("gpt-7-2027-01-02", 3),
        ("gpt-7-2027", None),
        ("gpt-7-latest-pro", None),
        ("gpt-7-pro", None),
        ("gpt-7.1", None),
        ("gpt", None),
        ("", None),
    ],
)
def test_the_price_of_a_model(model: str, input: int | None) -> None:
    found = price_of(model, PRICES)
    assert (None if found is None else found.input) == input


def test_versions_with_a_dot_are_those_with_a_dash_of_anthropics_models_alone() -> None:
    """So OpenRouter writes them (wire facts A2)."""
    one = Price(Decimal(5), Decimal(25))
    prices = {"claude-opus-4-6": one, "gpt-7-1": one, "claude-opus-4": Price(Decimal(15), Decimal(75))}
    assert price_of("claude-opus-4.6", prices) is one
    assert price_of("claude-opus-4.6-20270101", prices) is one
    assert price_of("claude-opus-4.7", prices) is None
    assert price_of("gpt-7.1", prices) is None


DOLLARS = Price(
    Decimal(3), Decimal(15), cached=Decimal("0.30"), cache_write=Decimal("3.75"), cache_write_1h=Decimal(6), source="a page"
)
LONG = Price(Decimal(2), Decimal(10), cached=Decimal("0.2"), above=272_000, input_above=Decimal(2), output_above=Decimal("1.5"))
BARE = Price(Decimal("0.5"), Decimal(3))


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        # Each token has one price: 2,000 fresh, 8,000 from the cache, 500 written.
        (Usage(10_000, 500, cached_input_tokens=8_000), Price(Decimal("0.5"), Decimal(3), Decimal("0.05")), "0.0029"),
        (Usage(1_000_000, 0), DOLLARS, "3"),
        (Usage(0, 1_000_000), DOLLARS, None),
        (Usage(1, 1_000_000), DOLLARS, "15.000003"),
        (Usage(1_000, 0, cached_input_tokens=1_000), DOLLARS, "0.0003"),
        (Usage(1_000, 0, cache_write_input_tokens=1_000), DOLLARS, "0.00375"),
        (Usage(1_000, 0, cache_write_input_tokens=1_000, cache_write_1h_input_tokens=1_000), DOLLARS, "0.006"),
        (Usage(1_000, 0, cache_write_input_tokens=600, cache_write_1h_input_tokens=200), DOLLARS, "0.0039"),
        (Usage(272_000, 10), LONG, "0.5441"),
        (Usage(272_001, 10), LONG, "1.088154"),
        (Usage(300_000, 0, cached_input_tokens=300_000), LONG, "0.12"),
        # Reasoning is in the output, and paid once.
        (Usage(1_000, 1_000, reasoning_tokens=900), BARE, "0.0035"),
        # Unknown is unknown, and not nothing.
        (Usage(1_000, 1, cached_input_tokens=1), BARE, None),
        (Usage(1_000, 1, cache_write_input_tokens=1), BARE, None),
        (Usage(1_000, 1, cache_write_input_tokens=1, cache_write_1h_input_tokens=1), BARE, None),
        (Usage(), BARE, None),
        # What cannot be: more from the cache than went in.
        (Usage(10, 1, cached_input_tokens=11), DOLLARS, None),
        (Usage(10, 1, cache_write_input_tokens=4, cache_write_1h_input_tokens=5), DOLLARS, None),
        (Usage(10, 1), Price(Decimal(0), Decimal(0)), "0"),
    ],
)
def test_what_tokens_cost(usage: Usage, price: Price, cost: str | None) -> None:
    assert cost_of(usage, price) == (None if cost is None else Decimal(cost))


def test_the_providers_own_charge_comes_before_the_table() -> None:
    assert priced(Usage(1_000, 0, Decimal("0.7")), BARE) == Usage(1_000, 0, Decimal("0.7"))
    assert priced(Usage(1_000, 0, Decimal(0)), BARE) == Usage(1_000, 0, Decimal(0))
    assert priced(Usage(1_000, 0), BARE) == Usage(1_000, 0, Decimal("0.0005"))


def test_what_nobody_knows_the_cost_of_is_counted() -> None:
    assert priced(Usage(1_000, 0), None) == Usage(1_000, 0, unpriced_calls=1)
    assert priced(Usage(), BARE) == Usage(unpriced_calls=1)
    # A part of it was another model's.
    assert priced(Usage(1_000, 0, unpriced_calls=1), BARE) == Usage(1_000, 0, unpriced_calls=1)


def test_a_sum_keeps_what_is_known_and_what_is_not_apart() -> None:
    known, unknown = priced(Usage(1_000, 0), BARE), priced(Usage(1_000, 0), None)
    assert Usage() + known + unknown + known == Usage(3_000, 0, Decimal("0.0010"), unpriced_calls=1)
    written = Usage(100, 1, cache_write_input_tokens=30, cache_write_1h_input_tokens=10)
    assert written + written == Usage(200, 2, cache_write_input_tokens=60, cache_write_1h_input_tokens=20)
