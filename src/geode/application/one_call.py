"""One call of an adapter, within its time; whatever else it does than it should is a failure too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from returns.result import Failure, Result

from geode.application.foreign import kind_of, warn
from geode.domain.binding import bound
from geode.domain.failures import CallFailure
from geode.domain.models import row_of
from geode.domain.prices import Price, priced
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest
from geode.domain.usage import Usage
from geode.domain.ways_out import of_unknown_model
from geode.ports.model import Delta, Emit, ModelAdapter


async def one_call(
    adapter: ModelAdapter,
    request: AdapterCallRequest,
    emit: Emit,
    being_cancelled: Callable[[], bool],
    price: Price | None = None,
) -> Result[AdapterCallResult, CallFailure]:
    """What the adapter answers and what that cost by `price`, or that it did not in time, or that it broke.

    An AssertionError passes, since it is meant for a test, and so does what is no Exception, since
    it is meant for whoever runs the program; but no adapter ends the program by SystemExit.
    """
    begun = False

    async def heard(delta: Delta) -> None:
        nonlocal begun
        begun = True
        await emit(delta)

    answer = await _answered(adapter, request, heard, being_cancelled)
    known = (row.prefix for row in adapter.capabilities.models)
    failed = answer.alt(lambda failure: of_unknown_model(failure, request.model, known, adapter.name))
    replied = failed.map(lambda reply: replace(_bound(adapter, request, reply), usage=priced(reply.usage, price)))
    return replied.alt(lambda failure: _with_cost(failure, price, begun=begun))


async def _answered(
    adapter: ModelAdapter, request: AdapterCallRequest, emit: Emit, being_cancelled: Callable[[], bool]
) -> Result[AdapterCallResult, CallFailure]:
    seconds = request.limits.call_timeout_seconds
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            answer: object = await adapter.acomplete(request, emit)
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return _broken(error)
    except (Exception, SystemExit) as error:
        if isinstance(error, AssertionError):
            raise
        return _late(seconds) if deadline.expired() else _broken(error)
    if isinstance(answer, Result):
        return cast("Result[AdapterCallResult, CallFailure]", answer)
    return _failure(f"the adapter returned {kind_of(answer)}, not a Success or a Failure")


def _bound(adapter: ModelAdapter, request: AdapterCallRequest, reply: AdapterCallResult) -> AdapterCallResult:
    """The reply, whose thinking remembers what it was made after, where the provider takes it back there alone."""
    binds = row_of(request.model, adapter.capabilities.models).binds_prefix
    return replace(reply, items=bound(reply.items, request)) if binds else reply


def _with_cost(failure: CallFailure, price: Price | None, *, begun: bool) -> CallFailure:
    """What an attempt has cost that came to nothing.

    Of a reply that had begun, what was told so far is not all of it, but for what the provider says that it charged.
    """
    told = failure.usage
    charged = told is not None and told.cost_usd is not None
    known = None if told is None else priced(told, price)
    if charged or not (begun or failure.broke_off or failure.phase == "stream"):
        return replace(failure, usage=known)
    return replace(failure, usage=replace(known or Usage(), unpriced_calls=1), broke_off=True)


def _late(seconds: float) -> Result[AdapterCallResult, CallFailure]:
    """Nobody waited for the end of it, and the provider may have worked on it."""
    way_out, message = "Policy(call_timeout_seconds=…) or Policy(max_seconds=…)", f"no answer within {seconds:g} s"
    return Failure(CallFailure(None, "response", message, timed_out=True, way_out=way_out, broke_off=True))


def _broken(error: BaseException) -> Result[AdapterCallResult, CallFailure]:
    """An expected failure is a value: an exception is a mistake in the adapter, and trying again is no way out."""
    warn("the adapter raised", error)
    return _failure(f"the adapter raised {kind_of(error)}, where a failure should be returned")


def _failure(message: str) -> Result[AdapterCallResult, CallFailure]:
    way_out = "This is a mistake in the adapter; the log says more"
    return Failure(CallFailure(None, "response", message, way_out=way_out))
