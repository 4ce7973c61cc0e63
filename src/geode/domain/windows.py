"""How many tokens families of models can read, by the longest prefix of the model's id; nothing is known of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MILLION: Final = 1_000_000
_WINDOWS: Final[Mapping[str, int]] = {
    "claude-": 200_000,
    **dict.fromkeys(("claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6"), _MILLION),
    **dict.fromkeys(("claude-opus-5", "claude-sonnet-5", "claude-haiku-5", "claude-fable-", "claude-mythos-"), _MILLION),
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    **dict.fromkeys(("o1", "o3", "o4"), 200_000),
    "gpt-5": 400_000,
    **dict.fromkeys(("gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6"), 1_050_000),
    **dict.fromkeys(("gpt-5.4-mini", "gpt-5.4-nano"), 400_000),
    **dict.fromkeys(("gpt-5-chat", "gpt-5.1-chat", "gpt-5.2-chat"), 128_000),
    "glm-": 200_000,
    "glm-5-turbo": 202_752,
    **dict.fromkeys(("glm-5.2", "glm-5.3"), _MILLION),
}


def window_of(model: str) -> int | None:
    """The window of `model` in tokens, whoever relays it (`publisher/model`), or None."""
    name = model.rpartition("/")[2]
    return max(((len(prefix), size) for prefix, size in _WINDOWS.items() if name.startswith(prefix)), default=(0, None))[1]
