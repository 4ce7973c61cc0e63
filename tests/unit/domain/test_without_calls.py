"""A conversation told to a model that has no tools: spec section 6."""

from __future__ import annotations

import pytest
from hypothesis import given

from geode.domain.arguments import tool_use
from geode.domain.content import Image, Opaque, Owner, ResultKind, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn
from geode.domain.without_calls import without_calls
from tests.unit.domain.builders import assistant, user
from tests.unit.domain.strategies import values_of

ME = Owner("p", "m")
PNG = Image("image/png", b"\x89PNG\r\n\x1a\n")
READ, LIST = tool_use("a", "read", {"path": "ä"}), tool_use("b", "list", "")


def told(*turns: Turn) -> tuple[Turn, ...]:
    return without_calls(Conversation(turns)).turns


def test_calls_are_lines_of_the_models_text_and_results_are_told_by_the_user() -> None:
    asked = AssistantTurn((Text("Two files."), READ, LIST), ME)
    answers = ToolResultsTurn((ToolResult("a", "ok", (Text("one"),)), ToolResult("b", "failed", (Text("no folder"),))))
    said = AssistantTurn((Text("Two files."), Text('\n[called read with {"path":"ä"}]'), Text("\n[called list with {}]")), ME)
    results = UserTurn((Text("[result of read] one"), Text("[result of list] failed: no folder")))
    assert told(user("go"), asked, answers, assistant("So.")) == (user("go"), said, results, assistant("So."))


def test_a_call_without_text_begins_the_text() -> None:
    thought = Opaque(ME, "reasoning_content", '"hm"')
    (_, said, _) = told(user(), AssistantTurn((thought, Text(" "), READ), ME), answered("ok", Text("x")))
    assert isinstance(said, AssistantTurn)
    assert said.items == (thought, Text(" "), Text('[called read with {"path":"ä"}]'))


def answered(kind: ResultKind, *content: Text | Image) -> ToolResultsTurn:
    return ToolResultsTurn((ToolResult("a", kind, content),), (Hint("wrap_up", "conclude"),))


@pytest.mark.parametrize(
    ("kind", "content", "items"),
    [
        ("ok", (Text("one"), PNG, Text("two")), (Text("[result of read] one"), PNG, Text("two"))),
        ("ok", (PNG,), (Text("[result of read] done"), PNG)),
        ("failed", (PNG, Text("half")), (Text("[result of read]"), PNG, Text("failed: half"))),
        ("denied", (Text(""),), (Text("[result of read] denied"),)),
        ("interrupted", (), (Text("[result of read] interrupted"),)),
    ],
)
def test_a_result_with_its_kind_and_its_media(
    kind: ResultKind, content: tuple[Text | Image, ...], items: tuple[Text | Image, ...]
) -> None:
    (_, _, said) = told(user(), AssistantTurn((READ,), ME), answered(kind, *content))
    assert said == UserTurn(items, (Hint("wrap_up", "conclude"),))


def test_arguments_that_were_broken_are_told_as_they_go_out() -> None:
    """Law 5: as a JSON object."""
    (_, said, _) = told(user(), AssistantTurn((tool_use("a", "read", "{oops"),), ME), answered("failed", Text("no JSON")))
    assert isinstance(said, AssistantTurn)
    assert said.text.startswith("[called read with {")
    assert "{oops" in said.text


@given(values_of(Conversation))
def test_any_conversation_says_nothing_of_calls_any_more(conversation: Conversation) -> None:
    found = without_calls(conversation)
    assert not any(isinstance(turn, ToolResultsTurn) for turn in found.turns)
    assert not any(turn.calls for turn in found.turns if isinstance(turn, AssistantTurn))
    assert len(found.turns) == len(conversation.turns)
    assert without_calls(found) is found
