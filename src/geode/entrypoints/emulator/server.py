"""The emulator: takes requests, judges them, and answers with the next step of its script."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from geode.domain.script import Drops, Fails, Hangs, Malformed, Reply, Said, Script, Step, Thought
from geode.entrypoints.emulator import errors, render_chat, render_messages, render_responses, sse
from geode.entrypoints.emulator.bound import prefixes
from geode.entrypoints.emulator.broken import Cut, Hang
from geode.entrypoints.emulator.conversation import rounds
from geode.entrypoints.emulator.playback import ByConversation, OnMissing, Playback
from geode.entrypoints.emulator.render import DEFAULT_DIALECT, DIALECTS, Dialect, Exchange, Json, Protocol, ScriptError
from geode.entrypoints.emulator.rule import Quirk, Violation
from geode.entrypoints.emulator.rules import check
from geode.entrypoints.emulator.rules_http import credentials, no_object, parsed

_ENDPOINTS: Final[Mapping[str, Protocol]] = {"/messages": "messages", "/responses": "responses", "/chat/completions": "chat"}
# With `/v1` and without, and nowhere else: a wrong base address has to be noticed.
ENDPOINTS: Final[Mapping[str, Protocol]] = {f"{base}{path}": wire for base in ("/v1", "") for path, wire in _ENDPOINTS.items()}
# A script that ran out, or cannot be played on a wire, is a mistake of the test: repeating cannot help.
NO_RETRY: Final = {"x-should-retry": "false"}


@dataclass(frozen=True, slots=True)
class Received:
    """One request that reached a model endpoint, and what became of it.

    `at` is seconds of a monotonic clock; `step` is the step that answered it, None when it was
    refused or the script had no more.
    """

    protocol: Protocol
    request: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    violations: tuple[Violation, ...]
    at: float
    path: str
    step: Step | None = None


class Emulator:
    """Plays a script as a model server, and keeps what it was sent.

    A wire that is not spoken in `dialect` keeps its own first one, so `glm` still answers Responses as
    OpenAI does. Every accepted request consumes one step; a refused one consumes none. With `by_conversation`
    the step is read out of the request's own history instead (see `Playback`). `on_missing="restart"`
    starts the script over after its last step; by default such a request is answered with a 500 that
    says so. `refuse=False` records violations and answers all the same. `api_key` refuses every
    other key, `models` every other name of a model; `check_signatures` refuses thinking and reasoning
    that this script did not issue. `quirks` are what it refuses as some compatible Chat servers do.
    """

    def __init__(
        self,
        script: Script | Sequence[Step],
        *,
        dialect: Dialect | None = None,
        on_missing: OnMissing = "error",
        by_conversation: ByConversation = False,
        event_delay_seconds: float = 0.0,
        refuse: bool = True,
        api_key: str | None = None,
        check_signatures: bool = False,
        models: frozenset[str] | None = None,
        quirks: frozenset[Quirk] = frozenset(),
    ) -> None:
        self.script: Script = tuple(script)
        self.dialect: Dialect | None = dialect
        self.event_delay_seconds = event_delay_seconds
        self.refuse = refuse
        self.api_key = api_key
        self.models = models
        self.quirks = quirks
        self.received: list[Received] = []
        self.playback = Playback(self.script, on_missing, by_conversation)
        self.signatures = _signatures(self.script) if check_signatures else None
        # The id of each response that can be continued -> how many replies its conversation holds.
        self.stored: dict[str, int] = {}
        self.prefixes: dict[str, set[str]] = {}
        self.reasoned: set[str] = set()
        self.paused = _paused_texts(self.script)

    @property
    def position(self) -> int:
        """How many steps were played."""
        return self.playback.position

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Everything that was wrong in anything received."""
        return tuple(violation for one in self.received for violation in one.violations)

    async def answer(self, protocol: Protocol, http: Request) -> Response:
        """Judge one request, record it, and answer it."""
        dialect = self.dialect if self.dialect in DIALECTS[protocol] else DEFAULT_DIALECT[protocol]
        request_id = f"req_{len(self.received):06d}"
        try:
            raw = await http.body()
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it, nor was anything asked
        request, found = self._judge(protocol, dialect, http, raw)
        refused = bool(found) and self.refuse
        kept = self._kept(request)
        step = None if refused else self.playback.next(protocol, request, kept)
        headers = dict(http.headers)
        self.keep(Received(protocol, request, headers, found, time.monotonic(), http.url.path, step))
        ids = errors.request_id_headers(protocol, request_id)
        if refused:
            body = errors.of_violation(protocol, dialect, found[0], request_id)
            return _json(body, found[0].status, ids)
        serial = len(self.received)
        streamed = bool(request.get("stream"))
        held = kept + rounds(protocol, request)
        # Servers that cannot be asked for usage were seen to tell it by themselves.
        unasked = "stream_options" in self.quirks
        exchange = Exchange(protocol, request, dialect, held, serial, int(time.time()), streamed, unasked)
        try:
            return self._play(step, exchange, request_id, ids)
        except ScriptError as error:
            return self._mistake(exchange, str(error), request_id, ids)

    def keep(self, received: Received) -> None:
        """Called once for each request, before it is answered."""
        self.received.append(received)

    def unknown_path(self, path: str) -> Response:
        """The answer where no wire is."""
        text = f"The emulator serves {', '.join('/v1' + ending for ending in _ENDPOINTS)}, not {path}."
        return _json(errors.envelope("chat", self.dialect or "openai", 404, text), 404, {})

    def _judge(self, protocol: Protocol, dialect: Dialect, http: Request, raw: bytes) -> tuple[Json, tuple[Violation, ...]]:
        request = parsed(raw)
        if request is None:
            return {}, (no_object(),)
        refused = credentials(protocol, dialect, http.headers, self.api_key)
        if refused is not None:
            return request, (refused,)
        return request, check(
            protocol,
            request,
            dialect,
            version=http.headers.get("anthropic-version", ""),
            signatures=self.signatures,
            prefixes={signature: frozenset(found) for signature, found in self.prefixes.items()},
            responses=frozenset(self.stored),
            paused=self.paused,
            reasoned=frozenset(self.reasoned),
            models=self.models,
            size=len(raw),
            quirks=self.quirks,
        )

    def _play(self, step: Step | None, exchange: Exchange, request_id: str, ids: dict[str, str]) -> Response:
        match step:
            case Reply():
                failure = _as_failure(step, exchange)
                return self._reply(step, exchange, ids) if failure is None else _failed(failure, exchange, request_id, ids)
            case Fails():
                return _failed(step, exchange, request_id, ids)
            case Hangs():
                return Hang()
            case Drops():
                return self._dropped(step, exchange, ids)
            case Malformed():
                return self._malformed(step, exchange, request_id, ids)
            case None:
                text = f"The script has {len(self.script)} steps and no answer for request {len(self.received)}."
                return self._mistake(exchange, text, request_id, ids)

    def _mistake(self, exchange: Exchange, text: str, request_id: str, ids: dict[str, str]) -> Response:
        body = errors.envelope(exchange.protocol, exchange.dialect, 500, text, request_id=request_id)
        return _json(body, 500, {**ids, **NO_RETRY})

    def _reply(self, reply: Reply, exchange: Exchange, ids: dict[str, str]) -> Response:
        if exchange.protocol == "responses":
            self._remember(render_responses.whole(reply, exchange), exchange.round + 1)
        if exchange.protocol == "messages":
            self._bind(reply, exchange.request)
        if not exchange.streamed:
            return _json(_whole(reply, exchange), 200, ids)
        return self._stream(sse.frames(exchange.protocol, exchange.dialect, _events(reply, exchange)), ids)

    def _kept(self, request: Json) -> int:
        """Replies of the conversation that the request only points to."""
        name = request.get("previous_response_id")
        return self.stored.get(name, 0) if isinstance(name, str) else 0

    def _remember(self, response: Json, replies: int) -> None:
        if response["store"]:
            self.stored[response["id"]] = replies
        if any(item["type"] == "reasoning" for item in response["output"]):
            self.reasoned |= {item["id"] for item in response["output"] if item["type"] == "function_call"}

    def _bind(self, reply: Reply, request: Mapping[str, Any]) -> None:
        thoughts = [item.signature for item in reply.items if isinstance(item, Thought)]
        if thoughts:
            *_, behind = prefixes(request)
            for signature in thoughts:
                self.prefixes.setdefault(signature, set()).add(behind)

    def _stream(self, frames: Sequence[bytes], ids: dict[str, str]) -> Response:
        async def paced() -> AsyncIterator[bytes]:
            for frame in frames:
                yield frame
                # Sleeping for 0 s still lets the loop send what was written, so events really arrive apart.
                await asyncio.sleep(self.event_delay_seconds)

        return StreamingResponse(paced(), 200, {**ids, "cache-control": "no-cache"}, "text/event-stream; charset=utf-8")

    def _dropped(self, step: Drops, exchange: Exchange, ids: dict[str, str]) -> Response:
        if step.at in ("connect", "headers"):
            return Cut(started=False, reset=step.at == "connect")
        if not exchange.streamed:
            body = json.dumps(_whole(step.reply, exchange)).encode()
            sent = {"before_output": 0, "after_output": len(body) // 2}.get(step.at, len(body) - 1)
            return Cut([body[:sent]], headers={**ids, "content-type": "application/json"}, length=len(body))
        kept = sse.before_cut(exchange.protocol, _events(step.reply, exchange), step.at)
        headers = {**ids, "content-type": "text/event-stream; charset=utf-8"}
        return Cut([sse.encode(exchange.protocol, event) for event in kept], headers=headers, pause=self.event_delay_seconds)

    def _malformed(self, step: Malformed, exchange: Exchange, request_id: str, ids: dict[str, str]) -> Response:
        streamed = exchange.streamed
        kind = "text/event-stream; charset=utf-8" if streamed else "application/json"
        match step.kind:
            case "html":
                return Response("<html><body><h1>Bad gateway</h1></body></html>", 200, ids, "text/html")
            case "empty":
                return Response(b"", 200, ids, kind)
            case "not_json":
                return Response(b'data: {"type": \n\n' if streamed else b'{"id": ', 200, ids, kind)
            case "wrong_shape":
                return Response(b'data: {"hello": "world"}\n\n' if streamed else b'{"hello": "world"}', 200, ids, kind)
            case "error_in_stream" if streamed:
                opening = sse.before_cut(exchange.protocol, _events(Reply(), exchange), "before_output")
                broken = sse.error_events(exchange, opening)
                return self._stream([sse.encode(exchange.protocol, event) for event in broken], ids)
            case "error_in_200" | "error_in_stream":
                status = 502 if exchange.dialect == "openrouter" else 500
                body = errors.envelope(
                    exchange.protocol, exchange.dialect, status, "The server had an error.", request_id=request_id
                )
                return _json(body, 200, ids)


def build_app(emulator: Emulator) -> Starlette:
    """The ASGI app of an emulator.

    Cut connections need the server of `run.py`; everything else works under any ASGI server.
    """

    async def endpoint(http: Request) -> Response:
        found = ENDPOINTS.get(http.url.path)
        return emulator.unknown_path(http.url.path) if found is None else await emulator.answer(found, http)

    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["POST", "GET"])])


