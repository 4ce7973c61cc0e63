"""What only tests of the adapters that ship need: the pure part of an adapter, and requests without a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.wire import Wire as WireFunctions
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.conversation import Conversation
from geode.domain.request import AdapterCallRequest, Limits
from geode.entrypoints.compliance.histories import TOOLS, user
from geode.entrypoints.compliance.shipped import ShippedHarness

# How each kind of choice is written on each wire: spec section 2.
FORMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "messages": {
        "auto": {"type": "auto"},
        "none": {"type": "none"},
        "required": {"type": "any"},
        "named": {"type": "tool", "name": "read"},
    },
    "responses": {"auto": "auto", "none": "none", "required": "required", "named": {"type": "function", "name": "read"}},
    "chat": {
        "auto": "auto",
        "none": "none",
        "required": "required",
        "named": {"type": "function", "function": {"name": "read"}},
    },
}


def functions(harness: ShippedHarness) -> WireFunctions:
    """The adapter's pure part."""
    match harness.wire:
        case "messages":
            return MessagesWire()
        case "responses":
            return ResponsesWire(codex=harness.dialect == "codex")
        case "chat":
            return ChatWire(DIALECTS[harness.dialect].with_quirks(harness.quirks))


def encode(harness: ShippedHarness, conversation: Conversation, *, streamed: bool = False) -> bytes:
    """The body for `conversation`, without a server."""
    return functions(harness).encode(request(harness, conversation, streamed=streamed), harness.owner)


def request(
    harness: ShippedHarness, conversation: Conversation | None = None, *, streamed: bool = False, **changes: Any
) -> AdapterCallRequest:
    given: dict[str, Any] = {"tools": TOOLS, "limits": Limits(64, 5.0, 5.0), **changes}
    return AdapterCallRequest(harness.model, conversation or Conversation((user("hi"),)), streamed=streamed, **given)
