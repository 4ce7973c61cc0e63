"""Files that hold a secret, read only where nobody else can read them."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Final

from pydantic import SecretBytes

from geode.adapters.private_files import open_private

# A pipe that somebody put in the place of a file must not be waited for.
_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0)


class UnfitFile(Exception):
    """A file that no secret can be read from: says why, and what to do with it, as the rest of a sentence about it.

    `way_out` is what to do with it; "" where nothing can be done with the file itself.
    """

    def __init__(self, why: str, way_out: str = "") -> None:
        super().__init__(f"{why}: {way_out}" if way_out else why)
        self.way_out = way_out


def read_secret(path: Path, max_bytes: int, *, tighten: bool = False) -> SecretBytes:
    """What stands in a file that the user alone can read; UnfitFile for what is none. No link is followed.

    `tighten`: a file of the user's that others could read is made the user's alone, and not refused.
    """
    try:
        descriptor = open_private(path, os.O_RDONLY | _AT_ONCE)
    except OSError as error:
        raise _unfit(error) from None
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise UnfitFile("is a folder, not a file")
        if not stat.S_ISREG(found.st_mode):
            raise UnfitFile("is a pipe or a device, not a file")
        _keep_others_out(descriptor, found, tighten=tighten)
        if found.st_size > max_bytes:
            raise UnfitFile(f"has {found.st_size} bytes, where at most {max_bytes} are expected")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return SecretBytes(file.read(max_bytes))
    except OSError as error:
        raise _unfit(error) from None
    finally:
        os.close(descriptor)


def _keep_others_out(descriptor: int, found: os.stat_result, *, tighten: bool) -> None:
    if sys.platform == "win32" or not found.st_mode & 0o077:
        return
    if not tighten or found.st_uid != os.geteuid():
        raise UnfitFile("can be read or written by others", "chmod 600 it")
    os.fchmod(descriptor, 0o600)


def _unfit(error: OSError) -> UnfitFile:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return UnfitFile("is missing")
        case errno.ELOOP | errno.EMLINK:
            return UnfitFile("is a link", "name the file itself")
        case errno.EACCES | errno.EPERM:
            return UnfitFile("cannot be read: it is somebody else's")
        case _:
            return UnfitFile(f"cannot be read ({error.strerror or type(error).__name__})")


def version_of(path: Path) -> tuple[int, ...] | None:
    """What changes whenever the file does; None where it is missing."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
