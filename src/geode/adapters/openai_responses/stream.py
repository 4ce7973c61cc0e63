"""Putting the events of a Responses stream together to the response they stand for (wire facts D2).

Deltas are optional and items are addressed by `output_index`; the final value of an item is in its
`done` event. A terminal event whose `output` is empty does not undo what came before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.reading import mapping, number, objects, string
from geode.adapters.openai_responses.items import CALL, MESSAGE, StreamedItem, merged
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

_TERMINAL: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_THINKING: Final = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
# The field of a message's part that a delta of this type adds to.
_TEXT: Final = {"response.output_text.delta": "text", "response.refusal.delta": "refusal"}


class ResponseStream:
    """See `geode.adapters.http_json.wire.Accumulator`. Unknown events are passed over."""

    def __init__(self) -> None:
        self.complete = False
        self._response: Mapping[str, Any] = {}
        self._items: dict[int, StreamedItem] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        match string(event.get("type")):
            case "response.output_item.added":
                place, item = self._item(event, done=False)
                if item.fields.get("type") == CALL:
                    yield CallPart(place, string(item.fields.get("name")), "")
            case "response.output_item.done":
                self._item(event, done=True)
            case "response.function_call_arguments.done" if isinstance(event.get("arguments"), str):
                self._grown(event, CALL)[1].arguments = [event["arguments"]]
            case kind if kind in _TERMINAL:
                self._response, self.complete = mapping(event.get("response")), True
            case "error":
                # Nested or flat: both forms occur.
                self._response, self.complete = {"error": event.get("error") or _flat(event)}, True
            case kind:
                yield from self._grow(kind, event)

    @property
    def over(self) -> bool:
        return self.complete

    def body(self) -> Mapping[str, Any]:
        """The final response; what only the stream carried of its items is put in its place."""
        if self._response.get("error"):
            return self._response
        streamed = [self._items[place].whole() for place in sorted(self._items)]
        return {**self._response, "output": merged(streamed, objects(self._response.get("output")))}

    def _grow(self, kind: str, event: Mapping[str, Any]) -> Iterator[Delta]:
        piece = string(event.get("delta"))
        if kind in _THINKING and piece:
            yield ThinkingPart(number(event.get("output_index")), piece)
        elif kind == "response.function_call_arguments.delta":
            place, item = self._grown(event, CALL)
            item.arguments.append(piece)
            if piece:
                yield CallPart(place, string(item.fields.get("name")), piece)
        elif kind in _TEXT:
            place, item = self._grown(event, MESSAGE)
            item.texts.setdefault(_TEXT[kind], []).append(piece)
            if piece:
                yield TextPart(place, piece)

    def _item(self, event: Mapping[str, Any], *, done: bool) -> tuple[int, StreamedItem]:
        """Keep the item that an event brings: in the place of the same item, or in one of its own."""
        fields, index = mapping(event.get("item")), _index(event)
        places = self._places(index)
        same = [place for place in places if self._items[place].is_same(fields)]
        if not same and done and index is not None:
            # Some proxies give an item another id in each event.
            same = [place for place in places[-1:] if self._items[place].may_become(fields)]
        place = same[-1] if same else self._free(index)
        item = self._items.setdefault(place, StreamedItem(index))
        item.fields, item.done = fields, done
        return place, item

    def _grown(self, event: Mapping[str, Any], kind: str) -> tuple[int, StreamedItem]:
        """The item that a delta is about: by its id among those of its index, else the latest there; else a new one."""
        index, id = _index(event), event.get("item_id")
        places = [place for place in self._places(index) if self._items[place].fields.get("type") == kind]
        known = [place for place in places if id and self._items[place].fields.get("id") == id]
        for place in (*known[-1:], *places[-1:]):
            return place, self._items[place]
        place = self._free(index)
        self._items[place] = StreamedItem(index, {"type": kind, "id": id})
        return place, self._items[place]

    def _places(self, index: int | None) -> list[int]:
        return [place for place, item in self._items.items() if index is None or item.index == index]

    def _free(self, index: int | None) -> int:
        return index if index is not None and index not in self._items else max(self._items, default=-1) + 1


def _index(event: Mapping[str, Any]) -> int | None:
    index = event.get("output_index")
    return index if isinstance(index, int) else None


def _flat(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"code": event.get("code"), "message": event.get("message")}
