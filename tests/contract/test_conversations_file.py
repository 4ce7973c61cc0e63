"""FileConversations keeps the contract of stores, and its files to the user."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from geode.adapters.conversations_file import FileConversations
from geode.domain.errors import CodecError
from geode.ports.conversations import ConversationStore, UnknownConversation
from tests.contract.conversation_store_contract import HELLO, ConversationStoreContract


class TestFileConversations(ConversationStoreContract):
    @pytest.fixture(autouse=True)
    def _one(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "some" / "chats"

    def store(self) -> ConversationStore:
        return FileConversations(self.folder)

    async def put_text(self, id: str, text: str) -> None:
        path = self.folder / f"{id}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "conversation": json.loads(text)}))

    async def test_files_are_the_users_alone_and_no_other_is_left(self) -> None:
        await self.store().save("chat", HELLO)
        await self.store().save("chat", HELLO, 1)
        assert [path.name for path in self.folder.iterdir()] == ["chat.json"]
        assert stat.S_IMODE((self.folder / "chat.json").stat().st_mode) == 0o600
        assert stat.S_IMODE(self.folder.stat().st_mode) == 0o700

    async def test_a_disk_that_is_full_leaves_the_old_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        await self.store().save("chat", HELLO)

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            await self.store().save("chat", HELLO, 1)
        monkeypatch.undo()
        assert (await self.store().load("chat")).version == 1
        assert [path.name for path in self.folder.iterdir()] == ["chat.json"]

    async def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        await self.store().save("chat", HELLO)
        (self.folder / "link.json").symlink_to(self.folder / "chat.json")
        with pytest.raises(OSError, match="link"):
            await self.store().load("link")

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
    async def test_another_file_is_named(self, content: str, why: str) -> None:
        await self.store().save("chat", HELLO)
        (self.folder / "chat.json").write_text(content)
        for using in (self.store().load("chat"), self.store().save("chat", HELLO, 1), self.store().list()):
            with pytest.raises(CodecError, match=r"chat\.json ") as caught:
                await using
            assert why in str(caught.value)

    async def test_looking_makes_no_folder(self) -> None:
        assert list(await self.store().list()) == []
        with pytest.raises(UnknownConversation):
            await self.store().load("chat")
        assert not self.folder.exists()
