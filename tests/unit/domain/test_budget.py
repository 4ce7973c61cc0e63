"""Budgets: when a run is over, and when it begins to conclude. Both sides of every boundary."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from geode.domain.budget import (
    WRAP_UP_TEXT,
    call_seconds,
    exhausted,
    later,
    tokens_left,
    why_exhausted,
    wrap_up_cause,
    wrap_up_rounds,
)
from geode.domain.loop.inputs import ModelFailed, ToolFinished, Waited
from geode.domain.loop.state import Counters, State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.spent import Spent
from geode.domain.usage import Usage
from tests.unit.domain.builders import begun, call, ending, failure, finished, model_call, ok, replied


def after(policy: Policy, *, rounds: int = 1, calls: int = 0, seconds: float = 0.0, used: int = 0, last: int = 0) -> State:
    """The state of a run of `policy` that has spent this much."""
    counters = Counters(rounds=rounds, tool_calls=calls, usage=Usage(used, 0), last_usage=Usage(0, last))
    return replace(begun(policy, now=1000.0), counters=counters, now=1000.0 + seconds)


# ---- wrap-up: rounds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "window"),
    [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (7, 1), (8, 2), (9, 2), (12, 2), (50, 2), (1000, 2)],
)
def test_the_last_two_rounds_but_at_most_a_quarter_and_at_least_one(budget: int, window: int) -> None:
    assert wrap_up_rounds(Policy(max_rounds=budget)) == window


@pytest.mark.parametrize(
    ("policy", "window"),
    [
        (Policy(wrap_up_rounds=5), 5),
        (Policy(max_rounds=8, wrap_up_rounds=5, wrap_up_share_of_rounds=0.5), 4),
        (Policy(wrap_up_rounds=0), 1),
        (Policy(wrap_up_share_of_rounds=0), 1),
    ],
    ids=range(4),
)
def test_both_numbers_are_policy(policy: Policy, window: int) -> None:
    assert wrap_up_rounds(policy) == window


@pytest.mark.parametrize(
    ("budget", "concluding"),
    [(50, [49, 50]), (10, [9, 10]), (8, [7, 8]), (7, [7]), (4, [4]), (3, [3]), (2, [2]), (1, [])],
)
def test_which_rounds_conclude(budget: int, concluding: list[int]) -> None:
    policy = Policy(max_rounds=budget)
    causes = {round: wrap_up_cause(after(policy, rounds=round - 1)) for round in range(1, budget + 1)}
    assert [round for round, cause in causes.items() if cause == "max_rounds"] == concluding
    assert set(causes.values()) <= {None, "max_rounds"}


# ---- wrap-up: time -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "window"), [(3600.0, 30.0), (600.0, 30.0), (300.0, 30.0), (299.0, 29.9), (100.0, 10.0), (10.0, 1.0)]
)
def test_the_last_thirty_seconds_but_at_most_a_tenth(budget: float, window: float) -> None:
    policy = Policy(max_seconds=budget)
    assert wrap_up_cause(after(policy, seconds=budget - window - 0.01)) is None
    assert wrap_up_cause(after(policy, seconds=budget - window + 0.01)) == "time_budget"


def test_the_first_instant_of_the_last_seconds_concludes() -> None:
    assert wrap_up_cause(after(Policy(max_seconds=600.0), seconds=570.0)) == "time_budget"
    assert wrap_up_cause(after(Policy(max_seconds=600.0, wrap_up_seconds=5), seconds=570.0)) is None
    assert wrap_up_cause(after(Policy(max_seconds=600.0, wrap_up_share_of_seconds=0.01), seconds=570.0)) is None


def test_without_a_time_budget_time_is_no_cause() -> None:
    assert wrap_up_cause(after(Policy(), seconds=10**9)) is None


# ---- wrap-up: calls ----------------------------------------------------------------------------


def test_used_up_tool_calls_conclude() -> None:
    policy = Policy(max_tool_calls=3)
    assert wrap_up_cause(after(policy, calls=2)) is None
    assert wrap_up_cause(after(policy, calls=3)) == "tool_budget"
    assert wrap_up_cause(after(policy, calls=4)) == "tool_budget"
    assert wrap_up_cause(after(Policy(), calls=1000)) is None
    assert wrap_up_cause(after(Policy(max_tool_calls=0))) == "tool_budget"


def test_the_first_round_never_concludes() -> None:
    policy = Policy(max_rounds=1, max_tool_calls=0, max_seconds=10.0)
    assert wrap_up_cause(after(policy, rounds=0, seconds=9.99)) is None


def test_what_the_model_is_told() -> None:
    assert WRAP_UP_TEXT == (
        "The budget of this run is nearly used up. Do not call any more tools: conclude now, "
        "with what you have found, and say what is left undone."
    )


# ---- the end -----------------------------------------------------------------------------------


def test_rounds_run_out() -> None:
    assert exhausted(after(Policy(), rounds=49)) is None
    assert exhausted(after(Policy(), rounds=50)) == "max_rounds"
    assert exhausted(after(Policy(), rounds=51)) == "max_rounds"


def test_time_runs_out() -> None:
    policy = Policy(max_seconds=60.0)
    assert exhausted(after(policy, seconds=59.9)) is None
    assert exhausted(after(policy, seconds=60.0)) == "time_budget"
    assert exhausted(after(policy, seconds=61.0)) == "time_budget"
    assert exhausted(after(Policy(), seconds=10**9)) is None


def test_tokens_run_out_before_the_call_that_would_overrun() -> None:
    """The next input is at least the last call's, so that much must be left, and a token to answer with."""
    policy = Policy(max_total_tokens=1000)
    assert exhausted(after(policy, used=600, last=399)) is None
    assert exhausted(after(policy, used=600, last=400)) == "token_budget"
    assert exhausted(after(policy, used=1200)) == "token_budget"
    assert exhausted(after(Policy(), used=10**9)) is None


