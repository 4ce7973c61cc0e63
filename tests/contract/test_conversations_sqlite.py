"""SqliteConversations keeps the contract of stores, and its file to the user."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from geode.adapters.conversations_sqlite import SqliteConversations
from geode.domain.errors import CodecError
from geode.ports.conversations import ConversationStore
from tests.contract.conversation_store_contract import HELLO, ConversationStoreContract


class TestSqliteConversations(ConversationStoreContract):
    @pytest.fixture(autouse=True)
    def _one(self, tmp_path: Path) -> None:
        self.path = tmp_path / "some" / "chats.db"

    def store(self) -> ConversationStore:
        return SqliteConversations(self.path)

    async def put_text(self, id: str, text: str) -> None:
        with closing(sqlite3.connect(self.path)) as database:
            database.execute("UPDATE conversations SET text = ? WHERE id = ?", (text, id))
            database.commit()

    async def test_the_file_is_the_users_alone(self) -> None:
        await self.store().save("chat", HELLO)
        assert stat.S_IMODE(self.path.stat().st_mode) == 0o600

    async def test_a_newer_format_is_refused_with_both_numbers(self) -> None:
        await self.store().save("chat", HELLO)
        with closing(sqlite3.connect(self.path)) as database:
            database.execute("PRAGMA user_version = 2")
        with pytest.raises(CodecError, match=r"chats\.db has format 2; this geode reads 1\. Use a newer geode"):
            await self.store().load("chat")

    async def test_another_file_is_named(self) -> None:
        self.path.parent.mkdir()
        self.path.write_bytes(b"no database at all, but long enough to be taken for one" * 40)
        for using in (self.store().load("chat"), self.store().save("chat", HELLO), self.store().list()):
            with pytest.raises(CodecError, match=r"chats\.db: file is not a database"):
                await using

    async def test_a_database_that_waits_for_another_blocks_no_one(self) -> None:
        await self.store().save("chat", HELLO)
        turns = 0
        with closing(sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            threading.Timer(0.2, other.execute, ("COMMIT",)).start()
            saving = asyncio.create_task(self.store().save("chat", HELLO, 1))
            while not saving.done():
                await asyncio.sleep(0.01)
                turns += 1
        assert await saving == 2
        assert turns > 5
