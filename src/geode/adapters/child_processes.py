"""What adapters that start programs share: what such a program needs of this process's variables, and how it is ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Collection, Mapping
from typing import Final

# What programs need to find their files and their words; no key of anybody's is among it. Beside these: LC_*.
INHERITED: Final = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
        *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    )
)


def inherited(environ: Mapping[str, str], more: Collection[str] = ()) -> dict[str, str]:
    """The variables of `environ` that any program needs, and those that `more` names."""
    return {name: value for name, value in environ.items() if name in INHERITED or name.startswith("LC_") or name in more}


def kill(process: asyncio.subprocess.Process, *, ask: bool = False) -> None:
    """The program is killed with all that it started and that stayed in its group; or with `ask` asked to end.

    It was started with `start_new_session=True`.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGTERM if ask else signal.SIGKILL)


async def gone(process: asyncio.subprocess.Process, seconds: float, look_seconds: float = 0.01) -> bool:
    """Whether the program itself ends within `seconds`.

    What it started may hold its pipes open, for which asyncio's own way to wait would wait too.
    """
    until = asyncio.get_running_loop().time() + seconds
    while process.returncode is None and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(look_seconds)
    return process.returncode is not None


def let_go(process: asyncio.subprocess.Process) -> None:
    """Close its pipes: something that left its group may hold them open for ever, and asyncio has no public way for that."""
    transport: asyncio.SubprocessTransport | None = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
