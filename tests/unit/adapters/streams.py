"""Feeding an accumulator, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from returns.result import Result

from geode.adapters.http_json.answer import decoded
from geode.adapters.http_json.wire import Accumulator, Body, Wire
from geode.domain.content import Opaque, Owner, Text, ToolUseBlock
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart

Event: TypeAlias = Mapping[str, Any]
ME = Owner("lab", "model-1")


@dataclass
class Fed:
    stream: Accumulator
    deltas: list[Delta]
    answer: Result[AdapterCallResult, CallFailure]

    @property
    def reply(self) -> AdapterCallResult:
        assert self.stream.complete
        return self.answer.unwrap()

    @property
    def failure(self) -> CallFailure:
        assert self.stream.complete
        return self.answer.swap().unwrap()

    @property
    def calls(self) -> list[tuple[str, str, Any]]:
        return [(call.id, call.name, call.input if call.unparsed is None else call.unparsed) for call in self.reply.calls]

    @property
    def shown(self) -> tuple[str, str, dict[int, str]]:
        """Text, thinking, and arguments by place, as the deltas told them."""
        arguments: dict[int, str] = {}
        for delta in self.deltas:
            if isinstance(delta, CallPart):
                arguments[delta.index] = arguments.get(delta.index, "") + delta.arguments
        text = "".join(delta.text for delta in self.deltas if isinstance(delta, TextPart))
        return text, "".join(delta.text for delta in self.deltas if isinstance(delta, ThinkingPart)), arguments


def feed(wire: Wire, events: Iterable[Event]) -> Fed:
    """All events, as the adapter over HTTP feeds them: until nothing more of use can come."""
    stream = wire.accumulator()
    deltas: list[Delta] = []
    for event in events:
        deltas += stream.feed(event)
        if stream.over:
            break
    return Fed(stream, deltas, decode(wire, stream.body()))


def decode(wire: Wire, body: Event) -> Result[AdapterCallResult, CallFailure]:
    """A body, as the adapter over HTTP reads it."""
    return decoded(wire, Body(body, "req"), ME)


def kinds(reply: AdapterCallResult) -> list[str]:
    """What the items are, in order."""
    return [_kind(item) for item in reply.items]


def _kind(item: Text | ToolUseBlock | Opaque) -> str:
    match item:
        case Text():
            return "text"
        case ToolUseBlock():
            return "call"
        case Opaque(kind=kind):
            return kind
