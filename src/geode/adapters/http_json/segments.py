"""Encoding each turn once: what was encoded stays with the turn and is joined into the next body.

A segment depends on the turn, on the place of its calls, on who made it and on who gets it, and on
nothing else; so it can be kept. What depends on neighbours is done by the wire when it joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from geode.domain.call_ids import sent_id
from geode.domain.content import Owner, ToolUseBlock
from geode.domain.json_value import dump_bytes
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Turn

Segment = TypeVar("Segment")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands: who gets it, and the calls of its round, by which a result finds its id.

    `turn` is the place of the assistant turn that made the calls, `own` whether this provider made it.
    """

    owner: Owner
    turn: int
    own: bool
    calls: tuple[ToolUseBlock, ...]

    def ids(self) -> tuple[str, ...]:
        """The ids under which the calls of the round, and their results, go out."""
        return tuple(sent_id(call, self.turn, place, own=self.own) for place, call in enumerate(self.calls))


def segments(turns: Sequence[Turn], owner: Owner, wire: str, encode: Callable[[Turn, Place], Segment]) -> list[Segment]:
    """Each turn encoded for `owner` on `wire` (a name for everything else the encoding depends on).

    What a turn keeps is used again only beside the same calls at the same place.
    """
    key = f"{wire} {owner.adapter} {owner.model}"
    encoded: list[Segment] = []
    caller: AssistantTurn | None = None
    calls: tuple[ToolUseBlock, ...] = ()
    at = 0
    for index, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn):
            caller, calls, at = turn, turn.calls, index
        kept = turn.memo.get(key)
        if kept is None or kept[0] is not calls or kept[1] != at:
            own = caller is not None and caller.made_by is not None and caller.made_by.adapter == owner.adapter
            kept = turn.memo[key] = (calls, at, encode(turn, Place(owner, at, own, calls)))
        encoded.append(kept[2])
    return encoded


def joined(head: Iterable[tuple[str, bytes]], key: str, items: Iterable[bytes]) -> bytes:
    """A JSON object of the encoded `head` fields, then `key` with the items that are not empty as its list.

    Joined in one go: a body is long, and each copy of it would cost more than all the rest.
    """
    fields = b",".join([b'"%b":%b' % (name.encode(), value) for name, value in head])
    opening, closing = b'{%b,"%b":[' % (fields, key.encode()), b"]}"
    parts = [item for item in items if item]
    if not parts:
        return opening + closing
    parts[0] = opening + parts[0]
    parts[-1] += closing
    return b",".join(parts)


def listed(items: Iterable[Any]) -> bytes:
    """JSON values, joined by commas, without the brackets of a list."""
    return b",".join(dump_bytes(item) for item in items)


def tool_list(tools: Sequence[ToolSpec], wire: str, definition: Callable[[ToolSpec], Any]) -> bytes:
    """The tools as a JSON list; each definition is encoded once and kept with its tool."""
    encoded: list[bytes] = []
    for tool in tools:
        if wire not in tool.memo:
            tool.memo[wire] = dump_bytes(definition(tool))
        encoded.append(tool.memo[wire])
    return b"[%b]" % b",".join(encoded)
