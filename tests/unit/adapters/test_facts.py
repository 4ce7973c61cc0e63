"""Answers that are no success, as facts: every envelope that servers use (wire facts E)."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from geode.adapters.credentials_static import GivenCredential
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.facts import (
    error_facts,
    error_in_body,
    failure_of_error,
    failure_of_response,
    not_json,
)
from geode.domain.failures import FailureClass, classify_retry_error

ENDPOINT = Endpoint(
    "https://user:secret@host.test/v1?key=secret", 'Provider("lab")', GivenCredential(SecretStr("the-key"), "x")
)
CASES: list[tuple[str, int, Any, tuple[str, str, str], FailureClass]] = [
    (
        "Messages",
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"},
        ("overloaded_error", "", "Overloaded"),
        FailureClass.SERVER,
    ),
    (
        "Messages, with a code of its own",
        429,
        {
            "type": "error",
            "error": {
                "type": "rate_limit_error",
                "message": "limit",
                "details": {"error_code": "enforced_spend_limit_reached"},
            },
        },
        ("rate_limit_error", "enforced_spend_limit_reached", "limit"),
        FailureClass.BILLING,
    ),
    (
        "Messages, out of credit",
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to …"}},
        ("invalid_request_error", "", "Your credit balance is too low to …"),
        FailureClass.BILLING,
    ),
    (
        "Messages, too long",
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
        ("invalid_request_error", "", "prompt is too long: 9 > 8"),
        FailureClass.CONTEXT_OVERFLOW,
    ),
    (
        "OpenAI",
        400,
        {"error": {"message": "bad", "type": "invalid_request_error", "param": "input", "code": None}},
        ("invalid_request_error", "", "bad"),
        FailureClass.REQUEST_FATAL,
    ),
    (
        "OpenAI, quota",
        429,
        {"error": {"message": "spent", "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}},
        ("insufficient_quota", "insufficient_quota", "spent"),
        FailureClass.BILLING,
    ),
    (
        "OpenAI, too long",
        400,
        {"error": {"message": "…", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}},
        ("invalid_request_error", "context_length_exceeded", "…"),
        FailureClass.CONTEXT_OVERFLOW,
    ),
    ("GLM, busy", 429, {"error": {"code": "1302", "message": "busy"}}, ("", "1302", "busy"), FailureClass.RATE_LIMIT),
    ("GLM, arrears", 429, {"error": {"code": "1113", "message": "arrears"}}, ("", "1113", "arrears"), FailureClass.BILLING),
    ("GLM, request", 429, {"error": {"code": "1214", "message": "no"}}, ("", "1214", "no"), FailureClass.REQUEST_FATAL),
    (
        "GLM behind Messages",
        429,
        {"type": "error", "error": {"type": "rate_limit_error", "code": "1308", "message": "plan"}},
        ("rate_limit_error", "1308", "plan"),
        FailureClass.BILLING,
    ),
    (
        "OpenRouter",
        502,
        {"error": {"code": 502, "message": "down", "metadata": {"provider_name": "X"}}},
        ("", "502", "down"),
        FailureClass.SERVER,
    ),
    ("OpenRouter, unpaid", 402, {"error": {"code": 402, "message": "pay"}}, ("", "402", "pay"), FailureClass.BILLING),
    (
        "OpenRouter, a provider in words",
        429,
        {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "busy upstream"}}, "user_id": "u"},
        ("", "429", "Provider returned error: busy upstream"),
        FailureClass.RATE_LIMIT,
    ),
    (
        "OpenRouter, a provider in JSON",
        400,
        {
            "error": {
                "code": 400,
                "message": "Provider returned error",
                "metadata": {"raw": json.dumps({"error": {"message": "too big", "code": "context_length_exceeded"}})},
            }
        },
        ("context_length_exceeded", "400", "Provider returned error: too big"),
        FailureClass.CONTEXT_OVERFLOW,
    ),
    (
        "FastAPI",
        400,
        {"detail": "Instructions are required"},
        ("", "", "Instructions are required"),
        FailureClass.REQUEST_FATAL,
    ),
    ("text alone", 404, {"error": "model 'x' not found"}, ("", "", "model 'x' not found"), FailureClass.OTHER_CLIENT),
    (
        "flat event",
        500,
        {"type": "error", "code": "server_error", "message": "broke", "param": None},
        ("", "server_error", "broke"),
        FailureClass.SERVER,
    ),
    ("half a character", 400, {"error": {"message": "a \ud83d b"}}, ("", "", "a \ufffd b"), FailureClass.REQUEST_FATAL),
    ("wrong types", 400, {"error": {"message": 5, "type": [], "code": {}}}, ("", "", "5"), FailureClass.REQUEST_FATAL),
]


def _answer(status: int, content: bytes, content_type: str = "application/json", **headers: str) -> httpx2.Response:
    return httpx2.Response(status, headers={"content-type": content_type, **headers}, content=content)


@pytest.mark.parametrize(("status", "body", "facts", "judged"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_every_envelope(status: int, body: Any, facts: tuple[str, str, str], judged: FailureClass) -> None:
    content = json.dumps(body).encode()

    failure = failure_of_response(_answer(status, content), content)

    assert (failure.error_type, failure.error_code) == facts[:2]
    assert failure.message.startswith(facts[2])
    assert str(status) in failure.message
    assert (failure.status, failure.phase) == (status, "response")
    assert classify_retry_error(failure) is judged


@pytest.mark.parametrize(("status", "body", "facts", "judged"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_same_inside_a_200(status: int, body: Any, facts: tuple[str, str, str], judged: FailureClass) -> None:
    failure = error_in_body(body, "req_9")

    assert (failure.error_type, failure.error_code, failure.status, failure.request_id) == (*facts[:2], 200, "req_9")
    assert facts[2] in failure.message


@pytest.mark.parametrize(
    ("content", "content_type", "shown"),
    [
        (b"<html><body>\n<h1>Bad gateway</h1></body></html>", "text/html; charset=utf-8", "text/html"),
        (b"", "application/json", "(empty)"),
        (b"upstream connect error", "text/plain", "upstream connect error"),
        (b"\xff\xfe\x00", "", "without a content type"),
        (b'["a list"]', "application/json", '["a list"]'),
        (json.dumps({"detail": [{"loc": ["body"], "msg": "field required"}]}).encode(), "application/json", "field required"),
        (b"{}", "application/json", "{}"),
    ],
)
def test_a_body_without_a_message_is_shown(content: bytes, content_type: str, shown: str) -> None:
    failure = failure_of_response(_answer(502, content, content_type), content)

    assert (failure.status, failure.error_type, failure.error_code) == (502, "", "")
    assert shown in failure.message
    assert len(failure.message) < 400
    assert classify_retry_error(failure) is FailureClass.SERVER


def test_a_long_page_is_shown_in_part() -> None:
    content = b"x" * 1_000_000
    assert len(failure_of_response(_answer(500, content, "text/plain"), content).message) < 400
    assert len(not_json(_answer(200, content, "text/plain"), content).message) < 400


def test_a_page_in_place_of_an_answer_names_the_way_out() -> None:
    content = b"<html>Sign in</html>"
    failure = not_json(_answer(200, content, "text/html"), content)

    assert (failure.status, failure.way_out) == (200, "a proxy or a wrong base_url")
    assert "Sign in" in failure.message
    assert classify_retry_error(failure) is FailureClass.UNKNOWN


def test_the_ids_and_the_hint_are_in_the_facts() -> None:
    failure = failure_of_response(_answer(429, b"{}", **{"request-id": "req_a", "retry-after": "7"}), b"{}")
    other = failure_of_response(_answer(500, b"{}", **{"x-request-id": "req_b", "x-should-retry": "false"}), b"{}")

    assert (failure.request_id, failure.hint.seconds) == ("req_a", 7.0)
    assert (other.request_id, other.hint.forbidden) == ("req_b", True)


@pytest.mark.parametrize(
    ("cause", "phase", "timed_out", "judged"),
    [
        (httpx2.ConnectError("[Errno 111] Connection refused"), "connect", False, FailureClass.CONNECTION),
        (httpx2.ConnectTimeout("slow"), "connect", True, FailureClass.TIMEOUT),
        (httpx2.PoolTimeout("full"), "connect", True, FailureClass.TIMEOUT),
        (httpx2.ReadTimeout("silent"), "connect", True, FailureClass.TIMEOUT),
        (httpx2.ReadError("reset"), "stream", False, FailureClass.CONNECTION),
        (httpx2.RemoteProtocolError("cut"), "stream", False, FailureClass.CONNECTION),
        (OSError("broken"), "stream", False, FailureClass.CONNECTION),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "wrapped by an SDK"])
def test_exceptions_of_the_transport(
    cause: Exception, phase: str, timed_out: bool, judged: FailureClass, wrapped: bool
) -> None:
    error = cause
    if wrapped:
        error = RuntimeError("Connection error.")
        error.__cause__ = cause

    failure = failure_of_error(error, ENDPOINT)

    assert (failure.status, failure.phase, failure.timed_out) == (None, phase, timed_out)
    assert classify_retry_error(failure) is judged
    assert "https://host.test/v1" in failure.message
    assert "secret" not in failure.message + failure.way_out


def test_no_secret_is_shown() -> None:
    assert ENDPOINT.address == "https://host.test/v1"
    assert "the-key" not in repr(ENDPOINT)
    assert "secret" not in repr(ENDPOINT)


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://host.test/v1", "https://host.test/v1"),
        ("https://user:p@ss@host.test:8443/v1?key=secret", "https://host.test:8443/v1"),
        ("https://user:pa/ss?w@host.test/v1", "https://host.test/v1"),
        ("http://[bad", "http://[bad"),
    ],
)
def test_the_address_that_is_shown(base_url: str, address: str) -> None:
    assert Endpoint(base_url, "").address == address


@pytest.mark.parametrize(
    "cause", [httpx2.LocalProtocolError("Illegal"), httpx2.UnsupportedProtocol("ftp"), httpx2.InvalidURL("bad")]
)
def test_a_request_that_cannot_be_sent_is_not_the_fault_of_the_network(cause: Exception) -> None:
    failure = failure_of_error(cause, ENDPOINT)

    assert failure.phase == "connect"
    assert classify_retry_error(failure) is FailureClass.REQUEST_FATAL


def test_a_message_without_end_is_kept_in_part() -> None:
    for error in (
        {"message": "x" * 300_000},
        "x" * 300_000,
        {"message": ["x"] * 300_000},
        {"metadata": {"raw": "x" * 300_000}},
    ):
        kind, code, message = error_facts({"error": error})
        assert (kind, code, len(message)) == ("", "", 2000)


def test_a_relay_may_quote_anything() -> None:
    for raw in (None, 5, {"a": 1}, "", "[", '{"a": NaN}', "\ud83d"):
        kind, code, message = error_facts({"error": {"code": 400, "message": "m", "metadata": {"raw": raw}}})
        assert (kind, code) == ("", "400")
        assert message.startswith("m")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"message": "null is no text", "param": "messages[1].content"}, "null is no text (400, at messages[1].content)"),
        ({"message": "null at input[1]", "param": "input[1]", "code": "bad"}, "null at input[1] (400 bad)"),
        ({"message": "no", "param": None}, "no (400)"),
        ({"message": "no", "param": ["x"]}, "no (400)"),
    ],
    ids=range(4),
)
def test_the_part_of_the_request_that_is_wrong_is_named_once(error: Any, message: str) -> None:
    content = json.dumps({"error": error}).encode()
    assert failure_of_response(_answer(400, content), content).message == message
    inside = error_in_body({"error": error}, "req_9").message
    assert inside == message.replace("400, ", "inside a 200, ").replace("400 ", "").replace("(400)", "(inside a 200)")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://new.example/v1/chat/completions", "https://new.example/v1/chat/completions"),
        ("https://ada:secret@new.example/v1?key=secret#secret", "https://***@new.example/v1?***"),
        ("/v2/chat/completions", "/v2/chat/completions"),
    ],
)
def test_a_redirect_says_where_to_and_what_to_correct(status: int, location: str, shown: str) -> None:
    failure = failure_of_response(_answer(status, b"", location=location), b"")

    assert failure.message == f"the server redirects to {shown} ({status})"
    assert failure.way_out == "A redirect is not followed: correct base_url"
    assert "secret" not in repr(failure)


def test_a_status_of_redirects_without_an_address_is_none() -> None:
    failure = failure_of_response(_answer(304, b""), b"")

    assert (failure.message, failure.way_out) == ("answered application/json (empty) (304)", "")
