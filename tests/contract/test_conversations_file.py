"""The conversation store over a folder keeps the contract of every store."""

from geode.entrypoints.compliance.conversations import ConversationStoreContract
from geode.entrypoints.compliance.shipped import FileConversationsHarness


class TestFileConversations(ConversationStoreContract):
    harness = FileConversationsHarness
