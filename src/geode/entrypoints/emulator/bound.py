"""What stands before each message, as one short text: new models bind their thinking to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.entrypoints.emulator.rule import ident, listed, mapped

# Marks for the cache may move from request to request; they are no content.
NO_CONTENT: Final = "cache_control"


def prefixes(request: Mapping[str, Any]) -> Iterator[str]:
    """A digest of system text, tools and all earlier messages, for each message and once more for the end."""
    digest = hashlib.sha256()
    for part in (_blocks(request.get("system")), request.get("tools")):
        digest.update(_written(part))
    for message in listed(request.get("messages")):
        yield digest.hexdigest()
        digest.update(_written([mapped(message).get("role"), _blocks(mapped(message).get("content"))]))
    yield digest.hexdigest()


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _written(value: Any) -> bytes:
    words: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            words.append(f"[{len(found)}")
            waiting.extend(reversed(found))
        elif isinstance(found, dict):
            kept = [(key, found[key]) for key in sorted(found, key=ident) if key != NO_CONTENT]
            words.append(f"{{{len(kept)}")
            for key, inner in reversed(kept):
                waiting.extend((inner, key))
        else:
            words.append(f"{type(found).__name__}:{ident(found)}")
    return "\0".join(words).encode("utf-8", "surrogatepass")
