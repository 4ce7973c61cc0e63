"""The conversation store over a folder: one JSON file for each, replaced at once."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from geode.adapters.private_files import Lock, open_private, private_folder, replace_private
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError
from geode.domain.json_value import dump_bytes
from geode.ports.conversations import Kept, Listed, StaleConversation, UnknownConversation, branched, checked_id

FORMAT: Final = 1
_SUFFIX: Final = ".json"


class FileConversations:
    """Keeps conversations in `folder`, which is made private where it is missing; other processes may use it too."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

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
        private_folder(self.folder)
        path = self._path(id)
        lock = Lock(path.with_name(f".{path.name}.lock"), wait=True)
        try:
            stored = _version(path) if path.exists() else 0
            if stored != version:
                raise StaleConversation(id, version, stored)
            content = {"geode_conversation": FORMAT, "version": version + 1, "saved_at": time.time()}
            content |= {"turns": len(conversation.turns), "conversation": json.loads(conversation.dumps())}
            replace_private(path, dump_bytes(content))
        finally:
            lock.release()
        return version + 1

    def _load(self, id: str) -> Kept:
        path = self._path(id)
        try:
            content = _content(path)
            conversation = Conversation.loads(json.dumps(content["conversation"]))
        except FileNotFoundError:
            raise UnknownConversation(id) from None
        except CodecError as error:
            raise CodecError(f"{path}: {error}") from None
        return Kept(id, content["version"], conversation)

    def _list(self) -> Sequence[Listed]:
        paths = [path for path in self.folder.glob(f"*{_SUFFIX}") if not path.name.startswith(".")]
        contents = ((path.name.removesuffix(_SUFFIX), _content(path)) for path in paths)
        found = [Listed(id, one["version"], one["turns"], one["saved_at"]) for id, one in contents]
        return sorted(found, key=lambda one: -one.saved_at)

    def _path(self, id: str) -> Path:
        return self.folder / f"{id}{_SUFFIX}"


def _version(path: Path) -> int:
    return int(_content(path)["version"])


def _content(path: Path) -> dict[str, Any]:
    """What the file holds, of the right kinds. CodecError names the file and what is wrong with it."""
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        text = file.read()
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{path} is no JSON: {error}") from None
    found = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    if (number := found.get("geode_conversation")) != FORMAT:
        raise CodecError(f"{path} has format {number!r}; this geode reads {FORMAT}")
    kinds = {"version": int, "turns": int, "saved_at": float, "conversation": dict}
    for name, kind in kinds.items():
        if type(found.get(name)) is not kind:
            raise CodecError(f"{path} has no {kind.__name__} at /{name}")
    return found