def _signatures(script: Script) -> frozenset[str]:
    replies = (step if isinstance(step, Reply) else step.reply for step in script if isinstance(step, Reply | Drops))
    return frozenset(item.signature for reply in replies for item in reply.items if isinstance(item, Thought))


def _paused_texts(script: Script) -> frozenset[str]:
    paused = (step for step in script if isinstance(step, Reply) and step.stop_word == "pause")
    return frozenset("".join(item.text for item in reply.items if isinstance(item, Said)) for reply in paused)


def _json(body: Json, status: int, headers: Mapping[str, str]) -> Response:
    # A lone surrogate of the request, quoted in the answer, has no bytes of its own.
    return Response(json.dumps(body, ensure_ascii=False).encode(errors="replace"), status, headers, "application/json")


def _failed(failure: Fails, exchange: Exchange, request_id: str, ids: dict[str, str]) -> Response:
    body, kind = errors.of_failure(exchange.protocol, exchange.dialect, failure, request_id)
    return Response(body, failure.status, {**ids, **dict(failure.headers)}, kind)


def _as_failure(reply: Reply, exchange: Exchange) -> Fails | None:
    if exchange.protocol == "responses":
        return render_responses.as_failure(reply, exchange)
    return render_chat.as_failure(reply, exchange) if exchange.protocol == "chat" else None


def _whole(reply: Reply, exchange: Exchange) -> Json:
    renderers = {"messages": render_messages.whole, "responses": render_responses.whole, "chat": render_chat.whole}
    return renderers[exchange.protocol](reply, exchange)


def _events(reply: Reply, exchange: Exchange) -> list[Json]:
    renderers = {"messages": render_messages.events, "responses": render_responses.events, "chat": render_chat.events}
    return renderers[exchange.protocol](reply, exchange)
