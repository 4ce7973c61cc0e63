"""Marks that have the server keep what stands before them (wire facts A2): at most four in a request.

They are set when what was encoded is joined, and change no other byte of it: a turn is marked now and not the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from geode.adapters.http_json.segments import listed

_MARK: Final = b',"cache_control":{"type":"ephemeral"}'
# Of the four, the tools and the system text have one each.
_TURNS: Final = 2
_USER: Final = b'{"role":"user"'
_END: Final = b"}]}"


def marked_system(text: str) -> bytes:
    """The system text as a list of one block, with a mark."""
    return b"[%b]" % marked_object(listed([{"type": "text", "text": text}]))


def marked_object(encoded: bytes) -> bytes:
    """A JSON object that is not empty, with a mark as its last field."""
    return encoded[:-1] + _MARK + b"}"


def marked_messages(messages: Sequence[bytes]) -> list[bytes]:
    """The messages, the last block of the last two of the user with a mark.

    The earlier of them was the last one in the request before: what was kept for it is found by its mark.
    """
    marked = list(messages)
    users = [place for place, message in enumerate(messages) if message.startswith(_USER)]
    for place in users[-_TURNS:]:
        marked[place] = marked[place][: -len(_END)] + _MARK + _END
    return marked
