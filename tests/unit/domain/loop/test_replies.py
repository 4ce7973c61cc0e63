"""Judging a reply: what ends a run, what goes on, and what is stored of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required
from geode.domain.content import Opaque, Text, ToolResult
from geode.domain.loop.actions import Compact
from geode.domain.loop.inputs import ModelReplied
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Refused
from geode.domain.loop.replies import CUT, UNDER_NONE
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.turns import ToolResultsTurn
from geode.domain.usage import Usage
from geode.domain.verdicts import Valid
from tests.unit.domain.builders import (
    OWNER,
    assistant,
    begun,
    call,
    ending,
    expect,
    finished,
    kinds,
    last_results,
    model_call,
    replied,
    results,
    rounds_of_reading,
    stage,
    user,
)

THOUGHT = Opaque(OWNER, "thinking", '{"signature":"s"}')


def concluding() -> State:
    """A run in its last but one round: two are left, and both must conclude."""
    state = rounds_of_reading(begun(Policy(max_rounds=10)), 8)
    assert model_call(state).wrap_up == "max_rounds"
    return state


# ---- text --------------------------------------------------------------------------------------


def test_text_without_a_call_is_the_natural_end() -> None:
    state = replied(begun(), "it is ", "sunny", usage=Usage(11, 7))
    outcome = ending(state)
    assert outcome == Answered("it is sunny", state.closed, Usage(11, 7), "run-1", "natural")
    assert state.closed.turns == (user(), assistant("it is ", "sunny"))


def test_the_answer_is_the_last_turn_and_not_what_was_said_on_the_way() -> None:
    state = finished(replied(begun(), "let me see", call("a")), "a")
    assert ending(replied(state, "sunny")).text == "sunny"


@pytest.mark.parametrize("stop", [Stop.END, Stop.TOOL_CALLS])
def test_calls_decide_and_not_the_providers_word(stop: Stop) -> None:
    assert isinstance(ending(replied(begun(), "done", stop=stop)), Answered)
    assert stage(replied(begun(), "hm", call("a"), stop=stop)) == (("a",), ())


@pytest.mark.parametrize("stop", [Stop.UNKNOWN, Stop.PAUSE])
def test_calls_are_run_whatever_else_the_provider_says(stop: Stop) -> None:
    assert stage(replied(begun(), call("a"), stop=stop)) == (("a",), ())


def test_an_unknown_word_without_a_call_is_never_an_answer() -> None:
    state = replied(begun(), "some text", stop=Stop.UNKNOWN, stop_word="brand_new_reason")
    outcome = expect(Failed, ending(state))
    assert (outcome.reason, outcome.failure) == ("model_error", None)
    assert outcome.why == "acme-payg: the reply stopped with 'brand_new_reason' and calls nothing"
    assert (outcome.text, outcome.conversation.turns[-1]) == ("some text", assistant("some text"))


def test_an_unknown_word_that_was_not_given_at_all() -> None:
    outcome = expect(Failed, ending(replied(begun(), "x", stop=Stop.UNKNOWN)))
    assert outcome.why == "acme-payg: the reply stopped with 'unknown' and calls nothing"
    assert outcome.run_id == "run-1"


# ---- nothing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [Stop.END, Stop.TOOL_CALLS])
@pytest.mark.parametrize("items", [(), ("",), (" \n",), (THOUGHT,)], ids=["none", "empty", "blank", "thought"])
def test_an_empty_reply_is_not_stored_and_asked_again_once(items: tuple[str | Opaque, ...], stop: Stop) -> None:
    again = replied(begun(), *items, stop=stop)
    assert (model_call(again).round, model_call(again).attempt) == (2, 1)
    assert again.closed.turns == (user(),)
    outcome = expect(Failed, ending(replied(again, *items, stop=stop)))
    assert (outcome.reason, outcome.why) == ("model_error", "acme-payg: the model answered with nothing")
    assert outcome.conversation.turns == (user(),)
    assert outcome.usage == Usage(20, 10)


def test_how_often_an_empty_reply_is_asked_again_is_policy() -> None:
    assert isinstance(ending(replied(begun(Policy(max_empty_replies=0)))), Failed)
    twice = replied(replied(begun(Policy(max_empty_replies=2))))
    assert model_call(twice).round == 3
    assert isinstance(ending(replied(twice)), Failed)


def test_an_answer_after_an_empty_reply_is_an_answer() -> None:
    assert ending(replied(replied(begun()), "here")).reason == "natural"


def test_nothing_but_empty_replies_at_the_end_exhausts_the_budget() -> None:
    state = replied(concluding())
    assert (model_call(state).wrap_up, model_call(state).tool_choice) == ("max_rounds", NoTools())
    assert expect(Exhausted, ending(replied(state))).reason == "max_rounds"


# ---- cut, refused, broken ----------------------------------------------------------------------


def test_text_cut_by_the_limit_is_no_natural_end() -> None:
    state = finished(replied(begun(), "looking", call("a")), "a")
    state = replied(state, "the first half", stop=Stop.MAX_TOKENS)
    outcome = expect(Exhausted, ending(state))
    assert outcome == Exhausted("the first half", state.closed, Usage(20, 10), "run-1", "answer_truncated")
    assert outcome.conversation.turns[-1] == assistant("the first half")


def test_text_cut_in_the_wrap_up_is_cut_too() -> None:
    assert ending(replied(concluding(), "half", stop=Stop.MAX_TOKENS)).reason == "answer_truncated"


def test_a_reply_cut_before_its_first_word_leaves_what_was_said_before() -> None:
    state = finished(replied(begun(), "looking", call("a")), "a")
    outcome = ending(replied(state, stop=Stop.MAX_TOKENS))
    assert (outcome.reason, outcome.text) == ("answer_truncated", "looking")
    assert outcome.conversation.turns[-1] == results("a")


def test_no_call_of_a_cut_reply_is_run() -> None:
    state = replied(begun(), "x", call("a"), call("b", "write"), call("c", "unheard_of"), stop=Stop.MAX_TOKENS)
    assert model_call(state).round == 2
    assert model_call(state).tool_choice == Auto()
    assert last_results(state) == tuple(ToolResult(id, "failed", (Text(CUT),)) for id in "abc")
    assert CUT == "not run: the reply was cut off by the output limit; send the call again, with smaller arguments"


@pytest.mark.parametrize("stop", [Stop.REFUSAL, Stop.CONTENT_FILTER])
def test_a_refusal_beats_calls_and_nothing_of_it_is_stored(stop: Stop) -> None:
    state = finished(replied(begun(), "looking", call("a")), "a")
    details = {"category": "cyber", "explanation": None}
    said = AdapterCallResult((Text("no, "), call("b"), Text("never")), stop, Usage(7, 2), refusal=details)
    refused = step(state, ModelReplied(0.0, said, (Valid(),)))
    assert ending(refused) == Refused("looking\nno, never", state.closed, Usage(17, 7), "run-1", details, "model_refusal")
    assert refused.open is None


def test_a_refusal_without_words() -> None:
    outcome = expect(Refused, ending(replied(begun(), " ", stop=Stop.REFUSAL)))
    assert (outcome.text, outcome.details, outcome.conversation.turns) == ("", None, (user(),))


def test_an_error_inside_a_reply_is_a_failure() -> None:
    outcome = expect(Failed, ending(replied(begun(), "par", call("a"), stop=Stop.ERROR, stop_word="network_error")))
    assert (outcome.reason, outcome.failure) == ("model_error", None)
    assert outcome.why == "acme-payg: the provider ended the reply with an error (network_error)"
    assert outcome.conversation.turns == (user(),)


def test_a_full_window_ends_the_run_with_what_was_said() -> None:
    state = finished(replied(begun(), "looking", call("a")), "a")
    state = replied(state, THOUGHT, "so far", call("b"), stop=Stop.CONTEXT_EXCEEDED)
    outcome = expect(Exhausted, ending(state))
    assert (outcome.reason, outcome.text) == ("context_exhausted", "looking\nso far")
    assert outcome.conversation.turns[-1] == assistant(THOUGHT, "so far")


def test_a_full_window_without_a_word() -> None:
    outcome = ending(replied(begun(), call("b"), stop=Stop.CONTEXT_EXCEEDED))
    assert (outcome.reason, outcome.conversation.turns) == ("context_exhausted", (user(),))


def test_a_full_window_in_which_nothing_was_said_is_a_conversation_that_is_too_long() -> None:
    """Wire facts E2: the newer form of an overflow. Spec section 6: compaction, then the same call again."""
    before = finished(replied(begun(can_compact=True), "looking", call("a")), "a")
    state = replied(before, THOUGHT, " ", stop=Stop.CONTEXT_EXCEEDED, usage=Usage(90, 0))
    asked = expect(Compact, state.pending)
    assert asked.call == model_call(before)
    assert (state.counters.rounds, state.counters.compactions) == (1, 1)
    assert state.counters.usage == before.counters.usage + Usage(90, 0)
    assert state.closed == before.closed
    alone = expect(Exhausted, ending(replied(begun(), THOUGHT, stop=Stop.CONTEXT_EXCEEDED)))
    assert (alone.reason, "the window was full before the reply was at its end" in alone.why) == ("context_exhausted", True)


# ---- pauses ------------------------------------------------------------------------------------


def test_a_pause_continues_the_same_turn() -> None:
    state = replied(begun(), "one, ", THOUGHT, stop=Stop.PAUSE)
    assert (model_call(state).round, model_call(state).tool_choice) == (2, Auto())
    assert state.closed.turns == (user(), assistant("one, ", THOUGHT))
    assert ending(replied(state, "two")).text == "one, two"


def test_a_paused_turn_that_says_nothing_is_not_stored() -> None:
    state = replied(begun(), stop=Stop.PAUSE)
    assert model_call(state).round == 2
    assert state.closed.turns == (user(),)


def test_five_pauses_are_enough() -> None:
    state = begun()
    for number in range(5):
        state = replied(state, f"{number} ", stop=Stop.PAUSE)
        assert model_call(state).round == number + 2
    outcome = expect(Failed, ending(replied(state, "5", stop=Stop.PAUSE)))
    assert outcome.why == "acme-payg: the provider paused its turn more than 5 times"
    assert outcome.reason == "model_error"
    assert outcome.conversation.turns[-1] == assistant("5")
    assert outcome.text == "0 \n1 \n2 \n3 \n4 \n5"


def test_a_call_between_pauses_is_run() -> None:
    state = replied(replied(begun(), "a", stop=Stop.PAUSE), call("x"))
    assert kinds(finished(state, "x")) == {"x": "ok"}


# ---- calls although the choice was none --------------------------------------------------------


def test_a_call_under_none_is_denied_and_one_more_round_allowed() -> None:
    state = replied(begun(first_choice=NoTools()), "x", call("a"), call("b", "unheard_of"))
    assert last_results(state) == tuple(ToolResult(id, "denied", (Text(UNDER_NONE),)) for id in "ab")
    assert UNDER_NONE == "not run: no tool may be called in this round; answer in text"
    assert (model_call(state).round, model_call(state).tool_choice, model_call(state).wrap_up) == (2, NoTools(), None)
    assert ending(replied(state, "fine")).reason == "natural"


def test_a_second_call_under_none_ends_the_run() -> None:
    state = replied(begun(first_choice=NoTools()), call("a"))
    outcome = expect(Failed, ending(replied(state, "and", call("b"))))
    assert (outcome.reason, outcome.failure) == ("model_error", None)
    assert outcome.why == "acme-payg: the model keeps calling tools although the choice is none"
    assert outcome.text == "and"
    assert isinstance(outcome.conversation.turns[-1], ToolResultsTurn)


def test_calls_in_the_wrap_up_end_the_run_with_its_budget() -> None:
    state = replied(concluding(), "still", call("a"))
    assert kinds(state) == {"a": "denied"}
    assert model_call(state).round == 10
    outcome = expect(Exhausted, ending(replied(state, call("b"))))
    assert (outcome.reason, outcome.text) == ("max_rounds", "still")


def test_a_tool_budget_that_is_used_up_ends_within_two_more_rounds() -> None:
    """A model that always calls: three calls, then none is allowed, then one more chance, then the end."""
    state = rounds_of_reading(begun(Policy(max_tool_calls=3), first_choice=Named("read")), 3)
    assert (model_call(state).tool_choice, model_call(state).wrap_up) == (NoTools(), "tool_budget")
    state = replied(state, call("x"))
    assert (model_call(state).tool_choice, model_call(state).round) == (NoTools(), 5)
    assert expect(Exhausted, ending(replied(state, call("y")))).reason == "tool_budget"


def test_a_cut_call_under_none_counts_as_a_call_under_none() -> None:
    """Else a model that calls in every cut reply of the wrap-up would be told to call again, round after round."""
    state = replied(concluding(), call("a"), stop=Stop.MAX_TOKENS)
    assert last_results(state) == (ToolResult("a", "denied", (Text(UNDER_NONE),)),)
    assert ending(replied(state, call("b"), stop=Stop.MAX_TOKENS)).reason == "max_rounds"


def test_how_many_calls_under_none_are_borne_is_policy() -> None:
    none = begun(Policy(max_calls_under_none=0), first_choice=NoTools())
    assert isinstance(ending(replied(none, call("a"))), Failed)
    two = replied(replied(begun(Policy(max_calls_under_none=2), first_choice=NoTools()), call("a")), call("b"))
    assert model_call(two).round == 3


# ---- wrap-up -----------------------------------------------------------------------------------


def test_text_given_in_the_wrap_up_is_the_conclusion_of_an_exhausted_run() -> None:
    state = rounds_of_reading(replied(begun(Policy(max_rounds=10)), "looking", stop=Stop.PAUSE), 7)
    state = replied(state, "in short")
    outcome = expect(Exhausted, ending(state))
    assert (outcome.reason, outcome.text) == ("max_rounds", "in short")
    assert outcome.conversation.turns[-1] == assistant("in short")


# ---- ids, usage --------------------------------------------------------------------------------


def test_calls_enter_with_ids_of_their_own() -> None:
    state = replied(begun(), call("x"), call(""), call("x", "fetch"))
    assert stage(state) == (("x", "call_g1_1", "x_2"), ())
    for id in ("x_2", "x", "call_g1_1"):
        state = finished(state, id, text=f"of {id}")
    assert [(one.call_id, one.text) for one in last_results(state)] == [
        *(("x", "of x"), ("call_g1_1", "of call_g1_1"), ("x_2", "of x_2"))
    ]


def test_an_id_used_in_every_round_pairs_with_its_own() -> None:
    state = begun()
    for number, id in enumerate(("CONST", "CONST_2", "CONST_3", "CONST_4")):
        state = finished(replied(state, call("CONST")), id, text=f"r{number}")
    assert [one.text for one in state.closed.results()] == ["r0", "r1", "r2", "r3"]
    assert state.closed.call_ids == {"CONST", "CONST_2", "CONST_3", "CONST_4"}


def test_turns_are_owned_by_who_made_them() -> None:
    state = replied(begun(), call("a"))
    assert state.round.turn.made_by == OWNER
    assert ending(replied(begun(), "x")).conversation.turns[-1] == replace(assistant("x"), made_by=OWNER)


def test_usage_is_the_sum_of_all_calls_and_the_last_is_remembered() -> None:
    state = finished(replied(begun(), call("a"), usage=Usage(10, 5)), "a")
    state = replied(state, "x", usage=Usage(20, 1))
    assert (state.counters.usage, state.counters.last_usage) == (Usage(30, 6), Usage(20, 1))
    assert ending(state).usage == Usage(30, 6)


def test_a_forced_first_choice_holds_for_the_first_round_only() -> None:
    for choice in (Required(), Named("read")):
        state = begun(first_choice=choice)
        assert model_call(state).tool_choice == choice
        assert model_call(rounds_of_reading(state, 1)).tool_choice == Auto()
        assert model_call(replied(state)).tool_choice == Auto()
