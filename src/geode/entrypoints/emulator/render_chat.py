"""A neutral reply as Chat Completions writes it, whole and as a stream, in four dialects.

What differs is data of recorded answers: OpenRouter names `provider`, `native_finish_reason`,
`reasoning_details` and a cost and always sends usage; GLM sends argument text in one late chunk and
its usage beside the finish reason; OpenAI sends usage only when `stream_options` asks for it.
"""

from __future__ import annotations

from typing import Any, Final

from geode.domain.script import Called, Fails, Reply, ReplyStop, Said, Thought
from geode.entrypoints.emulator.render import Exchange, Json, ScriptError, argument_text, numbered_calls, pieces
from geode.entrypoints.emulator.rules_relays import is_late

FINISH: Final[dict[ReplyStop, str]] = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "max_tokens": "length",
    "refusal": "stop",
    "content_filter": "content_filter",
}
GLM_FINISH: Final[dict[ReplyStop, str]] = {
    **FINISH,
    "content_filter": "sensitive",
    "context_exceeded": "model_context_window_exceeded",
}
# Recorded behind OpenRouter, by maker.
_NATIVE: Final[dict[str, dict[str, str]]] = {
    "anthropic": {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"},
    "openai": {"stop": "completed", "tool_calls": "completed", "length": "max_output_tokens"},
    "google": {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS"},
}
CONTEXT_MESSAGE: Final = "This model's maximum context length is smaller than your messages."
DEFAULT_REFUSAL: Final = "I can't help with that."


def as_failure(reply: Reply, exchange: Exchange) -> Fails | None:
    """A full window is a 400 on this wire, streamed or not; only GLM has a finish reason for it."""
    if reply.stop_word == "context_exceeded" and exchange.dialect != "glm":
        return Fails(400, code="context_length_exceeded", message=CONTEXT_MESSAGE)
    return None


def whole(reply: Reply, exchange: Exchange) -> Json:
    """The body of a request without `stream`."""
    finish = _finish(reply, exchange)
    choice: Json = {"index": 0, "message": _message(reply, exchange), "logprobs": None, "finish_reason": finish}
    if exchange.dialect == "openrouter":
        choice["native_finish_reason"] = _native(finish, exchange)
    return {**_envelope(exchange, "chat.completion"), "choices": [choice], "usage": _usage(reply, exchange)}


def events(reply: Reply, exchange: Exchange) -> list[Json]:
    """The chunks of a stream; the `[DONE]` line after them is the transport's."""
    finish = _finish(reply, exchange)
    options = exchange.request.get("stream_options")
    asked = isinstance(options, dict) and bool(options.get("include_usage"))
    stream = [_chunk(exchange, {"role": "assistant", "content": ""})]
    numbers = numbered_calls(reply)
    refused = reply.stop_word == "refusal"
    for place, item in enumerate(_said(reply)):
        stream.extend(_chunk(exchange, delta) for delta in _deltas(item, exchange, numbers.get(place, 0), refused))
    last = _chunk(exchange, {}, finish)
    beside = exchange.dialect in ("glm", "openrouter") or exchange.tells_usage
    if beside:
        last["usage"] = _usage(reply, exchange)
    stream.append(last)
    if asked and not beside:
        stream = [{**chunk, "usage": None} for chunk in stream]
        stream.append({**_envelope(exchange, "chat.completion.chunk"), "choices": [], "usage": _usage(reply, exchange)})
    return stream


def _finish(reply: Reply, exchange: Exchange) -> str:
    table = GLM_FINISH if exchange.dialect == "glm" else FINISH
    stop = reply.stop_word
    if stop not in table:
        raise ScriptError(f"Chat Completions has no finish reason for {stop!r}; it knows: {', '.join(table)}")
    return table[stop]


def _native(finish: str | None, exchange: Exchange) -> str | None:
    """The word of the model's own server, as a relay passes it on."""
    maker = exchange.model.partition("/")[0]
    return finish if finish is None else _NATIVE.get(maker, {}).get(finish, finish)


def _envelope(exchange: Exchange, kind: str) -> Json:
    prefix = "gen-" if exchange.dialect == "openrouter" else "chatcmpl-"
    body: Json = {"id": f"{prefix}{exchange.serial:06d}", "object": kind, "created": exchange.created, "model": exchange.model}
    if exchange.dialect == "openrouter":
        # A relay leaves out what its endpoint does not tell.
        body |= {"provider": "Emulated", "service_tier": None, "system_fingerprint": None}
    elif exchange.dialect == "openai":
        body |= {"service_tier": "default", "system_fingerprint": "fp_emulated"}
    return body


def _usage(reply: Reply, exchange: Exchange) -> Json:
    usage: Json = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    if exchange.dialect == "openrouter":
        cost = (reply.input_tokens + reply.output_tokens) / 1_000_000
        usage |= {"cost": cost, "is_byok": False, "cost_details": {"upstream_inference_cost": cost}}
    return usage


def _said(reply: Reply) -> tuple[Said | Thought | Called, ...]:
    """The items; a refusal without a word gets one, for on this wire only the text says that it is one."""
    if reply.stop_word == "refusal" and not any(isinstance(item, Said) for item in reply.items):
        return (*reply.items, Said(DEFAULT_REFUSAL))
    return reply.items


def _message(reply: Reply, exchange: Exchange) -> Json:
    items = _said(reply)
    refused = reply.stop_word == "refusal"
    text = "".join(item.text for item in items if isinstance(item, Said))
    calls = [item for item in items if isinstance(item, Called)]
    empty = None if calls or refused else ""
    message: Json = {"role": "assistant", "content": empty if refused else text or empty, "refusal": text if refused else None}
    thoughts = [item for item in items if isinstance(item, Thought)]
    if thoughts:
        message |= _reasoning("".join(thought.text for thought in thoughts), thoughts[-1].signature, exchange)
    if calls:
        message["tool_calls"] = [_call(called, exchange, number) for number, called in enumerate(calls)]
    return message


def _reasoning(text: str, signature: str | None, exchange: Exchange) -> Json:
    if exchange.dialect != "openrouter":
        return {"reasoning_content": text}
    detail: dict[str, Any] = {"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0}
    if signature is not None:
        detail["signature"] = signature
    return {"reasoning": text, "reasoning_details": [detail]}


def _call(called: Called, exchange: Exchange, number: int) -> Json:
    function: Json = {"name": called.name}
    text = argument_text(called)
    if text is not None:
        function["arguments"] = text
    return {"id": exchange.call_id("call_", called, number), "type": "function", "function": function}


def _deltas(item: Said | Thought | Called, exchange: Exchange, number: int, refused: bool) -> list[Json]:
    match item:
        case Said(text):
            return [{"refusal" if refused else "content": part} for part in pieces(text)]
        case Thought(text, signature):
            deltas = [_reasoning(part, None, exchange) for part in pieces(text)]
            if exchange.dialect == "openrouter":
                deltas.append(_reasoning("", signature, exchange))
            return deltas
        case Called():
            return [{"tool_calls": [{"index": number, **part}]} for part in _call_parts(item, exchange, number)]


def _call_parts(called: Called, exchange: Exchange, number: int) -> list[Json]:
    call = _call(called, exchange, number)
    text = call["function"].get("arguments")
    if text is None or (exchange.dialect == "glm" and is_late(exchange.request)):
        return [call]
    opening = {**call, "function": {"name": called.name, "arguments": ""}}
    return [opening, *({"function": {"arguments": part}} for part in pieces(text))]


def _chunk(exchange: Exchange, delta: Json, finish: str | None = None) -> Json:
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    if exchange.dialect == "openrouter":
        choice["native_finish_reason"] = _native(finish, exchange)
        choice["delta"] = {"role": "assistant", "content": "", **delta}
    elif exchange.dialect == "openai":
        choice["logprobs"] = None
    return {**_envelope(exchange, "chat.completion.chunk"), "choices": [choice]}
