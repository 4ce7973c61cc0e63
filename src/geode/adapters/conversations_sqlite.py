"""The conversation store over a SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from geode.adapters.private_files import open_private, private_folder
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError
from geode.ports.conversations import Kept, Listed, StaleConversation, UnknownConversation, branched, checked_id

FORMAT: Final = 1
# How long a writer waits for another one.
BUSY_SECONDS: Final = 10.0
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS conversations (
    id TEXT PRIMARY KEY, version INTEGER NOT NULL, turns INTEGER NOT NULL, saved_at REAL NOT NULL, text TEXT NOT NULL
) WITHOUT ROWID
"""


class SqliteConversations:
    """Keeps conversations in the file `path`, which is made private where it is missing.

    Each call opens the file in a thread and closes it again: nothing blocks the event loop, and there is
    nothing to close.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    async def save(self, id: str, conversation: Conversation, version: int = 0) -> int:
        return await asyncio.to_thread(self._save, checked_id(id), conversation, version)

    async def load(self, id: str) -> Kept:
        return await asyncio.to_thread(self._load, checked_id(id))

    async def branch(self, id: str, new_id: str, turns: int | None = None) -> Kept:
        conversation = branched((await self.load(id)).conversation, turns)
        return Kept(new_id, await self.save(new_id, conversation), conversation)

    async def list(self) -> Sequence[Listed]:
        return await asyncio.to_thread(self._list)

    def _save(self, id: str, conversation: Conversation, version: int) -> int:
        with self._opened() as database:
            row = database.execute("SELECT version FROM conversations WHERE id = ?", (id,)).fetchone()
            stored = 0 if row is None else int(row[0])
            if stored != version:
                raise StaleConversation(id, version, stored)
            values = (id, version + 1, len(conversation.turns), time.time(), conversation.dumps())
            database.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?, ?, ?, ?)", values)
        return version + 1

    def _load(self, id: str) -> Kept:
        with self._opened() as database:
            row = database.execute("SELECT version, text FROM conversations WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise UnknownConversation(id)
        try:
            return Kept(id, int(row[0]), Conversation.loads(str(row[1])))
        except CodecError as error:
            raise CodecError(f"{self.path}, conversation {id}: {error}") from None

    def _list(self) -> Sequence[Listed]:
        with self._opened() as database:
            rows = database.execute("SELECT id, version, turns, saved_at FROM conversations ORDER BY saved_at DESC").fetchall()
        return [Listed(*row) for row in rows]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which others wait for; CodecError where the file is none of ours."""
        if not self.path.exists():
            private_folder(self.path.parent)
            os.close(open_private(self.path, os.O_RDWR | os.O_CREAT))
        database = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            database.execute("BEGIN IMMEDIATE")
            _prepare(database, self.path)
            yield database
            database.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise CodecError(f"{self.path}: {error}") from None
        finally:
            database.close()


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    (number,) = database.execute("PRAGMA user_version").fetchone()
    if number not in (0, FORMAT):
        raise CodecError(f"{path} has format {number}; this geode reads {FORMAT}. Use a newer geode")
    if number == 0:
        database.execute(_TABLE)
        database.execute(f"PRAGMA user_version = {FORMAT}")
