"""Runs inside calls: what they are called, what they may use, and what they add to what the run has spent."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

import pytest

from geode.domain.codec import dumps, loads
from geode.domain.content import Text, ToolResult
from geode.domain.loop.actions import Finish
from geode.domain.loop.inner import Allowance, allowance, as_held, inner_run_id, spent_in, within
from geode.domain.loop.inputs import ToolFinished
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.spent import Spent
from geode.domain.usage import Usage
from tests.unit.domain.builders import begun, call, expect, finished, replied

DIME = Decimal("0.10")


def opened(*names: str, usage: Usage = Usage(10, 5), **limits: Any) -> State:
    """The first round of a run with these limits, with a call for each name: a, b, c, …"""
    calls = (call(id, name) for id, name in zip("abcdefgh", names, strict=False))
    return replied(begun(Policy(**limits)), *calls, usage=usage)


def ended(state: State, id: str, spent: Spent | None) -> State:
    return step(state, ToolFinished(state.now, ToolResult(id, "ok", (Text("done"),)), spent))


# ---- what a call has spent ---------------------------------------------------------------------


def test_what_a_call_spent_counts_in_the_run() -> None:
    after = ended(opened("read"), "a", Spent(Usage(100, 20, DIME), 3))
    assert after.counters.usage == Usage(110, 25, DIME)
    assert after.counters.tool_calls == 1 + 3, "its own execution, and those inside it"
    assert after.counters.calls_of == {"read": 1}
    assert after.counters.last_usage == Usage(10, 5), "the last call of the model is none of those inside"


def test_it_counts_before_the_round_is_over() -> None:
    state = ended(opened("read", "read"), "a", Spent(Usage(100, 20), 3))
    assert spent_in(state) == Spent(Usage(110, 25), 4)
    assert spent_in(ended(state, "b", None)) == Spent(Usage(110, 25), 5)


def test_a_run_ends_when_a_call_has_used_its_tokens() -> None:
    after = ended(opened("read", max_total_tokens=150), "a", Spent(Usage(120, 10)))
    assert expect(Finish, after.pending).outcome.reason == "token_budget"
    assert expect(Finish, after.pending).outcome.usage == Usage(130, 15)


def test_a_run_ends_when_a_call_has_used_its_money() -> None:
    state = opened("read", usage=Usage(10, 5, Decimal("0.01")), max_cost_usd=DIME)
    after = ended(state, "a", Spent(Usage(120, 10, Decimal("0.09"))))
    assert expect(Finish, after.pending).outcome.reason == "cost_budget"


def test_an_older_journal_has_no_spending() -> None:
    written = dumps(ToolFinished(1.0, ToolResult("a", "ok", ())))
    before = written.replace(',"spent":null', "")
    assert before != written
    assert loads(ToolFinished, before) == ToolFinished(1.0, ToolResult("a", "ok", ()))


def test_what_was_spent_adds_up() -> None:
    assert Spent(Usage(1, 2), 3) + Spent(Usage(10, 20, DIME), 30) == Spent(Usage(11, 22, DIME), 33)


# ---- the id ------------------------------------------------------------------------------------


def test_the_id_follows_from_the_call_and_its_step() -> None:
    assert inner_run_id("run", "call_1") == hashlib.sha256(b"run/call_1").hexdigest()[:32]
    assert inner_run_id("run", "call_1", 2) == hashlib.sha256(b"run/call_1/2").hexdigest()[:32]
    assert inner_run_id("run", "call_1", 0) == inner_run_id("run", "call_1")


def test_whatever_a_provider_calls_its_calls_has_an_id() -> None:
    for odd in ("", "/", "x" * 1000, "\ud800", "ü"):
        assert len(inner_run_id("run", odd)) == 32


# ---- what is left ------------------------------------------------------------------------------


def test_without_budgets_there_are_no_limits() -> None:
    assert allowance(opened("read"), 5.0) == Allowance(None, None, None, None)


def test_the_run_keeps_what_it_needs_to_conclude() -> None:
    state = opened(
        "read",
        "read",
        usage=Usage(10, 5, Decimal("0.01")),
        max_seconds=100.0,
        max_total_tokens=1000,
        max_tool_calls=10,
        max_cost_usd=DIME,
    )
    left = allowance(state, 20.0)
    assert left.seconds == 100 - 20 - 10, "the last tenth is for the wrap-up"
    assert left.tokens == 1000 - 15 - 15, "what was used, and another call as big"
    assert left.tool_calls == 10 - 2, "each call of the round has one"
    assert left.cost_usd == Decimal("0.08"), "what was paid, and another call as dear"


def test_the_last_half_minute_of_a_long_run_is_its_own() -> None:
    assert allowance(opened("read", max_seconds=1000.0), 100.0).seconds == 1000 - 100 - 30


def test_what_is_left_is_shared_evenly_beside_what_others_hold() -> None:
    state = opened("read", "read", "read", max_total_tokens=1030, max_tool_calls=13, max_cost_usd=Decimal(1))
    assert allowance(state, 0.0, sharers=3) == Allowance(None, 333, 3, Decimal(1) / 3)
    held = [Allowance(None, 400, 4, Decimal("0.4"))]
    assert allowance(state, 0.0, held=held, sharers=2) == Allowance(None, 300, 3, Decimal("0.3"))
    assert allowance(state, 0.0, held=[*held, Allowance()]) == Allowance(None, 600, 6, Decimal("0.6"))


def test_nothing_is_the_least_that_can_be_left() -> None:
    state = opened("read", max_total_tokens=40, max_tool_calls=1, max_cost_usd=DIME)
    held = [Allowance(None, 100, 5, Decimal(1))]
    assert allowance(state, 0.0, held=held) == Allowance(None, 0, 0, Decimal(0))


def test_executions_of_the_open_round_are_not_given_away() -> None:
    state = opened("read", "read", "write", max_tool_calls=10)
    assert allowance(state, 0.0).tool_calls == 7
    assert allowance(finished(state, "a"), 0.0).tool_calls == 7, "whether they have been executed or will be"


def test_what_ended_holds_what_it_spent() -> None:
    assert as_held(Spent(Usage(100, 20, DIME), 3)) == Allowance(None, 120, 3, DIME)


# ---- limits within limits ----------------------------------------------------------------------


def test_the_lower_limit_holds() -> None:
    own = Policy(max_seconds=10.0, max_total_tokens=500, max_tool_calls=5, max_cost_usd=Decimal(1), max_rounds=7)
    assert within(own, Allowance()) == own
    assert within(own, Allowance(20.0, 900, 9, Decimal(2))) == own
    assert within(own, Allowance(5.0, 100, 0, DIME)) == Policy(
        max_seconds=5.0, max_total_tokens=100, max_tool_calls=0, max_cost_usd=DIME, max_rounds=7
    )
    assert within(Policy(), Allowance(5.0, 1, 2, DIME)) == Policy(
        max_seconds=5.0, max_total_tokens=1, max_tool_calls=2, max_cost_usd=DIME
    )


@pytest.mark.parametrize(
    ("left", "word"),
    [
        (Allowance(seconds=0.0), "time"),
        (Allowance(seconds=-3.0), "time"),
        (Allowance(tokens=0), "token"),
        (Allowance(cost_usd=Decimal(0)), "cost"),
    ],
)
def test_a_budget_without_room_is_named(left: Allowance, word: str) -> None:
    assert within(Policy(), left) == word
