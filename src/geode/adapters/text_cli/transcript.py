"""A conversation as the one text that a program reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, visible

HEADING: Final = (
    "Below is a conversation between a user and you, the assistant: one JSON object on each line, oldest first. "
    "Write the assistant's next message, as plain text and not as JSON."
)


def transcript(conversation: Conversation, *, bare: bool = True) -> str:
    """One turn of a user as its bare text, if `bare`; else a heading, an empty line, and a line for each turn.

    A line is `{"user": TEXT}` or `{"assistant": TEXT}`. Whatever a text says, it stays inside its line: a line end in
    it is written `\\n`, so nobody can put words into another's mouth. Texts of one turn stand on lines of their own.
    Calls and results are words already (`geode.domain.without_calls`), media were refused or put into words before.
    """
    said = list(_said(conversation))
    if bare and len(said) == 1 and said[0][0] == "user":
        return said[0][1]
    return "\n".join((HEADING, "", *(dump_json({who: text}) for who, text in said)))


def _said(conversation: Conversation) -> Iterator[tuple[str, str]]:
    for turn in conversation.turns:
        who = "assistant" if isinstance(turn, AssistantTurn) else "user"
        if text := _text(turn):
            yield who, text


def _text(turn: Turn) -> str:
    match turn:
        case UserTurn():
            return _joined(visible(turn.items, turn.hints))
        case AssistantTurn():
            return turn.text if turn.text.strip() else ""
        case ToolResultsTurn():
            raise AssertionError("a text-only adapter is told of results in words")


def _joined(parts: tuple[object, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
