"""A key in a file that only its owner can read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from geode.adapters.secret_files import UnfitFile, read_secret, version_of
from geode.domain.key_sources import key_problem
from geode.ports.credentials import CredentialError

_MAX_BYTES: Final = 64 * 1024


class FileCredential:
    """The file holds the key and nothing else but white space around it; it is read anew whenever it has changed.

    `path` may begin with `~`. A folder, a link, a pipe, and a file that others can read are refused.
    """

    def __init__(self, path: str | Path) -> None:
        self._source, self._path = f"file {path}", Path(path).expanduser()
        self._read: tuple[tuple[int, ...], SecretStr] | None = None

    def __repr__(self) -> str:
        return f"FileCredential({self._source})"

    @property
    def source(self) -> str:
        return self._source

    def check(self) -> None:
        """CredentialError where the key cannot be read now. Blocks for as long as the disk takes."""
        self._current()

    async def secret(self) -> SecretStr:
        return await asyncio.to_thread(self._current)

    def refused(self, secret: SecretStr) -> None:
        """Whoever writes the file renews it."""

    def _current(self) -> SecretStr:
        version = version_of(self._path)
        if version is not None and self._read is not None and self._read[0] == version:
            return self._read[1]
        try:
            data = read_secret(self._path, _MAX_BYTES)
        except UnfitFile as unfit:
            raise CredentialError(f"{self._source} {unfit}") from None
        # What is not UTF-8 has no ASCII in its place either, and is refused below, by words that do not quote it.
        secret = SecretStr(data.get_secret_value().decode("utf-8-sig", "replace").strip())
        if problem := key_problem(secret.get_secret_value()):
            raise CredentialError(f"{self._source} {problem}: the key has to stand in it alone, on one line")
        if version is not None:
            self._read = version, secret
        return secret
