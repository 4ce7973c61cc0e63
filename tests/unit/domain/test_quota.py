"""What providers report of an account's limits, in their headers and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.quota import Quota, quotas_in_error, read_quotas

# 2026-11-30 12:00:00 UTC
NOW = 1_796_040_000.0

# Names and forms as the providers document them: Anthropic (RFC 3339), OpenAI (durations), OpenRouter (milliseconds).
HEADERS: list[tuple[dict[str, str], tuple[Quota, ...]]] = [
    ({}, ()),
    ({"content-type": "text/html", "retry-after": "3"}, ()),
    (
        {
            "anthropic-ratelimit-requests-limit": "50",
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset": "2026-11-30T12:00:30Z",
            "anthropic-ratelimit-input-tokens-remaining": "29000",
        },
        (Quota("requests", 50, 0, "2026-11-30T12:00:30Z", NOW + 30), Quota("input-tokens", None, 29000)),
    ),
    (
        {"anthropic-ratelimit-unified-5h-reset": "1796050000"},
        (Quota("unified-5h", None, None, "1796050000", 1_796_050_000.0),),
    ),
    (
        {
            "x-ratelimit-limit-requests": "60",
            "x-ratelimit-remaining-requests": "59",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-limit-tokens": "150000",
            "x-ratelimit-remaining-tokens": "149984",
            "x-ratelimit-reset-tokens": "6m0s",
        },
        (Quota("requests", 60, 59, "1s", NOW + 1), Quota("tokens", 150_000, 149_984, "6m0s", NOW + 360)),
    ),
    (
        {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796040060000"},
        (Quota("requests", 20, 0, "1796040060000", NOW + 60),),
    ),
    *(
        ({"x-ratelimit-reset-tokens": raw}, (Quota("tokens", reset=raw, resets_at=at),))
        for raw, at in [
            ("17ms", NOW + 0.017),
            ("1h2m3.5s", NOW + 3723.5),
            ("1d", NOW + 86_400),
            ("12", NOW + 12),
            ("0", NOW),
            # From here on a number is a point in time, in seconds or milliseconds since 1970.
            ("999999999", NOW + 999_999_999),
            ("1000000000", 1e9),
            ("999999999999", 999_999_999_999.0),
            ("1000000000000", 1e9),
            # unreadable: kept as it was written
            ("soon", None),
            ("-5", None),
            ("nan", None),
            ("inf", None),
            ("1e400", None),
            ("6m later", None),
            ("2026-11-30T12:00:30", None),
            ("2026-13-30T12:00:30Z", None),
        ]
    ),
    *(({"x-ratelimit-remaining-tokens": raw}, ()) for raw in ("", "many", "-1", "1.5", "９", "1" + "0" * 15)),
    ({"content-type": "text/html", "x-ratelimit-remaining-tokens": "7"}, (Quota("tokens", None, 7),)),
    ({"x-ratelimit-remaining-tokens": " 7 "}, (Quota("tokens", None, 7),)),
    ({"x-ratelimit-remaining-": "7", "x-ratelimit-used-tokens": "7", "anthropic-ratelimit-limit": "7"}, ()),
]


@pytest.mark.parametrize(("headers", "quotas"), HEADERS, ids=range(len(HEADERS)))
def test_limits_in_headers(headers: dict[str, str], quotas: tuple[Quota, ...]) -> None:
    assert read_quotas(headers, NOW) == quotas


def test_a_server_cannot_make_it_long() -> None:
    many = {f"x-ratelimit-limit-{n}": "1" for n in range(100)}
    assert len(read_quotas(many, NOW)) == 16
    assert len(read_quotas({"x-ratelimit-reset": "x" * 9_000}, NOW)[0].reset) == 100


ERRORS: list[tuple[dict[str, Any], str, tuple[Quota, ...]]] = [
    ({}, "", ()),
    (
        {"resets_at": 1_796_050_000},
        "",
        (Quota("plan", None, None, "1796050000", 1_796_050_000.0),),
    ),
    ({"resets_in_seconds": 3600}, "", (Quota("plan", None, None, "3600 s", NOW + 3600),)),
    ({"resets_at": True, "resets_in_seconds": "soon"}, "", ()),
    ({"resets_at": -1, "resets_in_seconds": 1e300}, "", ()),
    (
        {
            "code": 429,
            "metadata": {"headers": {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"}},
        },
        "",
        (Quota("requests", 20, 0, "60", NOW + 60),),
    ),
    ({"resets_in_seconds": 0}, "", (Quota("plan", None, None, "0 s", NOW),)),
    ({"resets_in_seconds": 10**15}, "", ()),
    (
        {"resets_in_seconds": 60, "metadata": {"headers": {"X-RateLimit-Limit": "20"}}},
        "",
        (Quota("plan", None, None, "60 s", NOW + 60), Quota("requests", 20)),
    ),
    ({"metadata": {"headers": ["x"]}}, "", ()),
    ({"metadata": "x"}, "", ()),
    # GLM tells a time without a zone, in words: shown as it is, and not computed with.
    (
        {"code": "1308"},
        "Usage limit reached for 5 hour. Your limit will reset at 2026-11-30 18:00:00",
        (Quota("plan", None, None, "2026-11-30 18:00:00"),),
    ),
    ({}, "resets on 2026-11-30T13:00:00Z", (Quota("plan", None, None, "2026-11-30T13:00:00Z", NOW + 3600),)),
    ({}, "the reset button", ()),
]


@pytest.mark.parametrize(("error", "message", "quotas"), ERRORS, ids=range(len(ERRORS)))
def test_limits_in_errors(error: dict[str, Any], message: str, quotas: tuple[Quota, ...]) -> None:
    assert quotas_in_error(error, message, NOW) == quotas


@pytest.mark.parametrize(
    ("quota", "words"),
    [
        (Quota("x"), ""),
        (Quota("x", reset="soon"), "soon"),
        (Quota("x", reset="30", resets_at=NOW), "2026-11-30 12:00:00 UTC"),
        (Quota("x", reset="never", resets_at=1e14), "never"),
    ],
)
def test_a_reset_in_words(quota: Quota, words: str) -> None:
    assert quota.reset_words == words
