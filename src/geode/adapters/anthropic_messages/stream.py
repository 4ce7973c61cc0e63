"""Putting the events of a Messages stream together to the message they stand for (wire facts D1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from geode.adapters.http_json.reading import argument_text, mapping, objects, reported_error, string
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
        self._usage: dict[str, Any] = {}
        # By place in the reply, which is the index of the block unless that was taken when it began.
        self._blocks: dict[int, dict[str, Any]] = {}
        self._places: dict[int, int] = {}
        # After all places that are taken.
        self._end = 0
        self._grown: dict[tuple[int, str], list[str]] = {}
        self._citations: dict[int, list[object]] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        match event.get("type"):
            case "message_start":
                self._message = dict(mapping(event.get("message")))
                _renew(self._usage, mapping(self._message.get("usage")))
            case "content_block_start":
                yield from self._start(event.get("index"), dict(mapping(event.get("content_block"))))
            case "content_block_delta":
                yield from self._grow(event.get("index"), mapping(event.get("delta")))
            case "message_delta":
                _renew(self._message, mapping(event.get("delta")))
                _renew(self._usage, mapping(event.get("usage")))
            case "message_stop":
                self.complete = True
            case _ if error := reported_error(event):
                self._message, self.complete = {**self._message, "error": error}, True
            case _:
                pass

    @property
    def over(self) -> bool:
        return self.complete

    def body(self) -> Mapping[str, Any]:
        """The message with its blocks in order; a call whose arguments came in pieces has them as text.

        A call of the server's own goes back as it is, and there they have to be an object.
        """
        if self._message.get("error"):
            return {**self._message, "usage": self._usage}
        blocks = {place: dict(self._blocks[place]) for place in sorted(self._blocks)}
        for (place, field), pieces in self._grown.items():
            block, text = blocks[place], "".join(pieces)
            if field != "partial_json":
                block[field] = string(block.get(field)) + text
            elif text:
                block["input"] = text if block.get("type") == "tool_use" else _as_sent(text)
        for place, citations in self._citations.items():
            blocks[place]["citations"] = [*objects(blocks[place].get("citations")), *citations]
        return {**self._message, "usage": self._usage, "content": list(blocks.values())}

    def _start(self, index: object, block: dict[str, Any]) -> Iterator[Delta]:
        place = self._open(index, block)
        if block.get("type") == "tool_use":
            yield CallPart(place, string(block.get("name")), "")
        elif block.get("type") == "text" and (text := string(block.get("text"))):
            yield TextPart(place, text)

    def _grow(self, index: object, delta: Mapping[str, Any]) -> Iterator[Delta]:
        kind = string(delta.get("type"))
        if kind == "citations_delta":
            self._citations.setdefault(self._place(index, "text"), []).append(delta.get("citation"))
        if kind not in _GROWING:
            return
        of, field = _GROWING[kind]
        place = self._place(index, of)
        block, piece = self._blocks[place], argument_text(delta.get(field)) if of == "tool_use" else string(delta.get(field))
        self._grown.setdefault((place, field), []).append(piece)
        if not piece:
            return
        match field:
            case "partial_json":
                if block.get("type") == "tool_use":
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
        place = cast("int", index) if free else self._end
        self._blocks[place] = block
        self._end = max(self._end, place + 1)
        if isinstance(index, int):
            self._places[index] = place
        return place

    def _place(self, index: object, kind: str) -> int:
        """Where the block stands that a delta adds to: the latest of its index; one of `kind` if there is none."""
        place = self._places.get(index) if isinstance(index, int) else self._end - 1
        return place if place in self._blocks else self._open(index, {"type": kind})


def _as_sent(text: str) -> Any:
    """The arguments of a server's call; empty where the server did not finish them."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _renew(kept: dict[str, Any], snapshot: Mapping[str, Any]) -> None:
    """What comes are snapshots: the last value of a field holds, a field left out keeps its value."""
    kept.update({field: value for field, value in snapshot.items() if value is not None})
