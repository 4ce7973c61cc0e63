"""Putting the events of a Messages stream together to the message they stand for (wire facts D1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from geode.adapters.http_json.reading import mapping, objects, string
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

# What a delta of this type adds to: the type of the block, and its field.
_GROWING: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}


class MessageStream:
    """See `geode.adapters.http_json.wire.Accumulator`. Unknown events and deltas are passed over."""

    def __init__(self) -> None:
        self.complete = False
        self._message: dict[str, Any] = {}
        # By place in the reply, which is the index of the block unless that was taken when it began.
        self._blocks: dict[int, dict[str, Any]] = {}
        self._places: dict[int, int] = {}
        self._grown: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        match event.get("type"):
            case "message_start":
                self._message = dict(mapping(event.get("message")))
            case "content_block_start":
                yield from self._start(event.get("index"), dict(mapping(event.get("content_block"))))
            case "content_block_delta":
                yield from self._grow(event.get("index"), mapping(event.get("delta")))
            case "message_delta":
                self._message = _newer(self._message, mapping(event.get("delta")))
                self._message["usage"] = _newer(mapping(self._message.get("usage")), mapping(event.get("usage")))
            case "message_stop":
                self.complete = True
            case "error":
                self._message, self.complete = {"error": event.get("error") or {"message": ""}}, True
            case _:
                pass

    @property
    def over(self) -> bool:
        return self.complete

    def body(self) -> Mapping[str, Any]:
        """The message with its blocks in order; a call whose arguments came in pieces has them as text."""
        if "error" in self._message:
            return self._message
        for (place, field), pieces in self._grown.items():
            block, text = self._blocks[place], "".join(pieces)
            if field != "partial_json":
                block[field] = string(block.get(field)) + text
            elif text:
                block["input"] = text
        return {**self._message, "content": [self._blocks[place] for place in sorted(self._blocks)]}

    def _start(self, index: object, block: dict[str, Any]) -> Iterator[Delta]:
        place = self._open(index, block)
        if block.get("type") == "tool_use":
            yield CallPart(place, string(block.get("name")), "")
        elif block.get("type") == "text" and (text := string(block.get("text"))):
            yield TextPart(place, text)

    def _grow(self, index: object, delta: Mapping[str, Any]) -> Iterator[Delta]:
        kind = string(delta.get("type"))
        if kind == "citations_delta":
            block = self._blocks[self._place(index, "text")]
            block["citations"] = [*objects(block.get("citations")), delta.get("citation")]
        if kind not in _GROWING:
            return
        of, field = _GROWING[kind]
        place = self._place(index, of)
        block, piece = self._blocks[place], string(delta.get(field))
        self._grown.setdefault((place, field), []).append(piece)
        if not piece:
            return
        match field:
            case "partial_json":
                yield CallPart(place, string(block.get("name")), piece)
            case "text":
                yield TextPart(place, piece)
            case "thinking":
                yield ThinkingPart(place, piece)
            case _:
                pass

    def _open(self, index: object, block: dict[str, Any]) -> int:
        """Begin a block: at its index, or after all others if a proxy leaves the index out or gives it twice."""
        free = isinstance(index, int) and index not in self._blocks
        place = cast("int", index) if free else max(self._blocks, default=-1) + 1
        self._blocks[place] = block
        if isinstance(index, int):
            self._places[index] = place
        return place

    def _place(self, index: object, kind: str) -> int:
        """Where the block stands that a delta adds to: the latest of its index; one of `kind` if there is none."""
        place = self._places.get(index) if isinstance(index, int) else max(self._blocks, default=None)
        return place if place is not None else self._open(index, {"type": kind})


def _newer(before: Mapping[str, Any], snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """What comes are snapshots: the last value of a field holds, a field left out keeps its value."""
    return {**before, **{field: value for field, value in snapshot.items() if value is not None}}
