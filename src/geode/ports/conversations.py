"""Where conversations are kept between runs: a host goes on with a chat, on another day or in another process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from geode.domain.conversation import Conversation
from geode.domain.errors import GeodeError, Misuse
from geode.domain.turns import Repair

_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, slots=True)
class Kept:
    """A conversation of a store; `version` is what `save` wants to see again."""

    id: str
    version: int
    conversation: Conversation

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was mended when it was loaded, if a crash or another program left it broken."""
        return self.conversation.repairs


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a list: `turns` counts turns, `saved_at` is in epoch seconds."""

    id: str
    version: int
    turns: int
    saved_at: float


class StaleConversation(GeodeError):
    """Somebody else saved the conversation since it was loaded; nothing was written."""

    def __init__(self, id: str, given: int, stored: int) -> None:
        way_out = "load it again and go on from there, or save under another id"
        super().__init__(f"conversation {id} has version {stored}, not {given}: somebody else saved it; {way_out}")
        self.id, self.given, self.stored = id, given, stored


class UnknownConversation(GeodeError):
    """The store has no conversation of this id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"there is no conversation {id!r:.80}")
        self.id = id


@runtime_checkable
class ConversationStore(Protocol):
    """Keeps conversations by id.

    `save` writes one over the `version` that was loaded, 0 for a new one, and gives the new version; where
    the store has another, StaleConversation, and nothing is written. `load` gives it checked and repaired
    by the laws, with what was repaired; UnknownConversation where there is none, CodecError where what is
    stored is none. `branch` saves the first `turns` turns of `id` (all, by default) as the new
    conversation `new_id`; Misuse for a place inside a round. `list` is the most recently saved first.
    An id is 1 to 128 letters, digits, `_`, `-` and `.`, which does not come first; else Misuse. The
    store may be used by many tasks, and by other processes where it outlives this one.
    """

    async def save(self, id: str, conversation: Conversation, version: int = 0) -> int: ...

    async def load(self, id: str) -> Kept: ...

    async def branch(self, id: str, new_id: str, turns: int | None = None) -> Kept: ...

    async def list(self) -> Sequence[Listed]: ...


def checked_id(id: object) -> str:
    """`id`, which is one that every store can keep; else Misuse."""
    if not isinstance(id, str) or not _ID.fullmatch(id):
        form = "1 to 128 letters, digits, _, - and ., not beginning with ."
        raise Misuse("conversation-id", f"{id!r:.80} cannot be the id of a conversation: {form}")
    return id


def _is_place(turns: object, length: int) -> bool:
    return isinstance(turns, int) and not isinstance(turns, bool) and 0 <= turns <= length


def branched(conversation: Conversation, turns: int | None) -> Conversation:
    """The first `turns` turns as a conversation; Misuse where that would cut a round in two, or there are not as many."""
    if turns is None:
        return conversation
    length = len(conversation.turns)
    if not _is_place(turns, length):
        raise Misuse("branch-place", f"turns must be a whole number from 0 to {length}, got {turns!r:.40}")
    try:
        return Conversation(conversation.turns[:turns])
    except Misuse:
        text = f"turn {turns - 1} calls tools and its results come after it; branch at {turns - 1} or {turns + 1}"
        raise Misuse("branch-place", text) from None
