"""What an answer says, whole or streamed, without any network: bytes and events in, a reply or a failure out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx2
from returns.result import Failure, Result

from geode.adapters.http_json.deltas import Halves
from geode.adapters.http_json.facts import error_in_body, failure_of_response, misread, not_json, quotas_of, request_id
from geode.adapters.http_json.json_bytes import read_object
from geode.adapters.http_json.reading import reported_error
from geode.adapters.http_json.sse import MAX_EVENT_BYTES, EventSplitter, EventTooLong
from geode.adapters.http_json.wire import END_MARK, Accumulator, Body, Wire
from geode.domain.content import Owner
from geode.domain.failures import CallFailure
from geode.domain.quota import Quota
from geode.domain.reply import AdapterCallResult
from geode.domain.usage import Usage
from geode.ports.model import Delta, ThinkingPart

# The end mark of the Chat wire; the others end with an event of their own.
_DONE: Final = b"[DONE]"
# All that reading JSON of any shape can raise, so that nothing a server sends is an exception: a type that
# no wire has, a number beyond any float, nesting too deep to walk.
_MISREAD: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class CallBroken(Exception):
    """Carries the facts out of the reading of an answer."""

    def __init__(self, failure: CallFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def read_answer(
    wire: Wire, response: httpx2.Response, chunks: Iterable[bytes], owner: Owner, *, streamed: bool
) -> Result[AdapterCallResult, CallFailure]:
    """The reply in an answer that was kept: its head in `response`, its body in `chunks`.

    The same reading as that of a call, which says itself what it has shown; here the failure does. Total: a reply
    or the facts of a failure, whatever was sent.
    """
    if not streamed or response.status_code != 200:
        try:
            return decoded(wire, object_of(response, b"".join(chunks)), owner)
        except CallBroken as broken:
            return Failure(broken.failure)
    reading = StreamReading(wire, owner)
    reply = _streamed(reading, response, chunks)
    return reply.alt(lambda failure: replace(failure, after_output=reading.shown))


def _streamed(
    reading: StreamReading, response: httpx2.Response, chunks: Iterable[bytes]
) -> Result[AdapterCallResult, CallFailure]:
    split, request, quota = Payloads(), request_id(response), quotas_of(response)
    try:
        for chunk in chunks:
            for event in split.feed(chunk):
                reading.take(Body(event, request, quota=quota))
                if reading.over:
                    return reading.reply()
            if split.over:
                return reading.reply()
        for event in split.end():
            reading.take(Body(event, request, quota=quota))
    except CallBroken as broken:
        return reading.reply(broken.failure)
    return reading.reply()


def object_of(response: httpx2.Response, content: bytes) -> Body:
    """The JSON object that is the whole answer; CallBroken if there is none."""
    if response.status_code != 200:
        raise CallBroken(failure_of_response(response, content))
    if (json := read_object(content)) is None:
        raise CallBroken(not_json(response, content))
    return Body(json, request_id(response), quota=quotas_of(response))


def decoded(wire: Wire, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
    """The reply in the body of a 200, which may be an error all the same; what was told of tokens counts in any case."""
    try:
        if error := reported_error(body.json):
            answer: Result[AdapterCallResult, CallFailure] = Failure(
                error_in_body({"error": error}, body.request_id, quota=body.quota)
            )
        else:
            answer = wire.decode(body, owner)
    except _MISREAD as error:
        answer = Failure(misread("the reply", error, body.request_id))
    told = answer.map(lambda reply: _with_quota(reply, body.quota))
    return told.alt(lambda failure: replace(failure, usage=_spent(wire, body.json)))


def _spent(wire: Wire, body: Mapping[str, Any]) -> Usage | None:
    """What had been told of tokens in an answer that came to nothing."""
    try:
        spent = wire.usage(body)
    except _MISREAD:
        return None
    return None if spent == Usage() else spent


def _with_quota(reply: AdapterCallResult, quota: tuple[Quota, ...]) -> AdapterCallResult:
    return replace(reply, usage=replace(reply.usage, quota=quota)) if quota else reply


@dataclass(slots=True)
class StreamReading:
    """One stream of events on its way to be a reply. `source` is how messages name the server.

    `shown`: text or a call has come of it.
    """

    wire: Wire
    owner: Owner
    source: str = ""
    stream: Accumulator = field(init=False)
    shown: bool = field(default=False, init=False)
    _halves: Halves = field(default_factory=Halves, init=False)
    _request_id: str = field(default="", init=False)
    _quota: tuple[Quota, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.stream = self.wire.accumulator()

    @property
    def over(self) -> bool:
        """Nothing more of use can come."""
        return self.stream.over

    def take(self, event: Body) -> list[Delta]:
        """What the event adds. CallBroken if it cannot be read."""
        self._request_id, self._quota = event.request_id, event.quota
        deltas = list[Delta]()
        try:
            for delta in self.stream.feed(event.json):
                self.shown = self.shown or not isinstance(delta, ThinkingPart)
                deltas.append(self._halves.joined(delta))
        except _MISREAD as error:
            raise CallBroken(misread("an event of the stream", error, event.request_id)) from error
        return deltas

    def reply(self, broke: CallFailure | None = None) -> Result[AdapterCallResult, CallFailure]:
        """The reply that has come, whatever `broke` after its end; without that end the facts of the failure."""
        if not self.stream.complete:
            said = f"{self.source}: the stream" if self.source else "the stream"
            facts = broke or CallFailure(None, "stream", f"{said} ended before the reply did")
            return Failure(replace(facts, usage=_spent(self.wire, self.stream.body())))
        try:
            body = Body(self.stream.body(), self._request_id, quota=self._quota)
        except _MISREAD as error:
            return Failure(misread("the stream", error, self._request_id))
        return decoded(self.wire, body, self.owner)


class Payloads:
    """The JSON objects of a stream of server-sent events, whatever the chunking. CallBroken for what is none."""

    def __init__(self) -> None:
        self._splitter = EventSplitter(MAX_EVENT_BYTES)
        self.over = False

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """The objects that are complete with `chunk`, one by one, up to the end mark, after which `over` is True."""
        try:
            payloads = self._splitter.feed(chunk)
        except EventTooLong as error:
            raise CallBroken(CallFailure(200, "response", f"sent {error}")) from error
        for data in payloads:
            if data == _DONE:
                self.over = True
                yield dict(END_MARK)
                return
            yield _event(data)

    def end(self) -> list[dict[str, Any]]:
        """The object of a last event that lacks its blank line, if it is whole: the stream may break off inside it."""
        last = [] if self.over else self._splitter.end()
        return [event for data in last if (event := read_object(data)) is not None]


def _event(data: bytes) -> dict[str, Any]:
    event = read_object(data)
    if event is None:
        shown = data[:200].decode("utf-8", "replace")
        raise CallBroken(CallFailure(200, "response", f"sent an event that is no JSON object: {shown}"))
    return event
