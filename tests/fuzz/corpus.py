"""What is mutated: answers of real servers where they are at hand, and those that the emulator writes anyway."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.wire import Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.script import Called, calls, refuses, says, thinks
from geode.entrypoints.emulator import Dialect, Exchange, Protocol, render_chat, render_messages, render_responses
from geode.entrypoints.emulator.rules import dialect_of
from geode.entrypoints.emulator.sse import error_events, frames

ROOT: Final = Path(__file__).parents[2]
RECORDINGS: Final = Path(os.environ.get("GEODE_RECORDINGS") or ROOT.parent / "shared" / "recordings")
# What is longer is cut by whole events: a mutation takes the time of its body, and says no more in a long one.
MOST_BYTES: Final = 6_000

_Json = dict[str, Any]


@dataclass(frozen=True)
class Spoken:
    """A wire in one dialect: how it is read and written, and by whose rules what is written is judged."""

    protocol: Protocol
    dialect: Dialect
    wire: Wire


WIRES: Final[tuple[Spoken, ...]] = (
    Spoken("messages", "anthropic", MessagesWire()),
    Spoken("responses", "openai", ResponsesWire()),
    Spoken("chat", "openai", ChatWire(DIALECTS["openai"])),
    Spoken("chat", "openrouter", ChatWire(DIALECTS["openrouter"])),
    Spoken("chat", "glm", ChatWire(DIALECTS["glm"])),
    Spoken("chat", "generic", ChatWire(DIALECTS["generic"])),
)


@dataclass(frozen=True)
class Answer:
    """One answer as it was sent."""

    spoken: Spoken
    status: int
    streamed: bool
    body: bytes


def corpus() -> tuple[list[Answer], list[Answer]]:
    """(made by the emulator, recorded); the latter is empty where there are no recordings."""
    return list(_made()), list(_recorded())


# ---- made ------------------------------------------------------------------------------------------

_LONG: Final = "Zwölf Boxkämpfer jagen Viktor – 日本語 🙂 \u2028 quer über den großen Deich. "
REPLIES: Final = (
    says("Hello."),
    says(_LONG * 3),
    calls(("read", {"path": "a"})),
    says("Three.") + calls(("read", {"path": "ü/🙂"}), ("list_files", None), ("read", {"deep": [{"a": [1, 2.5, None]}]})),
    thinks("hm, " * 4, "SIG") + calls(("read", {"path": "a"}), ("read", {"path": "b"})),
    thinks("so", "SIG2") + says("Done."),
    calls(Called("read", '{"path": "a', id=""), Called("read", "", id="x"), Called("read", '"{\\"x\\":1}"', id="x")),
    refuses("harmful"),
)
_RENDERERS: Final[Mapping[Protocol, Any]] = {
    "messages": render_messages,
    "responses": render_responses,
    "chat": render_chat,
}


def _made() -> Iterator[Answer]:
    for spoken in WIRES:
        exchange = _exchange(spoken, streamed=False)
        streamed = _exchange(spoken, streamed=True)
        renderer = _RENDERERS[spoken.protocol]
        for reply in REPLIES:
            yield Answer(spoken, 200, False, _dump(renderer.whole(reply, exchange)))
            yield _stream(spoken, renderer.events(reply, streamed))
        yield _stream(spoken, error_events(streamed, renderer.events(REPLIES[1], streamed)[:4]))
        yield Answer(spoken, 529, False, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
        yield Answer(spoken, 400, False, b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"x"}}')
        yield Answer(spoken, 502, False, b"<html><title>502 Bad Gateway</title></html>")
        yield Answer(spoken, 429, False, _dump(_RELAYED))


_RELAYED: Final[_Json] = {
    "error": {
        "code": 429,
        "message": "Provider returned error",
        "metadata": {"provider_name": "p", "raw": '{"error":{"message":"slow down","type":"rate_limit_error"}}'},
    }
}


def _exchange(spoken: Spoken, *, streamed: bool) -> Exchange:
    request = {"model": "m", "stream_options": {"include_usage": True}}
    return Exchange(spoken.protocol, request, spoken.dialect, round=2, serial=7, created=1_700_000_000, streamed=streamed)


def _stream(spoken: Spoken, events: list[_Json]) -> Answer:
    return Answer(spoken, 200, True, b"".join(frames(spoken.protocol, spoken.dialect, events)))


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


# ---- recorded --------------------------------------------------------------------------------------


def _recorded() -> Iterator[Answer]:
    for protocol in ("messages", "responses", "chat"):
        path = RECORDINGS / f"{protocol}.jsonl"
        if not path.is_file():
            continue
        with path.open() as lines:
            for exchange in map(json.loads, lines):
                spoken = _spoken(protocol, dialect_of(exchange["host"]))
                if "sse" in exchange:
                    yield Answer(spoken, exchange["status"], True, shortened(exchange["sse"].encode()))
                elif len(body := _dump(exchange["response"])) <= 2 * MOST_BYTES:
                    yield Answer(spoken, exchange["status"], False, body)


def _spoken(protocol: str, dialect: str) -> Spoken:
    of_wire = [one for one in WIRES if one.protocol == protocol]
    return next((one for one in of_wire if one.dialect in (dialect, "generic")), of_wire[0])


def shortened(sse: bytes) -> bytes:
    """At most about `MOST_BYTES` of a stream: events from its middle are left out."""
    events = sse.replace(b"\r\n", b"\n").split(b"\n\n")
    while len(events) > 6 and sum(map(len, events)) > MOST_BYTES:
        del events[len(events) // 3 : len(events) // 3 + max(1, len(events) // 8)]
    return b"\n\n".join(events)
