"""Counting tokens by tiktoken: the extra `tiktoken`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from geode.domain.errors import Misuse

if TYPE_CHECKING:
    from tiktoken import Encoding

# Encoding a long run of one letter takes more time than its length; in pieces it does not.
_PIECE: Final = 8_192


class TiktokenCounter:
    """The tokens of a text in an encoding of tiktoken; what looks like a special token is plain text.

    `encoding` is an Encoding, or the name of one, such as "o200k_base", whose table tiktoken fetches and keeps by
    itself. A long text is counted in pieces, which can count a token too many for each 8,192 characters. Misuse
    where tiktoken is not installed.
    """

    def __init__(self, encoding: Encoding | str) -> None:
        try:
            import tiktoken
        except ImportError:
            raise Misuse("missing-extra", "TiktokenCounter needs tiktoken: pip install 'geode[tiktoken]'") from None
        self._encoding = tiktoken.get_encoding(encoding) if isinstance(encoding, str) else encoding

    def __call__(self, text: str) -> int:
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return sum(len(self._encoding.encode_ordinary(piece)) for piece in pieces)
