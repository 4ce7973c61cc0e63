"""Models that may be asked, and with what settings: their adapters are made when they are asked first, not before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from returns.result import Failure, Result, Success

from geode.application.foreign import explained, warn
from geode.domain.content import Owner
from geode.domain.models import row_of
from geode.domain.prices import Price
from geode.domain.thinking import Thinking
from geode.ports.model import ModelAdapter

Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class Askable:
    """A model of an adapter, which `opened` gives; it may be awaited more than once.

    The settings are sent as they are, or the call is refused. `window` is what it reads at most, in tokens, where that
    is known; `price` what its tokens cost, where each of them is paid for.
    """

    owner: Owner
    opened: Callable[[], Awaitable[ModelAdapter]]
    effort: str | None = None
    temperature: float | None = None
    thinking: Thinking | None = None
    window: int | None = None
    price: Price | None = None


async def opened_within(
    seconds: float, opening: Awaitable[Opened], name: str, being_cancelled: Callable[[], bool]
) -> Result[Opened, str]:
    """What was made by code that may raise anything, or why it was not."""
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return Success(await opening)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if isinstance(error, AssertionError) or (isinstance(error, asyncio.CancelledError) and being_cancelled()):
            raise
        warn(f"{name} could not be opened", error)
        return Failure(f"it was not ready within {seconds:g} s" if deadline.expired() else explained(error))


def window_of(adapter: ModelAdapter, model: str) -> int | None:
    """The tokens that the model reads at most, where that is known."""
    return row_of(model, adapter.capabilities.models).window


def askable(
    adapter: ModelAdapter,
    model: str,
    *,
    effort: str | None = None,
    temperature: float | None = None,
    thinking: Thinking | None = None,
    price: Price | None = None,
) -> Askable:
    """The target whose adapter is there already."""

    async def opened() -> ModelAdapter:
        return adapter

    return Askable(Owner(adapter.name, model), opened, effort, temperature, thinking, window_of(adapter, model), price)
