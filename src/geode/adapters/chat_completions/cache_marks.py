"""Marks by which Anthropic's models behind a relay keep what they have read: spec section 10, wire facts A1.

A mark says that everything up to it will come again. The system text has one, and the last message has one, from which
the next request of the same conversation goes on.
"""

from __future__ import annotations

import json
from typing import Any, Final

from geode.domain.json_value import dump_bytes

MARK: Final = {"type": "ephemeral"}
_MAKER: Final = "anthropic/"


def takes_marks(model: str) -> bool:
    """Whether its maker reads them: others were recorded to be given them, and cache without."""
    return model.startswith(_MAKER)


def marked_text(text: str) -> list[dict[str, Any]]:
    """A text as content with a mark."""
    return [{"type": "text", "text": text, "cache_control": MARK}]


def with_mark(messages: bytes) -> bytes:
    """Encoded messages, joined by commas, the last of them with a mark on its last text; without any they stay as they are."""
    if not messages:
        return messages
    found: list[dict[str, Any]] = json.loads(b"[%b]" % messages)
    last = found[-1]
    content = last.get("content")
    if last["role"] not in ("user", "tool"):
        return messages
    if isinstance(content, str) and content.strip():
        last["content"] = marked_text(content)
    elif not _marked(content):
        return messages
    return dump_bytes(found)[1:-1]


def _marked(content: Any) -> bool:
    texts = (
        [part for part in content if part.get("type") == "text" and part["text"].strip()] if isinstance(content, list) else []
    )
    if texts:
        texts[-1]["cache_control"] = MARK
    return bool(texts)
