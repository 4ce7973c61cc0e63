"""Reading a recorded answer as a person would: an independent witness, which shares nothing with the decoders."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]
Call: TypeAlias = tuple[str, str, Any]


@dataclass
class Seen:
    """What a person finds in an answer. Arguments that are no object are kept as their text."""

    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    tokens: tuple[int, int] = (0, 0)


def _chat_tokens(usage: Json) -> tuple[int, int]:
    """Google leaves its thinking out of the completion, and not out of the total."""
    went_in, came_out = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    return went_in, max(came_out, usage.get("total_tokens", 0) - went_in) if went_in else came_out


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
    return Seen(text + (message.get("refusal") or ""), calls, _chat_tokens(usage))


def events_of(sse: str) -> Iterator[Json]:
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
    return Seen(text, found, _chat_tokens(usage))


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
