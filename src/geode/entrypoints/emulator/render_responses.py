"""A neutral reply as OpenAI Responses writes it, whole and as a stream.

Shapes are those of recorded answers of api.openai.com. Two traps are kept on purpose: the copy of
a reasoning item in `output_item.added` carries an unfinished `encrypted_content`, and there is no
word for "wants tools": a client has to look at the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.domain.script import Called, Fails, Reply, ReplyStop, Said, Thought
from geode.entrypoints.emulator.render import Exchange, Json, argument_text, numbered_calls, pieces

INCOMPLETE_REASON: Final[dict[ReplyStop, str]] = {
    "max_tokens": "max_output_tokens",
    "content_filter": "content_filter",
    "pause": "steered",
}
CONTEXT_CODE: Final = "context_length_exceeded"
CONTEXT_MESSAGE: Final = "Your input exceeds the context window of this model."
DEFAULT_REFUSAL: Final = "I can't help with that."


def as_failure(reply: Reply, exchange: Exchange) -> Fails | None:
    """A full window is no answer on this wire: a 400 without a stream, a failed stream with one."""
    if reply.stop_word == "context_exceeded" and not exchange.streamed:
        return Fails(400, code=CONTEXT_CODE, message=CONTEXT_MESSAGE)
    return None


def whole(reply: Reply, exchange: Exchange) -> Json:
    """The body of a request without `stream`."""
    return _response(exchange, _status(reply), _items(reply, exchange), reply)


def events(reply: Reply, exchange: Exchange) -> list[Json]:
    """The events of a stream, numbered, terminal one included."""
    stream = [
        {"type": "response.created", "response": _response(exchange, "in_progress", [], None)},
        {"type": "response.in_progress", "response": _response(exchange, "in_progress", [], None)},
    ]
    if reply.stop_word == "context_exceeded":
        stream.extend(failure_events(exchange, "invalid_request_error", CONTEXT_CODE, CONTEXT_MESSAGE))
    else:
        for place, item in enumerate(_items(reply, exchange)):
            stream.extend(_item_stream(item, place))
        final = whole(reply, exchange)
        stream.append({"type": f"response.{final['status']}", "response": final})
    return [{**event, "sequence_number": number} for number, event in enumerate(stream)]


def failure_events(exchange: Exchange, error_type: str, code: str, message: str) -> list[Json]:
    """How a response breaks after its 200: a nested error, then the failed response."""
    failed = _response(exchange, "failed", [], None)
    failed["error"] = {"code": code, "message": message}
    error = {"type": error_type, "code": code, "message": message, "param": None}
    return [{"type": "error", "error": error}, {"type": "response.failed", "response": failed}]


def _status(reply: Reply) -> str:
    return "incomplete" if reply.stop_word in INCOMPLETE_REASON else "completed"


def _response(exchange: Exchange, status: str, output: list[Json], reply: Reply | None) -> Json:
    request = exchange.request
    incomplete = reply is not None and status == "incomplete"
    return {
        "id": f"resp_{exchange.serial:06d}",
        "object": "response",
        "created_at": exchange.created,
        "completed_at": exchange.created if status == "completed" else None,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": INCOMPLETE_REASON[reply.stop_word]} if reply is not None and incomplete else None,
        "instructions": request.get("instructions"),
        "max_output_tokens": request.get("max_output_tokens"),
        "metadata": request.get("metadata") or {},
        "model": exchange.model,
        "output": output,
        "parallel_tool_calls": request.get("parallel_tool_calls", True),
        "previous_response_id": request.get("previous_response_id"),
        "reasoning": request.get("reasoning") or {"effort": None, "summary": None},
        "service_tier": "default",
        "store": request.get("store", True),
        "temperature": 1.0,
        "text": request.get("text") or {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": request.get("tool_choice", "auto"),
        "tools": request.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None if reply is None else _usage(reply),
        "user": None,
    }


def _usage(reply: Reply) -> Json:
    return {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }


def _items(reply: Reply, exchange: Exchange) -> list[Json]:
    numbers = numbered_calls(reply)
    refused = reply.stop_word == "refusal"
    items = [_item(item, exchange, place, numbers.get(place, 0), refused) for place, item in enumerate(reply.items)]
    if refused and not any(item["type"] == "message" for item in items):
        items.append(_message(exchange, len(items), {"type": "refusal", "refusal": DEFAULT_REFUSAL}))
    if reply.stop_word in INCOMPLETE_REASON and items and "status" in items[-1]:
        items[-1]["status"] = "incomplete"
    return items


def _item(item: Said | Thought | Called, exchange: Exchange, place: int, number: int, refused: bool) -> Json:
    match item:
        case Said(text) if refused:
            return _message(exchange, place, {"type": "refusal", "refusal": text})
        case Said(text):
            return _message(exchange, place, {"type": "output_text", "annotations": [], "logprobs": [], "text": text})
        case Thought(text, signature):
            summary = [{"type": "summary_text", "text": text}] if text else []
            name = f"rs_s{exchange.serial}i{place}"
            return {"id": name, "type": "reasoning", "summary": summary, "encrypted_content": signature}
        case Called():
            call: Json = {"id": f"fc_s{exchange.serial}i{place}", "type": "function_call", "status": "completed"}
            arguments = argument_text(item)
            if arguments is not None:
                call["arguments"] = arguments
            return {**call, "call_id": exchange.call_id("call_", item, number), "name": item.name}


def _message(exchange: Exchange, place: int, part: Json) -> Json:
    name = f"msg_s{exchange.serial}i{place}"
    return {"id": name, "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _item_stream(item: Json, place: int) -> Iterator[Json]:
    where: dict[str, Any] = {"output_index": place, "item_id": item["id"]}
    yield {"type": "response.output_item.added", "output_index": place, "item": _unfinished(item)}
    if item["type"] == "message":
        yield from _part_stream(item["content"][0], {**where, "content_index": 0})
    elif item["type"] == "reasoning":
        for index, part in enumerate(item["summary"]):
            yield from _summary_stream(part["text"], {**where, "summary_index": index})
    elif "arguments" in item:
        kind = "response.function_call_arguments"
        for delta in pieces(item["arguments"]):
            yield {"type": f"{kind}.delta", **where, "delta": delta}
        yield {"type": f"{kind}.done", **where, "name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _unfinished(item: Json) -> Json:
    if item["type"] == "message":
        return {**item, "status": "in_progress", "content": []}
    if item["type"] == "reasoning":
        blob = item["encrypted_content"]
        return {**item, "summary": [], "encrypted_content": blob[: len(blob) // 2]}
    started = {**item, "status": "in_progress"}
    return {**started, "arguments": ""} if "arguments" in item else started


def _part_stream(part: Json, where: dict[str, Any]) -> Iterator[Json]:
    word = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if word == "refusal" else "response.output_text"
    extra: dict[str, Any] = {} if word == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **where, "part": {**part, word: ""}}
    for delta in pieces(part[word]):
        yield {"type": f"{kind}.delta", **where, "delta": delta, **extra}
    yield {"type": f"{kind}.done", **where, word: part[word], **extra}
    yield {"type": "response.content_part.done", **where, "part": part}


def _summary_stream(text: str, where: dict[str, Any]) -> Iterator[Json]:
    part = {"type": "summary_text", "text": text}
    yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
    for delta in pieces(text):
        yield {"type": "response.reasoning_summary_text.delta", **where, "delta": delta}
    yield {"type": "response.reasoning_summary_text.done", **where, "text": text}
    yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
