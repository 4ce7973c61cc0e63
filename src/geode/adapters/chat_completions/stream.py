"""Putting the chunks of a Chat stream together to the completion they stand for (wire facts D3).

Servers disagree about calls: indexes are missing or all zero, ids are missing or repeated, names come
twice, arguments come as an object. So a fragment belongs to the call at its index, unless it brings
an id or a name that the call does not have: then it begins a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from geode.adapters.http_json.reading import argument_text, mapping, objects, reported_error, string
from geode.adapters.http_json.wire import END_MARK
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

# The field that grows from fragment to fragment, by the type of a reasoning detail; others come whole.
_GROWING: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}


@dataclass(slots=True, eq=False)
class _Call:
    place: int
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])


class ChatStream:
    """See `geode.adapters.http_json.wire.Accumulator`.

    The reply is complete with its finish reason. Usage may follow, and is the last thing that does. Servers were
    recorded that give no reason and only mark the end: what had come by then is the reply.
    """

    def __init__(self) -> None:
        self.complete = self.over = False
        self._top: dict[str, Any] = {}
        self._finish: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}
        # Text in pieces, or a part that is no text.
        self._content: list[list[str] | Mapping[str, Any]] = []
        # Each with the pieces of the field that grows.
        self._details: list[tuple[dict[str, Any], list[str]]] = []
        self._calls: list[_Call] = []
        # The latest call of an index, and of an index and an id; None stands for any index.
        self._latest: dict[tuple[int | None, str], _Call] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        if event == END_MARK:
            self.over, self.complete = True, self.complete or bool(self._content or self._calls or self._texts)
            return
        self._top.update({name: value for name, value in event.items() if name != "choices" and value is not None})
        if error := reported_error(event):
            self._break(error)
            return
        choices = objects(event.get("choices"))
        if self.complete and not choices and mapping(event.get("usage")):
            self.over = True
        for choice in choices:
            if choice.get("index") in (0, None):
                yield from self._grow(mapping(choice.get("delta")) or mapping(choice.get("message")))
                if choice.get("error"):
                    self._break(choice["error"])
                elif finish := string(choice.get("finish_reason")):
                    native = string(choice.get("native_finish_reason"))
                    self._finish, self.complete = {"finish_reason": finish, "native_finish_reason": native}, True

    def body(self) -> Mapping[str, Any]:
        """The completion; a call's arguments are the text of its fragments."""
        # Groq's place for it.
        usage = self._top.get("usage") or mapping(self._top.get("x_groq")).get("usage")
        if self._top.get("error"):
            return {**self._top, "usage": usage}
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._content:
            parts = [{"type": "text", "text": "".join(part)} if isinstance(part, list) else part for part in self._content]
            message["content"] = parts[0]["text"] if len(parts) == 1 and isinstance(self._content[0], list) else parts
        if self._details:
            message["reasoning_details"] = [_detail(first, pieces) for first, pieces in self._details]
        if self._calls:
            message["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": "".join(call.pieces)}} for call in self._calls
            ]
        return {**self._top, "usage": usage, "choices": [{"message": message, **self._finish}]}

    def _break(self, error: object) -> None:
        self._top["error"], self.complete, self.over = error, True, True

    def _grow(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        yield from self._say(delta.get("content"))
        for name, part in (
            ("refusal", TextPart),
            ("reasoning_content", ThinkingPart),
            ("reasoning", ThinkingPart),
        ):
            if piece := string(delta.get(name)):
                self._texts.setdefault(name, []).append(piece)
                yield part(0, piece)
        for detail in objects(delta.get("reasoning_details")):
            self._reason(detail)
        fragments = objects(delta.get("tool_calls"))
        legacy = mapping(delta.get("function_call"))
        if any(legacy.values()) and not fragments:
            fragments = [{"index": 0, "function": legacy}]
        for fragment in fragments:
            yield from self._fragment(fragment)

    def _say(self, content: object) -> Iterator[Delta]:
        """Content is text, or a list of parts; what follows a text continues it."""
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else objects(content):
            if part.get("type") != "text":
                self._content.append(part)
            elif piece := string(part.get("text")):
                if not self._content or not isinstance(self._content[-1], list):
                    self._content.append([])
                cast("list[str]", self._content[-1]).append(piece)
                yield TextPart(0, piece)

    def _reason(self, detail: Mapping[str, Any]) -> None:
        """A text of the same kind and place as the one before continues it, but not one that has another id or is signed."""
        last, pieces = self._details[-1] if self._details else ({}, list[str]())
        grows = _GROWING.get(string(detail.get("type")))
        other = any(last.get(name) != detail.get(name) for name in ("type", "index")) or _other_id(last, detail)
        signed = bool(last.get("signature")) and bool(detail.get("signature") or (grows and detail.get(grows)))
        if grows is None or other or signed:
            last, pieces = {}, []
            self._details.append((last, pieces))
        last.update({name: value for name, value in detail.items() if value is not None or name not in last})
        if grows:
            pieces.append(string(detail.get(grows)))

    def _fragment(self, fragment: Mapping[str, Any]) -> Iterator[Delta]:
        function = mapping(fragment.get("function")) or mapping(fragment.get("custom"))
        id, name = string(fragment.get("id")), string(function.get("name"))
        index = _index(fragment.get("index"))
        call = self._open(index, id, name)
        call.id, call.name = call.id or id, call.name or name
        for known in {"", call.id}:
            self._latest[(call.index, known)] = self._latest[(None, known)] = call
        piece = argument_text(function.get("arguments", function.get("input")))
        call.pieces.append(piece)
        yield CallPart(call.place + 1, call.name, piece)

    def _open(self, index: int | None, id: str, name: str) -> _Call:
        """The call that a fragment belongs to; a new one where it brings what no open call has."""
        same_id = self._latest.get((index, id)) if id else None
        last = same_id or (self._latest.get((index, "")) if index is not None or not (id or name) else None)
        if last is not None:
            other_id = id and last.id and id != last.id
            other_name = name and last.name and name != last.name
            if not (other_id or other_name):
                return last
        self._calls.append(_Call(len(self._calls), index))
        return self._calls[-1]


def _other_id(last: Mapping[str, Any], detail: Mapping[str, Any]) -> bool:
    return bool(last.get("id")) and bool(detail.get("id")) and last["id"] != detail["id"]


def _index(value: object) -> int | None:
    """Servers were seen that write it as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9:
        return int(value)
    return value if isinstance(value, int) else None


def _detail(first: Mapping[str, Any], pieces: list[str]) -> Mapping[str, Any]:
    grows = _GROWING.get(string(first.get("type")), "")
    return {**first, grows: "".join(pieces)} if grows in first else first
