"""Where a conversation may be cut, what stays, and what stands in the place of the rest."""

from __future__ import annotations

import pytest

from geode.domain.compaction import cut_for, cut_points, halfway, media_told, shortened, summary_text, text_of, unusable
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Text, ToolResult, ToolUseBlock, result
from geode.domain.conversation import Conversation
from geode.domain.offload import named_in
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn, hints_of
from geode.domain.usage import Usage

PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n")


def user(text: str) -> UserTurn:
    return UserTurn((Text(text),))


def said(text: str) -> AssistantTurn:
    return AssistantTurn((Text(text),))


def round_of(id: str) -> tuple[Turn, Turn]:
    return AssistantTurn((ToolUseBlock(id, "read", {}),)), ToolResultsTurn((result(id, "ok", f"result {id}"),))


HINT = UserTurn((), (Hint("wrap_up", "conclude"),))
TALK = Conversation((user("a"), said("A"), user("b"), *round_of("1"), *round_of("2"), said("B"), user("c")))
WORK = Conversation((user("go"), *round_of("1"), *round_of("2"), *round_of("3")))


def test_a_cut_parts_neither_a_call_from_its_result_nor_a_prompt_from_its_answer() -> None:
    assert cut_points(TALK.turns) == (2, 5, 7, 8)
    assert cut_points(WORK.turns) == (3, 5)
    assert cut_points((user("a"), user("b"), said("A"), said("B"))) == ()
    assert cut_points((*round_of("1"), HINT, said("A"))) == (2,)
    assert cut_points((said("A"), user(" "), said("B"), user("b"))) == (3,)
    assert cut_points((said("A"), user("b"))) == (1,)
    assert cut_points(()) == ()


@pytest.mark.parametrize(
    ("turns", "keep", "cut"),
    [
        (TALK.turns, 0, 8),
        (TALK.turns, 1, 7),
        (TALK.turns, 2, 5),
        (TALK.turns, 3, 2),
        (TALK.turns, 9, None),
        (WORK.turns, 0, 5),
        (WORK.turns, 1, 5),
        (WORK.turns, 2, 3),
        (WORK.turns, 3, None),
        (WORK.turns[:3], 1, None),
        ((user("a"), said("A")), 1, None),
        ((HINT, said("A"), user("b")), 0, 2),
        ((HINT, said("A"), user("b")), 1, None),
        ((), 1, None),
    ],
)
def test_as_many_replies_are_kept_as_are_wanted_where_one_is_left_out(
    turns: tuple[Turn, ...], keep: int, cut: int | None
) -> None:
    assert cut_for(turns, keep) == cut


@pytest.mark.parametrize(
    ("turns", "keep", "cut"),
    [
        (TALK.turns, 1, 7),
        (TALK.turns, 9, 2),
        (WORK.turns, 3, 3),
        (WORK.turns[:3], 1, None),
        ((HINT, said("A"), user("b")), 1, 2),
        ((user("a"), said("A")), 1, None),
        ((), 1, None),
    ],
)
def test_fewer_are_kept_where_that_was_said_but_as_many_as_can_be(turns: tuple[Turn, ...], keep: int, cut: int | None) -> None:
    assert cut_for(turns, keep, or_fewer=True) == cut


def test_the_summary_stands_before_what_is_kept_word_for_word() -> None:
    after = shortened(TALK, 8, " all of it \n")
    told = after.turns[0]
    assert isinstance(told, UserTurn)
    assert [hint.kind for hint in told.hints] == ["summary"]
    assert told.hints[0].text.startswith("[Summary of the conversation before this point")
    assert told.hints[0].text.endswith("\n\nall of it")
    assert after.turns[1:] == (user("c"),)


def test_the_last_prompt_stays_where_the_cut_comes_after_it() -> None:
    assert shortened(WORK, 5, "s").turns[1:] == (user("go"), *WORK.turns[5:])
    hinted = Conversation((user("x"), said("X"), user("go"), *round_of("1"), HINT, *round_of("2")))
    assert shortened(hinted, 5, "s").turns[1:] == (user("go"), HINT, *round_of("2"))


