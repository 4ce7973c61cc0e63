"""What a provider reports of an account's limits: how much is left, and when it is full again (spec section 7)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

# The most limits that are read from one answer, and the longest text of one: whatever a server sends.
_MOST: Final = 16
_LONGEST: Final = 100
_MOST_COUNT: Final = 10**15
# Anthropic puts what is counted first, the OpenAI wires put it last; OpenRouter counts requests alone.
_NAMES: Final = (
    re.compile(r"anthropic-ratelimit-(?P<of>[a-z0-9-]{1,40})-(?P<what>limit|remaining|reset)"),
    re.compile(r"x-ratelimit-(?P<what>limit|remaining|reset)(?:-(?P<of>[a-z0-9-]{1,40}))?"),
)
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)")
_SECONDS_OF: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# Numbers above these are points in time, in seconds and in milliseconds since 1970.
_EPOCH: Final = 10**9
_EPOCH_MS: Final = 10**12
# GLM tells the reset of a plan in words, with a time of its own zone.
_WILL_RESET: Final = re.compile(r"\breset(?:s)? (?:at|on) (\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?Z?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit. `of` is what is counted, in the provider's word: requests, input-tokens, plan.

    `limit` and `remaining` are None where they are not told. `reset` is when the limit is full again, as the
    provider wrote it; `resets_at` is the same in epoch seconds, or None where it cannot be read for sure.
    """

    of: str
    limit: int | None = None
    remaining: int | None = None
    reset: str = ""
    resets_at: float | None = None

    @property
    def reset_words(self) -> str:
        """When it is full again, for people: UTC, or as the provider wrote it; "" where it is not told."""
        if self.resets_at is None:
            return self.reset
        try:
            return datetime.fromtimestamp(self.resets_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        except (OverflowError, OSError, ValueError):
            return self.reset


def read_quotas(headers: Mapping[str, str], now: float) -> tuple[Quota, ...]:
    """The limits in response headers (lower-case names), in the order of the headers; `now` is epoch seconds."""
    found: dict[str, Quota] = {}
    for name, value in headers.items():
        match = next((match for pattern in _NAMES if (match := pattern.fullmatch(name))), None)
        if match is None:
            continue
        of = match["of"] or "requests"
        if of in found or len(found) < _MOST:
            found[of] = _with(found.get(of, Quota(of)), match["what"], value.strip()[:_LONGEST], now)
    return tuple(quota for quota in found.values() if quota != Quota(quota.of))


def quotas_in_error(error: Mapping[str, Any], message: str, now: float) -> tuple[Quota, ...]:
    """The limits that the error object of a body tells of.

    `resets_at` and `resets_in_seconds` (ChatGPT plans), `metadata.headers` (OpenRouter), and the words of GLM's plans.
    """
    quotas: list[Quota] = []
    at, after = _number(error.get("resets_at")), _number(error.get("resets_in_seconds"))
    if at is not None:
        quotas.append(Quota("plan", reset=f"{at:.0f}", resets_at=at))
    elif after is not None:
        quotas.append(Quota("plan", reset=f"{after:g} s", resets_at=now + after))
    metadata: Any = error.get("metadata")
    headers: Any = metadata.get("headers") if isinstance(metadata, Mapping) else None
    if isinstance(headers, Mapping):
        quotas += read_quotas({str(name).lower(): str(value) for name, value in headers.items()}, now)
    if not quotas and (told := _WILL_RESET.search(message)):
        quotas.append(Quota("plan", reset=told[1], resets_at=_moment(told[1])))
    return tuple(quotas)


def _with(quota: Quota, what: str, value: str, now: float) -> Quota:
    if what == "reset":
        return replace(quota, reset=value, resets_at=_reset_at(value, now))
    count = int(value) if value.isascii() and value.isdigit() and int(value) < _MOST_COUNT else None
    return replace(quota, limit=count) if what == "limit" else replace(quota, remaining=count)


def _reset_at(value: str, now: float) -> float | None:
    """A point in time (RFC 3339, or a number of seconds or milliseconds since 1970) or a duration ("6m0s", seconds)."""
    try:
        number = float(value)
    except ValueError:
        return _after(value, now)
    if not math.isfinite(number) or number < 0:
        return None
    if number >= _EPOCH_MS:
        return number / 1000
    return number if number >= _EPOCH else now + number


def _after(value: str, now: float) -> float | None:
    parts = _DURATION.findall(value)
    if parts and "".join(number + unit for number, unit in parts) == value:
        return now + sum(float(number) * _SECONDS_OF[unit] for number, unit in parts)
    return _moment(value)


def _moment(value: str) -> float | None:
    try:
        at = datetime.fromisoformat(value)
        return None if at.tzinfo is None else at.timestamp()
    except (ValueError, OverflowError):
        return None


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _MOST_COUNT:
        return None
    return float(value)
