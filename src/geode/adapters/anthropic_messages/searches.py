"""The server's own search of tools: how it is offered, and its traces in a conversation.

A result of it names tools, and a request in which one of them is not there any more is refused (wire facts A1): then,
and where nothing is searched any more, all of its traces stay behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from geode.adapters.http_json.reading import mapping, objects, string
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_bytes
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import AssistantTurn, Turn, says_nothing
from geode.domain.wire_names import sent_name

TOOL_SEARCH: Final = dump_bytes({"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"})
_CALL, _RESULT, _NAMES = "server_tool_use", "tool_search_tool_result", "tool_search_tool_"


def found_in(turn: AssistantTurn, owner: Owner) -> frozenset[str] | None:
    """The names on the wire of the tools that searches in this turn found; None where there was no search of `owner`."""
    searches = [block for item in turn.items if (block := _search(item, owner)) is not None]
    if not searches:
        return None
    contents = (mapping(block.get("content")) for block in searches)
    return frozenset(string(one.get("tool_name")) for content in contents for one in objects(content.get("tool_references")))


def may_go_back(found: Iterable[frozenset[str] | None], request: AdapterCallRequest) -> bool:
    """Whether the server takes its searches back: it still searches, and what was found in each turn is still there."""
    searches = [names for names in found if names is not None]
    if not searches:
        return True
    there = {sent_name(tool.name) for tool in request.tools}
    return bool(request.deferred) and all(names <= there for names in searches)


def without_searches(conversation: Conversation, owner: Owner) -> Conversation:
    """`conversation` without them; the turns that were nothing else are gone."""
    kept = (_without(turn, owner) for turn in conversation.turns)
    turns = tuple(turn for turn in kept if not isinstance(turn, AssistantTurn) or not says_nothing(turn))
    return Conversation(turns, conversation.repairs)


def _without(turn: Turn, owner: Owner) -> Turn:
    if not isinstance(turn, AssistantTurn):
        return turn
    return replace(turn, items=tuple(item for item in turn.items if _search(item, owner) is None))


def _search(item: object, owner: Owner) -> Mapping[str, Any] | None:
    """The block, if it is a search or what one found."""
    if not isinstance(item, Opaque) or item.owner != owner or item.kind not in (_CALL, _RESULT):
        return None
    block = mapping(json.loads(item.json_text))
    return block if item.kind == _RESULT or string(block.get("name")).startswith(_NAMES) else None
