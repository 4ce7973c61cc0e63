"""Counting tokens with a function of the application."""

from __future__ import annotations

from geode.application.foreign import text_of, warn
from geode.domain.tokens import CountTokens, estimate_tokens


class Believed:
    """What the function counts, as long as it counts: once it breaks, the estimate stands for it."""

    def __init__(self, count: CountTokens) -> None:
        self._count = count

    def __call__(self, text: str) -> int:
        try:
            found: object = self._count(text)
        except Exception as error:
            return self._estimated(text, "it raised", error)
        if isinstance(found, int) and found >= 0:
            return found
        return self._estimated(text, f"it gave {text_of(found, repr):.40}")

    def _estimated(self, text: str, why: str, error: Exception | None = None) -> int:
        self._count = estimate_tokens
        warn(f"count_tokens failed, {why}: tokens are estimated from here on", error)
        return estimate_tokens(text)
