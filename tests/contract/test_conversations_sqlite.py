"""The conversation store over SQLite keeps the contract of every store."""

from geode.entrypoints.compliance.conversations import ConversationStoreContract
from geode.entrypoints.compliance.shipped import SqliteConversationsHarness


class TestSqliteConversations(ConversationStoreContract):
    harness = SqliteConversationsHarness
