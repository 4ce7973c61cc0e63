"""Putting the events of a Responses stream together to the response they stand for (wire facts D2).

Deltas are optional and items are addressed by `output_index`; the final value of an item is in its
`done` event. A terminal event whose `output` is empty does not undo what came before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.reading import mapping, string
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

_TERMINAL: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_THINKING: Final = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
# The field of a message's part that a delta of this type adds to.
_TEXT: Final = {"response.output_text.delta": "text", "response.refusal.delta": "refusal"}


class ResponseStream:
    """See `geode.adapters.http_json.model.Accumulator`. Unknown events are passed over."""

    def __init__(self) -> None:
        self.complete = False
        self._response: Mapping[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._arguments: dict[int, list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        kind, index = string(event.get("type")), self._index(event)
        if kind == "response.output_item.added":
            self._items[index] = dict(mapping(event.get("item")))
            if self._items[index].get("type") == "function_call":
                yield CallPart(index, string(self._items[index].get("name")), "")
        elif kind == "response.output_item.done":
            self._items[index] = dict(mapping(event.get("item")))
        elif kind == "response.function_call_arguments.delta":
            yield from self._argument(index, string(event.get("delta")))
        elif kind == "response.function_call_arguments.done" and isinstance(event.get("arguments"), str):
            self._arguments[index] = [event["arguments"]]
        elif kind in _TEXT:
            piece = string(event.get("delta"))
            self._items.setdefault(index, {"type": "message"})
            self._texts.setdefault((index, _TEXT[kind]), []).append(piece)
            if piece:
                yield TextPart(index, piece)
        elif kind in _THINKING:
            if piece := string(event.get("delta")):
                yield ThinkingPart(index, piece)
        elif kind in _TERMINAL:
            self._response, self.complete = mapping(event.get("response")), True
        elif kind == "error":
            # Nested or flat: both forms occur.
            self._response, self.complete = {"error": event.get("error") or _flat(event)}, True

    @property
    def over(self) -> bool:
        return self.complete

    def body(self) -> Mapping[str, Any]:
        """The final response; items that only the stream carried are put in their places."""
        if self._response.get("error") or self._response.get("output"):
            return self._response
        return {**self._response, "output": [self._whole(index) for index in sorted(self._items)]}

    def _argument(self, index: int, piece: str) -> Iterator[Delta]:
        item = self._items.setdefault(index, {"type": "function_call"})
        self._arguments.setdefault(index, []).append(piece)
        if piece:
            yield CallPart(index, string(item.get("name")), piece)

    def _whole(self, index: int) -> Mapping[str, Any]:
        item = self._items[index]
        if item.get("type") == "function_call" and not item.get("arguments"):
            return {**item, "arguments": "".join(self._arguments.get(index, []))}
        if item.get("type") == "message" and not item.get("content"):
            return {**item, "content": [_part(field, pieces) for (at, field), pieces in self._texts.items() if at == index]}
        return item

    def _index(self, event: Mapping[str, Any]) -> int:
        """The item that an event is about: by its place, else by its id; else a new one, or the last one."""
        index = event.get("output_index")
        if isinstance(index, int):
            return index
        new = isinstance(event.get("item"), Mapping)
        id = mapping(event["item"]).get("id") if new else event.get("item_id")
        known = (place for place, item in self._items.items() if id and item.get("id") == id)
        last = max(self._items, default=-1)
        return next(known, last + 1 if new else max(last, 0))


def _flat(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"code": event.get("code"), "message": event.get("message")}


def _part(field: str, pieces: list[str]) -> dict[str, Any]:
    return {"type": "refusal" if field == "refusal" else "output_text", field: "".join(pieces)}
