"""How many replies of the model a request's history already holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from geode.entrypoints.emulator.render import Protocol

MODEL_ITEMS: Final = frozenset({"reasoning", "function_call", "custom_tool_call"})


def rounds(protocol: Protocol, request: Mapping[str, Any]) -> int:
    """Replies in the history: assistant messages, or on Responses unbroken runs of the model's items."""
    if protocol != "responses":
        messages = request.get("messages")
        found = messages if isinstance(messages, list) else []
        return sum(1 for message in found if isinstance(message, dict) and message.get("role") == "assistant")
    items = request.get("input")
    count, inside = 0, False
    for item in items if isinstance(items, list) else []:
        model = isinstance(item, dict) and (item.get("type") in MODEL_ITEMS or item.get("role") == "assistant")
        count += model and not inside
        inside = model
    return count
