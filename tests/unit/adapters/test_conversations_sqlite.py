"""What is special about a database of conversations: whose it is, and who waits for whom."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from collections.abc import Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.conversations_sqlite import SqliteConversations
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError
from geode.domain.turns import UserTurn

HELLO = Conversation((UserTurn((Text("hello"),)),))


@pytest.fixture
def store(tmp_path: Path) -> SqliteConversations:
    return SqliteConversations(tmp_path / "some" / "chats.db")


def do(using: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(using)


def test_the_file_is_the_users_alone(store: SqliteConversations) -> None:
    do(store.save("chat", HELLO))
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_a_newer_format_is_refused_with_both_numbers(store: SqliteConversations) -> None:
    do(store.save("chat", HELLO))
    with closing(sqlite3.connect(store.path)) as database:
        database.execute("PRAGMA user_version = 2")
    with pytest.raises(CodecError, match=r"chats\.db has format 2; this geode reads 1\. Use a newer geode"):
        do(store.load("chat"))


def test_another_file_is_named(store: SqliteConversations) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    for using in (store.load("chat"), store.save("chat", HELLO), store.list()):
        with pytest.raises(CodecError, match=r"chats\.db: file is not a database"):
            do(using)


async def test_a_database_that_waits_for_another_blocks_no_one(store: SqliteConversations) -> None:
    await store.save("chat", HELLO)
    turns = 0
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.2, other.execute, ("COMMIT",)).start()
        saving = asyncio.create_task(store.save("chat", HELLO, 1))
        while not saving.done():
            await asyncio.sleep(0.01)
            turns += 1
    assert await saving == 2
    assert turns > 5
