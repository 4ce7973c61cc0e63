"""When a failed call is made again, and after how long."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.failures import CallFailure, RetryHint
from geode.domain.retry import (
    Following,
    GiveUp,
    NextModel,
    RetryAfter,
    RetryPolicy,
    after_failure,
    read_retry_hint,
    retry_delay_for,
)
from tests.unit.domain.builders import failure

BUSY = failure(503)
MANY = RetryPolicy(attempts=10_000)
NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC).timestamp()


def hinted(seconds: float | None, forbidden: bool = False) -> CallFailure:
    return failure(503, hint=RetryHint(seconds, forbidden, "raw"))


def test_the_policy_by_default() -> None:
    assert RetryPolicy() == RetryPolicy(attempts=3, base_seconds=2.0, max_seconds=30.0, max_hint_seconds=60.0)


@pytest.mark.parametrize(
    ("attempt", "most"), [(1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0), (5, 30.0), (6, 30.0), (50, 30.0), (5000, 30.0)]
)
def test_full_jitter_up_to_twice_the_last_and_never_over_thirty(attempt: int, most: float) -> None:
    assert retry_delay_for(MANY, BUSY, attempt, 0.0) == 0.0
    assert retry_delay_for(MANY, BUSY, attempt, 0.5) == most / 2
    assert retry_delay_for(MANY, BUSY, attempt, 1.0) == most


def test_a_base_of_its_own() -> None:
    assert retry_delay_for(RetryPolicy(base_seconds=0, max_seconds=0), BUSY, 2, 0.9) == 0.0
    assert retry_delay_for(RetryPolicy(base_seconds=1.5, max_seconds=2.5), BUSY, 1, 1.0) == 1.5
    assert retry_delay_for(RetryPolicy(base_seconds=1.5, max_seconds=2.5), BUSY, 2, 1.0) == 2.5
    assert retry_delay_for(RetryPolicy(attempts=10_000, base_seconds=1e308, max_seconds=5), BUSY, 9_000, 1.0) == 5


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_attempts_are_counted_in_total_and_nothing_waits_after_the_last(attempts: int) -> None:
    policy = RetryPolicy(attempts=attempts)
    waits = [retry_delay_for(policy, BUSY, attempt, 0.5) is not None for attempt in range(1, 5)]
    assert waits.count(True) == attempts - 1
    assert waits == [attempt < attempts for attempt in range(1, 5)]


@pytest.mark.parametrize(
    ("fault", "again"),
    [
        (failure(408), True),
        (failure(None, phase="connect", timed_out=True), True),
        (failure(409), True),
        (failure(429), True),
        (failure(500), True),
        (failure(529), True),
        (failure(None, phase="connect"), True),
        (failure(200, phase="stream"), True),
        (failure(402), False),
        (failure(200, phase="stream", after_output=True), False),
        (failure(503, after_output=True), False),
        (failure(400, code="context_length_exceeded"), False),
        (failure(401), False),
        (failure(400), False),
        (failure(404), False),
        (failure(200), False),
    ],
    ids=range(16),
)
def test_only_a_retryable_class_is_tried_again(fault: CallFailure, again: bool) -> None:
    assert retry_delay_for(RetryPolicy(), fault, 1, 0.5) == (1.0 if again else None)


@pytest.mark.parametrize(
    ("seconds", "attempt", "delay"),
    [
        (None, 1, 2.0),
        (0.0, 1, 2.0),
        (0.5, 1, 2.0),
        (1.0, 2, 4.0),
        (2.5, 1, 2.5),
        (7.0, 1, 7.0),
        (45.0, 1, 45.0),
        (60.0, 1, 60.0),
        (60.001, 1, None),
        (61.0, 1, None),
        (9_999_999_999.0, 1, None),
        (math.inf, 1, None),
        (math.nan, 1, None),
        (-5.0, 1, None),
        (-0.001, 1, None),
    ],
)
def test_a_hint_is_a_lower_bound_up_to_a_minute(seconds: float | None, attempt: int, delay: float | None) -> None:
    assert retry_delay_for(RetryPolicy(), hinted(seconds), attempt, 1.0) == delay


def test_a_plain_no_is_obeyed() -> None:
    assert retry_delay_for(RetryPolicy(), hinted(None, forbidden=True), 1, 1.0) is None
    assert retry_delay_for(RetryPolicy(), hinted(1.0, forbidden=True), 1, 1.0) is None


def test_the_longest_hint_is_a_policy() -> None:
    assert retry_delay_for(RetryPolicy(max_hint_seconds=5), hinted(5.0), 1, 0.0) == 5.0
    assert retry_delay_for(RetryPolicy(max_hint_seconds=5), hinted(5.1), 1, 0.0) is None


# Failure, attempt of three, what follows for the last of a chain, and for any other.
FOLLOWS: list[tuple[CallFailure, int, Following, Following]] = [
    (BUSY, 1, RetryAfter(2.0), RetryAfter(2.0)),
    (BUSY, 2, RetryAfter(4.0), RetryAfter(4.0)),
    (BUSY, 3, GiveUp(), NextModel()),
    (hinted(5.0), 1, RetryAfter(5.0), RetryAfter(5.0)),
    (hinted(61.0), 1, GiveUp(), NextModel()),
    (hinted(None, forbidden=True), 1, GiveUp(), NextModel()),
    *((failure(status), 3, GiveUp(), NextModel()) for status in (408, 409, 429, 529)),
    *((failure(status), 1, GiveUp(), GiveUp()) for status in (200, 400, 401, 402, 403, 404, 413)),
    *((failure(status), 3, GiveUp(), GiveUp()) for status in (200, 400, 401, 402, 403, 404, 413)),
    (failure(503, after_output=True), 3, GiveUp(), GiveUp()),
    (failure(400, code="context_length_exceeded"), 3, GiveUp(), GiveUp()),
    (failure(429, code="insufficient_quota"), 3, GiveUp(), GiveUp()),
]


@pytest.mark.parametrize(("fault", "attempt", "last", "other"), FOLLOWS, ids=range(len(FOLLOWS)))
def test_what_follows_a_failure(fault: CallFailure, attempt: int, last: Following, other: Following) -> None:
    assert after_failure(RetryPolicy(), fault, attempt, 1.0, is_last=True) == last
    assert after_failure(RetryPolicy(), fault, attempt, 1.0, is_last=False) == other


HEADERS = [
    ({}, RetryHint()),
    ({"content-type": "text/html"}, RetryHint()),
    # seconds, milliseconds, and the finer of both
    ({"retry-after": "2"}, RetryHint(2.0, False, "2")),
    ({"retry-after": "0"}, RetryHint(0.0, False, "0")),
    ({"retry-after": "0.5"}, RetryHint(0.5, False, "0.5")),
    ({"retry-after": " 7 "}, RetryHint(7.0, False, "7")),
    ({"retry-after": "9999999999"}, RetryHint(9999999999.0, False, "9999999999")),
    ({"retry-after-ms": "1500"}, RetryHint(1.5, False, "1500")),
    ({"retry-after": "2", "retry-after-ms": "1500"}, RetryHint(1.5, False, "1500")),
    ({"retry-after": "3", "retry-after-ms": ""}, RetryHint(3.0, False, "3")),
    ({"retry-after": ""}, RetryHint()),
    ({"retry-after": "  "}, RetryHint()),
    # an HTTP date, also one that has passed
    ({"retry-after": "Sun, 29 Nov 2026 12:00:30 GMT"}, RetryHint(30.0, False, "Sun, 29 Nov 2026 12:00:30 GMT")),
    ({"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, RetryHint(0.0, False, "Sun, 29 Nov 2026 11:00:00 GMT")),
    # not finite, negative, unreadable: no retry, and the value is kept
    ({"retry-after": "-5"}, RetryHint(None, True, "retry-after: -5")),
    ({"retry-after": "nan"}, RetryHint(None, True, "retry-after: nan")),
    ({"retry-after": "inf"}, RetryHint(None, True, "retry-after: inf")),
    ({"retry-after": "1e309"}, RetryHint(None, True, "retry-after: 1e309")),
    ({"retry-after-ms": "-1"}, RetryHint(None, True, "retry-after-ms: -1")),
    ({"retry-after": "abc"}, RetryHint(None, False, "abc")),
    ({"retry-after": "Sun, 31 Feb 2026 12:00:30 GMT"}, RetryHint(None, False, "Sun, 31 Feb 2026 12:00:30 GMT")),
    # the server's own word beats its numbers
    ({"x-should-retry": "false"}, RetryHint(None, True, "x-should-retry: false")),
    ({"x-should-retry": " FALSE ", "retry-after": "2"}, RetryHint(None, True, "x-should-retry: false")),
    ({"x-should-retry": "true"}, RetryHint()),
    ({"x-should-retry": "true", "retry-after": "2"}, RetryHint(2.0, False, "2")),
]


@pytest.mark.parametrize(("headers", "hint"), HEADERS, ids=lambda value: repr(value)[:60])
def test_hints_in_headers(headers: dict[str, str], hint: RetryHint) -> None:
    assert read_retry_hint(headers, NOW) == hint


def test_a_date_is_read_as_utc_wherever_the_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("TZ", "EST+5")
            time.tzset()
            assert read_retry_hint({"retry-after": "Sun, 29 Nov 2026 12:00:30 GMT"}, NOW).seconds == 30.0
    finally:
        time.tzset()


def test_a_hint_over_a_minute_is_not_waited_for_but_kept() -> None:
    hint = read_retry_hint({"retry-after": "900"}, NOW)
    assert retry_delay_for(RetryPolicy(), failure(429, hint=hint), 1, 0.5) is None
    assert hint.raw == "900"


@pytest.mark.parametrize("attempts", [0, -1, 1.5, 2.0, math.nan, math.inf, "3", None, True])
def test_one_attempt_is_the_least(attempts: Any) -> None:
    with pytest.raises(Misuse) as caught:
        RetryPolicy(attempts=attempts)
    assert str(caught.value) == f"RetryPolicy.attempts must be a whole number of 1 or more, got {attempts!r} [policy-value]"


@pytest.mark.parametrize("name", ["base_seconds", "max_seconds", "max_hint_seconds"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, "1", None, True])
def test_seconds_are_finite_and_not_negative(name: str, value: Any) -> None:
    values = {"base_seconds": 1.0, "max_seconds": 1.0, "max_hint_seconds": 1.0, name: value}
    with pytest.raises(Misuse) as caught:
        RetryPolicy(3, **values)
    assert str(caught.value) == f"RetryPolicy.{name} must be 0 or more seconds, got {value!r} [policy-value]"
    assert RetryPolicy(3, **{**values, name: 0.0}) is not None
