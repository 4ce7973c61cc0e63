"""Recorded answers of real servers are read as they say: text, calls and tokens, against a reading of its own.

The recordings are other people's data and stay outside the project; without them this is skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest
from returns.result import Failure, Result

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.facts import error_in_body, failure_of_response
from geode.adapters.http_json.json_bytes import read_object
from geode.adapters.http_json.sse import EventSplitter
from geode.adapters.http_json.wire import Body, Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Owner
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.reply import AdapterCallResult

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("GEODE_RECORDINGS") or ROOT.parent / "shared" / "recordings")
WIRES: Mapping[str, Wire] = {
    "messages": MessagesWire(),
    "responses": ResponsesWire(),
    "chat": ChatWire(DIALECTS["generic"]),
}
ME = Owner("recorded", "model")
Json: TypeAlias = Mapping[str, Any]
Call: TypeAlias = tuple[str, str, Any]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded traffic at {FOLDER}; set GEODE_RECORDINGS")


@dataclass
class Seen:
    """What a person finds in an answer. Arguments that are no object are kept as their text."""

    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    tokens: tuple[int, int] = (0, 0)


def _recorded(protocol: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / f"{protocol}.jsonl").open() as lines:
        yield from map(json.loads, lines)


# ---- the adapters' reading -----------------------------------------------------------------------


def _decoded(wire: Wire, body: Json) -> Result[AdapterCallResult, CallFailure]:
    """As the adapter over HTTP does it: an error inside a 200 is a failure."""
    if body.get("error"):
        return Failure(error_in_body(body, ""))
    return wire.decode(Body(body, ""), ME)


def _streamed(wire: Wire, sse: str) -> Result[AdapterCallResult, CallFailure] | None:
    splitter, stream = EventSplitter(), wire.accumulator()
    data = sse.encode()
    for event in (*splitter.feed(data), *splitter.end()):
        if event != b"[DONE]" and not stream.over:
            found = read_object(event)
            assert found is not None, event
            list(stream.feed(found))
    return _decoded(wire, stream.body()) if stream.complete else None


def _seen(reply: AdapterCallResult) -> Seen:
    calls = [(call.id, call.name, call.input if call.unparsed is None else call.unparsed) for call in reply.calls]
    return Seen(reply.text, calls, (reply.usage.input_tokens, reply.usage.output_tokens))


# ---- a reading of its own ------------------------------------------------------------------------


def _arguments(text: Any) -> Any:
    if not isinstance(text, str):
        return text or {}
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _read_messages(body: Json) -> Seen:
    usage = body["usage"]
    read = sum(usage.get(f"{kind}input_tokens") or 0 for kind in ("", "cache_creation_", "cache_read_"))
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    calls = [(block["id"], block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use"]
    return Seen(text, calls, (read, usage["output_tokens"]))


def _read_responses(body: Json) -> Seen:
    parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
    calls = [item for item in body["output"] if item["type"] == "function_call"]
    usage = body.get("usage") or {}
    return Seen(
        "".join(part.get("text") or part.get("refusal") or "" for part in parts),
        [(call["call_id"], call["name"], _arguments(call["arguments"])) for call in calls],
        (usage.get("input_tokens", 0), usage.get("output_tokens", 0)),
    )


def _read_chat(body: Json) -> Seen:
    message, usage = body["choices"][0]["message"], body.get("usage") or {}
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "".join(part["text"] for part in content if part["type"] == "text")
    calls = [
        (call["id"], call["function"]["name"], _arguments(call["function"].get("arguments")))
        for call in message.get("tool_calls") or ()
    ]
    return Seen(
        text + (message.get("refusal") or ""), calls, (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
    )


def _events(sse: str) -> Iterator[Json]:
    for line in sse.split("\n"):
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            yield json.loads(line[5:])


def _read_messages_stream(events: Iterator[Json]) -> Seen:
    body: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    pieces: dict[int, str] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                body = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                blocks[event["index"]]["text"] += event["delta"]["text"]
            case "content_block_delta" if event["delta"]["type"] == "input_json_delta":
                pieces[event["index"]] = pieces.get(event["index"], "") + event["delta"]["partial_json"]
            case "message_delta":
                body["usage"] = {**body["usage"], **event["usage"]}
            case _:
                pass
    for index, text in pieces.items():
        blocks[index]["input"] = _arguments(text)
    return _read_messages({**body, "content": [blocks[index] for index in sorted(blocks)]})


def _read_responses_stream(events: Iterator[Json]) -> Seen:
    done: dict[int, Json] = {}
    last: Json = {}
    for event in events:
        if event["type"] == "response.output_item.done":
            done[event["output_index"]] = event["item"]
        if event["type"] in ("response.completed", "response.incomplete"):
            last = event["response"]
    return _read_responses({**last, "output": last["output"] or [done[index] for index in sorted(done)]})


def _read_chat_stream(events: Iterator[Json]) -> Seen:
    """The recorded servers number their calls, and give id and name once."""
    text, calls, usage = "", dict[int, dict[str, str]](), dict[str, Any]()
    for event in events:
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            content = delta.get("content") or ""
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            text += "".join(part["text"] for part in parts if part["type"] == "text") + (delta.get("refusal") or "")
            for fragment in delta.get("tool_calls") or ():
                call = calls.setdefault(fragment["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] = call["id"] or fragment.get("id") or ""
                call["name"] = call["name"] or fragment["function"].get("name") or ""
                call["arguments"] += fragment["function"].get("arguments") or ""
    found = [(call["id"], call["name"], _arguments(call["arguments"])) for call in calls.values()]
    return Seen(text, found, (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)))


WHOLE: Mapping[str, Callable[[Json], Seen]] = {
    "messages": _read_messages,
    "responses": _read_responses,
    "chat": _read_chat,
}
STREAM: Mapping[str, Callable[[Iterator[Json]], Seen]] = {
    "messages": _read_messages_stream,
    "responses": _read_responses_stream,
    "chat": _read_chat_stream,
}


@pytest.mark.parametrize(("protocol", "least"), [("messages", 190), ("responses", 185), ("chat", 300)])
def test_whole_answers(protocol: str, least: int) -> None:
    judged, wrong = 0, list[tuple[str, Any, Any]]()
    for exchange in _recorded(protocol):
        if exchange["status"] != 200 or "sse" in exchange:
            continue
        judged += 1
        answer = _decoded(WIRES[protocol], exchange["response"])
        failure = answer.swap().value_or(None)
        found, wanted = failure or _seen(answer.unwrap()), WHOLE[protocol](exchange["response"])
        if found != wanted:
            wrong.append((exchange["id"], found, wanted))

    assert judged >= least
    assert wrong == []


@pytest.mark.parametrize(("protocol", "least"), [("messages", 9), ("responses", 21), ("chat", 45)])
def test_streams(protocol: str, least: int) -> None:
    judged, wrong = 0, list[tuple[str, Any, Any]]()
    for exchange in _recorded(protocol):
        if exchange["status"] != 200 or "sse" not in exchange:
            continue
        judged += 1
        answer = _streamed(WIRES[protocol], exchange["sse"])
        if answer is None:
            wrong.append((exchange["id"], "is not complete", ""))
            continue
        failure = answer.swap().value_or(None)
        if failure is not None:
            said = next((event for event in _events(exchange["sse"]) if event.get("error") or event.get("type") == "error"), {})
            if not said or failure.message == "":
                wrong.append((exchange["id"], failure, said))
            continue
        found, wanted = _seen(answer.unwrap()), STREAM[protocol](_events(exchange["sse"]))
        if found != wanted:
            wrong.append((exchange["id"], found, wanted))

    assert judged >= least
    assert wrong == []


@pytest.mark.parametrize("protocol", ["messages", "responses", "chat"])
def test_refusals_have_the_server_s_own_words(protocol: str) -> None:
    for exchange in _recorded(protocol):
        if exchange["status"] == 200:
            continue
        content = json.dumps(exchange["response"]).encode()
        failure = failure_of_response(
            httpx2.Response(exchange["status"], headers=exchange["headers"], content=content), content
        )
        error = exchange["response"].get("error", exchange["response"])
        message = error["message"] if isinstance(error, dict) else error
        assert message in failure.message
        assert failure.status == exchange["status"]
        assert classify_retry_error(failure) is not FailureClass.UNKNOWN
