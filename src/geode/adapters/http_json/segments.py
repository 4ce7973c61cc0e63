"""Encoding each turn once: what was encoded stays with the conversation, and with whatever grows from it.

A segment depends on the turn, on its place, on the turn before it, and on who gets it. A conversation
only grows, so what was encoded of its beginning holds for it; after a change of provider, or of the
conversation itself, everything is encoded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from geode.domain.call_ids import sent_id
from geode.domain.content import Owner, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_bytes
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Turn

Segment = TypeVar("Segment")
# What is done to an encoded object when it is joined with others.
Mark: TypeAlias = Callable[[bytes], bytes]


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


def segments(
    conversation: Conversation, owner: Owner, wire: str, encode: Callable[[Turn, Place], Segment]
) -> tuple[Segment, ...]:
    """Each turn encoded for `owner` on `wire` (a name for everything else the encoding depends on)."""
    key = f"{wire} {owner.adapter} {owner.model}"
    kept: tuple[Segment, ...] = conversation.memo.get(key, ())
    turns = conversation.turns
    new = [encode(turns[index], _place(turns, index, owner)) for index in range(len(kept), len(turns))]
    encoded = conversation.memo[key] = (*kept, *new)
    return encoded


def _place(turns: Sequence[Turn], index: int, owner: Owner) -> Place:
    """Results stand right after the turn that called for them; that is a law of the conversation."""
    for at in (index, index - 1):
        caller = turns[at] if at >= 0 else None
        if isinstance(caller, AssistantTurn):
            own = caller.made_by is not None and caller.made_by.adapter == owner.adapter
            return Place(owner, at, own, caller.calls)
    return Place(owner, index, False, ())


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
    """JSON values, joined by commas, without the brackets of a list; bytes among them are encoded already."""
    values = list(items)
    if bytes in map(type, values):
        return b",".join(value if isinstance(value, bytes) else dump_bytes(value) for value in values)
    return dump_bytes(values)[1:-1]


def tool_list(
    tools: Sequence[ToolSpec],
    wire: str,
    definition: Callable[[ToolSpec], Any],
    deferred: Collection[str] = (),
    before: Iterable[bytes] = (),
    *,
    mark: Mark | None = None,
) -> bytes:
    """The tools as a JSON list, after those that are encoded already, and those `deferred` marked as such.

    Each definition is encoded once and kept with its tool. `mark` is given the last one that is not deferred.
    """
    encoded = list(before)
    for tool in tools:
        marked = tool.name in deferred
        key = f"{wire} deferred" if marked else wire
        if key not in tool.memo:
            tool.memo[key] = dump_bytes({**definition(tool), "defer_loading": True} if marked else definition(tool))
        encoded.append(tool.memo[key])
    last = next((place for place in range(1, len(tools) + 1) if tools[-place].name not in deferred), None)
    if mark is not None and last is not None:
        encoded[-last] = mark(encoded[-last])
    return b"[%b]" % b",".join(encoded)
