"""What is on disk: who may read it, where it lies, and what a disk does that is full, read-only or in another's hands."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from geode.adapters import results_file
from geode.adapters.private_files import PrivateFolder
from geode.adapters.results_file import LEFT_BEHIND_SECONDS, FileResults
from geode.domain.offload import new_ref
from geode.ports.results import Origin, ResultStoreError, StoreFull, UnknownResult

REF, OTHER = new_ref(bytes(16)), new_ref(b"\1" * 16)
ORIGIN = Origin("run_1", "..\\evil", "../../x")


def store(folder: Path, **settings: Any) -> FileResults:
    return FileResults(folder, **settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def write(path: Path, text: str) -> None:
    path.write_text(text)


def read(path: Path) -> str:
    return path.read_bytes().decode()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_the_folder_and_the_files_are_the_users_alone_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        await store(folder).put(REF, "text", ORIGIN)
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert {name: mode(folder / name) for name in names(folder)} == {f"{REF}.text": 0o600, f"{REF}.json": 0o600}


async def test_the_text_lies_there_as_it_is(folder: Path) -> None:
    await store(folder).put(REF, "Grüße\r\n", ORIGIN)
    assert read(folder / f"{REF}.text").encode() == "Grüße\r\n".encode()


async def test_a_folder_that_others_may_write_into_is_refused(folder: Path) -> None:
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    with pytest.raises(ResultStoreError, match="chmod 700 it, or name another folder"):
        await store(folder).put(REF, "text", ORIGIN)
    assert names(folder) == []


async def test_a_link_in_the_place_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    os.mkdir(tmp_path / "elsewhere", 0o700)
    os.symlink(tmp_path / "elsewhere", folder)
    with pytest.raises(ResultStoreError, match="results"):
        await store(folder).put(REF, "text", ORIGIN)
    assert names(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("suffix", ["text", "json"])
async def test_a_planted_link_is_never_followed(folder: Path, tmp_path: Path, suffix: str) -> None:
    victim = tmp_path / "victim"
    write(victim, "precious")
    os.mkdir(folder, 0o700)
    os.symlink(victim, folder / f"{REF}.{suffix}")
    with pytest.raises(ResultStoreError):
        await store(folder).read(REF)
    try:
        await store(folder).put(REF, "text", ORIGIN)
    except ResultStoreError:
        assert suffix == "json", "a record in the way means that the id is taken; a text is replaced, never written through"
    await store(folder).delete((REF,))
    assert read(victim) == "precious"
    assert names(folder) == []


@pytest.mark.parametrize("suffix", ["text", "json"])
async def test_a_link_to_a_secret_in_the_place_of_what_was_stored_is_not_read(
    folder: Path, tmp_path: Path, suffix: str
) -> None:
    secret = tmp_path / "secret"
    write(secret, "text")
    await store(folder).put(REF, "text", ORIGIN)
    os.unlink(folder / f"{REF}.{suffix}")
    os.symlink(secret, folder / f"{REF}.{suffix}")
    with pytest.raises(ResultStoreError, match="results"):
        await store(folder).read(REF)


@pytest.mark.parametrize("suffix", ["text", "json"])
async def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path, suffix: str) -> None:
    await store(folder).put(REF, "text", ORIGIN)
    os.unlink(folder / f"{REF}.{suffix}")
    os.mkfifo(folder / f"{REF}.{suffix}", 0o600)
    with pytest.raises(ResultStoreError):
        await asyncio.wait_for(store(folder).read(REF), 20)


@pytest.mark.parametrize(
    "record", ["", "[]", "{}", "null", '{"geode_result":2}', '{"geode_result":1,"characters":"x"}', "[" * 9_999]
)
async def test_a_record_that_is_none_is_a_clear_error(folder: Path, record: str) -> None:
    await store(folder).put(REF, "text", ORIGIN)
    write(folder / f"{REF}.json", record)
    with pytest.raises(ResultStoreError, match=r"\.json is damaged, or written by another geode"):
        await store(folder).read(REF)


@pytest.mark.parametrize(
    "record",
    [
        '"characters":9,"size":4,"starts":[]',
        '"characters":4,"size":4,"starts":[3]',
        '"characters":4,"size":99999999999999,"starts":[]',
        '"characters":4,"size":4,"starts":[4,0]',
    ],
)
async def test_a_record_that_is_wrong_never_gives_another_text(folder: Path, record: str) -> None:
    await store(folder).put(REF, "text", ORIGIN)
    origin = '"origin":{"run_id":"r","tool":"t","call_id":"c"},"expires_at":null'
    write(folder / f"{REF}.json", f'{{"geode_result":1,{record},{origin}}}')
    with pytest.raises(ResultStoreError, match="damaged"):
        await store(folder).read(REF)


# ---- disks ---------------------------------------------------------------------------------------


async def test_a_disk_that_is_full_keeps_nothing_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await store(folder).put(OTHER, "other", ORIGIN)
    real = os.fdopen

    def full(descriptor: int, *how: Any, **more: Any) -> Any:
        file = real(descriptor, *how, **more)

        class Full:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def write(self, data: bytes) -> int:
                file.write(data[:3])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return Full()

    with monkeypatch.context() as patched:
        patched.setattr("geode.adapters.results_file.os.fdopen", full)
        with pytest.raises(ResultStoreError, match=r"results.*No space left on device"):
            await store(folder).put(REF, "text" * 100_000, ORIGIN)
    assert names(folder) == [f"{OTHER}.json", f"{OTHER}.text"]
    with pytest.raises(UnknownResult):
        await store(folder).read(REF)
    assert (await store(folder).read(OTHER)).text == "other"


async def test_a_disk_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await store(folder).put(OTHER, "other", ORIGIN)
    real = os.open

    def read_only(path: Any, flags: int, *mode: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *mode, **more)

    monkeypatch.setattr("geode.adapters.private_files.os.open", read_only)
    with pytest.raises(ResultStoreError, match="Read-only file system"):
        await store(folder).put(REF, "text", ORIGIN)
    assert (await store(folder).read(OTHER)).text == "other"


async def test_what_others_write_meanwhile_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = results_file._write

    def meanwhile(private: PrivateFolder, name: str, data: bytes) -> None:
        write(folder / f"{OTHER}.text", "y" * 900)
        written(private, name, data)

    monkeypatch.setattr(results_file, "_write", meanwhile)
    with pytest.raises(StoreFull, match="the result has"):
        await store(folder, max_bytes=1_000).put(REF, "x" * 900, ORIGIN)
    assert names(folder) == [f"{OTHER}.text"]


async def test_a_file_in_the_place_of_the_folder(folder: Path) -> None:
    write(folder, "mine")
    for using in (store(folder).put(REF, "text", ORIGIN), store(folder).read(REF)):
        with pytest.raises(ResultStoreError, match="results"):
            await using
    assert read(folder) == "mine"


async def test_where_nothing_was_ever_kept_nothing_is_made(folder: Path) -> None:
    await store(folder).delete((REF,))
    assert await store(folder).sweep() == 0
    assert names(folder.parent) == []


# ---- sweep ---------------------------------------------------------------------------------------


async def test_a_sweep_takes_what_a_dead_process_left_and_nothing_that_is_not_geodes(folder: Path) -> None:
    await store(folder).put(REF, "text", ORIGIN)
    others = ["notes.txt", "r_short.text", ".hidden", f"{REF}.bak"]
    left = [f".{OTHER}.0123456789abcdef.new", f"{OTHER}.text"]
    for name in (*others, *left):
        write(folder / name, "x")
    assert await store(folder).sweep() == 0, "another process may be writing it at this moment"
    later = os.stat(folder / "notes.txt").st_mtime + LEFT_BEHIND_SECONDS + 1
    assert await store(folder, now=lambda: later).sweep() == len(left)
    assert names(folder) == sorted([*others, f"{REF}.json", f"{REF}.text"])


async def test_a_record_that_is_damaged_is_swept_when_it_is_old(folder: Path) -> None:
    await store(folder).put(REF, "text", ORIGIN)
    write(folder / f"{REF}.json", "{")
    later = os.stat(folder / f"{REF}.json").st_mtime + LEFT_BEHIND_SECONDS + 1
    assert await store(folder).sweep() == 0
    assert await store(folder, now=lambda: later).sweep() == 1
    assert names(folder) == []
