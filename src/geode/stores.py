"""Where runs, conversations and long results are kept: journals and stores, and the check of what a journal holds."""

from geode.adapters.conversations_file import FileConversations
from geode.adapters.conversations_memory import MemoryConversations
from geode.adapters.conversations_sqlite import SqliteConversations
from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.results_file import FileResults
from geode.adapters.results_memory import MemoryResults
from geode.adapters.results_objects import ObjectResults
from geode.domain.loop.recording import Divergence, Recording, Replayed, replay
from geode.ports.conversations import Kept, Listed
from geode.ports.results import ExpiredResult, Origin, Piece, ResultStoreError, StoreFull, UnknownResult

__all__ = [
    "Divergence",
    "ExpiredResult",
    "FileConversations",
    "FileJournal",
    "FileResults",
    "Kept",
    "Listed",
    "MemoryConversations",
    "MemoryJournal",
    "MemoryResults",
    "ObjectResults",
    "Origin",
    "Piece",
    "Recording",
    "Replayed",
    "ResultStoreError",
    "SqliteConversations",
    "StoreFull",
    "UnknownResult",
    "replay",
]
