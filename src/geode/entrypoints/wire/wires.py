"""The wires by the names that files of traffic and people give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from geode.adapters.anthropic_messages import history as messages
from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions import history as chat
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.history import ReadRequest
from geode.adapters.http_json.wire import Wire
from geode.adapters.openai_responses import history as responses
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Owner
from geode.domain.request import Capabilities
from geode.domain.targets import BUILT_IN, DialectName
from geode.entrypoints.emulator.render import DEFAULT_DIALECT, Dialect, Protocol

Reader: TypeAlias = Callable[[Mapping[str, Any], Owner], ReadRequest]

READERS: Final[Mapping[Protocol, Reader]] = {
    "messages": messages.read_request,
    "responses": responses.read_request,
    "chat": chat.read_request,
}

_SETTINGS: Final = {name: f"/{name}" for name in ("temperature", "thinking", "tool_choice", "tools")}
# Where the history and the settings stand in a body.
PLACES: Final[Mapping[Protocol, Mapping[str, str]]] = {
    "messages": {**_SETTINGS, "history": "/messages", "effort": "/output_config/effort"},
    "responses": {**_SETTINGS, "history": "/input", "effort": "/reasoning/effort"},
    "chat": {**_SETTINGS, "history": "/messages", "effort": "/reasoning_effort"},
}


def wire_of(protocol: Protocol, dialect: Dialect) -> Wire:
    """The wire that speaks `protocol` in `dialect`."""
    match protocol:
        case "messages":
            return MessagesWire()
        case "responses":
            return ResponsesWire(codex=dialect == "codex")
        case "chat":
            return ChatWire(DIALECTS[_chat(dialect)])


def capabilities_of(protocol: Protocol, dialect: Dialect) -> Capabilities:
    """What the adapter for this wire and dialect can carry."""
    from geode.entrypoints.routes import capabilities  # only to transcode are the rows of models read

    match protocol:
        case "messages":
            return capabilities.capabilities_of("messages")
        case "responses":
            return capabilities.capabilities_of("responses", "codex" if dialect == "codex" else "openai")
        case "chat":
            return capabilities.capabilities_of("chat", _chat(dialect))


def _chat(dialect: Dialect) -> DialectName:
    return dialect if dialect in ("openai", "openrouter", "glm", "generic") else "generic"


def provider_name(protocol: Protocol, dialect: Dialect) -> str:
    """Who owns opaque items of this wire and dialect: geode's own adapter that speaks it, or a name that nobody has."""
    for target in BUILT_IN.values():
        transport = target.transport
        if transport is None:
            continue
        spoken = DEFAULT_DIALECT[transport.wire] if transport.wire == "messages" else transport.dialect
        if (transport.wire, spoken) == (protocol, dialect):
            return target.name
    return f"{protocol}:{dialect}"
