"""A conversation that fills much of the window is made shorter before a round, where the policy says so."""

from __future__ import annotations

import pytest

from geode.domain.compaction import shortened
from geode.domain.loop.actions import CallModel, Compact
from geode.domain.loop.inputs import Compacted, ModelFailed
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.spent import Spent
from geode.domain.usage import Usage
from tests.unit.domain.builders import OWNER, begun, call, expect, failure, finished, model_call, replied

WINDOW = 1000


def working(policy: Policy, *filled: int, window: int | None = WINDOW) -> State:
    """A run after rounds of one call each, whose replies said that so many tokens were used."""
    windows = {} if window is None else {OWNER.name: window}
    state = begun(policy, can_compact=True, windows=windows)
    for number, tokens in enumerate(filled):
        id = f"c{number}"
        state = finished(replied(state, f"said {number}", call(id, "read"), usage=Usage(tokens - 5, 5)), id)
    return state


def shorter(state: State, usage: Usage = Usage()) -> State:
    return step(state, Compacted(state.now + 1.0, shortened(state.closed, 3, "summary"), spent=Spent(usage)))


AHEAD = Policy(compact_above=0.8, compact_keep_rounds=1)


@pytest.mark.parametrize(
    ("policy", "filled", "window", "asked"),
    [
        (AHEAD, (100, 801), WINDOW, True),
        (AHEAD, (100, 800), WINDOW, False),
        (AHEAD, (100, 801), None, False),
        (AHEAD, (801,), WINDOW, False),
        (Policy(), (100, 999), WINDOW, False),
        (Policy(compact_above=1.0, compact_keep_rounds=1), (100, 1000), WINDOW, False),
        (Policy(compact_above=0.8, max_rounds=3), (100, 801), WINDOW, False),
    ],
)
def test_it_is_asked_for_above_the_share_of_a_known_window_where_something_can_be_left_out(
    policy: Policy, filled: tuple[int, ...], window: int | None, asked: bool
) -> None:
    """One round alone is the running one, and a run that has to conclude does not begin to summarise."""
    assert isinstance(working(policy, *filled, window=window).pending, Compact) is asked


def test_the_planned_call_is_made_over_the_shorter_conversation_and_the_summary_is_counted() -> None:
    state = working(AHEAD, 100, 900)
    asked = expect(Compact, state.pending)
    assert (asked.ahead, asked.call.round, asked.call.attempt) == (True, 3, 1)
    assert asked.why == f"the last call filled 900 of the 1000 tokens that {OWNER.model} reads"
    after = shorter(state, Usage(700, 50))
    assert model_call(after) == asked.call
    assert after.counters.usage == Usage(895 + 95 + 700, 60)
    assert (after.counters.compactions, after.counters.rounds) == (0, 2)
    assert after.said == state.said == "said 0\nsaid 1"
    assert after.call_ids == state.call_ids


def test_without_a_shorter_one_the_run_goes_on_as_it_was() -> None:
    state = working(AHEAD, 100, 900)
    after = step(state, Compacted(state.now + 1.0, None, "the summary is empty", Spent(Usage(700, 0))))
    assert model_call(after) == expect(Compact, state.pending).call
    assert after.closed is state.closed
    assert after.counters.usage.input_tokens == 895 + 95 + 700


def test_it_is_not_asked_for_again_before_there_is_a_round_to_leave_out() -> None:
    state = shorter(working(AHEAD, 100, 900))
    state = finished(replied(state, "", call("d", "read"), usage=Usage(900, 50)), "d")
    assert isinstance(state.pending, CallModel)
    state = finished(replied(state, "", call("e", "read"), usage=Usage(900, 50)), "e")
    assert expect(Compact, state.pending).call.round == 5


def test_the_providers_refusals_are_counted_apart() -> None:
    state = shorter(working(AHEAD, 100, 900))
    refused = step(state, ModelFailed(state.now + 1.0, failure(400, code="context_length_exceeded"), 0.5))
    assert expect(Compact, refused.pending).ahead is False
    assert refused.counters.compactions == 1
