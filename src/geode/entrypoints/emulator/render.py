"""What every renderer needs: the exchange it answers, and small pieces of text for a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from geode.domain.script import Called, Reply

Protocol: TypeAlias = Literal["messages", "responses", "chat"]
Dialect: TypeAlias = Literal["anthropic", "openai", "openrouter", "glm", "generic", "codex"]
Json: TypeAlias = dict[str, Any]

DEFAULT_DIALECT: Mapping[Protocol, Dialect] = {"messages": "anthropic", "responses": "openai", "chat": "openai"}
# The dialects that each wire is spoken in.
DIALECTS: Mapping[Protocol, tuple[Dialect, ...]] = {
    "messages": ("anthropic", "glm", "generic"),
    "responses": ("openai", "codex", "openrouter", "generic"),
    "chat": ("openai", "openrouter", "glm", "generic"),
}


class ScriptError(ValueError):
    """The script asks a wire for something that this wire has no words for."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One accepted request and the numbers that make the ids of its answer.

    `round` is how many replies the conversation holds, so ids repeat when it is replayed; `serial`
    counts the answers of this server, so ids of responses never repeat. `tells_usage`: usage is in a stream unasked.
    """

    protocol: Protocol
    request: Mapping[str, Any]
    dialect: Dialect
    round: int = 0
    serial: int = 0
    created: int = 0
    streamed: bool = field(default=False)
    tells_usage: bool = False

    @property
    def model(self) -> str:
        return str(self.request.get("model", "emulated"))

    def call_id(self, prefix: str, called: Called, index: int) -> str:
        """The script's own id as it is, else one that tells its round and its place."""
        return called.id if called.id is not None else f"{prefix}r{self.round}c{index}"


def argument_text(called: Called) -> str | None:
    """The arguments as the model would write them; text goes out verbatim, None means there are none."""
    if called.arguments is None or isinstance(called.arguments, str):
        return called.arguments
    return json.dumps(dict(called.arguments), ensure_ascii=False)


def pieces(text: str, size: int = 12) -> Iterator[str]:
    """Cut `text` into several small parts, for real deltas never come as one."""
    step = max(1, min(size, (len(text) + 2) // 3))
    for start in range(0, len(text), step):
        yield text[start : start + step]


def numbered_calls(reply: Reply) -> dict[int, int]:
    """Place of an item in the reply -> its number among the calls."""
    places = [place for place, item in enumerate(reply.items) if isinstance(item, Called)]
    return {place: number for number, place in enumerate(places)}
