"""Putting the events of a Responses stream together to the response they stand for (wire facts D2).

Deltas are optional and items are addressed by `output_index`; the final value of an item is in its
`done` event. A terminal event whose `output` is empty does not undo what came before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.reading import argument_text, mapping, number, objects, reported_error, string
from geode.adapters.openai_responses.items import CALL, MESSAGE, StreamedItem, StreamedItems, merged
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

_TERMINAL: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_THINKING: Final = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ARGUMENTS: Final = "response.function_call_arguments.delta"
# The field of a message's part that a delta of this type adds to.
_TEXT: Final = {"response.output_text.delta": "text", "response.refusal.delta": "refusal"}
_PARTS: Final = {"output_text": "text", "refusal": "refusal"}
# Where the final value of such a field stands, which may come without any delta.
_FINAL_TEXT: Final = {"response.output_text.done": "text", "response.refusal.done": "refusal"}


class ResponseStream:
    """See `geode.adapters.http_json.wire.Accumulator`. Unknown events are passed over."""

    def __init__(self) -> None:
        self.complete = False
        self._response: Mapping[str, Any] = {}
        self._items = StreamedItems()

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        match string(event.get("type")):
            case "response.output_item.added":
                place, item = self._items.keep(_index(event), mapping(event.get("item")), done=False)
                if item.fields.get("type") == CALL:
                    yield CallPart(place, string(item.fields.get("name")), "")
            case "response.output_item.done":
                self._items.keep(_index(event), mapping(event.get("item")), done=True)
            case "response.function_call_arguments.done" if isinstance(event.get("arguments"), str | dict | list):
                self._grown(event, CALL)[1].arguments = [argument_text(event["arguments"])]
            case kind if kind in _FINAL_TEXT:
                yield from self._final(event, _FINAL_TEXT[kind], event.get(_FINAL_TEXT[kind]))
            case "response.content_part.done":
                part = mapping(event.get("part"))
                if name := _PARTS.get(string(part.get("type"))):
                    yield from self._final(event, name, part.get(name))
            case kind if kind in _TERMINAL:
                self._response, self.complete = mapping(event.get("response")), True
            case _ if error := reported_error(event):
                self._response, self.complete = {**self._response, "error": error}, True
            case kind:
                yield from self._grow(kind, event)

    @property
    def over(self) -> bool:
        return self.complete

    def body(self) -> Mapping[str, Any]:
        """The final response; what only the stream carried of its items is put in its place."""
        if self._response.get("error"):
            return self._response
        streamed = [item.whole() for item in self._items.in_order()]
        return {**self._response, "output": merged(streamed, objects(self._response.get("output")))}

    def _grow(self, kind: str, event: Mapping[str, Any]) -> Iterator[Delta]:
        piece = argument_text(event.get("delta")) if kind == _ARGUMENTS else string(event.get("delta"))
        if kind in _THINKING and piece:
            yield ThinkingPart(number(event.get("output_index")), piece)
        elif kind == _ARGUMENTS:
            place, item = self._grown(event, CALL)
            item.arguments.append(piece)
            if piece:
                yield CallPart(place, string(item.fields.get("name")), piece)
        elif kind in _TEXT:
            place, item = self._grown(event, MESSAGE)
            item.texts.setdefault((number(event.get("content_index")), _TEXT[kind]), []).append(piece)
            if piece:
                yield TextPart(place, piece)

    def _final(self, event: Mapping[str, Any], field: str, value: object) -> Iterator[Delta]:
        """The whole text of a part; it is shown if nothing of it was."""
        if not (text := string(value)):
            return
        place, item = self._grown(event, MESSAGE)
        shown = item.texts.get((number(event.get("content_index")), field))
        item.texts[(number(event.get("content_index")), field)] = [text]
        if not shown:
            yield TextPart(place, text)

    def _grown(self, event: Mapping[str, Any], kind: str) -> tuple[int, StreamedItem]:
        return self._items.grown(_index(event), kind, event.get("item_id"))


def _index(event: Mapping[str, Any]) -> int | None:
    index = event.get("output_index")
    return index if isinstance(index, int) else None
