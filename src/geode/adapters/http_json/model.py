"""HttpModel: the model port over any wire that is JSON over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from returns.result import Failure, Result

from geode.adapters.http_json.answer import CallBroken, StreamReading, decoded
from geode.adapters.http_json.exchange import Exchange
from geode.adapters.http_json.facts import not_sent
from geode.adapters.http_json.whole import deltas_of
from geode.adapters.http_json.wire import Body, Wire
from geode.domain.choice import Auto, choice_word
from geode.domain.content import Owner, ToolUseBlock
from geode.domain.failures import CallFailure
from geode.domain.quota import Quota
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.schema_profile import PLAIN
from geode.domain.sent_tools import names_back, restored
from geode.ports.model import CallPart, Delta, Emit


@dataclass(frozen=True, slots=True)
class HttpModel:
    """A wire spoken to one provider with one credential. See `geode.ports.model.ModelAdapter`.

    What it does not declare of tools it does not send, whoever asks.
    """

    name: str
    capabilities: Capabilities
    wire: Wire
    exchange: Exchange

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        able, owner = self.capabilities, Owner(self.name, request.model)
        if not able.supports_tools:
            request = replace(request, tools=(), tool_choice=Auto())
        elif request.tools and choice_word(request.tool_choice) not in able.choices:
            return Failure(not_sent(f"the server takes no tool_choice {choice_word(request.tool_choice)}"))
        if request.response_schema is not None and not able.response_schema:
            return Failure(not_sent("the server takes no response_schema"))
        if request.cache_key and not able.cache_key:
            request = replace(request, cache_key="")
        encoded = self.wire.encode(request, owner)
        emit = _under_own_names(emit, names_back(request.tools)) if request.streamed else _unheard
        if request.streamed or self.wire.streams_only:
            answer = await self._streamed(encoded, owner, request.limits.idle_timeout_seconds, emit)
        else:
            # A server that does not stream is silent until the reply is whole.
            body = await self.exchange.whole(encoded, request.limits.call_timeout_seconds)
            answer = body.bind(lambda body: decoded(self.wire, body, owner))
        schemas = self.capabilities.schemas or PLAIN
        return answer.map(lambda reply: self._told(restored(reply, request.tools, schemas))).alt(self._discreet)

    async def _streamed(self, encoded: bytes, owner: Owner, idle: float, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        reading, broke = StreamReading(self.wire, owner, self.exchange.endpoint.address), None
        try:
            read = self.exchange.events(encoded, idle, self.wire.heartbeats, lambda: reading.over)
            async with aclosing(read) as events:
                async for event in events:
                    if event.whole:
                        return await self._at_once(event, owner, emit)
                    for delta in reading.take(event):
                        await emit(delta)
        except CallBroken as broken:
            broke = broken.failure
        return reading.reply(broke)

    async def _at_once(self, body: Body, owner: Owner, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        reply = decoded(self.wire, body, owner)
        for delta in reply.map(deltas_of).value_or(()):
            await emit(delta)
        return reply

    def _told(self, reply: AdapterCallResult) -> AdapterCallResult:
        """The reply, where what the server says beside its content quotes no secret. The content is the model's."""
        clean = self.exchange.endpoint.discreet
        beside = (reply.stop_word, reply.route, reply.request_id)
        ids, resets = [call.id for call in reply.calls], [quota.reset for quota in reply.usage.quota]
        said = "\n".join((*beside, *ids, *resets))
        if clean(said) == said:
            return reply
        return replace(
            reply,
            items=tuple(replace(item, id=clean(item.id)) if isinstance(item, ToolUseBlock) else item for item in reply.items),
            stop_word=clean(reply.stop_word),
            route=clean(reply.route),
            request_id=clean(reply.request_id),
            usage=replace(reply.usage, quota=self._discreet_quota(reply.usage.quota)),
        )

    def _discreet(self, failure: CallFailure) -> CallFailure:
        """The facts without secrets, and with what is known of the credential."""
        clean = self.exchange.endpoint.discreet
        return replace(
            failure,
            message=clean(failure.message),
            # What is judged by: a short key could be one of its words.
            error_type=clean(failure.error_type, alone=False),
            error_code=clean(failure.error_code, alone=False),
            request_id=clean(failure.request_id),
            hint=replace(failure.hint, raw=clean(failure.hint.raw)),
            quota=self._discreet_quota(failure.quota),
            subscription=self.exchange.endpoint.subscription,
        )

    def _discreet_quota(self, quota: tuple[Quota, ...]) -> tuple[Quota, ...]:
        clean = self.exchange.endpoint.discreet
        return tuple(replace(one, of=clean(one.of), reset=clean(one.reset)) for one in quota)


async def _unheard(_: Delta) -> None:
    """Nobody wants the deltas of a server that streams all the same."""


def _under_own_names(emit: Emit, own: Mapping[str, str]) -> Emit:
    """`emit`, told the tools' own names for those of the wire; argument texts stay as they come."""

    async def renamed(delta: Delta) -> None:
        await emit(replace(delta, name=own.get(delta.name, delta.name)) if isinstance(delta, CallPart) else delta)

    return renamed if own else emit
