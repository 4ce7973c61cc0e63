"""HttpModel: the model port over any wire that is JSON over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from returns.result import Failure, Result

from geode.adapters.http_json.exchange import Body, CallBroken, Exchange
from geode.adapters.http_json.facts import error_in_body
from geode.domain.content import Owner
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.ports.model import Delta, Emit


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
            return await self._streamed(encoded, owner, request.limits.idle_timeout_seconds, emit)
        # A server that does not stream is silent until the reply is whole.
        answer = await self.exchange.whole(encoded, request.limits.call_timeout_seconds)
        return answer.bind(lambda body: self._decoded(body, owner))

    async def _streamed(self, encoded: bytes, owner: Owner, idle: float, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        stream, last = self.wire.accumulator(), Body({}, "")
        try:
            read = self.exchange.events(encoded, idle, self.wire.heartbeats, lambda: stream.over)
            async with aclosing(read) as events:
                async for last in events:
                    if last.whole:
                        return self._decoded(last, owner)
                    for delta in stream.feed(last.json):
                        await emit(delta)
        except CallBroken as broken:
            if not stream.complete:
                return Failure(broken.failure)
        if not stream.complete:
            return Failure(
                CallFailure(None, "stream", f"{self.exchange.endpoint.base_url}: the stream ended before the reply did")
            )
        return self._decoded(Body(stream.body(), last.request_id), owner)

    def _decoded(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
        if body.json.get("error"):
            return Failure(error_in_body(body.json, body.request_id))
        try:
            return self.wire.decode(body, owner)
        except (ValueError, RecursionError) as error:
            # JSON that can be read but not written again: a number beyond any float, nesting too deep to walk.
            return Failure(CallFailure(200, "response", f"the reply cannot be kept: {error}", request_id=body.request_id))
