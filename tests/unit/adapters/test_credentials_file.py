"""A key in a file that only its owner can read, and nothing else in its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretBytes

from geode.adapters.credentials_file import FileCredential
from geode.adapters.secret_files import read_secret
from geode.ports.credentials import CredentialError


def write(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


async def text(credential: FileCredential) -> str:
    return (await credential.secret()).get_secret_value()


@pytest.mark.parametrize("data", [b"sk-one", b"sk-one\n", b"  sk-one \r\n\n", b"\xef\xbb\xbfsk-one\n"])
async def test_the_key_stands_in_it_alone(tmp_path: Path, data: bytes) -> None:
    assert await text(FileCredential(write(tmp_path / "key", data))) == "sk-one"


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
async def test_its_owner_alone_may_read_it(tmp_path: Path, mode: int) -> None:
    assert await text(FileCredential(write(tmp_path / "key", b"sk-one", mode))) == "sk-one"


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o602, 0o610, 0o644, 0o666])
async def test_what_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path / "key", b"sk-SECRET", mode)
    with pytest.raises(CredentialError) as caught:
        await FileCredential(path).secret()
    assert str(caught.value) == f"file {path} can be read or written by others: chmod 600 it"
    assert path.stat().st_mode & 0o777 == mode


async def test_it_is_read_anew_when_it_has_changed_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, reads = write(tmp_path / "key", b"sk-one"), list[Path]()

    def reading(path: Path, max_bytes: int) -> SecretBytes:
        reads.append(path)
        return read_secret(path, max_bytes)

    monkeypatch.setattr("geode.adapters.credentials_file.read_secret", reading)
    credential = FileCredential(path)
    assert [await text(credential) for _ in range(3)] == ["sk-one"] * 3
    assert len(reads) == 1
    write(path, b"sk-two")
    assert [await text(credential) for _ in range(2)] == ["sk-two"] * 2
    os.replace(write(tmp_path / "new", b"sk-six"), path)
    assert await text(credential) == "sk-six"
    assert len(reads) == 3
    path.chmod(0o644)
    with pytest.raises(CredentialError, match="chmod 600"):
        await credential.secret()
    path.unlink()
    with pytest.raises(CredentialError, match="is missing"):
        await credential.secret()


def _nothing(_: Path) -> None:
    """No file at all."""


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_nothing, "is missing"),
        (lambda path: path.mkdir(mode=0o700), "is a folder, not a file"),
        (lambda path: os.mkfifo(path, 0o600), "is a pipe or a device, not a file"),
        (lambda path: path.symlink_to(write(path.with_name("real"), b"sk-SECRET")), "is a link: name the file itself"),
        (lambda path: write(path, b""), "is empty"),
        (lambda path: write(path, b" \n"), "is empty"),
        (lambda path: write(path, b"sk-SECRET\nsk-SECRET"), "has white space, a line end or letters beyond ASCII in it"),
        (lambda path: write(path, b"sk-SECRET\xff"), "has white space, a line end or letters beyond ASCII in it"),
        (lambda path: write(path, b"\x80\x81"), "has white space, a line end or letters beyond ASCII in it"),
        (lambda path: write(path, b"k" * 65537), "has 65537 bytes, where at most 65536 are expected"),
    ],
)
async def test_what_is_no_file_with_a_key_is_said(tmp_path: Path, make: Callable[[Path], object], problem: str) -> None:
    path = tmp_path / "key"
    make(path)
    with pytest.raises(CredentialError) as found_before:
        FileCredential(path).check()
    with pytest.raises(CredentialError) as found:
        await FileCredential(path).secret()
    assert str(found.value) == str(found_before.value)
    assert str(found.value).startswith(f"file {path} {problem}")
    assert "SECRET" not in str(found.value)


async def test_a_path_below_a_file_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "key", b"sk-one")
    with pytest.raises(CredentialError, match="is missing"):
        await FileCredential(tmp_path / "key" / "key").secret()


async def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "key", b"sk-one")
    credential = FileCredential("~/key")
    assert await text(credential) == "sk-one"
    assert credential.source == "file ~/key"
