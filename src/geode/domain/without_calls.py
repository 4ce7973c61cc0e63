"""A conversation for a model that is given no tools: its calls and their results told in words (spec section 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from geode.domain.arguments import sent_text
from geode.domain.content import Part, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.reply import ReplyItem
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, flagged_parts


def without_calls(conversation: Conversation) -> Conversation:
    """The same, where a call is a line of the model's text and a result is told by the user; itself if it has none.

    Media of results go along, hints stay where they are.
    """
    if not any(isinstance(turn, ToolResultsTurn) for turn in conversation.turns):
        return conversation
    names = {call.id: call.name for turn in conversation.turns if isinstance(turn, AssistantTurn) for call in turn.calls}
    return Conversation(tuple(_told(turn, names) for turn in conversation.turns), conversation.repairs)


def _told(turn: Turn, names: Mapping[str, str]) -> Turn:
    match turn:
        case AssistantTurn() if turn.calls:
            return AssistantTurn(tuple(_called(turn)), turn.made_by)
        case ToolResultsTurn():
            return UserTurn(tuple(part for one in turn.results for part in _result(one, names)), turn.hints)
        case UserTurn() | AssistantTurn():
            return turn


def _called(turn: AssistantTurn) -> Iterator[ReplyItem]:
    """Each call on a line of its own: the texts of a turn are one text."""
    before = False
    for item in turn.items:
        if not isinstance(item, ToolUseBlock):
            before = before or (isinstance(item, Text) and item.text.strip() != "")
            yield item
            continue
        line = "\n" if before else ""
        before = True
        yield Text(f"{line}[called {item.name} with {sent_text(item)}]")


def _result(result: ToolResult, names: Mapping[str, str]) -> Iterator[Part]:
    first, *rest = flagged_parts(result) or (Text(result.flagged_text),)
    begin = f"[result of {names[result.call_id]}] "
    if isinstance(first, Text):
        yield Text(f"{begin}{first.text}")
    else:
        yield from (Text(begin.strip()), first)
    yield from rest