def test_tokens_left_for_the_next_reply() -> None:
    assert tokens_left(after(Policy(max_total_tokens=1000), used=600, last=150)) == 250
    assert tokens_left(after(Policy(max_total_tokens=1000), rounds=0)) == 1000
    assert tokens_left(after(Policy(), used=5)) is None
    both = replace(after(Policy(max_total_tokens=1000)), counters=Counters(usage=Usage(100, 20), last_usage=Usage(30, 4)))
    assert tokens_left(both) == 846


def charged(policy: Policy, *costs: str | None) -> State:
    """The state of a run of `policy` whose calls cost this much; None for one that nobody told of."""
    usages = [Usage(1, 1, None if cost is None else Decimal(cost)) for cost in costs]
    counters = Counters(rounds=len(costs), usage=sum(usages, Usage()), last_usage=usages[-1] if usages else Usage())
    return replace(begun(policy), counters=counters)


def test_money_runs_out_before_the_call_that_would_overrun() -> None:
    """A call is made if one as dear as the last still fits."""
    policy = Policy(max_cost_usd=Decimal("0.10"))
    assert exhausted(charged(policy)) is None
    assert exhausted(charged(policy, "0.05")) is None
    assert exhausted(charged(policy, "0.051")) == "cost_budget"
    assert exhausted(charged(policy, "0.03", "0.03")) is None
    assert exhausted(charged(policy, "0.05", "0.05")) == "cost_budget"
    assert exhausted(charged(policy, "0.10", "0")) == "cost_budget"
    assert exhausted(charged(policy, "0.09", "0")) is None
    assert exhausted(charged(Policy(), "1000")) is None


def test_a_cost_that_nobody_tells_is_too_much() -> None:
    policy = Policy(max_cost_usd=Decimal("0.10"))
    unknown = charged(policy, "0.01", None)
    assert exhausted(unknown) == "cost_budget"
    assert why_exhausted(unknown, "cost_budget") == (
        "what a call of this model costs is not known: the provider does not say it and no price is, so "
        "Policy(max_cost_usd=…) cannot be kept; a row of [prices] in routing.toml says it"
    )
    assert why_exhausted(unknown, "max_rounds") == ""
    assert why_exhausted(charged(policy, "0.09"), "cost_budget") == ""
    assert exhausted(charged(Policy(), None)) is None


def test_the_first_budget_in_order_is_named() -> None:
    policy = Policy(max_rounds=1, max_seconds=1.0, max_total_tokens=1, max_cost_usd=Decimal(1))
    assert exhausted(after(policy, rounds=1, seconds=2.0, used=2)) == "max_rounds"
    assert exhausted(after(policy, rounds=0, seconds=2.0, used=2)) == "time_budget"
    assert exhausted(after(policy, rounds=0, used=2)) == "token_budget"
    several = Policy(max_rounds=10, max_seconds=100.0, max_tool_calls=1)
    assert wrap_up_cause(after(several, rounds=9, seconds=95.0, calls=1)) == "tool_budget"
    assert wrap_up_cause(after(several, rounds=9, seconds=95.0)) == "max_rounds"
    assert wrap_up_cause(after(several, rounds=1, seconds=95.0)) == "time_budget"


def test_a_call_has_its_own_deadline_or_what_is_left_of_the_run() -> None:
    assert call_seconds(after(Policy())) == 600.0
    assert call_seconds(after(Policy(call_timeout_seconds=5.0))) == 5.0
    assert call_seconds(after(Policy(max_seconds=700.0), seconds=99.0)) == 600.0
    assert call_seconds(after(Policy(max_seconds=700.0), seconds=650.0)) == 50.0


def test_a_cost_of_which_a_part_is_unknown_is_too_much() -> None:
    """A failed attempt that the provider told the tokens of, of a model without a price."""
    state = begun(Policy(max_cost_usd=Decimal(1)))
    broken = replace(failure(503), usage=Usage(10, 5, unpriced_calls=1))
    outcome = ending(step(step(state, ModelFailed(0.0, broken, 0.0)), Waited(9.0)))
    assert (outcome.reason, outcome.usage) == ("cost_budget", Usage(10, 5, unpriced_calls=1))


