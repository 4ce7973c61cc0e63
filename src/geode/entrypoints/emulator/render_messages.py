"""A neutral reply as Anthropic Messages writes it, whole and as a stream.

Shapes are those of recorded answers of api.anthropic.com: a `ping` after the first block has
started, usage once in `message_start` and cumulative in `message_delta`, an empty first
`input_json_delta`, `caller` on a tool_use.
"""

from __future__ import annotations

import json
from typing import Any, Final

from geode.domain.script import Called, Reply, ReplyStop, Said, Thought
from geode.entrypoints.emulator.render import Exchange, Json, ScriptError, argument_text, numbered_calls, pieces
from geode.entrypoints.emulator.searching import search, unfound

STOP_REASON: Final[dict[ReplyStop, str]] = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause": "pause_turn",
    "context_exceeded": "model_context_window_exceeded",
}


def whole(reply: Reply, exchange: Exchange) -> Json:
    """The body of a request without `stream`."""
    return {
        **_envelope(exchange),
        "content": [block for _, block in _blocks(reply, exchange)],
        "stop_reason": _stop_reason(reply),
        "stop_sequence": None,
        "stop_details": _stop_details(reply),
        "usage": _usage(reply, reply.output_tokens),
    }


def events(reply: Reply, exchange: Exchange) -> list[Json]:
    """The events of a stream, terminal one included. Argument text goes out verbatim, broken or not."""
    stop_reason = _stop_reason(reply)
    opening = {
        **_envelope(exchange),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": _usage(reply, 1),
    }
    stream: list[Json] = [{"type": "message_start", "message": opening}]
    for index, (item, block) in enumerate(_blocks(reply, exchange)):
        start, deltas = _searched_stream(block) if item is None else _block_stream(item, block)
        stream.append({"type": "content_block_start", "index": index, "content_block": start})
        if index == 0:
            stream.append({"type": "ping"})
        stream.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        stream.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": stop_reason, "stop_sequence": None, "stop_details": _stop_details(reply)}
    usage = {key: value for key, value in _usage(reply, reply.output_tokens).items() if key.endswith("_tokens")}
    stream.append({"type": "message_delta", "delta": ending, "usage": usage})
    stream.append({"type": "message_stop"})
    return stream


def _envelope(exchange: Exchange) -> Json:
    return {"id": f"msg_{exchange.serial:06d}", "type": "message", "role": "assistant", "model": exchange.model}


def _usage(reply: Reply, output_tokens: int) -> Json:
    return {
        "input_tokens": reply.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output_tokens,
        "service_tier": "standard",
    }


def _stop_reason(reply: Reply) -> str:
    stop = reply.stop_word
    if stop not in STOP_REASON:
        raise ScriptError(f"Anthropic Messages has no stop reason for {stop!r}; it knows: {', '.join(STOP_REASON)}")
    return STOP_REASON[stop]


def _stop_details(reply: Reply) -> Json | None:
    if reply.stop_word != "refusal":
        return None
    return {"type": "refusal", "category": reply.refusal_category, "explanation": "This request was declined."}


def _blocks(reply: Reply, exchange: Exchange) -> list[tuple[Said | Thought | Called | None, Json]]:
    """Each item with its block; before the first call of a tool that the model was not shown, the server's search for it."""
    numbers, unseen = numbered_calls(reply), unfound(exchange.request)
    found: list[tuple[Said | Thought | Called | None, Json]] = []
    for place, item in enumerate(reply.items):
        number = numbers.get(place, 0)
        if isinstance(item, Called) and item.name in unseen:
            found += [(None, block) for block in search(item.name, f"srvtoolu_r{exchange.round}c{number}")]
            unseen.discard(item.name)
        found.append((item, _block(item, exchange, number)))
    return found


def _block(item: Said | Thought | Called, exchange: Exchange, number: int) -> Json:
    match item:
        case Said(text):
            return {"type": "text", "text": text}
        case Thought(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Called():
            block: Json = {"type": "tool_use", "id": exchange.call_id("toolu_", item, number), "name": item.name}
            if item.arguments is not None:
                block["input"] = _input(item)
            block["caller"] = {"type": "direct"}
            return block


def _input(called: Called) -> Any:
    if not isinstance(called.arguments, str):
        return dict(called.arguments or {})
    try:
        return json.loads(called.arguments)
    except ValueError:
        return called.arguments


def _searched_stream(block: Json) -> tuple[Json, list[Json]]:
    """The search comes in pieces, like a call; what it found comes whole."""
    if "input" not in block:
        return block, []
    parts = ["", *pieces(json.dumps(block["input"]))]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _block_stream(item: Said | Thought | Called, block: Json) -> tuple[Json, list[Json]]:
    match item:
        case Said(text):
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in pieces(text)]
        case Thought(text, signature):
            deltas: list[Json] = [{"type": "thinking_delta", "thinking": part} for part in pieces(text)]
            deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Called():
            arguments = argument_text(item)
            parts = [] if arguments is None else ["", *pieces(arguments)]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
