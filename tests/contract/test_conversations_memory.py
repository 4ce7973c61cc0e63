"""MemoryConversations keeps the contract of stores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.adapters.conversations_memory import MemoryConversations
from geode.ports.conversations import ConversationStore
from tests.contract.conversation_store_contract import ConversationStoreContract


class TestMemoryConversations(ConversationStoreContract):
    @pytest.fixture(autouse=True)
    def _one(self) -> None:
        self.one = MemoryConversations()

    def store(self) -> ConversationStore:
        return self.one

    async def put_text(self, id: str, text: str) -> None:
        self.one._rows[id] = replace(self.one._rows[id], text=text)
