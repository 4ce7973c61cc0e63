"""The conversation store in memory keeps the contract of every store."""

from geode.entrypoints.compliance.conversations import ConversationStoreContract
from geode.entrypoints.compliance.shipped import MemoryConversationsHarness


class TestMemoryConversations(ConversationStoreContract):
    harness = MemoryConversationsHarness
