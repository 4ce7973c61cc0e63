"""The name under which a provider finds what it kept of a conversation: the same for all requests that begin alike."""

from __future__ import annotations

import hashlib
from typing import Final

from geode.domain.codec import dumps
from geode.domain.conversation import Conversation
from geode.domain.turns import Transcript

_MEMO: Final = "cache key"


def cache_key(conversation: Conversation, system: str) -> str:
    """A digest of the system text and the first turn: it says nothing of them, and holds as long as they do.

    "geode-" and 32 characters of 0-9 and a-f.
    """
    first = conversation.memo.get(_MEMO)
    if first is None:
        first = conversation.memo[_MEMO] = _digest(dumps(Transcript(conversation.turns[:1])))
    return f"geode-{_digest(f'{first} {system}')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
