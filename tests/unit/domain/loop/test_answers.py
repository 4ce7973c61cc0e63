"""An answer that has to fit a schema: what ends the run, what is sent back, and what is not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from geode.domain.answers import MAX_SCHEMA_CHARS, AnswerTerms, answer_terms, invalid_text, repair_text
from geode.domain.choice import Auto
from geode.domain.codec import dumps, loads
from geode.domain.content import Opaque, Text
from geode.domain.errors import IllegalInput, ModelCallError
from geode.domain.loop.inputs import ModelReplied
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Refused
from geode.domain.loop.replies import BESIDE
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.reply import Stop
from geode.domain.turns import Hint, ToolResultsTurn, UserTurn, hints_of
from geode.domain.verdicts import Invalid, Valid
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
    reply,
    rounds_of_reading,
    stage,
    user,
)

SCHEMA: Mapping[str, Any] = {"type": "object", "required": ["n"]}
TERMS = answer_terms(SCHEMA)
WRONG = Invalid(("/n: it is missing",))
EARLY = Policy(answer_beside_calls="early")


def typed(policy: Policy = Policy()) -> State:
    return begun(policy, answer=TERMS)


def hint() -> Hint:
    return Hint("answer", repair_text(WRONG.errors, TERMS))


# ---- what is told ------------------------------------------------------------------------------


def test_the_model_is_told_every_error_with_its_place_and_the_schema() -> None:
    assert repair_text(("/n: it is missing", "/: more"), AnswerTerms("d", '{"type":"object"}')) == (
        "Your answer does not fit the schema that it has to fit:\n"
        "/n: it is missing\n"
        "/: more\n"
        "Answer again, with nothing but the JSON of the whole answer. It has to fit this JSON Schema:\n"
        '{"type":"object"}'
    )


def test_what_is_told_is_bounded() -> None:
    terms = answer_terms({"description": "x" * 100_000})
    assert len(terms.shown) == MAX_SCHEMA_CHARS
    told = repair_text(["/" + "e" * 9_999] * 5_000, terms)
    assert len(told) < MAX_SCHEMA_CHARS + 11 * 400
    assert "\nand 4990 more\n" in told
    assert len(invalid_text(["/" + "e" * 9_999] * 5_000, "t" * 9_999, 1)) < 11 * 400 + 600


def test_schemas_are_told_apart_by_their_digest() -> None:
    other = answer_terms({**SCHEMA, "required": ["m"]})
    assert TERMS.digest != other.digest
    assert answer_terms(dict(SCHEMA)) == TERMS


@pytest.mark.parametrize(("repairs", "after"), [(0, ""), (1, " after 1 repair"), (2, " after 2 repairs")])
def test_the_operator_is_told_the_errors_and_how_the_answer_begins(repairs: int, after: str) -> None:
    told = invalid_text(("/n: bad", "/m: bad"), "so it begins", repairs)
    assert told == f"the answer does not fit its schema{after}: /n: bad; /m: bad. It begins: so it begins"


# ---- the rule ----------------------------------------------------------------------------------


def test_an_answer_that_fits_is_the_natural_end() -> None:
    outcome = expect(Answered, ending(replied(typed(), '{"n":1}', answer=Valid())))
    assert (outcome.text, outcome.value) == ('{"n":1}', None)


def test_one_that_does_not_fit_is_sent_back_with_its_errors_and_the_schema() -> None:
    state = replied(typed(), "{}", answer=WRONG)
    assert state.closed.turns == (user(), assistant("{}"), UserTurn((), (hint(),)))
    again = model_call(state)
    assert (again.round, again.attempt, again.tool_choice, again.wrap_up) == (2, 1, Auto(), None)


def test_what_is_mended_is_the_answer_and_nothing_of_the_wrong_one() -> None:
    state = replied(replied(typed(), "{}", answer=WRONG), '{"n":1}', answer=Valid())
    assert expect(Answered, ending(state)).text == '{"n":1}'


def test_wrong_twice_fails_with_the_errors_and_the_text() -> None:
    state = replied(replied(typed(), "{}", answer=WRONG), '{"m":1}', answer=Invalid(("/n: still missing",)))
    outcome = expect(Failed, ending(state))
    assert (outcome.reason, outcome.text, outcome.failure) == ("answer_invalid", '{"m":1}', None)
    why = 'acme-payg: the answer does not fit its schema after 1 repair: /n: still missing. It begins: {"m":1}'
    assert outcome.why == why
    assert type(outcome.error) is ModelCallError
    assert outcome.conversation.turns[-1] == assistant('{"m":1}')


@pytest.mark.parametrize("repairs", [0, 1, 3])
def test_the_policy_says_how_often_an_answer_is_sent_back(repairs: int) -> None:
    state = typed(Policy(answer_repairs=repairs))
    for number in range(repairs):
        state = replied(state, "{}", answer=WRONG)
        assert model_call(state).round == number + 2
    assert ending(replied(state, "{}", answer=WRONG)).reason == "answer_invalid"


def test_without_room_for_another_round_it_fails_at_once() -> None:
    outcome = expect(Failed, ending(replied(typed(Policy(max_rounds=1)), "{}", answer=WRONG)))
    assert outcome.reason == "answer_invalid"
    assert hints_of(outcome.conversation.turns) == ()


def test_the_model_may_look_things_up_before_it_answers_again() -> None:
    state = finished(replied(replied(typed(), "{}", answer=WRONG), call("a")), "a")
    assert ending(replied(state, '{"n":1}', answer=Valid())).reason == "natural"


def test_an_answer_that_was_paused_is_judged_whole() -> None:
    paused = replied(typed(), '{"n":', Opaque(OWNER, "thinking", "{}"), stop=Stop.PAUSE)
    assert ending(replied(paused, "1}", answer=Valid())).text == '{"n":1}'


def test_what_is_sent_back_may_end_with_something_opaque() -> None:
    state = replied(typed(), Opaque(OWNER, "thinking", "{}"), "{}", answer=WRONG)
    assert state.closed.turns[-1] == UserTurn((), (hint(),))


# ---- declined, cut off, concluded --------------------------------------------------------------


@pytest.mark.parametrize("stop", [Stop.REFUSAL, Stop.CONTENT_FILTER])
def test_what_was_declined_is_not_looked_at(stop: Stop) -> None:
    state = replied(typed(), "I cannot", stop=stop)
    assert expect(Refused, ending(state)).text == "I cannot"
    assert state.counters.rounds == 1


def test_what_was_cut_off_is_not_looked_at() -> None:
    outcome = expect(Exhausted, ending(replied(typed(), '{"n":', stop=Stop.MAX_TOKENS)))
    assert (outcome.reason, outcome.text) == ("answer_truncated", '{"n":')


def test_an_empty_reply_is_no_answer() -> None:
    assert model_call(replied(typed(), " ")).round == 2


def test_a_conclusion_that_fits_ends_as_every_conclusion_does() -> None:
    state = rounds_of_reading(typed(Policy(max_rounds=10)), 8)
    outcome = expect(Exhausted, ending(replied(state, '{"n":1}', answer=Valid())))
    assert (outcome.reason, outcome.text, outcome.why) == ("max_rounds", '{"n":1}', "")


def test_a_conclusion_that_does_not_fit_is_not_sent_back_and_says_so() -> None:
    state = rounds_of_reading(typed(Policy(max_rounds=10)), 8)
    outcome = expect(Exhausted, ending(replied(state, "{}", answer=WRONG)))
    assert (outcome.reason, outcome.text) == ("max_rounds", "{}")
    assert outcome.why == "the answer does not fit its schema: /n: it is missing. It begins: {}"


# ---- an answer beside calls --------------------------------------------------------------------


def test_calls_beside_an_answer_are_run_and_the_run_goes_on() -> None:
    state = replied(typed(), '{"n":1}', call("a"))
    assert stage(state) == (("a",), ())
    assert model_call(finished(state, "a")).round == 2


def test_early_an_answer_that_fits_ends_the_run_and_no_call_is_executed() -> None:
    state = replied(typed(EARLY), '{"n":1}', call("a"), call("b", "write"), answer=Valid())
    assert expect(Answered, ending(state)).text == '{"n":1}'
    assert kinds(state) == {"a": "interrupted", "b": "interrupted"}
    assert {one.text for one in last_results(state)} == {BESIDE}
    assert isinstance(state.closed.turns[-1], ToolResultsTurn)
    assert state.counters.tool_calls == 0


def test_early_what_does_not_fit_is_no_answer_and_its_calls_are_run() -> None:
    state = replied(typed(EARLY), "let me see", call("a"), answer=WRONG)
    assert stage(state) == (("a",), ())
    assert hints_of(state.closed.turns) == ()


def test_early_calls_without_a_text_are_run() -> None:
    assert stage(replied(typed(EARLY), call("a"))) == (("a",), ())


# ---- the verdict is a fact ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "items", "stop", "verdict"),
    [
        (typed(), ("{}",), None, None),
        (typed(), ("",), None, Valid()),
        (typed(), ("no",), Stop.REFUSAL, Valid()),
        (typed(), ("{",), Stop.MAX_TOKENS, Valid()),
        (typed(), ("hm", call("a")), None, Valid()),
        (typed(EARLY), ("hm", call("a")), None, None),
        (begun(), ("{}",), None, Valid()),
    ],
)
def test_what_is_judged_has_a_verdict_and_nothing_else_has(state: State, items: Any, stop: Any, verdict: Any) -> None:
    with pytest.raises(IllegalInput, match="has a verdict"):
        replied(state, *items, stop=stop, answer=verdict)


def test_inputs_and_states_of_before_are_read() -> None:
    stored = dumps(ModelReplied(1.0, reply("hi"), ()))
    assert loads(ModelReplied, stored.replace(',"answer":null', "")) == ModelReplied(1.0, reply("hi"), ())
    state = begun()
    old = dumps(state)
    for added in (',"answer":null', ',"answer_repairs":0', ',"answer_repairs":1', ',"answer_beside_calls":"finish_tools"'):
        assert added in old or added.endswith(("0", "1"))
        old = old.replace(added, "")
    assert "answer" not in old
    assert loads(State, old) == state


def test_a_value_is_stored_nowhere() -> None:
    outcome = expect(Answered, ending(replied(typed(), '{"n":1}', answer=Valid()))).with_value({"n": 1})
    assert outcome.value == {"n": 1}
    assert loads(Answered, dumps(outcome)).value is None
    assert "value" not in dumps(outcome).replace('"value":{"$":"Answered"', "")


def test_the_text_is_not_changed() -> None:
    state = step(typed(), ModelReplied(0.0, reply(Text("```json\n{}\n```")), (), Valid()))
    assert ending(state).text == "```json\n{}\n```"
