"""Where runs and conversations are kept: journals, conversation stores, and the check of what a journal holds."""

from geode.adapters.conversations_file import FileConversations
from geode.adapters.conversations_memory import MemoryConversations
from geode.adapters.conversations_sqlite import SqliteConversations
from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import MemoryJournal
from geode.domain.loop.recording import Divergence, Recording, Replayed, replay
from geode.ports.conversations import Kept, Listed

__all__ = [
    "Divergence",
    "FileConversations",
    "FileJournal",
    "Kept",
    "Listed",
    "MemoryConversations",
    "MemoryJournal",
    "Recording",
    "Replayed",
    "SqliteConversations",
    "replay",
]
