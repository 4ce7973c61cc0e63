"""Putting the events of a Messages stream together to the message they stand for (wire facts D1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.reading import mapping, string
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

# What a delta of this type adds to: the type of the block, and its field.
_GROWING: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}


class MessageStream:
    """See `geode.adapters.http_json.model.Accumulator`. Unknown events and deltas are passed over."""

    def __init__(self) -> None:
        self.complete = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._grown: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        match event.get("type"):
            case "message_start":
                self._message = dict(mapping(event.get("message")))
            case "content_block_start":
                yield from self._start(self._index(event, len(self._blocks)), dict(mapping(event.get("content_block"))))
            case "content_block_delta":
                yield from self._grow(self._index(event, max(self._blocks, default=0)), mapping(event.get("delta")))
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
        for (index, field), pieces in self._grown.items():
            block, text = self._blocks[index], "".join(pieces)
            if field != "partial_json":
                block[field] = string(block.get(field)) + text
            elif text:
                block["input"] = text
        return {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Delta]:
        self._blocks[index] = block
        if block.get("type") == "tool_use":
            yield CallPart(index, str(block.get("name") or ""), "")
        elif block.get("type") == "text" and block.get("text"):
            yield TextPart(index, str(block["text"]))

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        kind = string(delta.get("type"))
        if kind == "citations_delta":
            self._blocks.setdefault(index, {"type": "text"}).setdefault("citations", []).append(delta.get("citation"))
        if kind not in _GROWING:
            return
        of, field = _GROWING[kind]
        block, piece = self._blocks.setdefault(index, {"type": of}), string(delta.get(field))
        self._grown.setdefault((index, field), []).append(piece)
        if not piece:
            return
        match field:
            case "partial_json":
                yield CallPart(index, string(block.get("name")), piece)
            case "text":
                yield TextPart(index, piece)
            case "thinking":
                yield ThinkingPart(index, piece)
            case _:
                pass

    def _index(self, event: Mapping[str, Any], otherwise: int) -> int:
        """The place of the block that an event is about, which some proxies leave out."""
        index = event.get("index")
        return index if isinstance(index, int) else otherwise


def _newer(before: Mapping[str, Any], snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """What comes are snapshots: the last value of a field holds, a field left out keeps its value."""
    return {**before, **{field: value for field, value in snapshot.items() if value is not None}}
