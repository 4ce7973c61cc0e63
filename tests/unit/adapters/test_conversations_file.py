"""What is special about a folder of conversations: whose it is, and what else may lie there."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.conversations_file import FileConversations
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError
from geode.domain.turns import UserTurn
from geode.ports.conversations import UnknownConversation

HELLO = Conversation((UserTurn((Text("hello"),)),))


@pytest.fixture
def store(tmp_path: Path) -> FileConversations:
    return FileConversations(tmp_path / "some" / "chats")


def do(using: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(using)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_files_are_the_users_alone_and_no_other_is_left(store: FileConversations) -> None:
    do(store.save("chat", HELLO))
    do(store.save("chat", HELLO, 1))
    assert names(store.folder) == ["chat.json"]
    assert stat.S_IMODE((store.folder / "chat.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_a_disk_that_is_full_leaves_the_old_one(store: FileConversations, monkeypatch: pytest.MonkeyPatch) -> None:
    do(store.save("chat", HELLO))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        do(store.save("chat", HELLO, 1))
    monkeypatch.undo()
    assert do(store.load("chat")).version == 1
    assert names(store.folder) == ["chat.json"]


def test_a_link_is_not_followed(store: FileConversations) -> None:
    do(store.save("chat", HELLO))
    (store.folder / "link.json").symlink_to(store.folder / "chat.json")
    with pytest.raises(OSError, match="link"):
        do(store.load("link"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is no JSON"),
        ("[]", "has format None; this geode reads 1"),
        ('{"geode_conversation":2}', "has format 2; this geode reads 1"),
        ('{"geode_conversation":1,"version":"1"}', "has no int at /version"),
        ("[" * 9999, "is no JSON"),
    ],
)
def test_another_file_is_named(store: FileConversations, content: str, why: str) -> None:
    do(store.save("chat", HELLO))
    (store.folder / "chat.json").write_text(content)
    for using in (store.load("chat"), store.save("chat", HELLO, 1), store.list()):
        with pytest.raises(CodecError, match=r"chat\.json ") as caught:
            do(using)
        assert why in str(caught.value)


def test_looking_makes_no_folder(store: FileConversations) -> None:
    assert list(do(store.list())) == []
    with pytest.raises(UnknownConversation):
        do(store.load("chat"))
    assert not store.folder.exists()
