"""What a model's name tells about the rules it lives under."""

from __future__ import annotations

import re
from typing import Any, Final

CLAUDE_NEW: Final = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
GPT: Final = re.compile(r"gpt-(?P<major>\d+)(?:\.(?P<minor>\d+))?(?!\d)")
MISTRAL: Final = re.compile(r"(open-)?(mistral|magistral|ministral|codestral|pixtral|devstral)")


def claude(model: Any) -> tuple[str, tuple[int, int]]:
    """Family and version of a Claude model; an unknown or older name is version (0, 0)."""
    found = CLAUDE_NEW.search(model) if isinstance(model, str) else None
    if found is None:
        return "", (0, 0)
    return found["family"], (int(found["major"]), int(found["minor"] or 0))


def gpt(model: Any) -> tuple[int, int]:
    """Version of a GPT model, (0, 0) when it is none."""
    found = GPT.match(model) if isinstance(model, str) else None
    return (0, 0) if found is None else (int(found["major"]), int(found["minor"] or 0))


def reasons(model: Any) -> bool:
    """Is it one of OpenAI's reasoning models?"""
    if not isinstance(model, str) or "chat" in model:
        return False
    return re.match(r"o\d", model) is not None or gpt(model) >= (5, 0)
