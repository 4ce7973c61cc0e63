"""The items of a Responses stream: which events are about the same one, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

CALL: Final = "function_call"
MESSAGE: Final = "message"
# What tells items of a type apart; a call may come under another item id, never under another `call_id`.
_IDENTITY: Final = {CALL: "call_id"}
# Without this an item of the type says nothing.
_SAYS: Final = {CALL: "arguments", MESSAGE: "content"}


@dataclass(slots=True)
class StreamedItem:
    """An item as its events tell it: the fields of the latest, and the pieces of its deltas.

    `index` is its `output_index`, which servers may leave out or give to several items.
    """

    index: int | None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    done: bool = False
    arguments: list[str] = field(default_factory=list[str])
    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def is_same(self, fields: Mapping[str, Any]) -> bool:
        """Whether `fields` are a later state of this item."""
        if _contradict(self.fields, fields):
            return False
        return any(fields.get(name) and self.fields.get(name) == fields[name] for name in ("id", "call_id") if name in fields)

    def may_become(self, fields: Mapping[str, Any]) -> bool:
        """Whether `fields` can be what this item was to be, though the ids do not say so."""
        return not self.done and not _contradict(self.fields, fields)

    def whole(self) -> Mapping[str, Any]:
        """The item, with what only the deltas said."""
        says = _SAYS.get(str(self.fields.get("type")))
        if says is None or self.fields.get(says):
            return self.fields
        told = "".join(self.arguments) if says == "arguments" else [_part(name, text) for name, text in self.texts.items()]
        return {**self.fields, says: told}


def merged(streamed: Sequence[Mapping[str, Any]], final: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The items of the final response, and those that it lost on the way, in their order: what was shown is never lost."""
    twins = _twins(streamed, final)
    if len(twins) == len(streamed):
        lost: dict[int, Mapping[str, Any]] = {twin: streamed[place] for place, twin in twins.items()}
        return [_fuller(item, lost.get(at)) for at, item in enumerate(final)]
    told = [_fuller(final[twins[place]], item) if place in twins else item for place, item in enumerate(streamed)]
    return [*told, *(item for at, item in enumerate(final) if at not in twins.values())]


def _twins(streamed: Sequence[Mapping[str, Any]], final: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """For the places of streamed items those of the same items in the final response: by identity, else by type and order."""
    twins: dict[int, int] = {}
    for same in (_identical, _of_one_type):
        for place, item in enumerate(streamed):
            left = (at for at, other in enumerate(final) if at not in twins.values() and same(item, other))
            if place not in twins and (at := next(left, None)) is not None:
                twins[place] = at
    return twins


def _identical(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    name = _IDENTITY.get(str(one.get("type")), "id")
    return _of_one_type(one, other) and bool(one.get(name)) and one.get(name) == other.get(name)


def _of_one_type(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.get("type") == other.get("type")


def _contradict(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two states cannot be of one item."""
    calls = (one.get("call_id"), other.get("call_id"))
    return not _of_one_type(one, other) or (all(calls) and calls[0] != calls[1])


def _fuller(final: Mapping[str, Any], streamed: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The final item, with what it should say from the stream if it says nothing."""
    says = _SAYS.get(str(final.get("type")))
    if streamed is None or says is None or final.get(says) or not streamed.get(says):
        return final
    return {**final, says: streamed[says]}


def _part(field: str, pieces: Sequence[str]) -> dict[str, Any]:
    return {"type": "refusal" if field == "refusal" else "output_text", field: "".join(pieces)}
