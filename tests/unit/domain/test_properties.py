"""What holds for any input: values, repairs, and whole runs with everything that can happen in them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.domain.arguments import argument_error, parse_arguments, sent_input, sent_text, tool_use
from geode.domain.choice import Auto, parse_choice
from geode.domain.content import Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.failures import CallFailure, RetryHint, classify_retry_error
from geode.domain.json_value import clean_json, clean_text, dump_bytes
from geode.domain.loop.outcome import ExhaustedReason, FailedReason
from geode.domain.recovery import RecoveryStep
from geode.domain.retry import RetryPolicy, read_retry_hint, retry_delay_for
from geode.domain.turns import AssistantTurn, Hint, HintKind, ToolResultsTurn, Turn, UserTurn
from tests.unit.domain.book import breaches
from tests.unit.domain.builders import failure
from tests.unit.domain.loop_model import SEED, played
from tests.unit.domain.onlooker import Onlooker, T
from tests.unit.domain.strategies import any_turns, values_of, wild_json, wild_text

# ---- values ------------------------------------------------------------------------------------


@given(wild_text)
def test_clean_text_is_utf8_and_clean_already(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    assert clean_text(clean) == clean
    assert len(clean) <= len(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\ufffd" in clean or len(clean) < len(text)
    else:
        assert clean == text


@given(wild_json)
def test_clean_json_is_json_or_says_where_it_is_not(value: Any) -> None:
    refused = ""
    try:
        clean = clean_json(value)
    except ValueError as error:
        clean, refused = None, str(error)
    assert not refused or refused.startswith("/")
    assert json.loads(dump_bytes(clean)) == clean
    assert clean_json(clean) == clean


argument_texts = (
    wild_text
    | wild_json.filter(lambda it: not isinstance(it, bytes)).map(lambda it: json.dumps(it, default=str, skipkeys=True))
    | st.tuples(
        st.sampled_from(["```\n", "```json\n", "```", "{", '"']), wild_text, st.sampled_from(["\n```", "```", "}", '"'])
    ).map("".join)
)


@given(argument_texts | wild_json)
def test_arguments_are_an_object_or_a_reason_and_go_out_as_an_object(given: Any) -> None:
    parsed = parse_arguments(given)
    made = tool_use("id", "name", given)
    ok = parsed.value_or(None)
    if ok is None:
        assert parsed.swap().unwrap().endswith("; send the whole object again")
        assert made.unparsed is not None
        assert argument_error(made)
    else:
        assert (made.input, made.unparsed) == (ok, None)
        assert argument_error(made) is None
    sent = json.loads(sent_text(made).encode())
    assert isinstance(sent, dict)
    assert sent == sent_input(made)


@given(wild_json)
def test_a_choice_is_accepted_or_refused_and_auto_only_when_it_was_said(given: Any) -> None:
    choice = parse_choice(given).value_or(None)
    if isinstance(choice, Auto):
        assert given == "auto" or given["type"] == "auto"


@given(
    values_of(RetryPolicy),
    st.sampled_from([408, 409, 429, 500, 529]),
    st.integers(1, 12),
    st.floats(0, 1),
    st.none() | st.floats(),
)
def test_a_delay_is_within_its_bounds(
    policy: RetryPolicy, status: int, attempt: int, jitter: float, seconds: float | None
) -> None:
    delay = retry_delay_for(policy, failure(status, hint=RetryHint(seconds)), attempt, jitter)
    if attempt >= policy.attempts:
        assert delay is None
    elif seconds is None:
        assert delay is not None
        assert 0 <= delay <= policy.max_seconds
    elif delay is not None:
        assert seconds <= delay <= max(seconds, policy.max_seconds)
        assert seconds <= policy.max_hint_seconds


@given(st.text(max_size=20) | st.floats().map(str), st.sampled_from(["retry-after", "retry-after-ms", "x-should-retry"]))
def test_any_header_is_read_without_a_crash(value: str, name: str) -> None:
    hint = read_retry_hint({name: value}, 0.0)
    assert hint.seconds is None or 0 <= hint.seconds < float("inf")
    assert not (hint.forbidden and hint.seconds is not None)


@given(values_of(CallFailure))
def test_every_failure_has_a_class(fault: CallFailure) -> None:
    assert classify_retry_error(fault).value


# ---- repairs -----------------------------------------------------------------------------------


def speaks(turn: Turn) -> bool:
    return isinstance(turn, AssistantTurn) and any(not isinstance(item, Text) or item.text.strip() for item in turn.items)


def answers_by_the_book(turns: tuple[Turn, ...]) -> list[tuple[str, str]]:
    """Kind and text of the result of every call: the n-th with its id until the id is used again, or interrupted."""
    found: list[tuple[str, str]] = []
    for place, turn in enumerate(turns):
        if not (isinstance(turn, AssistantTurn) and speaks(turn)):
            continue
        for number, call in enumerate(turn.calls):
            again = (at for at in range(place + 1, len(turns)) if call.id in ids_of(turns[at]))
            after = turns[place : next(again, len(turns))]
            mine = [
                one for other in after if isinstance(other, ToolResultsTurn) for one in other.results if one.call_id == call.id
            ]
            before = [other.id for other in turn.calls[:number]].count(call.id)
            found.append((mine[before].kind, mine[before].text) if before < len(mine) else ("interrupted", ""))
    return found


def ids_of(turn: Turn) -> list[str]:
    return [call.id for call in turn.calls] if isinstance(turn, AssistantTurn) else []


def hints_of(turns: tuple[Turn, ...]) -> Counter[Hint]:
    return Counter(hint for turn in turns if not isinstance(turn, AssistantTurn) for hint in turn.hints)


@settings(max_examples=300)
@given(any_turns)
def test_a_repaired_conversation_keeps_the_laws_and_loses_nothing(turns: tuple[Turn, ...]) -> None:
    talk = Conversation.repaired(turns)
    assert breaches(talk.turns) == []
    # Every result whose call exists and that is the first for it is there, in call order.
    kept = [(one.kind, "" if one.text.startswith("interrupted: ") else one.text) for one in talk.results()]
    assert kept == answers_by_the_book(turns)
    # What was said is there, in order, and so is every hint.
    before, after = [turn for turn in turns if speaks(turn)], [turn for turn in talk.turns if speaks(turn)]
    assert [shape(turn) for turn in before] == [shape(turn) for turn in after]
    users = iter(talk.turns)
    assert all(any(turn == other for other in users) for turn in turns if isinstance(turn, UserTurn))
    assert hints_of(talk.turns) == hints_of(turns)
    # It is reported if and only if something changed, and nothing is left to mend.
    assert bool(talk.repairs) == (talk.turns != turns)
    again = Conversation.repaired(talk.turns)
    assert (again.turns, again.repairs) == (talk.turns, ())
    assert Conversation.loads(talk.dumps()) == talk


def shape(turn: Turn) -> list[object]:
    """The items of a turn without the ids of calls."""
    items = turn.items if isinstance(turn, AssistantTurn) else ()
    return [(item.name, item.input) if isinstance(item, ToolUseBlock) else item for item in items]


@given(any_turns)
def test_a_lawful_list_is_a_conversation_and_no_other_is(turns: tuple[Turn, ...]) -> None:
    try:
        talk = Conversation(turns)
    except Misuse:
        assert breaches(turns) or any(isinstance(turn, ToolResultsTurn) and not turn.results for turn in turns)
    else:
        assert breaches(talk.turns) == []
        assert Conversation.repaired(turns).repairs == ()


# ---- runs --------------------------------------------------------------------------------------


# What a thousand runs have to meet, so that what they agree on is something: every reason, hint and step of a recovery.
MET = {
    *get_args(ExhaustedReason),
    *get_args(FailedReason),
    # What stands for turns that are gone is no hint of the loop's.
    *(kind for kind in get_args(HintKind) if kind != "summary"),
    *get_args(RecoveryStep),
    *("natural", "model_refusal", "stopped", "plain", "compact", "compact ahead", "switch", "tools changed", "spent inside"),
    *("called through the search", "answer judged", "answer judged beside calls"),
}


@pytest.mark.random
def test_the_loop_and_the_book_agree_on_a_thousand_runs() -> None:
    met = Counter[str]()
    for number in range(1000):
        met.update(played(SEED, number, thorough=number % 5 == 0).met)
    assert set(met) == MET


@settings(max_examples=50)
@given(st.data())
def test_the_shortest_run_that_goes_wrong(data: st.DataObject) -> None:
    """The same, led by Hypothesis: the runs are shorter, and one that fails is made as short as can be."""

    def pick(options: Sequence[T], /) -> T:
        return data.draw(st.sampled_from(options))

    Onlooker(pick).run()
