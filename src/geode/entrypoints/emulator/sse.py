"""Server-sent events of the three wires, and where a stream is cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from geode.domain.script import DropPoint
from geode.entrypoints.emulator.render import Dialect, Exchange, Json, Protocol
from geode.entrypoints.emulator.render_responses import failure_events

DONE: Final = b"data: [DONE]\n\n"
OPENROUTER_COMMENT: Final = b": OPENROUTER PROCESSING\n\n"
TERMINAL: Final = frozenset({"message_delta", "message_stop", "response.completed", "response.incomplete", "response.failed"})
VISIBLE: Final = frozenset({"response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta"})


def encode(protocol: Protocol, event: Json) -> bytes:
    """One event as bytes; Chat chunks have no event name."""
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    name = b"" if protocol == "chat" else f"event: {event.get('type', 'message')}\n".encode()
    return name + b"data: " + data + b"\n\n"


def frames(protocol: Protocol, dialect: Dialect, events: Sequence[Json]) -> list[bytes]:
    """A whole stream as frames, with what the transport adds around the events."""
    encoded = [encode(protocol, event) for event in events]
    if protocol != "chat":
        return encoded
    return [*([OPENROUTER_COMMENT] if dialect == "openrouter" else []), *encoded, DONE]


def before_cut(protocol: Protocol, events: Sequence[Json], at: DropPoint) -> list[Json]:
    """The events that leave before the connection breaks at `at`.

    `before_end` is the last moment at which a client can tell: everything but the events that say
    how the reply ended. `before_output` is everything up to the first text or argument delta.
    """
    body = [event for event in events if not ends(protocol, event)]
    first = next((place for place, event in enumerate(body) if visible(protocol, event)), len(body))
    if at == "before_output":
        return body[:first]
    return body[: first + 1] if at == "after_output" else body


def visible(protocol: Protocol, event: Json) -> bool:
    """Does this event carry text or argument text of the reply? Thinking is not visible."""
    if protocol == "responses":
        return event["type"] in VISIBLE
    if protocol == "messages":
        delta = event.get("delta", {})
        return bool(delta.get("text") or delta.get("partial_json"))
    delta = event["choices"][0]["delta"] if event["choices"] else {}
    return bool(delta.get("content") or delta.get("refusal") or delta.get("tool_calls"))


def ends(protocol: Protocol, event: Json) -> bool:
    """Does this event tell how the reply ended?"""
    if protocol != "chat":
        return event["type"] in TERMINAL
    return not event["choices"] or event["choices"][0]["finish_reason"] is not None


def error_events(exchange: Exchange, opening: Sequence[Json]) -> list[Json]:
    """A stream that began with a 200 and then carries an error, as each wire writes it."""
    if exchange.protocol == "messages":
        overloaded = {"type": "overloaded_error", "message": "Overloaded"}
        return [*opening, {"type": "error", "error": overloaded}]
    if exchange.protocol == "responses":
        failed = failure_events(exchange, "server_error", "server_error", "The server had an error.")
        return [{**event, "sequence_number": number} for number, event in enumerate([*opening, *failed])]
    if exchange.dialect == "openrouter":
        error = {"code": 502, "message": "Provider disconnected", "metadata": {"error_type": "provider_unavailable"}}
        broken = dict(opening[0])
        broken["error"] = error
        broken["choices"] = [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]
        return [*opening, broken]
    return [
        *opening,
        {"error": {"message": "The server had an error.", "type": "server_error", "param": None, "code": "server_error"}},
    ]
