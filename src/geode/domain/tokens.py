"""How many tokens a text is, where nobody counts better: 4 ASCII characters are one, any other character is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

# Tokens in a text: 0 for "", and never fewer for a longer text, give or take a few.
CountTokens: TypeAlias = Callable[[str], int]

_ASCII_A_TOKEN: Final = 4
# Copies of a piece are made while counting, never of the whole.
_PIECE: Final = 1 << 20
# A text of more characters a token than this is counted in pieces, and no further than needed.
_CHARACTERS_A_TOKEN: Final = 8
_COUNTED_AT_ONCE: Final = 1 << 16


def estimate_tokens(text: str) -> int:
    """The estimate of spec section 5, in a time that grows with the text and in little memory."""
    beyond = 0 if text.isascii() else _beyond_ascii(text)
    return beyond + -(-(len(text) - beyond) // _ASCII_A_TOKEN)


def _beyond_ascii(text: str) -> int:
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(piece) - len(piece.encode("ascii", "ignore")) for piece in pieces)


def exceeds(text: str, limit: int, count: CountTokens = estimate_tokens) -> bool:
    """Whether `text` is more than `limit` tokens. However long it is, not much more is counted than needed to tell."""
    if len(text) <= max(limit, 0) * _CHARACTERS_A_TOKEN:
        return count(text) > limit
    found = 0
    for start in range(0, len(text), _COUNTED_AT_ONCE):
        found += count(text[start : start + _COUNTED_AT_ONCE])
        if found > limit:
            return True
    return False


def longest_head(text: str, limit: int, count: CountTokens = estimate_tokens) -> str:
    """The longest beginning of `text` within `limit` tokens, or a few characters less."""
    return _longest(text[: max(limit, 0) * _CHARACTERS_A_TOKEN], limit, count, _head)


def longest_tail(text: str, limit: int, count: CountTokens = estimate_tokens) -> str:
    """The longest end of `text` within `limit` tokens, or a few characters less."""
    return _longest(_tail(text, max(limit, 0) * _CHARACTERS_A_TOKEN), limit, count, _tail)


def _head(text: str, length: int) -> str:
    return text[:length]


def _tail(text: str, length: int) -> str:
    return text[max(len(text) - length, 0) :]


def _longest(text: str, limit: int, count: CountTokens, part: Callable[[str, int], str]) -> str:
    if limit <= 0:
        return ""
    if count(text) <= limit:
        return text
    fits, too_long = 0, len(text)
    # To the character where counting is cheap; within two in a hundred of a long text, where it may not be.
    while too_long - fits > 1 + fits // 64:
        middle = (fits + too_long) // 2
        if count(part(text, middle)) <= limit:
            fits = middle
        else:
            too_long = middle
    return part(text, fits)
