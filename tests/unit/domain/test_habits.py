"""What a model keeps doing: both sides of every number, on values alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from geode.domain.content import ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.habits import (
    Habits,
    Judgement,
    Repeat,
    backpressure_text,
    failed_in_a_row,
    failures_in_a_row,
    judge_round,
    no_progress_text,
    repeated,
    round_failed,
    signature,
)
from geode.domain.policy import Policy
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.turns import Hint
from tests.unit.domain.builders import TOOLS, call


def found(*kinds: ResultKind) -> list[ToolResult]:
    return [ToolResult(str(number), kind, (Text(kind),)) for number, kind in enumerate(kinds)]


# ---- failed rounds -----------------------------------------------------------------------------

ROUNDS: list[tuple[list[ResultKind], bool | None]] = [
    (["failed"], True),
    (["failed", "denied", "interrupted", "outcome_unknown"], True),
    (["ok"], False),
    (["failed", "failed", "ok"], False),
    (["ok", "denied"], False),
    (["denied"], None),
    (["interrupted", "outcome_unknown"], None),
    ([], None),
]


@pytest.mark.parametrize(("kinds", "failed"), ROUNDS)
def test_a_round_failed_when_something_did_and_nothing_succeeded(kinds: list[ResultKind], failed: bool | None) -> None:
    assert round_failed(found(*kinds)) is failed


def test_failed_rounds_are_counted_in_a_row() -> None:
    assert failed_in_a_row(2, found("failed")) == 3
    assert failed_in_a_row(2, found("ok", "failed")) == 0
    assert failed_in_a_row(2, found("denied")) == 2


# ---- failures of a tool ------------------------------------------------------------------------


def failures(before: Mapping[str, int], *results: tuple[str, ToolResult], policy: Policy = Policy()) -> Mapping[str, int]:
    calls = [call(one.call_id, name) for name, one in results]
    return failures_in_a_row(before, calls, [one for _, one in results], TOOLS, policy)


FAILED, OK = found("failed")[0], found("ok")[0]
HOPELESS = ToolResult("0", "failed", (Text("no"),), recoverable=False)


def test_failures_are_counted_for_each_tool_and_stay_at_what_is_needed() -> None:
    assert failures({}, ("read", FAILED), ("fetch", FAILED)) == {"read": 1, "fetch": 1}
    assert failures({"read": 1}, ("read", FAILED)) == {"read": 2}
    assert failures({"read": 2}, ("read", FAILED)) == {"read": 2}
    assert failures({"read": 2}, ("read", FAILED), policy=Policy(recovery_failures=3)) == {"read": 3}
    assert failures({"fetch": 1}, ("read", FAILED)) == {"fetch": 1, "read": 1}


def test_within_a_round_failures_count_in_call_order() -> None:
    assert failures({}, ("read", FAILED), ("read", FAILED)) == {"read": 2}
    assert failures({}, ("read", FAILED), ("read", OK)) == {"read": 0}
    assert failures({}, ("read", OK), ("read", FAILED)) == {"read": 1}


def test_a_success_and_an_error_that_no_trying_mends_begin_anew() -> None:
    assert failures({"read": 2}, ("read", OK)) == {"read": 0}
    assert failures({"read": 1}, ("read", HOPELESS)) == {"read": 0}


@pytest.mark.parametrize("kind", ["denied", "interrupted", "outcome_unknown"])
def test_what_neither_failed_nor_succeeded_counts_for_nothing(kind: ResultKind) -> None:
    assert failures({"read": 1}, ("read", found(kind)[0])) == {"read": 1}
    assert failures({}, ("read", found(kind)[0])) == {}


def test_what_is_passed_over_ends_nothing() -> None:
    assert failures({}, ("read", found("denied")[0]), ("nope", FAILED), ("fetch", FAILED)) == {"fetch": 1}


def test_names_that_are_no_tools_are_not_kept() -> None:
    assert failures({}, ("nope", FAILED)) == {}


# ---- the signature of a call -------------------------------------------------------------------

EQUAL: list[tuple[Any, Any]] = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": {"x": [1, {"z": 0, "y": 2.0}]}}, {"a": {"x": [1.0, {"y": 2, "z": 0}]}}),
    ({"a": -0.0}, {"a": 0}),
    ({"a": 1e20}, {"a": 10**20}),
    ({"a": "ä"}, {"a": "\u00e4"}),
]
DIFFERENT: list[tuple[Any, Any]] = [
    ({"a": 1}, {"a": True}),
    ({"a": 0}, {"a": False}),
    ({"a": 1}, {"a": "1"}),
    ({"a": None}, {}),
    ({"a": [1, 2]}, {"a": [2, 1]}),
    ({"a": 1}, {"a": 1.5}),
    ({"a": "x"}, {"b": "x"}),
    ({"a": 2**53}, {"a": 2**53 + 1}),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_arguments_have_one_signature(one: Any, other: Any) -> None:
    assert signature(call("x", "read", one)) == signature(call("y", "read", other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_arguments_have_another(one: Any, other: Any) -> None:
    assert signature(call("x", "read", one)) != signature(call("x", "read", other))


def test_the_tool_and_the_text_that_is_no_object_belong_to_it() -> None:
    assert signature(call("x", "read")) != signature(call("x", "fetch"))
    broken = [ToolUseBlock("x", "read", {}, text) for text in ('{"a"', '{"b"', "{}")]
    assert len({signature(one) for one in (*broken, call("x", "read"))}) == 4
    assert signature(broken[0]) == signature(ToolUseBlock("y", "read", {}, '{"a"'))


def test_a_signature_is_short_and_takes_any_text() -> None:
    assert len(signature(call("x", "read", {"text": "\ud800" * 100_000}))) == 32


# ---- repeats -----------------------------------------------------------------------------------

A, B = call("a", "read", {"p": 1}), call("b", "read", {"p": 2})
KEY = signature(A)


def repeats(before: Repeat, round: int, policy: Policy = Policy(), *calls: ToolUseBlock) -> tuple[Repeat, int]:
    """What is known of `A` after it was called in a round, and how many calls are due for a hint."""
    after, overdue = repeated({KEY: before}, calls or (A,), round, TOOLS, policy)
    return after[KEY], len(overdue)


def test_the_fifth_round_is_due_and_begins_anew() -> None:
    assert repeats(Repeat((1, 2, 3)), 4) == (Repeat((1, 2, 3, 4)), 0)
    assert repeats(Repeat((1, 2, 3, 4)), 5) == (Repeat((), 1), 1)
    assert repeats(Repeat((6, 7, 8, 9), 1), 10) == (Repeat((), 2), 1)


def test_only_the_last_ten_rounds_count() -> None:
    assert repeats(Repeat((1, 3, 5, 7)), 10) == (Repeat((), 1), 1)
    assert repeats(Repeat((1, 3, 5, 7)), 11) == (Repeat((3, 5, 7, 11)), 0)


def test_both_numbers_are_policy() -> None:
    policy = Policy(no_progress_rounds=2, no_progress_window=3)
    assert repeats(Repeat((4,)), 6, policy) == (Repeat((), 1), 1)
    assert repeats(Repeat((3,)), 6, policy) == (Repeat((6,)), 0)
    assert repeats(Repeat(), 1, Policy(no_progress_rounds=1)) == (Repeat((), 1), 1)


def test_equal_calls_of_one_round_count_once() -> None:
    assert repeats(Repeat((1,)), 2, Policy(), A, A, A, A, A) == (Repeat((1, 2)), 0)


def test_a_round_without_the_call_is_not_due_and_forgets_what_left_the_window() -> None:
    assert repeats(Repeat((1, 2, 3, 4)), 11, Policy(), B) == (Repeat((2, 3, 4)), 0)
    assert repeats(Repeat((1,), 2), 20, Policy(), B) == (Repeat((), 2), 0)
    after, _ = repeated({KEY: Repeat((1,))}, [B], 11, TOOLS, Policy())
    assert after == {signature(B): Repeat((11,))}


def test_a_tool_that_nobody_knows_is_repeated_too_and_a_poller_never() -> None:
    tools = {"poll": ToolFacts(SafetyTier.SAFE, "d", poller=True)}
    after, _ = repeated({}, [call("a", "nope"), call("b", "poll")], 1, tools, Policy())
    assert after == {signature(call("a", "nope")): Repeat((1,))}


# ---- the judgement -----------------------------------------------------------------------------


def judged(habits: Habits, *kinds: ResultKind, round: int = 5, policy: Policy = Policy()) -> Judgement:
    """After a round in which `A` was called once for each kind of result."""
    return judge_round(habits, [A] * len(kinds), found(*kinds), round=round, tools=TOOLS, policy=policy)


def test_a_round_that_is_like_any_other_gives_no_hint() -> None:
    assert judged(Habits(), "ok") == Judgement(Habits(0, {"read": 0}, {KEY: Repeat((5,))}))


def test_the_third_failed_round_in_a_row_gives_a_hint_and_each_further_one() -> None:
    assert judged(Habits(1), "failed").hints == ()
    assert judged(Habits(2), "failed").hints == (Hint("backpressure", backpressure_text(3)),)
    assert judged(Habits(6), "failed").hints == (Hint("backpressure", backpressure_text(7)),)
    assert judged(Habits(3), "denied").hints == ()
    assert judged(Habits(3), "ok").hints == ()
    assert judged(Habits(0), "failed", policy=Policy(backpressure_rounds=1)).hints == (
        Hint("backpressure", backpressure_text(1)),
    )


FOUR = Repeat((1, 2, 3, 4))


@pytest.mark.parametrize("hints", [0, 1, 2])
def test_three_hints_and_then_the_end(hints: int) -> None:
    hinted = judged(Habits(0, {}, {KEY: Repeat(FOUR.rounds, hints)}), "ok")
    assert hinted.hints == (Hint("no_progress", no_progress_text([A], Policy())),)
    assert hinted.habits.repeats == {KEY: Repeat((), hints + 1)}
    assert hinted.no_progress == ""


def test_the_fourth_time_ends_the_run() -> None:
    ended = judged(Habits(2, {}, {KEY: Repeat(FOUR.rounds, 3)}), "failed")
    assert ended.no_progress == "the same call of 'read' came again, after 3 hints"
    assert ended.hints == ()
    assert ended.habits == Habits(3, {"read": 1}, {KEY: Repeat((), 4)})


def test_the_end_is_policy_and_can_be_off() -> None:
    before = Habits(0, {}, {KEY: FOUR})
    assert judged(before, "ok", policy=Policy(max_no_progress_hints=0)).no_progress == (
        "the same call of 'read' came again, after 0 hints"
    )
    often = Habits(0, {}, {KEY: Repeat(FOUR.rounds, 99)})
    assert judged(often, "ok", policy=Policy(max_no_progress_hints=None)).no_progress == ""
    assert len(judged(often, "ok", policy=Policy(max_no_progress_hints=None)).hints) == 1


def test_both_hints_of_one_round() -> None:
    both = judged(Habits(2, {}, {KEY: FOUR}), "failed")
    assert [hint.kind for hint in both.hints] == ["backpressure", "no_progress"]


def test_what_the_model_is_told() -> None:
    assert backpressure_text(3) == (
        "All calls of the last 3 rounds with results failed. Do not go on in the same way: "
        "take another approach, or say what keeps you from going on."
    )
    calls = [call("a", name) for name in ("read", "read", "fetch")]
    assert no_progress_text(calls, Policy()) == (
        "In 5 of the last 10 rounds you called 'read', 'fetch' with the same arguments. The same call again "
        "brings nothing new: change its arguments, use another tool, or answer with what you have."
    )


def test_many_names_and_long_ones_are_bounded() -> None:
    calls = [call("a", name) for name in ("a", "b", "c", "d", "e")]
    assert "you called 'a', 'b', 'c' and 2 more with" in no_progress_text(calls, Policy())
    assert "you called 'a', 'b', 'c' with" in no_progress_text(calls[:3], Policy())
    assert len(no_progress_text([call("a", "x" * 10_000)], Policy())) < 300


def test_a_result_too_few_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        failures_in_a_row({}, [call("a"), call("b")], found("ok"), TOOLS, Policy())


@pytest.mark.parametrize("known", [Repeat((2, 5)), Repeat((5,), 1), Repeat((), 2)])
def test_what_was_not_called_and_is_within_the_window_is_not_made_anew(known: Repeat) -> None:
    """Of ten rounds that count, the second is the first in round 11."""
    after, _ = repeated({KEY: known}, [B], 11, TOOLS, Policy())
    assert after[KEY] is known
