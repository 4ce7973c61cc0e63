"""What a person or a hook says of a call that is not run has the limit of any result (spec section 5)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.approval import Deny
from geode.domain.content import ToolResult
from geode.domain.loop.inputs import CallVetoed
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.offload import Remedy, ResultLimits
from geode.domain.policy import Policy
from geode.domain.tokens import estimate_tokens
from tests.unit.domain.builders import begun, call, decided, last_results, replied

# Four characters are a token; `denied: ` is two.
LONG = "no " * 200_000


def asked(policy: Policy = Policy(), window: int | None = None) -> State:
    state = begun(policy)
    windows = {} if window is None else {state.terms.owner.name: window}
    state = replace(state, terms=replace(state.terms, windows=windows))
    return replied(state, call("a", "write"))


def denied(policy: Policy, why: str, *, by: str = "person", window: int | None = None) -> ToolResult:
    state = asked(policy, window)
    after = decided(state, "a", Deny(why)) if by == "person" else step(state, CallVetoed(state.now, "a", why))
    (found,) = last_results(after)
    assert found.kind == "denied"
    return found


@pytest.mark.parametrize("by", ["person", "hook"])
@pytest.mark.parametrize("remedy", ["offload", "cut"])
def test_a_long_one_is_cut(by: str, remedy: Remedy) -> None:
    found = denied(Policy(result_limits=ResultLimits(remedy=remedy)), LONG, by=by)
    assert found.text.startswith("denied: no no ")
    assert 24_000 < estimate_tokens(found.text) <= 25_000


def test_one_that_is_offloaded_anywhere_else_and_need_not_be_cut_is_whole() -> None:
    why = "no " * 25_000
    assert 15_000 < estimate_tokens(why) < 25_000
    assert denied(Policy(), why).text == f"denied: {why}"


def test_where_results_are_kept_whole_it_is_too() -> None:
    assert denied(Policy(result_limits=ResultLimits(remedy="keep")), LONG).text == f"denied: {LONG}"


def test_the_limit_may_be_of_the_tool() -> None:
    found = denied(Policy(result_limits_of={"write": ResultLimits(remedy="cut", offload_tokens=500, cut_tokens=500)}), LONG)
    assert 400 < estimate_tokens(found.text) <= 500


def test_a_small_window_makes_the_limit_smaller() -> None:
    """Five parts of a hundred of 200,000 tokens."""
    found = denied(Policy(), LONG, window=200_000)
    assert 9_000 < estimate_tokens(found.text) <= 10_000
