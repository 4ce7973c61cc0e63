"""What tokens cost, as data with its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

_DATE: Final = re.compile(r"-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached` and `cache_write` are None where they are not known.

    `above` is a count of input tokens beyond which the whole request costs `input_above` times as much for what
    goes in and `output_above` times for what comes out; 0 is never. `source` says where the figures are from.
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    cache_write: Decimal | None = None
    above: int = 0
    input_above: Decimal = Decimal(1)
    output_above: Decimal = Decimal(1)
    source: str = ""


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of `model`, whoever relays it: that of its id, or of its id without the date. None: not known.

    Never that of a model whose name merely begins alike: such a one may cost ten times as much.
    """
    return prices.get(model) or prices.get(_DATE.sub("", model))
