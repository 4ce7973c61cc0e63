"""When a failed call is made again, and after how long (spec section 7)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias, TypeGuard

from geode.domain.errors import Misuse
from geode.domain.failures import RETRYABLE, CallFailure, RetryHint, classify_retry_error

# More doublings than any delay needs; without a bound the power of two outgrows a float.
_MAX_DOUBLINGS: Final = 64


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Attempts in total, and full jitter: uniform(0, min(base·2^(n-1), max)) seconds before attempt n+1.

    A server's hint is a lower bound; above `max_hint_seconds` nothing is retried.
    """

    attempts: int = 3
    base_seconds: float = 2.0
    max_seconds: float = 30.0
    max_hint_seconds: float = 60.0

    def __post_init__(self) -> None:
        attempts: object = self.attempts
        if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
            raise Misuse("policy-value", f"RetryPolicy.attempts must be a whole number of 1 or more, got {attempts!r:.80}")
        for name in ("base_seconds", "max_seconds", "max_hint_seconds"):
            value: object = getattr(self, name)
            if not is_number(value) or value < 0:
                raise Misuse("policy-value", f"RetryPolicy.{name} must be 0 or more seconds, got {value!r:.80}")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number that a clock can count with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that is larger than any float
        return False


def retry_delay_for(policy: RetryPolicy, failure: CallFailure, attempt: int, jitter: float) -> float | None:
    """Seconds to wait after failed attempt number `attempt` (from 1), or None when it must not be repeated.

    `jitter` is a draw from [0, 1).
    """
    hint = failure.hint
    if classify_retry_error(failure) not in RETRYABLE or attempt >= policy.attempts:
        return None
    if hint.forbidden or (hint.seconds is not None and not 0 <= hint.seconds <= policy.max_hint_seconds):
        return None
    delay = jitter * min(policy.base_seconds * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), policy.max_seconds)
    return max(delay, hint.seconds or 0.0)


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """The same model is asked again after `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NextModel:
    """The next model of the chain is asked, at once, with all its attempts before it."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nobody is asked any more."""


Following: TypeAlias = RetryAfter | NextModel | GiveUp


def after_failure(policy: RetryPolicy, failure: CallFailure, attempt: int, jitter: float, *, is_last: bool) -> Following:
    """What follows failed attempt number `attempt` (from 1) of a model; `is_last`: none comes after it in the chain.

    All attempts on one model first; the next one only for a failure that might have passed by itself.
    """
    seconds = retry_delay_for(policy, failure, attempt, jitter)
    if seconds is not None:
        return RetryAfter(seconds)
    if is_last or classify_retry_error(failure) not in RETRYABLE:
        return GiveUp()
    return NextModel()


def read_retry_hint(headers: Mapping[str, str], now: float) -> RetryHint:
    """The hint in response headers (lower-case names); `now` is epoch seconds, for an HTTP date.

    `retry-after-ms` wins over `retry-after` (seconds or an HTTP date, RFC 9110 section 10.2.3). A value
    that is not finite, negative or unreadable forbids a retry, and is kept in `raw`.
    """
    if headers.get("x-should-retry", "").strip().lower() == "false":
        return RetryHint(None, True, "x-should-retry: false")
    unread = ""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        raw = headers.get(name, "").strip()
        seconds = _seconds(raw, scale, now)
        if seconds is not None:
            usable = math.isfinite(seconds) and seconds >= 0
            return RetryHint(seconds, False, raw) if usable else RetryHint(None, True, f"{name}: {raw}")
        unread = unread or raw
    return RetryHint(raw=unread)


def _seconds(raw: str, scale: float, now: float) -> float | None:
    try:
        return float(raw) * scale
    except ValueError:
        pass
    try:
        at = datetime.strptime(raw, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    # A date that has passed says: now.
    return max(at.timestamp() - now, 0.0)