def test_what_failed_attempts_had_cost_counts() -> None:
    """Spec sections 6 and 10: budgets see what was spent, also on what came to nothing."""
    broken = ModelFailed(0.0, replace(failure(503), usage=Usage(975, 5, Decimal("0.04"))), 0.0)
    tight = begun(Policy(max_total_tokens=1960))
    assert ending(step(step(tight, broken), Waited(9.0))).reason == "token_budget", "the next may take as many"
    assert ending(step(step(begun(Policy(max_cost_usd=Decimal("0.07"))), broken), Waited(9.0))).reason == "cost_budget"
    state = step(step(begun(Policy(max_cost_usd=Decimal("0.08"), max_total_tokens=1961)), broken), Waited(9.0))
    assert (model_call(state).attempt, state.counters.usage) == (2, Usage(975, 5, Decimal("0.04")))
    state = replied(state, call("a", "read"), usage=Usage(10, 5, Decimal("0.04")))
    assert ending(finished(state, "a")).reason == "cost_budget"


def test_a_dearer_attempt_that_failed_tells_what_the_next_may_take() -> None:
    state = finished(replied(begun(Policy(max_cost_usd=Decimal("0.30"))), call("a"), usage=Usage(10, 5, Decimal("0.01"))), "a")
    dear = replace(failure(503), usage=Usage(900, 5, Decimal("0.15")))
    assert ending(step(step(state, ModelFailed(0.0, dear, 0.0)), Waited(9.0))).reason == "cost_budget"
    cheap = replace(failure(503), usage=Usage(9, 5, Decimal("0.009")))
    after = step(step(state, ModelFailed(0.0, cheap, 0.0)), Waited(9.0))
    assert (model_call(after).attempt, after.counters.last_usage) == (2, Usage(10, 5, Decimal("0.01")))


def test_what_was_spent_before_the_first_round_counts() -> None:
    """Failed attempts and summaries: no call is made when they have used the budget up."""
    state = begun(Policy(max_cost_usd=Decimal("0.05")))
    broken = replace(failure(503), usage=Usage(975, 5, Decimal("0.05")))
    assert ending(step(step(state, ModelFailed(0.0, broken, 0.0)), Waited(9.0))).reason == "cost_budget"


def test_an_attempt_that_broke_off_without_a_word_of_its_tokens_is_not_held_against_the_model() -> None:
    """What it cost is unknown and told so, but what the model's calls cost is known."""
    state = begun(Policy(max_cost_usd=Decimal(1)))
    cut = replace(failure(None, phase="stream"), usage=Usage(unpriced_calls=1), broke_off=True)
    state = step(step(state, ModelFailed(0.0, cut, 0.0)), Waited(9.0))
    state = finished(replied(state, call("a", "read"), usage=Usage(10, 5, Decimal("0.01"))), "a")
    assert exhausted(state) is None
    assert state.counters.usage == Usage(10, 5, Decimal("0.01"), unpriced_calls=1)
    assert why_exhausted(state, "cost_budget") == ""
    inner = Spent(Usage(unpriced_calls=1), broken_off=1)
    assert exhausted(step(replied(state, call("b", "read"), usage=Usage(1, 1, Decimal(0))), done("b", inner))) is None
    untold = Spent(Usage(unpriced_calls=1))
    after = step(replied(state, call("b", "read"), usage=Usage(1, 1, Decimal(0))), done("b", untold))
    assert ending(after).reason == "cost_budget"


def done(call_id: str, spent: Spent) -> ToolFinished:
    return ToolFinished(9.0, ok(call_id), spent)


def test_what_broke_off_before_the_first_round_counts_as_far_as_it_was_told() -> None:
    state = begun(Policy(max_cost_usd=Decimal("0.05")))
    for cost, pending in (("0.05", "Finish"), ("0.04", "CallModel")):
        told = Usage(10, 5, Decimal(cost), unpriced_calls=1)
        cut = replace(failure(None, phase="stream"), usage=told, broke_off=True)
        after = step(step(state, ModelFailed(0.0, cut, 0.0)), Waited(9.0))
        assert (type(after.pending).__name__, after.counters.usage) == (pending, told)


def test_a_run_as_it_is_after_calls_beside_its_rounds() -> None:
    state = replace(begun(Policy(max_total_tokens=100)), now=3.0)
    then = later(state, Spent(Usage(30, 3), broken_off=1), Usage(20, 1), 5.0)
    assert (then.now, then.counters.usage, then.counters.last_usage) == (5.0, Usage(30, 3), Usage(20, 1))
    assert (then.counters.broken_off, then.pending, tokens_left(then)) == (1, state.pending, 46)
    assert later(state, Spent(), Usage(), 1.0) == state, "time does not go back"
