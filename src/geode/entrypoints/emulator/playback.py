"""Which step of the script answers a request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from geode.domain.script import Reply, Script, Step
from geode.entrypoints.emulator.conversation import rounds
from geode.entrypoints.emulator.render import Protocol

OnMissing: TypeAlias = Literal["error", "restart"]
ByConversation: TypeAlias = bool | Callable[[Protocol, Mapping[str, Any]], int]

_SPOKEN: Final = ("model", "system", "instructions", "messages", "input", "previous_response_id")


class Playback:
    """A position in a script: one for the server, or one read out of each request.

    By conversation, the number of replies in a request's history, and in what the server keeps of it,
    says which reply is due, so any number of clients can play the same script, again and again.
    Steps that are no reply (failures, hangs, cut connections) stand before the reply that follows
    them: the first attempts of the same request meet them, the next attempt gets the reply. Two
    clients that send the very same request at the same time share those attempts.
    """

    def __init__(self, script: Script, on_missing: OnMissing = "error", by_conversation: ByConversation = False) -> None:
        self._script = script
        self._restart = on_missing == "restart"
        self._by_conversation = by_conversation
        self._segments = _segments(script)
        self._attempts: dict[str, int] = {}
        self.position = 0

    def next(self, protocol: Protocol, request: Mapping[str, Any], kept: int = 0) -> Step | None:
        """The step that answers `request`, or None when the script has no more.

        `kept` replies of the conversation are with the server and not in the request.
        """
        if self._by_conversation is False or not self._script:
            return self._next_of_server()
        if self._by_conversation is True:
            return self._next_of_conversation(kept + rounds(protocol, request), request)
        return self._next_of_conversation(self._by_conversation(protocol, request), request)

    def _next_of_server(self) -> Step | None:
        if self.position >= len(self._script) and self._restart:
            self.position = 0
        if self.position >= len(self._script):
            return None
        self.position += 1
        return self._script[self.position - 1]

    def _next_of_conversation(self, index: int, request: Mapping[str, Any]) -> Step | None:
        if index >= len(self._segments) and not self._restart:
            return None
        index %= len(self._segments)
        key = _fingerprint(index, request)
        attempt = self._attempts.get(key, 0)
        segment = self._segments[index]
        if attempt >= len(segment):
            if not self._restart:
                return None
            # Only a segment without a reply is left over: nothing ever moves the conversation past it.
            self._attempts.pop(key)
            return self._next_of_conversation(0, request)
        self._attempts[key] = attempt + 1
        self.position += 1
        if isinstance(segment[attempt], Reply):
            self._attempts.pop(key)
        return segment[attempt]


def _segments(script: Script) -> tuple[tuple[Step, ...], ...]:
    """Cut the script after each reply."""
    segments: list[tuple[Step, ...]] = []
    current: list[Step] = []
    for step in script:
        current.append(step)
        if isinstance(step, Reply):
            segments.append(tuple(current))
            current = []
    return (*segments, tuple(current)) if current else tuple(segments)


def _fingerprint(index: int, request: Mapping[str, Any]) -> str:
    spoken = {key: request.get(key) for key in _SPOKEN}
    text = json.dumps(spoken, sort_keys=True, default=str)
    return f"{index}:{hashlib.sha256(text.encode()).hexdigest()}"
