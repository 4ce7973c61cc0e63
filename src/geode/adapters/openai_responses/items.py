"""The items of a Responses stream: which events are about the same one, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from geode.adapters.http_json.reading import string

CALL: Final = "function_call"
MESSAGE: Final = "message"
# What tells items of a type apart; a call may come under another item id, never under another `call_id`.
_IDENTITY: Final = {CALL: "call_id"}
# Without this an item of the type says nothing.
_SAYS: Final = {CALL: "arguments", MESSAGE: "content"}

Fields: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class StreamedItem:
    """An item as its events tell it: the fields of the latest, and the pieces of its deltas.

    `index` is its `output_index`, which servers may leave out or give to several items. Texts are told apart
    by the place of their part and by its field.
    """

    index: int | None
    fields: Fields = field(default_factory=dict[str, Any])
    done: bool = False
    arguments: list[str] = field(default_factory=list[str])
    texts: dict[tuple[int, str], list[str]] = field(default_factory=dict[tuple[int, str], list[str]])

    def is_same(self, fields: Fields) -> bool:
        """Whether `fields` are a later state of this item."""
        if _contradict(self.fields, fields):
            return False
        return any(fields.get(name) and self.fields.get(name) == fields[name] for name in ("id", "call_id") if name in fields)

    def may_become(self, fields: Fields) -> bool:
        """Whether `fields` can be what this item was to be, though the ids do not say so."""
        return not self.done and not _contradict(self.fields, fields)

    def whole(self) -> Fields:
        """The item, with what only the deltas said."""
        says = _SAYS.get(str(self.fields.get("type")))
        if says is None or self.fields.get(says):
            return self.fields
        if says == "arguments":
            return {**self.fields, says: "".join(self.arguments)}
        parts = sorted(self.texts.items(), key=lambda one: one[0][0])
        return {**self.fields, says: [_part(name, pieces) for (_, name), pieces in parts]}


class StreamedItems:
    """All items of a stream, found by what their events name them by: index, type and ids. The latest of a name wins."""

    def __init__(self) -> None:
        self._items: dict[int, StreamedItem] = {}
        # After all places that are taken.
        self._end = 0
        # Places by name; the index None stands for any.
        self._named: dict[tuple[int | None, *tuple[str, ...]], int] = {}

    def in_order(self) -> list[StreamedItem]:
        return [self._items[place] for place in sorted(self._items)]

    def keep(self, index: int | None, fields: Fields, *, done: bool) -> tuple[int, StreamedItem]:
        """Keep the item that an event brings: in the place of the same item, or in one of its own."""
        place = self._same(index, fields)
        if place is None and done and index is not None:
            # Some proxies give an item another id in each event.
            last = self._named.get((index,))
            place = last if last is not None and self._items[last].may_become(fields) else None
        if place is None:
            place = self._begin(index, fields)
        item = self._items[place]
        item.fields, item.done = fields, done
        self._name(place, item)
        return place, item

    def grown(self, index: int | None, kind: str, id: object) -> tuple[int, StreamedItem]:
        """The item that a delta is about: by its id among those of its index, else the latest there; else a new one."""
        place = self._named.get((index, kind, "id", string(id)))
        if place is None or self._items[place].fields.get("id") != id:
            place = self._named.get((index, kind))
        if place is None:
            place = self._begin(index, {"type": kind, "id": id})
            self._name(place, self._items[place])
        return place, self._items[place]

    def _same(self, index: int | None, fields: Fields) -> int | None:
        for name in ("call_id", "id"):
            if value := string(fields.get(name)):
                place = self._named.get((index, string(fields.get("type")), name, value))
                if place is not None and self._items[place].is_same(fields):
                    return place
        return None

    def _begin(self, index: int | None, fields: Fields) -> int:
        """A new item: at its index, or after all others if that is taken or not known."""
        place = index if index is not None and index not in self._items else self._end
        self._items[place] = StreamedItem(index, fields)
        self._end = max(self._end, place + 1)
        for known in {index, None}:
            self._named[(known,)] = self._named[(known, string(fields.get("type")))] = place
        return place

    def _name(self, place: int, item: StreamedItem) -> None:
        kind = string(item.fields.get("type"))
        for name in ("call_id", "id"):
            if value := string(item.fields.get(name)):
                for known in {item.index, None}:
                    self._named[(known, kind, name, value)] = place


def merged(streamed: Sequence[Fields], final: Sequence[Fields]) -> list[Fields]:
    """The items of the final response, and those that it lost on the way, in their order: what was shown is never lost."""
    twins = _twins(streamed, final)
    if len(twins) == len(streamed):
        lost: dict[int, Fields] = {twin: streamed[place] for place, twin in twins.items()}
        return [_fuller(item, lost.get(at)) for at, item in enumerate(final)]
    told = [_fuller(final[twins[place]], item) if place in twins else item for place, item in enumerate(streamed)]
    found = set(twins.values())
    return [*told, *(item for at, item in enumerate(final) if at not in found)]


def _twins(streamed: Sequence[Fields], final: Sequence[Fields]) -> dict[int, int]:
    """For the places of streamed items those of the same items in the final response: by identity, else by type and order."""
    twins: dict[int, int] = {}
    steps: tuple[Callable[[Fields], str | None], ...] = (_identity, _type)
    for key in steps:
        taken = set(twins.values())
        left: dict[str, list[int]] = {}
        for at in reversed(range(len(final))):
            if at not in taken and (known := key(final[at])) is not None:
                left.setdefault(known, []).append(at)
        for place, item in enumerate(streamed):
            known = None if place in twins else key(item)
            if known is not None and left.get(known):
                twins[place] = left[known].pop()
    return twins


def _type(item: Fields) -> str:
    return string(item.get("type"))


def _identity(item: Fields) -> str | None:
    value = string(item.get(_IDENTITY.get(_type(item), "id")))
    return f"{_type(item)} {value}" if value else None


def _contradict(one: Fields, other: Fields) -> bool:
    """Whether two states cannot be of one item."""
    calls = (one.get("call_id"), other.get("call_id"))
    return one.get("type") != other.get("type") or (all(calls) and calls[0] != calls[1])


def _fuller(final: Fields, streamed: Fields | None) -> Fields:
    """The final item, with what it should say from the stream if it says nothing."""
    says = _SAYS.get(str(final.get("type")))
    if streamed is None or says is None or final.get(says) or not streamed.get(says):
        return final
    return {**final, says: streamed[says]}


def _part(field: str, pieces: Sequence[str]) -> dict[str, Any]:
    return {"type": "refusal" if field == "refusal" else "output_text", field: "".join(pieces)}
