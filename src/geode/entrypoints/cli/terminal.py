"""A person at a terminal: what is shown to them cannot move the cursor, and what they type is read a line at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from geode.entrypoints.cli.words import harmless

_EDITORS: Final = ("VISUAL", "EDITOR")
_MOST_BYTES: Final = 1 << 16


class Terminal(Protocol):
    """Somebody who reads and types."""

    def show(self, text: str) -> None: ...

    async def line(self, prompt: str) -> str | None:
        """What is typed after `prompt`, without its line end; None when nobody will type any more."""
        ...

    async def edited(self, text: str) -> str | None:
        """`text` as it leaves the person's editor; None when they have none."""
        ...


class Tty:
    """The terminal of this process, whatever stdin and stdout were redirected to. Close it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def opened(cls) -> Tty | None:
        """The terminal, or None where there is none."""
        for stream in (sys.stdin, sys.stderr):
            # Its own name first: not every system lets the name that all terminals share be waited for.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                return cls(os.open(os.ttyname(stream.fileno()), os.O_RDWR | os.O_NOCTTY))
        with contextlib.suppress(OSError):
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return None

    def close(self) -> None:
        os.close(self._descriptor)

    def show(self, text: str) -> None:
        left = text.encode(errors="replace")
        while left:
            left = left[os.write(self._descriptor, left) :]

    async def line(self, prompt: str) -> str | None:
        """What was typed before the question was seen does not answer it."""
        self._forget_what_was_typed()
        self.show(prompt)
        typed = b""
        while not typed.endswith(b"\n"):
            await self._ready()
            more = os.read(self._descriptor, _MOST_BYTES)
            if not more:
                return typed.decode(errors="replace") if typed else None
            typed += more
        return typed.decode(errors="replace").rstrip("\r\n")

    async def edited(self, text: str) -> str | None:
        editor = next((value for name in _EDITORS if (value := os.environ.get(name, "").strip())), None)
        if editor is None:
            return None
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8", suffix=".json", prefix="geode-") as file:
            file.write(text)
            file.flush()
            try:
                await self._edit(shlex.split(editor), file.name)
            except (OSError, ValueError) as error:
                self.show(f"the editor {harmless(editor)} cannot be started: {error}\n")
                return None
            return _read(file.name)

    async def _edit(self, editor: list[str], path: str) -> None:
        here = self._descriptor
        process = await asyncio.create_subprocess_exec(*editor, path, stdin=here, stdout=here, stderr=here)
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()

    async def _ready(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def typed() -> None:
            loop.remove_reader(self._descriptor)
            ready.set_result(None)

        loop.add_reader(self._descriptor, typed)
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)

    def _forget_what_was_typed(self) -> None:
        import termios

        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)


def _read(path: str) -> str:
    """What an editor left there; many put another file in the place of the one that they were given."""
    try:
        return Path(path).read_text("utf-8", errors="replace")
    except OSError:
        return ""


def shown_json(arguments: Mapping[str, Any]) -> str:
    """The arguments as JSON on several lines, which is still JSON and says every character that cannot be seen."""
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    return "\n".join(harmless(line) for line in text.split("\n"))
