"""Files that belong to the user alone: folders are 0700, files 0600, no link is followed; and one holder at a time."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

# Neither is there on Windows, where the folder's owner decides who reads.
_SAFELY: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# A pipe that somebody put in the place of a file must not be waited for.
_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0)
_PRIVATE: Final = 0o600
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_HAS_DESCRIPTORS: Final = os.open in os.supports_dir_fd


class LockHeld(Exception):
    """Somebody else has it; `who` says who, as far as they said so."""

    def __init__(self, who: str) -> None:
        super().__init__(who)
        self.who = who


def private_folder(path: Path) -> None:
    """Make the folder, where it is missing."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_private(path: Path, flags: int) -> int:
    """A descriptor; a file that is made is the user's alone. OSError as of `os.open`, for a link too."""
    return os.open(path, flags | _SAFELY, _PRIVATE)


def replace_private(path: Path, data: bytes, *, mode: int = _PRIVATE) -> None:
    """Put `data` in the place of the file at once: whoever reads sees the old or the new, also after a power cut.

    `mode` is for files that others may read, or that had another one.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    descriptor = open_private(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode != _PRIVATE:
                new.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Have the names in the folder on disk, where the system can do that for a folder."""
    if sys.platform != "win32":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class PrivateFolder:
    """A folder that the user alone can write into, made where it is missing, held by its descriptor while it is used.

    So it stays the same one, whatever happens to its path meanwhile, and every name is a name in it: no
    link is followed. OSError names what is not as it has to be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        private_folder(self.path)
        if _HAS_DESCRIPTORS:
            self._descriptor = os.open(self.path, os.O_RDONLY | _DIRECTORY | _SAFELY)
            try:
                self._check()
            except BaseException:
                os.close(self._descriptor)
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if _HAS_DESCRIPTORS:
            os.close(self._descriptor)

    def _check(self) -> None:
        found = os.fstat(self._descriptor)
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise PermissionError(
                f"{self.path} is not yours, or others may write into it: chmod 700 it, or name another folder"
            )

    def new(self, name: str) -> int:
        """A descriptor to write a file that is made now; FileExistsError where the name is taken, by a link too."""
        return os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, _PRIVATE, dir_fd=self._folder)

    def open(self, name: str) -> int:
        """A descriptor to read a file. OSError for a link and for what is no file."""
        descriptor = os.open(self._at(name), os.O_RDONLY | _AT_ONCE | _SAFELY, dir_fd=self._folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(f"{self.path / name} is no file")
        return descriptor

    def put_in_place(self, new: str, name: str) -> None:
        """Give `new` another name at once, in the place of what had it."""
        os.replace(self._at(new), self._at(name), src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self, name: str) -> None:
        """Take the name away, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self._folder)

    def entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """What is in it; a link stands for itself."""
        for name in os.listdir(self.path if self._folder is None else self._folder):
            with contextlib.suppress(FileNotFoundError):
                yield name, os.stat(self._at(name), dir_fd=self._folder, follow_symlinks=False)

    @property
    def _folder(self) -> int | None:
        return self._descriptor if _HAS_DESCRIPTORS else None

    def _at(self, name: str) -> str | Path:
        return name if _HAS_DESCRIPTORS else self.path / name


class Lock:
    """A file that one process holds. When it dies the system lets go for it, so the next one can take it."""

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        """Take it; LockHeld says who has it, unless `wait`: then it is waited for, in this thread."""
        self._path = path
        while True:
            self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
            try:
                _lock(self._descriptor, wait=wait)
            except OSError:
                who = _holder(self._descriptor) or "another process"
                os.close(self._descriptor)
                raise LockHeld(who) from None
            except BaseException:
                os.close(self._descriptor)
                raise
            if self._is_there():
                break
            os.close(self._descriptor)  # it was let go of, and removed, before it was ours
        with contextlib.suppress(OSError):  # on a full disk it is held all the same, and nobody can be told by whom
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())

    def release(self) -> None:
        """Let go of it."""
        if self._descriptor < 0:
            return
        if sys.platform == "win32":
            os.close(self._descriptor)
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        if sys.platform != "win32":
            os.close(self._descriptor)
        self._descriptor = -1

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def _lock(descriptor: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # beyond what is written, which others may read
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder_of(path: Path) -> str | None:
    """Who holds the lock, as far as can be told without touching it; None where nobody does."""
    try:
        descriptor = open_private(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return _holder(descriptor, alive=True)
    finally:
        os.close(descriptor)


def _holder(descriptor: int, *, alive: bool = False) -> str | None:
    """With `alive`, None for a process of this machine that has ended and could not let go."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        said = json.loads(os.read(descriptor, 4096))
        pid, host = int(said["pid"]), str(said["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    if host != socket.gethostname():
        return f"process {pid} on {host}"
    if pid == os.getpid():
        return "this process"
    return None if alive and sys.platform != "win32" and not _lives(pid) else f"process {pid}"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
