"""Streams as bytes, with all that transports and proxies do to them: the reply is the same, or its failure is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import httpx2
import pytest
from returns.result import Result

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.answer import StreamReading, read_answer
from geode.adapters.http_json.wire import Body, Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.reply import AdapterCallResult
from geode.ports.model import CallPart, TextPart
from tests.unit.adapters.streams import ME

Event: TypeAlias = dict[str, Any]
TEXT = "Grüße 日本 🙂 \u2028"
ARGUMENTS = '{"path": "ü/🙂"}'


@dataclass(frozen=True)
class Stream:
    """The events of one reply: a text and a call. `heartbeat` says nothing on this wire."""

    wire: Wire
    events: tuple[Event, ...]
    heartbeat: bytes
    done: bytes = b""

    def sent(self) -> bytes:
        return b"".join(map(framed, self.events)) + self.done


def framed(event: Mapping[str, Any], *, escaped: bool = False) -> bytes:
    data = json.dumps(event, ensure_ascii=escaped).encode()
    return b"event: " + str(event.get("type", "chunk")).encode() + b"\ndata: " + data + b"\n\n"


def _messages() -> Stream:
    def delta(index: int, kind: str, field: str, piece: str) -> Event:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}

    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    events: tuple[Event, ...] = (
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(delta(0, "text_delta", "text", piece) for piece in (TEXT[:3], TEXT[3:])),
        {"type": "content_block_start", "index": 1, "content_block": call},
        *(delta(1, "input_json_delta", "partial_json", piece) for piece in (ARGUMENTS[:5], ARGUMENTS[5:])),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    )
    return Stream(MessagesWire(), events, b'event: ping\ndata: {"type": "ping"}\n\n')


def _responses() -> Stream:
    def delta(index: int, kind: str, piece: str) -> Event:
        return {"type": f"response.{kind}.delta", "output_index": index, "item_id": f"i_{index}", "delta": piece}

    call = {"type": "function_call", "id": "i_1", "call_id": "a", "name": "read", "arguments": ""}
    events: tuple[Event, ...] = (
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "i_0", "content": []}},
        *(delta(0, "output_text", piece) for piece in (TEXT[:3], TEXT[3:])),
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        *(delta(1, "function_call_arguments", piece) for piece in (ARGUMENTS[:5], ARGUMENTS[5:])),
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": [], "usage": {"input_tokens": 3, "output_tokens": 7}},
        },
    )
    return Stream(ResponsesWire(), events, b'data: {"type": "keepalive"}\n\n')


def _chat() -> Stream:
    def chunk(finish: str | None = None, **delta: Any) -> Event:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    events: tuple[Event, ...] = (
        *(chunk(content=piece) for piece in (TEXT[:3], TEXT[3:])),
        chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "read", "arguments": ARGUMENTS[:5]}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ARGUMENTS[5:]}}]),
        chunk("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 7}},
    )
    return Stream(ChatWire(DIALECTS["generic"]), events, b": OPENROUTER PROCESSING\n\n", b"data: [DONE]\n\n")


STREAMS = {"messages": _messages(), "responses": _responses(), "chat": _chat()}
each_wire = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


def read(stream: Stream, *chunks: bytes) -> Result[AdapterCallResult, CallFailure]:
    return read_answer(stream.wire, httpx2.Response(200), chunks, ME, streamed=True)


def failure(stream: Stream, *chunks: bytes) -> CallFailure:
    return read(stream, *chunks).failure()


@each_wire
def test_the_reply(stream: Stream) -> None:
    reply = read(stream, stream.sent()).unwrap()
    assert reply.text == TEXT
    assert [(call.id, call.name, call.input) for call in reply.calls] == [("a", "read", {"path": "ü/🙂"})]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 7)


@each_wire
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_line_ends_and_a_bom_change_nothing(stream: Stream, end: bytes, bom: bytes) -> None:
    assert read(stream, bom + stream.sent().replace(b"\n", end)) == read(stream, stream.sent())


@each_wire
@pytest.mark.parametrize("extra", [b": a comment\n\n", b":\n", b"id: 1\nretry: 5\n\n", b"data:\n\n", b"\n\n", b"event: x\n\n"])
def test_comments_heartbeats_and_empty_events_change_nothing(stream: Stream, extra: bytes) -> None:
    among = b"".join(extra + stream.heartbeat + framed(event) for event in stream.events) + extra + stream.done
    assert read(stream, among) == read(stream, stream.sent())


@each_wire
def test_a_cut_between_any_two_bytes_changes_nothing(stream: Stream) -> None:
    """Characters of several bytes, line ends and field names among them."""
    data, whole = stream.sent(), read(stream, stream.sent())
    assert all(read(stream, data[:cut], data[cut:]) == whole for cut in range(len(data)))
    assert read(stream, *(data[at : at + 1] for at in range(len(data)))) == whole


@each_wire
def test_a_stream_that_ends_early_is_interrupted_or_whole_at_every_byte(stream: Stream) -> None:
    data = stream.sent()
    for cut in range(len(data)):
        broken = read(stream, data[:cut])
        if (facts := broken.swap().value_or(None)) is not None:
            shown = FailureClass.STREAM_INTERRUPTED if facts.after_output else FailureClass.CONNECTION
            assert (facts.phase, classify_retry_error(facts)) == ("stream", shown)
        else:
            assert [call.input for call in broken.unwrap().calls] == [{"path": "ü/🙂"}]


@each_wire
@pytest.mark.parametrize(
    ("error", "word", "judged"),
    [
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, "slow", FailureClass.RATE_LIMIT),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, "slow", FailureClass.RATE_LIMIT),
        ({"error": {"code": 429, "message": "slow"}}, "slow", FailureClass.RATE_LIMIT),
        ({"object": "error", "message": "slow", "code": 429}, "slow", FailureClass.RATE_LIMIT),
        ({"error": "slow down"}, "slow down", FailureClass.UNKNOWN),
    ],
    ids=["nested", "flat", "without a type", "an object that is an error", "a text"],
)
def test_an_error_in_any_form_is_the_failure_it_says(stream: Stream, error: Event, word: str, judged: FailureClass) -> None:
    for at in range(len(stream.events)):
        facts = failure(stream, *map(framed, (*stream.events[:at], error, *stream.events[at:])))
        assert word in facts.message
        assert (facts.phase, classify_retry_error(replace(facts, after_output=False))) == ("response", judged)


@each_wire
@pytest.mark.parametrize("event", [b"data: {\n\n", b"data: []\n\n", b"data: null\n\n", b"data: \xff\n\n"])
def test_an_event_that_is_no_object_is_a_failure(stream: Stream, event: bytes) -> None:
    assert "no JSON object" in failure(stream, framed(stream.events[0]), event, framed(stream.events[1])).message


@each_wire
@pytest.mark.parametrize(("second", "text"), [("\ude42", "🙂"), ("x", "\ufffdx")], ids=["both halves", "one half"])
def test_characters_that_a_server_cut_in_half_are_the_same_in_the_reply_and_in_the_deltas(
    stream: Stream, second: str, text: str
) -> None:
    """A writer of escapes may end one delta inside a pair of surrogates."""
    reading = StreamReading(stream.wire, ME)
    events = _with_texts(stream.events, "\ud83d", second)
    shown = [part.text for event in events for part in reading.take(Body(event, "")) if isinstance(part, TextPart)]

    assert "".join(shown) == reading.reply().unwrap().text == text


def _with_texts(events: tuple[Event, ...], first: str, second: str) -> Any:
    new = {TEXT[:3]: first, TEXT[3:]: second}

    def renamed(value: Any) -> Any:
        match value:
            case dict():
                return {key: renamed(one) for key, one in value.items()}
            case list():
                return [renamed(one) for one in value]
            case _:
                return new.get(value, value)

    return [renamed(event) for event in events]


@each_wire
def test_deltas_of_arguments_join_to_the_arguments(stream: Stream) -> None:
    reading = StreamReading(stream.wire, ME)
    parts = [part for event in stream.events for part in reading.take(Body(event, "")) if isinstance(part, CallPart)]
    assert "".join(part.arguments for part in parts) == ARGUMENTS
    assert {part.name for part in parts} == {"read"}


def test_a_server_that_leaves_out_the_end_mark_is_not_waited_for() -> None:
    """What comes after the usage that follows the finish is not read."""
    chat = STREAMS["chat"]
    assert read(chat, *map(framed, chat.events), b"data: {broken\n\n") == read(chat, chat.sent())
