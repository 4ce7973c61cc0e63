"""Lines of kept traffic: what an exchange is, and a clear word for what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.entrypoints.wire.checking import checked
from geode.entrypoints.wire.decoding import decoded
from geode.entrypoints.wire.exchange import BadLine, read_exchange
from geode.entrypoints.wire.transcoding import Target, transcoded


def exchange(**fields: Any) -> Any:
    return read_exchange(json.dumps(fields).encode())


WIRES = "accepted: messages, responses, chat"
DIALECTS = "accepted: openai, openrouter, glm, generic"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"x", "not JSON: Expecting value (column 1)"),
        (b'{"protocol":"chat"', "not JSON: Expecting ',' delimiter (column 19)"),
        (b"\xff{}", "not UTF-8 (byte 1)"),
        (b"[]", "not a JSON object but a list"),
        (b'"chat"', "not a JSON object but a text"),
        (b"null", "not a JSON object but null"),
        (b"true", "not a JSON object but a boolean"),
        (b"7", "not a JSON object but a number"),
        (b'{"a":NaN}', "not to be read: NaN is no JSON"),
        (b'{"a":[-Infinity]}', "not to be read: -Infinity is no JSON"),
        (b'{"a":1e999}', "not to be read: the number 1e999 is beyond what JSON readers take"),
        (b'{"a":{"b":1,"b":1}}', 'not to be read: the key "b" is there twice in one object'),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not to be read: nested too deeply"),
        (b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", "is nested deeper than 100 levels"),
        (b'{"a":' + b"9" * 5000 + b"}", "not to be read: Exceeds the limit"),
        (b"{}", f'"protocol" is missing; {WIRES}'),
        (
            b'{"protocol":"message"}',
            f'"protocol" is unknown: "message"; did you mean messages? {WIRES}',
        ),
        (b'{"protocol":["chat"]}', f'"protocol" is unknown: list; {WIRES}'),
        (
            b'{"protocol":"chat","dialect":"anthropic"}',
            f'"dialect" is unknown: "anthropic"; {DIALECTS}',
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_line_that_is_no_exchange(line: bytes, message: str) -> None:
    with pytest.raises(BadLine) as caught:
        read_exchange(line)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_id_of_a_line_that_is_none_is_told_where_there_is_one() -> None:
    with pytest.raises(BadLine) as caught:
        exchange(id={"n": 1}, protocol="chta")
    assert caught.value.id == {"n": 1}


@pytest.mark.parametrize(
    ("fields", "dialect"),
    [
        ({"protocol": "messages"}, "anthropic"),
        ({"protocol": "responses"}, "openai"),
        ({"protocol": "chat"}, "openai"),
        ({"protocol": "chat", "dialect": "glm", "host": "openrouter.ai"}, "glm"),
        ({"protocol": "chat", "host": "openrouter.ai"}, "openrouter"),
        ({"protocol": "chat", "host": "localhost:8000"}, "generic"),
        ({"protocol": "chat", "host": "api.anthropic.com"}, "generic"),
        ({"protocol": "messages", "host": ["x"]}, "anthropic"),
    ],
)
def test_the_dialect_is_told_or_follows_from_the_host(fields: dict[str, Any], dialect: str) -> None:
    assert exchange(**fields).dialect == dialect


def test_a_byte_order_mark_and_lone_surrogates_are_no_obstacle() -> None:
    said = rb'{"role":"user","content":"\udc00"}'
    found = read_exchange(b'\xef\xbb\xbf{"id":"\\ud800","protocol":"chat","request":{"model":"m","messages":[%b]}}' % said)
    assert found.id == "\ufffd"
    assert checked(found)["accepted"]


@pytest.mark.parametrize("request_", [None, [], "x", 1])
def test_a_request_that_is_no_object(request_: Any) -> None:
    assert checked(exchange(protocol="chat", request=request_))["status"] == 400
    with pytest.raises(BadLine, match='"request" must be a JSON object, got '):
        transcoded(exchange(protocol="chat", request=request_), Target("messages", "anthropic"))
    with pytest.raises(BadLine, match='"request" is missing'):
        checked(exchange(protocol="chat"))


# ---- check ---------------------------------------------------------------------------------------

OLD = {"model": "claude-sonnet-4-5", "max_tokens": 9, "temperature": 0.5, "messages": [{"role": "user", "content": "Hi"}]}


def test_a_refused_request() -> None:
    shown = checked(
        exchange(id=1, protocol="chat", request={"model": "gpt-4o", "messages": [{"role": "tool", "tool_call_id": "a"}]})
    )
    assert (shown["id"], shown["accepted"], shown["status"]) == (1, False, 400)
    assert "chat.openai.tool.orphan" in [one["rule"] for one in shown["violations"]]
    assert all(set(one) == {"rule", "at", "message"} for one in shown["violations"])


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        ({}, True),
        ({"headers": {"content-type": "application/json"}}, True),
        ({"request_headers": {"Anthropic-Version": "2026-10-21"}}, False),
        ({"headers": {"anthropic-version": "2026-10-21"}}, False),
        ({"headers": {"anthropic-version": "2023-06-01"}}, True),
        ({"headers": {"anthropic-version": 1}}, True),
        ({"headers": ["anthropic-version"]}, True),
    ],
)
def test_the_version_is_judged_where_it_is_told(headers: dict[str, Any], accepted: bool) -> None:
    """That version takes no temperature (wire facts A5)."""
    assert checked(exchange(protocol="messages", request=OLD, **headers))["accepted"] is accepted


# ---- decode --------------------------------------------------------------------------------------

CALL = {
    "choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [{"function": {"name": "f", "arguments": '{"a":'}}]}}]
}
TEXT = 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'


def failure_of(**fields: Any) -> Any:
    shown = decoded(exchange(protocol="chat", **fields))
    assert (shown["text"], shown["calls"], shown["stop"], shown["usage"]) == ("", [], None, None)
    return shown["failure"]


def test_a_call_without_an_id_and_with_broken_arguments() -> None:
    shown = decoded(exchange(id="x", protocol="chat", status=200, response=CALL))
    assert shown["calls"] == [{"id": "call_g0_0", "name": "f", "input": {}, "unparsed": '{"a":'}]
    assert (shown["id"], shown["stop"], shown["failure"]) == ("x", "tool_calls", None)


@pytest.mark.parametrize(
    ("fields", "kind", "code", "retryable", "retry_after"),
    [
        ({"status": 429, "response": {"error": {"code": "insufficient_quota"}}}, "billing", "insufficient_quota", False, None),
        ({"status": 429, "headers": {"retry-after": "7"}, "response": {"error": {}}}, "rate_limit", None, True, 7.0),
        ({"status": 429, "headers": {"Retry-After": "61"}, "response": {}}, "rate_limit", None, False, 61.0),
        ({"status": 503, "headers": {"x-should-retry": "false"}, "response": "down"}, "server", None, False, None),
        ({"status": 408, "response": None}, "timeout", None, True, None),
        ({"status": 409, "response": {}}, "conflict", None, True, None),
        ({"status": 401, "response": {"error": {"type": "x"}}}, "auth", "x", False, None),
        ({"status": 200, "response": "<html>"}, "unknown", None, False, None),
        ({"status": 200, "response": []}, "unknown", None, False, None),
        ({"response": {"error": {"code": 502, "message": "upstream"}}}, "server", "502", True, None),
        ({"sse": ""}, "connection", None, True, None),
        ({"sse": TEXT}, "stream_interrupted", None, False, None),
        ({"sse": TEXT + 'data: {"error":{"code":500,"message":"m"}}\n\n'}, "stream_interrupted", "500", False, None),
        ({"sse": 'data: {"error":{"code":500,"message":"m"}}\n\n'}, "server", "500", True, None),
        ({"status": 529, "sse": '{"error":{"type":"overloaded_error"}}'}, "server", "overloaded_error", True, None),
    ],
)
def test_a_failure(fields: Any, kind: str, code: str | None, retryable: bool, retry_after: float | None) -> None:
    found = failure_of(**fields)
    assert (found["kind"], found["code"], found["retryable"], found["retry_after"]) == (kind, code, retryable, retry_after)
    assert found["status"] == fields.get("status", 200)


@pytest.mark.parametrize("status", [0, 99, 600, "200", True, None, 10**9])
def test_a_status_that_is_none(status: Any) -> None:
    with pytest.raises(BadLine, match='"status" must be an HTTP status'):
        decoded(exchange(protocol="chat", status=status, response={}))


def test_a_line_without_an_answer() -> None:
    with pytest.raises(BadLine, match="this line has neither"):
        decoded(exchange(protocol="chat", status=200, sse=None))


@pytest.mark.parametrize(
    "headers", [None, [], "x", {"a": 1, "b": None, "ü": "x", "c": "ü", "d\n": "x", "e": "x\r\ny", "": "x"}]
)
def test_headers_of_any_kind(headers: Any) -> None:
    assert failure_of(status=500, headers=headers, response={})["kind"] == "server"
