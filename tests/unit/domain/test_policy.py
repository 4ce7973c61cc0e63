"""Every limit in one place: the numbers, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from geode.domain.approval import Grant
from geode.domain.errors import Misuse
from geode.domain.policy import Policy
from geode.domain.retry import RetryPolicy

DEFAULTS: dict[str, Any] = {
    "max_rounds": 50,
    "max_seconds": None,
    "max_tool_calls": None,
    "max_total_tokens": None,
    "max_cost_usd": None,
    "max_output_tokens": None,
    "call_timeout_seconds": 600.0,
    "idle_timeout_seconds": 120.0,
    "tool_timeout_seconds": 120.0,
    "max_parallel": 8,
    "max_pauses": 5,
    "max_empty_replies": 1,
    "max_calls_under_none": 1,
    "max_compactions": 2,
    "wrap_up_rounds": 2,
    "wrap_up_share_of_rounds": 0.25,
    "wrap_up_seconds": 30.0,
    "wrap_up_share_of_seconds": 0.1,
    "wrap_up_output_tokens": 2048,
    "backpressure_rounds": 3,
    "no_progress_rounds": 5,
    "no_progress_window": 10,
    "max_no_progress_hints": 3,
    "recovery_failures": 2,
    "recovery_seconds": 1.0,
    "max_recovery_executions": 3,
    "retry": RetryPolicy(3, 2.0, 30.0, 60.0),
    "grants": (),
}


def test_the_numbers_by_default() -> None:
    made = Policy()
    assert {name: getattr(made, name) for name in DEFAULTS} == DEFAULTS
    assert made == Policy(**DEFAULTS)


def test_a_policy_is_changed_by_making_another() -> None:
    assert replace(Policy(), max_rounds=3, grants=(Grant("read"),)) == Policy(max_rounds=3, grants=(Grant("read"),))


def policy(name: str, value: Any) -> Any:
    """The value under `name` of a policy that was given it."""
    given: dict[str, Any] = {name: value}
    return getattr(Policy(**given), name)


def refused(name: str, value: Any) -> str:
    with pytest.raises(Misuse) as caught:
        policy(name, value)
    assert caught.value.id == "policy-value"
    return str(caught.value)


WHOLE = [
    *(("max_rounds", 1), ("max_parallel", 1), ("wrap_up_output_tokens", 1), ("max_total_tokens", 1), ("max_output_tokens", 1)),
    *(("max_tool_calls", 0), ("max_pauses", 0), ("max_empty_replies", 0), ("max_calls_under_none", 0), ("wrap_up_rounds", 0)),
    *(("backpressure_rounds", 1), ("no_progress_rounds", 1), ("no_progress_window", 1), ("recovery_failures", 1)),
    *(("max_no_progress_hints", 0), ("max_recovery_executions", 0)),
]


@pytest.mark.parametrize(("name", "least"), WHOLE)
def test_whole_numbers_from_the_least(name: str, least: int) -> None:
    assert policy(name, least) == least
    assert policy(name, 10_000) == 10_000
    for wrong in (least - 1, -7, 1.5, 2.0, "2", True):
        assert refused(name, wrong) == (
            f"Policy.{name} must be a whole number of {least} or more, got {wrong!r} [policy-value]"
        )


@pytest.mark.parametrize("name", ["max_tool_calls", "max_total_tokens", "max_output_tokens", "max_no_progress_hints"])
def test_no_limit_is_said_by_none(name: str) -> None:
    assert policy(name, None) is None


@pytest.mark.parametrize(
    "name",
    [
        "max_rounds",
        "max_parallel",
        "wrap_up_output_tokens",
        "max_pauses",
        "max_empty_replies",
        "max_calls_under_none",
        "wrap_up_rounds",
        "backpressure_rounds",
        "no_progress_rounds",
        "no_progress_window",
        "recovery_failures",
        "max_recovery_executions",
    ],
)
def test_some_limits_cannot_be_lifted(name: str) -> None:
    assert refused(name, None).startswith(f"Policy.{name} must be a whole number of ")


SECONDS = ["max_seconds", "call_timeout_seconds", "idle_timeout_seconds", "tool_timeout_seconds"]


@pytest.mark.parametrize("name", SECONDS)
def test_seconds_above_zero(name: str) -> None:
    assert policy(name, 0.001) == 0.001
    assert policy(name, 7) == 7
    for wrong in (0, 0.0, -1, math.inf, math.nan, "1", True):
        assert refused(name, wrong) == f"Policy.{name} must be a number of seconds above 0, got {wrong!r} [policy-value]"
    assert refused(name, 10**400).startswith(f"Policy.{name} must be a number of seconds above 0, got 1000"), (
        "no float is as large"
    )


@pytest.mark.parametrize("name", SECONDS[1:])
def test_one_call_always_has_a_deadline(name: str) -> None:
    assert refused(name, None) == f"Policy.{name} must be a number of seconds above 0, got None [policy-value]"


@pytest.mark.parametrize("name", ["wrap_up_share_of_rounds", "wrap_up_share_of_seconds"])
def test_shares_lie_between_nothing_and_all(name: str) -> None:
    for right in (0, 0.5, 1):
        assert policy(name, right) == right
    for wrong in (-0.01, 1.01, math.nan, math.inf, "0.5", None, True):
        assert refused(name, wrong) == f"Policy.{name} must be between 0 and 1, got {wrong!r} [policy-value]"


@pytest.mark.parametrize("name", ["wrap_up_seconds", "recovery_seconds"])
def test_the_last_seconds_and_those_to_wait_are_not_negative(name: str) -> None:
    for right in (0, 0.5, 100_000):
        assert policy(name, right) == right
    for wrong in (-0.01, math.nan, math.inf, "30", None, False):
        assert refused(name, wrong) == f"Policy.{name} must be 0 or more seconds, got {wrong!r} [policy-value]"


def test_a_cost_is_a_decimal_above_zero() -> None:
    for right in (None, Decimal("0.10"), Decimal(5)):
        assert Policy(max_cost_usd=right).max_cost_usd == right
    for wrong in (0.1, 1, "0.10", Decimal(0), Decimal(-1), Decimal("NaN"), Decimal("Infinity")):
        assert refused("max_cost_usd", wrong) == (
            f'Policy.max_cost_usd must be a Decimal above 0, such as Decimal("0.10"), got {wrong!r} [policy-value]'
        )


@pytest.mark.parametrize("wrong", [None, 3, "3"])
def test_how_failed_calls_are_repeated_is_a_policy_of_its_own(wrong: Any) -> None:
    assert refused("retry", wrong) == f"Policy.retry takes a RetryPolicy, got {wrong!r} [policy-value]"


@pytest.mark.parametrize(
    ("wrong", "shown"), [("read", "'read'"), (None, "None"), (["read"], "['read']"), (("read",), "'read'")]
)
def test_grants_are_a_tuple_of_grants(wrong: Any, shown: str) -> None:
    assert (
        refused("grants", wrong)
        == f'Policy.grants takes a tuple of Grant, such as (Grant("read"),), got {shown} [policy-value]'
    )


def test_an_unknown_name_is_refused_with_the_closest() -> None:
    unknown: dict[str, Any] = {"max_tokenz": 1}
    with pytest.raises(Misuse) as caught:
        Policy(**unknown)
    assert str(caught.value) == 'Policy has no "max_tokenz"; did you mean max_total_tokens? [unknown-name]'


@pytest.mark.parametrize("share", [0, -0.1, 1.01, True, "0.8"])
def test_the_share_of_the_window_is_above_nothing_and_at_most_all(share: Any) -> None:
    with pytest.raises(Misuse, match=r"^Policy\.compact_above must be above 0 and at most 1, such as 0\.8, got "):
        Policy(compact_above=share)
    assert Policy(compact_above=1).compact_above == 1
