"""What a closed round adds up to in a run: hints after its results, an end, and counters that go on."""

from __future__ import annotations

from decimal import Decimal

from geode.domain.content import ResultKind
from geode.domain.habits import Habits, backpressure_text, no_progress_text
from geode.domain.loop.outcome import Exhausted
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.turns import Hint, ToolResultsTurn
from geode.domain.usage import Usage
from tests.unit.domain.builders import (
    begun,
    call,
    ending,
    expect,
    finished,
    kinds,
    model_call,
    replied,
    rounds_of_reading,
    stage,
)

SAME = {"path": "x"}


def round_of(state: State, kind: ResultKind = "ok", **input: object) -> State:
    """One round with one call of `read`."""
    state = replied(state, call(f"c{state.counters.rounds}", input=input or {"n": state.counters.rounds}))
    return finished(state, stage(state)[0][0], kind)


def hints(state: State) -> tuple[Hint, ...]:
    """Those of the round that closed last."""
    return expect(ToolResultsTurn, state.closed.turns[-1]).hints


def test_the_third_failed_round_in_a_row_is_told_and_each_further_one_until_a_success() -> None:
    state, told = begun(Policy(max_recovery_executions=0)), list[list[str]]()
    for kind in ("failed", "failed", "failed", "failed", "denied", "failed", "ok", "failed", "failed", "failed"):
        state = round_of(state, kind)
        told.append([hint.text for hint in hints(state)])
    assert told == [
        *([], [], [backpressure_text(3)], [backpressure_text(4)], [], [backpressure_text(5)]),
        *([], [], [], [backpressure_text(3)]),
    ]


def test_calls_of_one_round_cannot_react_to_each_other() -> None:
    state = replied(begun(), *(call(id) for id in "abc"))
    for id in "abc":
        state = finished(state, id, "failed")
    assert hints(state) == ()


def test_the_fifth_same_call_is_told_and_the_twentieth_ends_the_run() -> None:
    state, told = begun(), list[int]()
    for number in range(1, 21):
        state = round_of(state, "ok", **SAME)
        if number < 20 and hints(state):
            assert hints(state) == (Hint("no_progress", no_progress_text([call("x")], Policy())),)
            told.append(number)
    assert told == [5, 10, 15]
    outcome = expect(Exhausted, ending(state))
    assert (outcome.reason, outcome.why) == ("no_progress", "the same call of 'read' came again, after 3 hints")
    assert (hints(state), kinds(state), len(outcome.conversation.turns)) == ((), {"c19": "ok"}, 41)


def test_the_end_can_be_off() -> None:
    state = begun(Policy(max_no_progress_hints=None))
    for _ in range(40):
        state = round_of(state, "ok", **SAME)
    assert model_call(state).round == 41


def test_hints_come_in_order_and_the_wrap_up_last() -> None:
    state = begun(Policy(max_rounds=4, no_progress_rounds=3, max_recovery_executions=0))
    for _ in range(3):
        state = round_of(state, "failed", **SAME)
    assert [hint.kind for hint in hints(state)] == ["backpressure", "no_progress", "wrap_up"]


def test_nobody_is_told_where_no_call_follows() -> None:
    state = begun(Policy(max_rounds=3, max_total_tokens=1000, backpressure_rounds=1))
    state = replied(state, call("a"), usage=Usage(600, 0))
    state = finished(state, "a", "failed")
    assert expect(Exhausted, ending(state)).reason == "token_budget"
    assert hints(state) == ()


def test_a_round_in_which_nothing_might_be_called_is_not_judged() -> None:
    state = rounds_of_reading(begun(Policy(max_rounds=12, max_tool_calls=1, no_progress_rounds=1)), 1)
    before = state.habits
    assert before.repeats
    state = replied(state, call("z", input={"part": 0}))
    assert (state.habits, kinds(state)) == (before, {"z": "denied"})
    assert model_call(state).round == 3


def test_habits_are_those_of_the_run() -> None:
    assert begun(conversation=rounds_of_reading(begun(), 3).closed).habits == Habits()


def test_a_cost_that_nobody_tells_ends_the_run_with_the_reason_in_words() -> None:
    state = begun(Policy(max_cost_usd=Decimal(1)))
    outcome = expect(Exhausted, ending(finished(replied(state, "hm", call("a")), "a")))
    assert (outcome.reason, outcome.text) == ("cost_budget", "hm")
    assert outcome.why == (
        "what a call of this model costs is not known: the provider does not say it and no price is, so "
        "Policy(max_cost_usd=…) cannot be kept; a row of [prices] in routing.toml says it"
    )
    spent = replied(state, call("a"), usage=Usage(1, 1, Decimal("0.6")))
    assert expect(Exhausted, ending(finished(spent, "a"))).why == ""
    assert model_call(finished(replied(state, call("a"), usage=Usage(1, 1, Decimal("0.5"))), "a")).round == 2
