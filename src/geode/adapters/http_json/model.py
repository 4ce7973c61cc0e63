"""HttpModel: the model port over any wire that is JSON over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from returns.result import Failure, Result

from geode.adapters.http_json.exchange import Body, CallBroken, Exchange
from geode.adapters.http_json.facts import error_in_body, misread
from geode.adapters.http_json.whole import deltas_of
from geode.domain.content import Owner
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.ports.model import Delta, Emit

# All that reading JSON of any shape can raise, so that nothing a server sends is an exception: a type that
# no wire has, a number beyond any float, nesting too deep to walk.
_MISREAD: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Accumulator(Protocol):
    """Puts the events of a stream together to the body that the call would have had unstreamed.

    `complete` is True once the reply is whole, or an event said that there is none; `over` once
    nothing more of use can come.
    """

    @property
    def complete(self) -> bool: ...

    @property
    def over(self) -> bool: ...

    def feed(self, event: Mapping[str, Any]) -> Iterable[Delta]: ...

    def body(self) -> Mapping[str, Any]: ...


class Wire(Protocol):
    """A protocol as pure functions. `heartbeats` are types of events that say nothing."""

    @property
    def heartbeats(self) -> frozenset[str]: ...

    def encode(self, request: AdapterCallRequest, owner: Owner) -> bytes: ...

    def decode(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]: ...

    def accumulator(self) -> Accumulator: ...


@dataclass(frozen=True, slots=True)
class HttpModel:
    """A wire spoken to one provider with one credential. See `geode.ports.model.ModelAdapter`."""

    name: str
    capabilities: Capabilities
    wire: Wire
    exchange: Exchange

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        owner = Owner(self.name, request.model)
        encoded = self.wire.encode(request, owner)
        if request.streamed:
            answer = await self._streamed(encoded, owner, request.limits.idle_timeout_seconds, emit)
        else:
            # A server that does not stream is silent until the reply is whole.
            body = await self.exchange.whole(encoded, request.limits.call_timeout_seconds)
            answer = body.bind(lambda body: self._decoded(body, owner))
        return answer.alt(self._discreet)

    async def _streamed(self, encoded: bytes, owner: Owner, idle: float, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        stream, last = self.wire.accumulator(), Body({}, "")
        try:
            read = self.exchange.events(encoded, idle, self.wire.heartbeats, lambda: stream.over)
            async with aclosing(read) as events:
                async for last in events:
                    if last.whole:
                        return await self._at_once(last, owner, emit)
                    for delta in _fed(stream, last):
                        await emit(delta)
        except CallBroken as broken:
            if not stream.complete:
                return Failure(broken.failure)
        if not stream.complete:
            message = f"{self.exchange.endpoint.address}: the stream ended before the reply did"
            return Failure(CallFailure(None, "stream", message))
        try:
            body = Body(stream.body(), last.request_id)
        except _MISREAD as error:
            return Failure(misread("the stream", error, last.request_id))
        return self._decoded(body, owner)

    async def _at_once(self, body: Body, owner: Owner, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        decoded = self._decoded(body, owner)
        for delta in decoded.map(deltas_of).value_or(()):
            await emit(delta)
        return decoded

    def _decoded(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
        try:
            if body.json.get("error"):
                return Failure(error_in_body(body.json, body.request_id))
            return self.wire.decode(body, owner)
        except _MISREAD as error:
            return Failure(misread("the reply", error, body.request_id))

    def _discreet(self, failure: CallFailure) -> CallFailure:
        return replace(failure, message=self.exchange.endpoint.discreet(failure.message))


def _fed(stream: Accumulator, event: Body) -> list[Delta]:
    try:
        return list(stream.feed(event.json))
    except _MISREAD as error:
        raise CallBroken(misread("an event of the stream", error, event.request_id)) from error
