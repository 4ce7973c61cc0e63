"""Facts of a failed call to the one class they belong to."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from geode.domain.failures import (
    RETRYABLE,
    CallFailure,
    FailureClass,
    RetryHint,
    classify_retry_error,
    describe,
    effective_status,
    is_billing_fatal,
    is_request_fatal,
)
from tests.unit.domain.builders import failure

BILLING, INTERRUPTED, OVERFLOW = FailureClass.BILLING, FailureClass.STREAM_INTERRUPTED, FailureClass.CONTEXT_OVERFLOW
AUTH, TIMEOUT, CONFLICT, FATAL = FailureClass.AUTH, FailureClass.TIMEOUT, FailureClass.CONFLICT, FailureClass.REQUEST_FATAL
OTHER, RATE, SERVER = FailureClass.OTHER_CLIENT, FailureClass.RATE_LIMIT, FailureClass.SERVER
CONNECTION, UNKNOWN = FailureClass.CONNECTION, FailureClass.UNKNOWN

BY_STATUS = [
    *((400, FATAL), (401, AUTH), (402, BILLING), (403, AUTH), (404, OTHER), (405, OTHER), (408, TIMEOUT), (409, CONFLICT)),
    *((410, OTHER), (413, OTHER), (418, OTHER), (422, OTHER), (425, OTHER), (428, OTHER), (429, RATE), (430, OTHER)),
    *((499, OTHER), (500, SERVER), (501, SERVER), (502, SERVER), (503, SERVER), (504, SERVER), (529, SERVER), (599, SERVER)),
    *((600, UNKNOWN), (399, UNKNOWN), (302, UNKNOWN), (204, UNKNOWN), (200, UNKNOWN)),
]


@pytest.mark.parametrize(("status", "kind"), BY_STATUS)
def test_by_status_alone(status: int, kind: FailureClass) -> None:
    assert classify_retry_error(failure(status)) is kind


@pytest.mark.parametrize(("phase", "kind"), [("connect", CONNECTION), ("stream", CONNECTION), ("response", UNKNOWN)])
def test_without_a_status(phase: str, kind: FailureClass) -> None:
    assert classify_retry_error(failure(None, phase=phase)) is kind


def test_a_stream_that_broke_off_before_anything_was_shown_is_a_connection_failure() -> None:
    assert classify_retry_error(failure(200, phase="stream")) is CONNECTION
    assert classify_retry_error(failure(200, phase="stream", after_output=True)) is INTERRUPTED


@pytest.mark.parametrize("status", [None, 200, 400, 429, 500])
@pytest.mark.parametrize("phase", ["connect", "response", "stream"])
def test_every_transport_timeout_is_a_timeout(status: int | None, phase: str) -> None:
    assert classify_retry_error(failure(status, phase=phase, timed_out=True)) is TIMEOUT


# status, type, code, message, class. An empty type or code: the body had none.
BODIES: list[tuple[int | None, str, str, str, FailureClass]] = [
    # --- OpenAI
    (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota", BILLING),
    (429, "", "insufficient_quota", "q", BILLING),
    (429, "insufficient_quota", "", "q", BILLING),
    (429, "", "billing_hard_limit_reached", "q", BILLING),
    (429, "", "billing_not_active", "q", BILLING),
    (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests", RATE),
    (401, "invalid_request_error", "invalid_api_key", "Incorrect API key", AUTH),
    (400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens", OVERFLOW),
    (400, "invalid_request_error", "", "This model's maximum context length is 8192 tokens. However, …", OVERFLOW),
    (400, "invalid_request_error", "unsupported_parameter", "Unsupported parameter: 'max_tokens'", FATAL),
    (400, "", "array_above_max_length", "array too long", FATAL),
    (400, "", "", "max_tokens is too large: 999", FATAL),
    (404, "invalid_request_error", "model_not_found", "The model does not exist", OTHER),
    (429, "", "", "Unsupported parameter: x", RATE),
    # --- Anthropic
    (402, "billing_error", "", "pay", BILLING),
    (400, "billing_error", "", "x", BILLING),
    (403, "billing_error", "", "x", BILLING),
    (429, "rate_limit_error", "enforced_spend_limit_reached", "x", BILLING),
    (429, "rate_limit_error", "contract_spend_limit_reached", "x", BILLING),
    (400, "invalid_request_error", "", "Your credit balance is too low to access the API", BILLING),
    (401, "authentication_error", "", "x", AUTH),
    (403, "permission_error", "", "x", AUTH),
    (429, "rate_limit_error", "", "x", RATE),
    (529, "overloaded_error", "", "Overloaded", SERVER),
    (400, "invalid_request_error", "", "prompt is too long: 210000 tokens > 200000 maximum", OVERFLOW),
    (400, "", "", "input length and max_tokens exceed context limit", OVERFLOW),
    (400, "", "", "input length and `max_tokens` exceed context limit: 1 + 2 > 3", OVERFLOW),
    (413, "request_too_large", "", "Request exceeds the maximum size", OVERFLOW),
    (413, "", "", "Prompt is too long", OVERFLOW),
    # --- GLM: the code is what counts, the HTTP status is often 429
    (429, "", "1113", "Insufficient balance", BILLING),
    (429, "", "1114", "x", BILLING),
    *((429, "", code, "used up", BILLING) for code in ("1304", "1308", "1309", "1310", "1311", "1313")),
    *((429, "", code, "slow down", RATE) for code in ("1302", "1303", "1305")),
    *((429, "", code, "key", AUTH) for code in ("1000", "1001", "1002", "1003", "1004")),
    *((429, "", code, "bad", FATAL) for code in ("1210", "1211", "1212", "1213", "1214", "1215", "1220", "1222", "1301")),
    *((429, "", code, "busy", SERVER) for code in ("1312", "1230", "1234", "500")),
    (429, "", "1261", "Prompt exceeds max length", OVERFLOW),
    (400, "", "1261", "Prompt exceeds max length", OVERFLOW),
    (429, "", "9999", "unheard of", RATE),
    # --- OpenRouter: the code is a status
    (402, "", "402", "Insufficient credits", BILLING),
    (403, "", "403", "Key limit exceeded (total limit)", BILLING),
    (403, "", "403", "The model forbids it", AUTH),
    (403, "", "", "Provider says: Key limit exceeded", AUTH),
    (404, "", "404", "No endpoints found that support tool use", FATAL),
    (200, "", "429", "Provider returned error", RATE),
    (200, "", "402", "Insufficient credits", BILLING),
    (200, "", "502", "Provider returned error", SERVER),
    (200, "", "408", "Provider returned error", TIMEOUT),
    (200, "", "400", "bad", FATAL),
    (200, "", "399", "not a failure's status", UNKNOWN),
    (200, "", "600", "not a status", UNKNOWN),
    (200, "", "599", "the last status", SERVER),
    (200, "", "4040", "not a status", UNKNOWN),
    (200, "", "４２９", "not ASCII digits", UNKNOWN),
    # --- gateways: generic codes and a 5xx do not hide an explicit overflow
    (400, "", "invalid_request_body", "Your input exceeds the context window of this model.", OVERFLOW),
    (500, "", "", "Requested token count exceeds the model's maximum context length", OVERFLOW),
    (599, "", "", "prompt is too long", OVERFLOW),
    (400, "", "", "the context window of 8192 tokens would be exceeded", OVERFLOW),
    (429, "", "", "prompt is too long", RATE),
    (401, "", "", "prompt is too long", AUTH),
    (600, "", "", "prompt is too long", UNKNOWN),
    # --- never by a bare number or half a phrase in the text
    (500, "", "", "HTTP 402 insufficient_quota 429", SERVER),
    (429, "", "", "error 402", RATE),
    (400, "", "", "401", FATAL),
    (400, "", "", "my prompt is too longwinded", FATAL),
    (400, "", "", "credit balances are too low", FATAL),
    (429, "", "", "credit balance is too low", RATE),
    (404, "", "", "Key limit exceeded", OTHER),
]


@pytest.mark.parametrize(("status", "type", "code", "message", "kind"), BODIES)
def test_by_body(status: int | None, type: str, code: str, message: str, kind: FailureClass) -> None:
    assert classify_retry_error(failure(status, message, type=type, code=code)) is kind


# An error inside a stream that had answered 200: its type or code stands for the status.
IN_STREAM = [
    *(("overloaded_error", SERVER), ("overloaded", SERVER), ("api_error", SERVER), ("server_error", SERVER)),
    *(("timeout_error", SERVER), ("internal_server_error", SERVER), ("network_error", SERVER)),
    *(("rate_limit_error", RATE), ("rate_limit_exceeded", RATE), ("ramp_limit_exceeded", RATE)),
    *(("invalid_request_error", FATAL), ("not_found_error", FATAL), ("invalid_prompt", FATAL), ("invalid_image", FATAL)),
    *(("authentication_error", AUTH), ("invalid_api_key", AUTH), ("permission_error", AUTH)),
    *(("billing_error", BILLING), ("insufficient_quota", BILLING)),
    *(("context_length_exceeded", OVERFLOW), ("model_context_window_exceeded", OVERFLOW), ("request_too_large", OVERFLOW)),
    ("brand_new_error", UNKNOWN),
]


@pytest.mark.parametrize(("word", "kind"), IN_STREAM)
@pytest.mark.parametrize("status", [200, None])
def test_an_error_inside_a_200_is_judged_by_its_own_word(status: int | None, word: str, kind: FailureClass) -> None:
    assert classify_retry_error(failure(status, type=word)) is kind
    assert classify_retry_error(failure(status, code=word)) is kind


@pytest.mark.parametrize(("word", "kind"), IN_STREAM)
def test_after_something_was_shown_only_billing_is_told_apart(word: str, kind: FailureClass) -> None:
    shown = classify_retry_error(failure(200, type=word, after_output=True))
    assert shown is (BILLING if kind is BILLING else INTERRUPTED)


# A failure that fits two classes: the first in the order of the classes wins.
ORDER: list[tuple[dict[str, Any], FailureClass]] = [
    ({"status": 402, "after_output": True, "timed_out": True}, BILLING),
    ({"status": 400, "code": "context_length_exceeded", "after_output": True}, INTERRUPTED),
    ({"status": 401, "after_output": True}, INTERRUPTED),
    ({"status": 401, "code": "context_length_exceeded"}, OVERFLOW),
    ({"status": 500, "code": "context_length_exceeded", "timed_out": True}, OVERFLOW),
    ({"status": 403, "timed_out": True}, AUTH),
    ({"status": 409, "timed_out": True}, TIMEOUT),
    ({"status": 503, "timed_out": True}, TIMEOUT),
    ({"status": 408, "phase": "connect"}, TIMEOUT),
    ({"status": None, "phase": "connect", "timed_out": True}, TIMEOUT),
]


@pytest.mark.parametrize(("facts", "kind"), ORDER, ids=repr)
def test_the_first_match_wins(facts: dict[str, Any], kind: FailureClass) -> None:
    assert classify_retry_error(failure(**facts)) is kind


def test_the_order_of_the_classes() -> None:
    assert list(FailureClass) == [
        *(BILLING, INTERRUPTED, OVERFLOW, AUTH, TIMEOUT, CONFLICT, FATAL, OTHER, RATE, SERVER, CONNECTION, UNKNOWN)
    ]


def test_what_may_be_tried_again() -> None:
    assert set(RETRYABLE) == {TIMEOUT, CONFLICT, RATE, SERVER, CONNECTION}


PER_MINUTE = [
    *(
        "Rate limit: 10000 tokens per minute",
        "requests per min exceeded",
        "per-minute limit",
        "TPM limit hit",
        "your rpm is used up",
    )
]


@pytest.mark.parametrize("message", PER_MINUTE)
def test_per_minute_wording_wins_over_a_quota_word(message: str) -> None:
    worded = failure(429, message, type="insufficient_quota", code="insufficient_quota")
    assert not is_billing_fatal(worded)
    assert classify_retry_error(worded) is RATE


@pytest.mark.parametrize("message", ["tokens per minuteman", "xTPM", "permin", "per hour"])
def test_only_whole_words_are_per_minute_wording(message: str) -> None:
    assert is_billing_fatal(failure(429, message, code="insufficient_quota"))


@pytest.mark.parametrize("message", ["limit of concurrent requests reached", "Concurrency is too high", "a concurrent request"])
def test_wording_about_concurrency_wins_too(message: str) -> None:
    assert classify_retry_error(failure(429, message, code="insufficient_quota")) is RATE


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"status": 429}, BILLING),
        ({"status": 429, "type": "rate_limit_error"}, BILLING),
        ({"status": 200, "type": "rate_limit_error"}, BILLING),
        ({"status": 429, "hint": RetryHint(raw="soon")}, BILLING),
        ({"status": 429, "hint": RetryHint(None, True, "x-should-retry: false")}, BILLING),
        ({"status": 429, "hint": RetryHint(60.5, False, "60.5")}, BILLING),
        # It says to come back in a moment, or that it passes by itself.
        ({"status": 429, "hint": RetryHint(0.0, False, "0")}, RATE),
        ({"status": 429, "hint": RetryHint(60.0, False, "60")}, RATE),
        ({"status": 429, "message": "120 requests per minute"}, RATE),
        *(({"status": 429, "code": code}, RATE) for code in ("1302", "1303", "1305")),
        ({"status": 429, "type": "1302"}, RATE),
        # It is no limit.
        ({"status": 503}, SERVER),
        ({"status": 429, "code": "1312"}, SERVER),
        ({"status": 400}, FATAL),
    ],
    ids=repr,
)
def test_a_plan_that_refuses_without_a_hint_is_used_up(facts: dict[str, Any], kind: FailureClass) -> None:
    assert classify_retry_error(replace(failure(**facts), subscription=True)) is kind


def test_a_number_in_the_place_of_the_type_is_a_code() -> None:
    """Older servers of GLM, behind its Messages address."""
    assert classify_retry_error(failure(429, type="1211")) is FATAL
    assert classify_retry_error(failure(429, type="1113")) is BILLING
    assert classify_retry_error(failure(429, type="1211", code="1302")) is RATE


def test_no_wording_wins_over_a_402() -> None:
    assert is_billing_fatal(failure(402, "per minute"))
    assert is_billing_fatal(failure(200, "per minute", code="402"))


def test_a_short_label_of_a_limit_on_concurrency_is_a_rate_limit() -> None:
    limited = failure(429, "limit of concurrent requests reached", type="INSUFFICIENT QUOTA")
    assert classify_retry_error(limited) is RATE


@pytest.mark.parametrize(
    ("status", "message", "fatal"),
    [
        (400, "Your credit balance is too low", True),
        (400, "YOUR CREDIT BALANCE IS TOO LOW", True),
        (403, "Key limit exceeded", True),
        (403, "key limit exceeded: 5 USD", True),
        (403, "the key limit exceeded", False),
        (403, "Key limit exceededly", False),
        (403, "Your credit balance is too low", False),
        (400, "Key limit exceeded", False),
        (500, "Your credit balance is too low", False),
    ],
)
def test_billing_by_wording_needs_its_status(status: int, message: str, fatal: bool) -> None:
    assert is_billing_fatal(failure(status, message)) is fatal


def test_the_same_request_can_only_be_refused_again() -> None:
    assert is_request_fatal(failure(400))
    assert is_request_fatal(failure(200, type="invalid_request_error"))
    assert not is_request_fatal(failure(400, code="context_length_exceeded"))
    assert not is_request_fatal(failure(400, "credit balance is too low"))
    assert not is_request_fatal(failure(404))
    assert not is_request_fatal(failure(500))


STATUSES = [
    # status, type, code, phase, what it stands for
    (503, "invalid_request_error", "", "response", 503),
    (400, "", "1302", "response", 400),
    (429, "", "1302", "response", 429),
    (429, "", "1301", "response", 400),
    (429, "overloaded_error", "", "response", 429),
    (429, "", "503", "response", 429),
    (200, "overloaded_error", "429", "response", 429),
    (200, "overloaded_error", "odd", "response", 500),
    (200, "", "", "response", 200),
    (200, "", "", "stream", None),
    (399, "", "", "response", 399),
    (200, "", "400", "response", 400),
    (200, "", "599", "response", 599),
    # No status of an error has these.
    (200, "", "399", "response", 200),
    (200, "", "600", "response", 200),
    (None, "", "", "stream", None),
    (None, "", "", "response", None),
    (None, "rate_limit_error", "", "response", 429),
]


@pytest.mark.parametrize(("status", "type", "code", "phase", "stands_for"), STATUSES)
def test_what_a_failure_stands_for(status: int | None, type: str, code: str, phase: str, stands_for: int | None) -> None:
    assert effective_status(failure(status, type=type, code=code, phase=phase)) == stands_for


def test_what_the_operator_reads() -> None:
    bare = CallFailure(None, "connect", "cannot connect to 127.0.0.1:9 (refused)")
    assert describe("openai-payg", bare, 1, 0.2) == "openai-payg: cannot connect to 127.0.0.1:9 (refused)"
    tried = CallFailure(
        None, "connect", "cannot connect to 127.0.0.1:9 (refused)", way_out="base_url comes from OPENAI_BASE_URL"
    )
    assert describe("openai-payg", tried, 3, 4.13) == (
        "openai-payg: cannot connect to 127.0.0.1:9 (refused), 3 attempts in 4.1 s. base_url comes from OPENAI_BASE_URL"
    )
    full = CallFailure(429, "response", "slow down", hint=RetryHint(900.0, False, "900"), request_id="req_1", way_out="wait")
    assert describe("acme-payg", full, 2, 1.0) == (
        "acme-payg: slow down (req_1), 2 attempts in 1.0 s, the server said '900' about retrying. wait"
    )


def test_a_failure_states_no_more_than_it_knows() -> None:
    bare = CallFailure(500, "response", "x")
    assert (bare.error_type, bare.error_code, bare.timed_out, bare.after_output) == ("", "", False, False)
    assert (bare.hint, bare.request_id, bare.way_out) == (RetryHint(None, False, ""), "", "")
    assert (bare.quota, bare.subscription) == ((), False)


@pytest.mark.parametrize("words", ["context window ", "exceeds the ", "input length and ", "per-", "credit balance is ", "x"])
def test_a_long_message_takes_no_long_time(words: str) -> None:
    """300 KB of what patterns begin with: each place is looked at a bounded number of times."""
    started = time.process_time()
    judged = {classify_retry_error(failure(400, message=words * (300_000 // len(words))))}

    assert judged == {FATAL}
    assert time.process_time() - started < 1


def test_the_words_of_an_overflow_stand_near_each_other() -> None:
    assert classify_retry_error(failure(400, message="the context window of 9 tokens was exceeded")) is OVERFLOW
    assert classify_retry_error(failure(400, message=f"context window{' x' * 100} exceeded")) is FATAL


@pytest.mark.parametrize("status", [None, 200, 400])
def test_low_credit_is_billing_inside_a_200_too(status: int | None) -> None:
    facts = failure(status, type="invalid_request_error", message="Your credit balance is too low to access")
    assert classify_retry_error(facts) is BILLING
    assert is_billing_fatal(failure(status if status != 400 else 403, code="403", message="Key limit exceeded (total)"))
