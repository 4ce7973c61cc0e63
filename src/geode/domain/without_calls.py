"""A conversation for a model that is given no tools: its calls and their results told in words (spec section 6)."""

from __future__ import annotations

from collections.abc import Iterator

from geode.domain.content import Part, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.reply import ReplyItem
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, flagged_parts


def without_calls(conversation: Conversation) -> Conversation:
    """The same, where a call is a line of the model's text and a result is told by the user; itself if it has none.

    Media of results go along, hints stay where they are.
    """
    turns, changed, names = list[Turn](), False, dict[str, str]()
    for turn in conversation.turns:
        match turn:
            case AssistantTurn() if turn.calls:
                names = {call.id: call.name for call in turn.calls}
                turns.append(AssistantTurn(tuple(_told(turn)), turn.made_by))
                changed = True
            case ToolResultsTurn():
                turns.append(UserTurn(tuple(part for one in turn.results for part in _result(one, names)), turn.hints))
            case _:
                turns.append(turn)
    return Conversation(tuple(turns), conversation.repairs) if changed else conversation


def _told(turn: AssistantTurn) -> Iterator[ReplyItem]:
    """Each call on a line of its own: the texts of a turn are one text."""
    before = False
    for item in turn.items:
        if not isinstance(item, ToolUseBlock):
            before = before or (isinstance(item, Text) and item.text.strip() != "")
            yield item
            continue
        arguments = dump_json(dict(item.input)) if item.unparsed is None else item.unparsed
        line = "\n" if before else ""
        before = True
        yield Text(f"{line}[called {item.name} with {arguments}]")


def _result(result: ToolResult, names: dict[str, str]) -> Iterator[Part]:
    first, *rest = flagged_parts(result) or (Text(result.flagged_text),)
    begin = f"[result of {names.get(result.call_id, '')}] "
    if isinstance(first, Text):
        yield Text(f"{begin}{first.text}")
    else:
        yield from (Text(begin.strip()), first)
    yield from rest
