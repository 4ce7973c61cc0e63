"""Putting the events of a Messages stream together to the message they stand for (wire facts D1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.reading import mapping
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

# The field of a block that a delta of this type adds to.
_GROWING: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


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
                yield from self._start(_index(event), dict(mapping(event.get("content_block"))))
            case "content_block_delta":
                yield from self._grow(_index(event), mapping(event.get("delta")))
            case "message_delta":
                self._message.update(mapping(event.get("delta")))
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
            block = self._blocks.setdefault(index, {})
            block[field] = "".join(pieces) if field == "input" else (block.get(field) or "") + "".join(pieces)
        return {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Delta]:
        self._blocks[index] = block
        if block.get("type") == "tool_use":
            yield CallPart(index, str(block.get("name") or ""), "")
        elif block.get("type") == "text" and block.get("text"):
            yield TextPart(index, str(block["text"]))

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        kind = delta.get("type")
        if kind == "input_json_delta":
            piece = str(delta.get("partial_json") or "")
            self._grown.setdefault((index, "input"), []).append(piece)
            if piece:
                yield CallPart(index, str(self._blocks.get(index, {}).get("name") or ""), piece)
        elif kind == "citations_delta":
            self._blocks.setdefault(index, {}).setdefault("citations", []).append(delta.get("citation"))
        elif kind in _GROWING:
            field = _GROWING[kind]
            piece = str(delta.get(field) or "")
            self._grown.setdefault((index, field), []).append(piece)
            if piece and field != "signature":
                yield TextPart(index, piece) if field == "text" else ThinkingPart(index, piece)


def _newer(usage: Mapping[str, Any], snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Usage comes as snapshots: the last value of a field holds, a field left out keeps its value."""
    return {**usage, **{field: value for field, value in snapshot.items() if value is not None}}


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
