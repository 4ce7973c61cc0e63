"""A conversation that is too long for its model: compaction, the same call again, at most twice (spec section 6)."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal

import pytest

from geode.domain.codec import dumps, loads
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.loop.actions import CallModel, Compact
from geode.domain.loop.inputs import Compacted, ModelFailed, Waited
from geode.domain.loop.outcome import Exhausted
from geode.domain.loop.resuming import revived
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.reply import Stop
from geode.domain.spent import Spent
from geode.domain.turns import AssistantTurn, Turn, UserTurn
from geode.domain.usage import Usage
from tests.unit.domain.builders import (
    OTHER,
    OWNER,
    TOOLS,
    begun,
    call,
    ending,
    expect,
    failure,
    finished,
    model_call,
    replied,
    user,
)

SUMMARY = UserTurn((Text("What was before: two rooms were measured."),))
DEAR = Usage(900, 0, Decimal("0.8"))


def too_long(state: State) -> State:
    return step(state, ModelFailed(state.now + 1.0, failure(400, code="context_length_exceeded"), 0.5))


def measured(*, can_compact: bool = True, policy: Policy = Policy()) -> State:
    """A run with two rounds behind it, `one` and `two` said, whose third call is pending."""
    state = begun(policy, can_compact=can_compact)
    for id, text in (("a", "one"), ("b", "two")):
        state = finished(replied(state, text, call(id, "read")), id)
    return state


def compacted(state: State, *turns: Turn) -> State:
    return step(state, Compacted(state.now + 1.0, Conversation(turns)))


def test_the_same_call_is_made_again_over_the_shorter_conversation() -> None:
    before = measured()
    asked = too_long(before)
    assert asked.pending == Compact(model_call(before), expect(Compact, asked.pending).why)
    tail = asked.closed.turns[-2:]
    after = compacted(asked, SUMMARY, *tail)
    assert after.closed.turns == (SUMMARY, *tail)
    assert (model_call(after).round, model_call(after).attempt) == (3, 1)
    assert after.counters.rounds == before.counters.rounds


def test_what_was_said_stays_the_text_of_the_outcome() -> None:
    state = too_long(measured())
    state = compacted(state, SUMMARY, *state.closed.turns[-2:])
    assert state.said == "one\ntwo"
    state = finished(replied(state, "three", call("c", "read")), "c")
    state = too_long(state)
    state = compacted(state, SUMMARY, *state.closed.turns[-2:])
    assert state.said == "one\ntwo\nthree"


def test_what_was_said_before_the_run_is_not_its_text() -> None:
    old = Conversation((user(), AssistantTurn((Text("long ago"),), OWNER)))
    state = too_long(begun(conversation=old, can_compact=True))
    assert compacted(state, SUMMARY, state.closed.turns[-1]).said == ""


def test_an_id_of_a_turn_that_is_gone_is_not_given_again() -> None:
    state = measured()
    for given in ("a_2", "a_3"):
        state = too_long(state)
        state = compacted(state, UserTurn((Text(f"before {given}"),)), *state.closed.turns[-2:])
        state = replied(state, call("a", "read"))
        assert [one.id for one in state.round.turn.calls] == [given]
        state = finished(state, given)
    assert loads(State, dumps(state)).call_ids == {"a", "b", "a_2", "a_3"}


def test_at_most_twice_in_a_run() -> None:
    state = measured()
    for number in (1, 2):
        state = too_long(state)
        summary = UserTurn((Text(f"summary {number}"),))
        state = compacted(state, summary, *state.closed.turns[-2:])
    assert ending(too_long(state)).reason == "context_exhausted"


@pytest.mark.parametrize(("can_compact", "most"), [(False, 2), (True, 0)])
def test_where_nobody_may_compact_the_run_ends(can_compact: bool, most: int) -> None:
    outcome = ending(too_long(measured(can_compact=can_compact, policy=Policy(max_compactions=most))))
    assert (outcome.reason, outcome.text) == ("context_exhausted", "one\ntwo")


def test_without_a_shorter_one_the_run_ends_and_says_why() -> None:
    state = too_long(measured())
    why = expect(Compact, state.pending).why
    outcome = expect(Exhausted, ending(step(state, Compacted(9.0, None, "no room for a summary"))))
    assert (outcome.reason, outcome.text) == ("context_exhausted", "one\ntwo")
    assert outcome.why == f"{why}. It was not compacted: no room for a summary"


def test_budgets_are_looked_at_again() -> None:
    state = too_long(measured(policy=Policy(max_seconds=60.0)))
    late = step(state, Compacted(state.now + 60.0, Conversation((SUMMARY, *state.closed.turns[-2:]))))
    assert ending(late).reason == "time_budget"


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        (slice(None), "it is the same as before"),
        (slice(0, -2), "its last turn must be the one that it had"),
        (slice(3, None), "its first turn must be a UserTurn"),
    ],
)
def test_a_conversation_that_does_not_do(turns: slice, why: str) -> None:
    state = too_long(measured())
    with pytest.raises(IllegalInput, match=f"^the compacted conversation does not do: {why}$"):
        compacted(state, *state.closed.turns[turns])


def test_a_conversation_may_begin_as_it_did() -> None:
    old = Conversation((AssistantTurn((Text("Welcome"),), OWNER), user(), AssistantTurn((Text("Hm"),), OWNER)))
    state = too_long(begun(conversation=old, can_compact=True))
    after = compacted(state, old.turns[0], state.closed.turns[-1])
    assert expect(CallModel, after.pending).round == 1


def test_compaction_that_was_asked_for_is_asked_for_again_after_a_kill() -> None:
    state = too_long(measured())
    stored = loads(State, dumps(state))
    assert stored == state
    after = revived(stored, OTHER, TOOLS, 99.0)
    assert (after.pending, after.terms.owner, after.now) == (state.pending, OTHER, 99.0)


def test_an_input_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(IllegalInput, match=r"^CallModel is pending, not Compact$"):
        step(measured(), Compacted(1.0, None, "never asked"))


def test_a_result_changes_the_round_the_stage_and_the_time_and_nothing_else() -> None:
    state = replace(replied(measured(), call("c", "read"), call("d", "fetch")), said_before="before")
    after = finished(state, "c", at=9.0)
    changed = {field.name for field in fields(State) if getattr(after, field.name) != getattr(state, field.name)}
    assert changed == {"now", "pending", "open"}


LONG_AGO = Conversation((user("x"), AssistantTurn((Text("long ago"),), OWNER)))


@pytest.mark.parametrize(
    ("kept", "begins"),
    [
        # Of x, long ago, the prompt, and two rounds of two turns each: which stay, after a summary or without one.
        ((None, 5, 6), 1),
        ((0, 1, 2, 5, 6), 3),
        ((None, 2, 3, 4, 5, 6), 2),
        ((None, 1, 2, 3, 4, 5, 6), 3),
        ((2, 3, 4, 5, 6), 1),
    ],
)
def test_where_the_run_begins_is_known_in_the_shorter_conversation(kept: tuple[int | None, ...], begins: int) -> None:
    state = begun(conversation=LONG_AGO, can_compact=True)
    for id, text in (("a", "one"), ("b", "two")):
        state = finished(replied(state, text, call(id, "read")), id)
    turns = state.closed.turns
    after = compacted(too_long(state), *(SUMMARY if place is None else turns[place] for place in kept))
    assert after.terms.first_turn == begins
    assert after.said == "one\ntwo"


def test_what_is_said_after_much_was_taken_out_is_said() -> None:
    state = begun(conversation=Conversation((*LONG_AGO.turns, *LONG_AGO.turns, *LONG_AGO.turns)), can_compact=True)
    for number in range(4):
        state = finished(replied(state, f"said {number}", call(f"c{number}", "read")), f"c{number}")
    state = too_long(state)
    state = compacted(state, SUMMARY, *state.closed.turns[-2:])
    assert ending(replied(state, "the end")).text == "the end"
    assert replied(state, "more", call("d", "read")).said == "said 0\nsaid 1\nsaid 2\nsaid 3\nmore"


def test_the_call_is_made_as_it_was_but_for_its_time() -> None:
    """Spec section 6: the same call again, its attempts counted on. In the last tenth a fresh one would have to conclude."""
    state = step(measured(policy=Policy(max_seconds=100.0)), ModelFailed(1.0, failure(500), 0.0))
    state = too_long(step(state, Waited(2.0)))
    asked = expect(Compact, state.pending).call
    assert asked.attempt == 2
    after = step(state, Compacted(95.0, Conversation((SUMMARY, *state.closed.turns[-2:]))))
    assert after.pending == replace(asked, timeout_seconds=5.0)


@pytest.mark.parametrize(
    ("policy", "usage", "reason"),
    [
        (Policy(max_total_tokens=800), Usage(700, 10), "token_budget"),
        (Policy(max_total_tokens=1421), Usage(700, 10), None),
        (Policy(max_cost_usd=Decimal("0.08")), Usage(700, 10, Decimal("0.07")), "cost_budget"),
        (Policy(max_cost_usd=Decimal("0.14")), Usage(700, 10, Decimal("0.07")), None),
        (Policy(max_cost_usd=Decimal("0.14")), Usage(700, 10, unpriced_calls=1), "cost_budget"),
        (Policy(max_cost_usd=Decimal("0.14")), Usage(), None),
    ],
)
def test_before_the_first_round_the_summary_tells_how_much_the_next_call_may_take(
    policy: Policy, usage: Usage, reason: str | None
) -> None:
    """Spec section 6: budgets are checked before the spend; a call is made if one as dear as the last still fits."""
    before = Conversation((user(), AssistantTurn((Text("long ago"),), OWNER)))
    asked = too_long(begun(policy, conversation=before, can_compact=True))
    after = step(asked, Compacted(2.0, Conversation((SUMMARY, asked.closed.turns[-1])), spent=Spent(usage), last=usage))
    assert (ending(after).reason if reason else model_call(after).round) == (reason or 1)


def test_of_a_summary_by_pieces_the_last_one_tells_it() -> None:
    """Three pieces of 0.2 dollars each: another call of that kind still fits."""
    before = Conversation((user(), AssistantTurn((Text("long ago"),), OWNER)))
    asked = too_long(begun(Policy(max_cost_usd=Decimal(1)), conversation=before, can_compact=True))
    spent, last = Spent(Usage(30, 3, Decimal("0.6"))), Usage(10, 1, Decimal("0.2"))
    after = step(asked, Compacted(2.0, Conversation((SUMMARY, asked.closed.turns[-1])), spent=spent, last=last))
    assert (model_call(after).round, after.counters.usage.cost_usd) == (1, Decimal("0.6"))


def test_no_summary_is_asked_for_where_no_budget_has_room_for_one() -> None:
    """Spec section 6: budgets are checked before the spend."""
    state = replied(begun(Policy(max_cost_usd=Decimal(1)), can_compact=True), stop=Stop.CONTEXT_EXCEEDED, usage=DEAR)
    outcome = expect(Exhausted, ending(state))
    assert (outcome.reason, outcome.usage) == ("cost_budget", DEAR)
    assert "the window was full" in outcome.why


def test_later_the_last_round_tells_it() -> None:
    asked = too_long(measured(policy=Policy(max_total_tokens=1000)))
    after = step(
        asked,
        Compacted(9.0, Conversation((SUMMARY, *asked.closed.turns[-2:])), spent=Spent(Usage(900, 10)), last=Usage(900, 10)),
    )
    assert model_call(after).round == 3
    assert after.counters.last_usage == Usage(10, 5)


def test_a_budget_that_a_summary_used_up_in_vain_is_what_ends_the_run() -> None:
    asked = too_long(measured(policy=Policy(max_total_tokens=1000)))
    spent = Spent(Usage(970, 0))
    outcome = expect(Exhausted, ending(step(asked, Compacted(9.0, None, "the summary is empty", spent))))
    assert (outcome.reason, outcome.usage.total_tokens) == ("token_budget", 1000)
    assert outcome.why.endswith(". It was not compacted: the summary is empty")
    assert outcome.conversation == asked.closed
    less = ending(step(asked, Compacted(9.0, None, "the summary is empty", Spent(Usage(1, 0)))))
    assert less.reason == "context_exhausted"
