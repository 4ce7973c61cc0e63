"""The laws of a conversation: what its constructor refuses, and that it never changes."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import pytest

from geode.domain.content import Opaque, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError, Misuse
from geode.domain.turns import AssistantTurn, Hint, Repair, ToolResultsTurn, Turn, UserTurn, says_nothing
from tests.unit.domain.builders import OWNER, assistant, call, image, ok, results, user

THOUGHT = Opaque(OWNER, "thinking", '{"signature": "s"}')
HINT = Hint("wrap_up", "conclude")


def at_once(turns: tuple[Turn, ...]) -> Conversation:
    return Conversation(turns)


def turn_by_turn(turns: tuple[Turn, ...]) -> Conversation:
    return Conversation().grown(*turns)


LAWFUL: list[tuple[Turn, ...]] = [
    (),
    (user(),),
    (user(), user()),
    (user(), assistant("hi")),
    (assistant("hi"), assistant("there")),
    (user(), assistant(call("a")), results("a")),
    (user(), assistant("text", call("a"), THOUGHT, call("b")), results("a", "b", hints=(HINT,)), user(), assistant("end")),
    (assistant(call("a")), results("a"), assistant(call("b")), results("b")),
    (assistant(THOUGHT), user("", HINT)),
    (UserTurn((), (HINT,)),),
]


@pytest.mark.parametrize("turns", LAWFUL, ids=range(len(LAWFUL)))
def test_lawful_turns(turns: tuple[Turn, ...]) -> None:
    made = Conversation(turns)
    assert (made.turns, made.repairs) == (turns, ())
    assert turn_by_turn(turns) == made


UNPAIRED: list[tuple[tuple[Turn, ...], str]] = [
    # no result at all, too few, too many, another order, another id
    ((assistant(call("a")), user()), "turn 1 must answer the calls ['a'], it answers []"),
    ((assistant(call("a")), assistant("hi")), "turn 1 must answer the calls ['a'], it answers []"),
    ((assistant(call("a"), call("b")), results("a")), "turn 1 must answer the calls ['a', 'b'], it answers ['a']"),
    ((assistant(call("a")), results("a", "a")), "turn 1 must answer the calls ['a'], it answers ['a', 'a']"),
    ((assistant(call("a"), call("b")), results("b", "a")), "turn 1 must answer the calls ['a', 'b'], it answers ['b', 'a']"),
    ((assistant(call("a")), results("x")), "turn 1 must answer the calls ['a'], it answers ['x']"),
    # results in two turns
    (
        (assistant(call("a"), call("b")), results("a"), results("b")),
        "turn 1 must answer the calls ['a', 'b'], it answers ['a']",
    ),
    # results without their call
    ((results("a"),), "turn 0 must answer the calls [], it answers ['a']"),
    ((user(), results("a")), "turn 1 must answer the calls [], it answers ['a']"),
    ((assistant("hi"), results("a")), "turn 1 must answer the calls [], it answers ['a']"),
    ((assistant(call("a")), results("a"), results("a")), "turn 2 must answer the calls [], it answers ['a']"),
    ((user(), results()), "turn 1 must answer the calls [], it answers []"),
    ((assistant(call("a")), results()), "turn 1 must answer the calls ['a'], it answers []"),
]


@pytest.mark.parametrize(("turns", "why"), UNPAIRED, ids=range(len(UNPAIRED)))
def test_results_that_do_not_pair_are_refused(turns: tuple[Turn, ...], why: str) -> None:
    for build in (at_once, turn_by_turn):
        with pytest.raises(Misuse) as caught:
            build(turns)
        assert str(caught.value) == f"{why}; use Conversation.repaired [unpaired]"
        assert caught.value.id == "unpaired"


def test_an_open_round_is_refused() -> None:
    with pytest.raises(Misuse) as caught:
        Conversation((user(), assistant(call("a"))))
    assert str(caught.value) == "turn 1 calls tools and has no results; use Conversation.repaired [open-round]"


@pytest.mark.parametrize("turn", [assistant(), assistant(""), assistant(" \n", "\t")], ids=["none", "empty", "blank"])
def test_an_assistant_turn_that_says_nothing_is_refused(turn: AssistantTurn) -> None:
    assert says_nothing(turn)
    with pytest.raises(Misuse) as caught:
        Conversation((user(), turn))
    assert str(caught.value) == "turn 1 is an assistant turn that says nothing; leave it out [empty-turn]"


@pytest.mark.parametrize(
    "turn", [assistant("x"), assistant(" ", call("")), assistant("", THOUGHT)], ids=["text", "call", "thought"]
)
def test_text_a_call_or_an_opaque_item_say_something(turn: AssistantTurn) -> None:
    assert not says_nothing(turn)


@pytest.mark.parametrize(
    ("turns", "index", "id"),
    [
        ((assistant(call("")), results("")), 0, ""),
        ((assistant(call("x"), call("x")), results("x", "x")), 0, "x"),
        ((assistant(call("x")), results("x"), assistant(call("x")), results("x")), 2, "x"),
    ],
    ids=["empty", "twice in one turn", "used in an earlier round"],
)
def test_ids_are_present_and_unique_in_the_whole_conversation(turns: tuple[Turn, ...], index: int, id: str) -> None:
    for build in (at_once, turn_by_turn):
        with pytest.raises(Misuse) as caught:
            build(turns)
        assert str(caught.value) == f"turn {index} has a call id that is empty or used before: {id!r} [call-id]"


def test_growing_leaves_the_old_one_as_it_was() -> None:
    one = Conversation((user(), assistant(call("a")), results("a")))
    two = one.grown(assistant(call("b")), results("b"), user())
    assert (len(one.turns), len(two.turns)) == (3, 6)
    assert two.turns[:3] == one.turns
    assert [sorted(talk.call_ids) for talk in (one, two)] == [["a"], ["a", "b"]]
    with pytest.raises(Misuse, match="used before: 'a'"):
        two.grown(assistant(call("a")), results("a"))
    with pytest.raises(Misuse, match="turn 3 must answer the calls"):
        one.grown(results("a"))
    with pytest.raises(Misuse, match="turn 4 calls tools"):
        one.grown(user(), assistant(call("z")))


def test_growing_keeps_the_report_of_repairs() -> None:
    mended = Conversation.repaired((assistant(call("a")),))
    assert [repair.kind for repair in mended.grown(user()).repairs] == ["interrupted"]


def test_a_conversation_is_its_turns() -> None:
    turns = (assistant(call("a")),)
    mended = Conversation.repaired(turns)
    assert mended == Conversation(mended.turns)
    assert mended != Conversation((user(),))
    assert "call_ids" not in repr(mended)


def test_every_result_in_order() -> None:
    talk = Conversation((assistant(call("a"), call("b")), results("a", "b"), user(), assistant(call("c")), results("c")))
    assert [one.call_id for one in talk.results()] == ["a", "b", "c"]


def test_texts_of_turns() -> None:
    assert UserTurn((Text("a"), image(), Text("b"))).text == "a\nb"
    assert assistant("a", call("1"), "b").text == "ab"
    assert assistant("a", call("1"), call("2")).calls == (call("1"), call("2"))
    assert Hint("wrap_up", "a\ud800").text == "a\ufffd"


def test_a_memo_is_no_part_of_a_conversation_and_is_handed_to_what_grows_from_it() -> None:
    one, other = Conversation((user(),)), Conversation((user(),))
    one.memo["key"] = b"bytes"
    assert one == other
    assert "memo" not in repr(one)
    assert other.memo == {}
    grown = one.grown(assistant("a"))
    assert grown.memo == {"key": b"bytes"}
    grown.memo["key"] = b"more"
    assert one.memo == {"key": b"bytes"}


def test_stored_and_loaded() -> None:
    talk = Conversation((user("é"), assistant("x", THOUGHT, call("a")), results("a", hints=(HINT,)), assistant("end")))
    again = Conversation.loads(talk.dumps())
    assert (again, again.repairs) == (talk, ())


def test_loading_mends_what_breaks_the_laws() -> None:
    from geode.domain.codec import dumps
    from geode.domain.turns import Transcript

    torn = dumps(Transcript((user("do it"), assistant(call("a"), call("b")), results("b"), user("go on"))))
    talk = Conversation.loads(torn)
    assert [one.kind for one in talk.results()] == ["interrupted", "ok"]
    assert [type(turn) for turn in talk.turns] == [UserTurn, AssistantTurn, ToolResultsTurn, UserTurn]
    assert talk.repairs == (Repair("interrupted", 1, "a"),)
    assert Conversation.loads(talk.dumps()).repairs == ()


@pytest.mark.parametrize("text", ["", "nonsense", "{}", '{"geode": 1, "kind": "Hint", "value": {}}'])
def test_loading_what_is_no_conversation(text: str) -> None:
    with pytest.raises(CodecError):
        Conversation.loads(text)


def test_a_repair_reads_as_a_sentence() -> None:
    assert str(Repair("orphan_dropped", 3, "a")) == "turn 3: orphan dropped (a)"
    assert str(Repair("empty_dropped", 0)) == "turn 0: empty dropped"


def test_a_result_is_ok_only_when_it_says_so() -> None:
    assert ok("a") == ToolResult("a", "ok", (Text("done"),))


def test_a_hint_is_its_text_and_knows_its_kind() -> None:
    """So that an adapter which sends it like any other text sends the right thing."""
    hint = Hint("wrap_up", "conclude")
    assert json.dumps({"say": hint}) == '{"say": "conclude"}'
    assert (hint.text, hint.kind, hint) == ("conclude", "wrap_up", "conclude")
    assert hint == Hint("wrap_up", "conclude")
    assert hint != Hint("wrap_up", "now")
    assert {hint, Hint("wrap_up", "conclude")} == {hint}


def test_a_hint_stays_one_wherever_it_is_kept() -> None:
    hint = Hint("wrap_up", "conclude")
    kept = Conversation.loads(Conversation((UserTurn((Text("hi"),), (hint,)),)).dumps()).turns[0]
    assert isinstance(kept, UserTurn)
    for copied in (kept.hints[0], copy.deepcopy(hint), pickle.loads(pickle.dumps(hint)), replace(hint)):
        assert isinstance(copied, Hint)
        assert (copied.kind, copied.text) == ("wrap_up", "conclude")
