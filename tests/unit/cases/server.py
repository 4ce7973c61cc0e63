"""Adapters as they are, but for the SDK's client: bodies come from the test, and every request is judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx2

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.exchange import Exchange
from geode.adapters.http_json.model import HttpModel
from geode.adapters.http_json.wire import Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Owner
from geode.domain.conversation import Conversation
from geode.domain.negotiation import negotiate
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.targets import DialectName
from geode.entrypoints.emulator import Protocol, check, laws
from geode.entrypoints.routes.capabilities import capabilities_of
from tests.unit.cases.turns import ME, user

Json: TypeAlias = dict[str, Any]
Answer: TypeAlias = Mapping[str, Any] | list[Json]


@dataclass
class Server:
    """Stands for an SDK's client. An answer is a body, or the events of a stream; each is given once."""

    protocol: Protocol
    dialect: DialectName
    answers: list[Answer]
    asked: list[Json] = field(default_factory=list[Json])

    def is_closed(self) -> bool:
        return False

    async def post(self, path: str, *, cast_to: Any, content: Any, options: Any, stream: Any = False) -> httpx2.Response:
        body = json.loads(content)
        spoken = "anthropic" if self.protocol == "messages" else "openai" if self.protocol == "responses" else self.dialect
        assert (*check(self.protocol, body, spoken), *laws(self.protocol, body)) == ()
        self.asked.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, list):
            events = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in answer)
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events)
        return httpx2.Response(200, json=answer)


@dataclass
class Adapter:
    """`http` is the adapter that is tested, `server` what it talks to."""

    http: HttpModel
    server: Server

    @property
    def asked(self) -> list[Json]:
        return self.server.asked


def adapter(protocol: Protocol, *answers: Answer, dialect: DialectName = "generic") -> Adapter:
    server = Server(protocol, dialect, list(answers))
    exchange = Exchange(server, "/", Endpoint("http://lab.test", "the test"), (httpx2.HTTPError,))
    return Adapter(HttpModel(ME.adapter, able(protocol, dialect), wire(protocol, dialect), exchange), server)


def wire(protocol: Protocol, dialect: DialectName = "generic") -> Wire:
    match protocol:
        case "messages":
            return MessagesWire()
        case "responses":
            return ResponsesWire()
        case "chat":
            return ChatWire(DIALECTS[dialect])


def able(protocol: Protocol, dialect: DialectName = "generic") -> Capabilities:
    match protocol:
        case "messages":
            return capabilities_of("messages")
        case "responses":
            return capabilities_of("responses", "openai")
        case "chat":
            return capabilities_of("chat", dialect)


def sent(protocol: Protocol, request: AdapterCallRequest, dialect: DialectName = "generic") -> Json:
    """The body that leaves; AssertionError with the reason if it may not leave."""
    agreed = negotiate(ME.adapter, request, able(protocol, dialect))
    assert agreed.value_or(None) is not None, agreed.failure()
    body: Json = json.loads(wire(protocol, dialect).encode(agreed.unwrap().request, Owner(ME.adapter, request.model)))
    return body


def refused(protocol: Protocol, request: AdapterCallRequest, dialect: DialectName = "generic") -> str:
    """Why the request may not leave."""
    return negotiate(ME.adapter, request, able(protocol, dialect)).failure()


async def reply(protocol: Protocol, answer: Answer, dialect: DialectName = "generic", **asked: Any) -> AdapterCallResult:
    """What the adapter makes of one answer."""
    shown = adapter(protocol, answer, dialect=dialect)
    request = AdapterCallRequest("m", Conversation((user("hi"),)), streamed=isinstance(answer, list), **asked)
    return (await shown.http.acomplete(request, _nobody)).unwrap()


async def _nobody(_: object) -> None:
    """Deltas that are not looked at."""


# ---- answers -----------------------------------------------------------------------------------------


def completion(*calls: Mapping[str, Any], finish: Any = "tool_calls", **message: Any) -> Json:
    """A Chat answer."""
    given = {"role": "assistant", "content": None, **message, **({"tool_calls": list(calls)} if calls else {})}
    return {"choices": [{"index": 0, "message": given, "finish_reason": finish}], "usage": {}}


def called(id: Any = "a", name: Any = "t1", arguments: Any = "{}") -> Json:
    """A call of the Chat wire; what is `...` is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not ...}
    return {"type": "function", "function": function} | ({} if id is ... else {"id": id})


def chunks(*fragments: Iterable[Mapping[str, Any]]) -> list[Json]:
    """A Chat stream whose chunks bring fragments of calls."""
    grown = [{"choices": [{"index": 0, "delta": {"tool_calls": list(some)}}]} for some in fragments]
    return [*grown, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def message(*content: Mapping[str, Any], stop: Any = "tool_use", **more: Any) -> Json:
    """A Messages answer."""
    return {"content": list(content), "stop_reason": stop, "usage": {}, **more}


def response(*output: Mapping[str, Any], status: str = "completed", **more: Any) -> Json:
    """A Responses answer."""
    return {"status": status, "output": list(output), "usage": {}, **more}


def says(protocol: Protocol, text: str = "done") -> Json:
    """An answer that ends a run."""
    match protocol:
        case "messages":
            return message({"type": "text", "text": text}, stop="end_turn")
        case "responses":
            return response({"type": "message", "content": [{"type": "output_text", "text": text}]})
        case "chat":
            return completion(finish="stop", content=text)


def asks(protocol: Protocol, arguments: Any, id: str = "a", name: str = "t1") -> Json:
    """An answer with one call; `arguments` go out as they are."""
    match protocol:
        case "messages":
            return message({"type": "tool_use", "id": id, "name": name, "input": arguments})
        case "responses":
            call = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": arguments}
            return response(call)
        case "chat":
            return completion(called(id, name, arguments))