@pytest.mark.parametrize(
    ("turns", "half"),
    [
        (TALK.turns, 2),
        (WORK.turns, 3),
        ((user("a"), said("A"), user("b")), 2),
        ((user("a"), said("A"), user("b"), said("B"), user("c"), said("C"), user("d")), 2),
        ((user("a"), said("A"), user("b"), said("B"), user("c"), said("C"), user("d"), said("D")), 4),
        ((user("a"), said("A"), user("b"), said("B"), user("c"), said("C"), user("d"), said("D"), user("e")), 4),
        ((user("a"), said("A")), None),
        ((), None),
    ],
)
def test_half_of_a_conversation(turns: tuple[Turn, ...], half: int | None) -> None:
    assert halfway(turns) == half


def test_the_text_of_a_conversation_has_what_is_said_called_and_answered() -> None:
    asked = AssistantTurn((Text("I look."), ToolUseBlock("1", "read", {"a": "ü"})))
    came = ToolResultsTurn((ToolResult("1", "ok", (Text("found"),)),), (Hint("wrap_up", "Conclude."),))
    told = UserTurn((Text("go"),), (Hint("summary", "Before."),))
    assert text_of((told, asked, came)) == 'go\nBefore.\nI look.\nread {"a":"ü"}\nfound\nConclude.'


def test_a_summary_names_no_stored_result_but_those_that_were_named() -> None:
    """Whoever names one may read it, so a summary must not name more than what it stands for."""
    mine, other = "r_" + "a" * 26, "r_" + "b" * 26
    before = ToolResultsTurn((ToolResult("1", "ok", (Text("kept"),), ref_id=mine),))
    asked = AssistantTurn((ToolUseBlock("1", "read", {}),))
    talk = Conversation((user("go"), asked, before, said("A"), user("b"), said("B")))
    after = shortened(talk, 4, f"The pages are {mine}, not {other}.")
    assert f"The pages are {mine}, not (an id that is not known)." in hints_of(after.turns)[0].text
    assert named_in(after.turns) == {mine}
    named = UserTurn((Document("text/plain", b"hello", f"{other}.txt"),))
    told = hints_of(shortened(Conversation((named, said("A"), user("b"), said("B"))), 2, "s").turns)[0].text
    assert told.endswith("to be seen any more: (an id that is not known).txt]"), "a tool may give a document any name"
    again = shortened(after.grown(user("c"), said("C"), user("d")), 5, f"Still {mine}.")
    assert named_in(again.turns) == {mine}
    assert named_in(shortened(talk, 4, "Nothing.").turns) == frozenset()


def test_a_second_summary_takes_the_place_of_the_first() -> None:
    once = shortened(WORK, 3, "first")
    twice = shortened(once.grown(*round_of("4"), *round_of("5")), 6, "second")
    assert [hint.text.split("\n\n")[1] for hint in hints_of(twice.turns)] == ["second"]
    assert twice.turns[1] == user("go")


def test_pictures_and_documents_that_are_gone_are_told_in_words() -> None:
    before = (UserTurn((Text("look"), PICTURE, ImageUrl("https://example.org/a.png"))), said("A"), user("b"))
    assert summary_text(before, (), "s").endswith("s\n\n[Left out with it, and not to be seen any more: 2 pictures]")
    assert summary_text(before, before[:1], "s").endswith("\n\ns")
    assert media_told([PICTURE]) == "[Left out with it, and not to be seen any more: 1 picture]"
    notes, page = Document("text/plain", b"x", "notes.txt"), DocumentUrl("https://example.org/b.pdf", "")
    assert media_told([notes, page]) == (
        "[Left out with it, and not to be seen any more: notes.txt, a document without a name]"
    )
    assert media_told([Text("x")]) == ""


@pytest.mark.parametrize(
    ("items", "stop", "why"),
    [
        ((Text("s"),), Stop.END, ""),
        ((Text(" "),), Stop.END, "the summary is empty"),
        ((), Stop.END, "the summary is empty"),
        ((Text("s"),), Stop.TOOL_CALLS, ""),
        ((Text("s"),), Stop.MAX_TOKENS, "the summary broke off: max_tokens"),
        ((Text("s"),), Stop.REFUSAL, "the summary broke off: refusal"),
        ((Text("s"), ToolUseBlock("1", "read", {})), Stop.TOOL_CALLS, "the model called tools instead of writing a summary"),
    ],
)
def test_what_is_no_summary_says_why(items: tuple[Text | ToolUseBlock, ...], stop: Stop, why: str) -> None:
    assert unusable(AdapterCallResult(items, stop, Usage())) == why


def test_the_providers_own_word_for_a_break_is_told() -> None:
    assert unusable(AdapterCallResult((Text("s"),), Stop.MAX_TOKENS, Usage(), "length")) == "the summary broke off: length"
