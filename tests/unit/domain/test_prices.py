"""A price is that of the very model: its id, with its date or without."""

from __future__ import annotations

from decimal import Decimal

import pytest

from geode.domain.prices import Price, price_of

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
