"""Hints are text of a kind, and what goes out of a turn."""

from __future__ import annotations

import pickle

import pytest

from geode.domain.content import Text
from geode.domain.turns import AssistantTurn, Hint, Repair, UserTurn, hints_of, says_nothing, visible
from tests.unit.domain.builders import assistant, call, image, results, user

HINT = Hint("wrap_up", "conclude")


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        (Hint("wrap_up", "conclude"), True),
        ("conclude", True),
        (Hint("backpressure", "conclude"), False),
        (Hint("wrap_up", "go on"), False),
        ("go on", False),
        (7, False),
    ],
)
def test_a_hint_is_its_text_and_knows_its_kind(other: object, equal: bool) -> None:
    hint = HINT
    assert (hint == other) is equal
    assert (hint != other) is not equal


def test_a_hint_stays_one_wherever_it_goes() -> None:
    again = pickle.loads(pickle.dumps(HINT))
    assert (again, again.kind, again.text, hash(again)) == (HINT, "wrap_up", "conclude", hash("conclude"))
    assert Hint("wrap_up", "a\ud800").text == "a\ufffd"


def test_blank_texts_do_not_go_out_and_hints_do_after_all() -> None:
    """Spec section 3, law 8."""
    assert visible((Text(" "), image(), Text("a")), (HINT, Hint("wrap_up", "\n"))) == (image(), Text("a"), Text("conclude"))
    assert visible(()) == ()


def test_hints_in_their_order() -> None:
    other = Hint("backpressure", "think")
    turns = (user("a", HINT), assistant(call("1")), results("1", hints=(other, HINT)))
    assert hints_of(turns) == (HINT, other, HINT)


def test_texts_of_turns() -> None:
    assert UserTurn((Text("a"), image(), Text("b"))).text == "a\nb"
    assert assistant("a", call("1"), "b").text == "ab"


@pytest.mark.parametrize(
    ("turn", "nothing"),
    [(AssistantTurn(()), True), (assistant(" ", "\n"), True), (assistant(" ", "a"), False), (assistant(call("1")), False)],
)
def test_a_turn_that_says_nothing(turn: AssistantTurn, nothing: bool) -> None:
    assert says_nothing(turn) is nothing


def test_a_repair_in_words() -> None:
    assert str(Repair("id_changed", 3, "c1")) == "turn 3: id changed (c1)"
    assert str(Repair("empty_dropped", 0)) == "turn 0: empty dropped"
