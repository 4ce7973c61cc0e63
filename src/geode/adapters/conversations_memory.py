"""The conversation store in memory: for tests, and for hosts that keep nothing beyond their own life."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from geode.domain.conversation import Conversation
from geode.ports.conversations import Kept, Listed, StaleConversation, UnknownConversation, branched, checked_id


@dataclass(frozen=True, slots=True)
class _Row:
    version: int
    turns: int
    saved_at: float


class MemoryConversations:
    """Keeps texts, as the other stores do: what comes out was checked like theirs, and shares nothing.

    `texts` has them by id.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._rows: dict[str, _Row] = {}

    async def save(self, id: str, conversation: Conversation, version: int = 0) -> int:
        before = self._rows.get(checked_id(id))
        stored = 0 if before is None else before.version
        if stored != version:
            raise StaleConversation(id, version, stored)
        self.texts[id] = conversation.dumps()
        self._rows[id] = _Row(version + 1, len(conversation.turns), time.time())
        return version + 1

    async def load(self, id: str) -> Kept:
        row = self._rows.get(checked_id(id))
        if row is None:
            raise UnknownConversation(id)
        return Kept(id, row.version, Conversation.loads(self.texts[id]))

    async def branch(self, id: str, new_id: str, turns: int | None = None) -> Kept:
        conversation = branched((await self.load(id)).conversation, turns)
        return Kept(new_id, await self.save(new_id, conversation), conversation)

    async def list(self) -> Sequence[Listed]:
        found = [Listed(id, row.version, row.turns, row.saved_at) for id, row in self._rows.items()]
        return sorted(found, key=lambda one: -one.saved_at)
