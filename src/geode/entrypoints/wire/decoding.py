"""`geode wire decode`: what does this answer say?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx2

from geode.adapters.http_json.answer import read_answer
from geode.adapters.http_json.wire import Wire
from geode.domain.call_ids import with_unique_ids
from geode.domain.content import Owner, ToolUseBlock, calls_in
from geode.domain.failures import CallFailure, classify_retry_error
from geode.domain.reply import AdapterCallResult
from geode.domain.retry import RetryPolicy, retry_delay_for
from geode.domain.usage import Usage
from geode.entrypoints.wire.exchange import BadLine, Exchange
from geode.entrypoints.wire.wires import wire_of

# Who made an answer plays no part in what is said of it.
_NOBODY: Final = Owner("", "")


def decoded(exchange: Exchange) -> dict[str, Any]:
    """Text, calls, stop and usage of the answer, or how the call failed. BadLine for what is no answer.

    The body is `response` (JSON, or the text as it came) or `sse` (the text of the stream).
    """
    response, status = _head(exchange), exchange.fields.get("status", 200)
    content, streamed = _body(exchange)
    wire: Wire = wire_of(exchange.protocol, exchange.dialect)
    answer = read_answer(wire, response, [content], _NOBODY, streamed=streamed)
    failure = answer.swap().value_or(None)
    if failure is not None:
        return {"id": exchange.id, "text": "", "calls": [], "stop": None, "usage": None, "failure": _failed(failure, status)}
    reply = answer.unwrap()
    return {
        "id": exchange.id,
        "text": reply.text,
        "calls": _calls(reply),
        "stop": reply.stop.value,
        "usage": _usage(reply.usage),
        "failure": None,
    }


def _head(exchange: Exchange) -> httpx2.Response:
    status = exchange.fields.get("status", 200)
    if not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 599:
        raise BadLine(f'"status" must be an HTTP status (100 to 599), got {json.dumps(status)[:80]}', exchange.id)
    given = exchange.fields.get("headers")
    headers = given if isinstance(given, Mapping) else {}
    kept = {name: value for name, value in headers.items() if isinstance(value, str) and name.isascii() and value.isascii()}
    return httpx2.Response(status, headers=kept)


def _body(exchange: Exchange) -> tuple[bytes, bool]:
    sse, response = exchange.fields.get("sse"), exchange.fields.get("response")
    if isinstance(sse, str):
        return sse.encode(), True
    if "response" not in exchange.fields:
        raise BadLine('an answer has "response" (JSON or text) or "sse" (text); this line has neither', exchange.id)
    return (response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)).encode(), False


def _calls(reply: AdapterCallResult) -> list[dict[str, Any]]:
    return [_call(call) for call in calls_in(with_unique_ids(reply.items, 0, ()))]


def _call(call: ToolUseBlock) -> dict[str, Any]:
    """`unparsed` is there when the arguments are no JSON object: their text."""
    shown = {"id": call.id, "name": call.name, "input": call.input}
    return shown if call.unparsed is None else {**shown, "unparsed": call.unparsed}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_input_tokens": usage.cache_write_input_tokens,
        "cache_write_1h_input_tokens": usage.cache_write_1h_input_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost_usd": None if usage.cost_usd is None else str(usage.cost_usd),
    }


def _failed(failure: CallFailure, status: int) -> dict[str, Any]:
    """`retryable` as a first attempt under the default policy is judged."""
    return {
        "kind": classify_retry_error(failure).value,
        "status": status,
        "code": failure.error_code or failure.error_type or None,
        "retryable": retry_delay_for(RetryPolicy(), failure, 1, 0.0) is not None,
        "retry_after": failure.hint.seconds,
        "message": failure.message,
    }
