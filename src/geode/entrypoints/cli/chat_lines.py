"""What is typed into a chat, or written into its stdin."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from geode.adapters.private_files import open_private, private_folder
from geode.application.threads import DaemonThreads

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

_PROMPT: Final = "> "
_MORE: Final = "… "
_MOST_BYTES: Final = 1 << 16


class Lines(Protocol):
    """Gives one text after the other."""

    async def next(self) -> str | None:
        """The next one; None when no more will come."""
        ...


class PipedLines:
    """The lines of a stream that nobody types into. Waiting for them blocks neither the event loop nor the process's end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._unread, self._ended = stream, b"", False
        self._threads: DaemonThreads | None = None

    async def next(self) -> str | None:
        try:
            descriptor = self._stream.fileno()
        except (io.UnsupportedOperation, AttributeError):  # what stands for a stdin in a test, or for a closed one
            line = self._stream.readline()
            return line.rstrip("\r\n") if line else None
        while b"\n" not in self._unread and not self._ended:
            # Not by the stream itself: an interpreter that ends could not take its lock from the thread.
            more = await self._in_thread(descriptor)
            self._unread, self._ended = self._unread + more, not more
        if not self._unread:
            return None
        read, _, self._unread = self._unread.partition(b"\n")
        return read.decode(errors="replace").rstrip("\r")

    async def _in_thread(self, descriptor: int) -> bytes:
        self._threads = self._threads or DaemonThreads(1)
        read: bytes = await self._threads.run(lambda: os.read(descriptor, _MOST_BYTES))
        return read


class TypedLines:
    """What a person types: Enter sends it, Alt-Enter begins another line, Ctrl-C clears it, Ctrl-D ends."""

    def __init__(self, history: Path | None, *, input: Input | None = None, output: Output | None = None) -> None:
        from prompt_toolkit import PromptSession

        self._session: PromptSession[str] = PromptSession(
            history=_history(history),
            multiline=True,
            prompt_continuation=lambda *_: _MORE,
            key_bindings=_bindings(),
            input=input,
            output=output,
            enable_open_in_editor=True,
        )

    async def next(self) -> str | None:
        while True:
            try:
                return await self._session.prompt_async(_PROMPT)
            except EOFError:
                return None
            except KeyboardInterrupt:  # from outside of the terminal
                continue


def _bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _another_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("c-c")
    def _clear(event: KeyPressEvent) -> None:
        event.current_buffer.reset()

    return bindings


def _history(path: Path | None) -> History:
    """What was typed before, in a file that is the user's alone; in memory where there can be none."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    if path is None:
        return InMemoryHistory()
    try:
        make_private(path)
    except OSError as error:
        print(f"geode chat: what you type is not kept: {path}: {error.strerror or error}", file=sys.stderr)
        return InMemoryHistory()
    return FileHistory(str(path))


def make_private(path: Path) -> None:
    """Make the file where it is missing, and the user's alone in any case. OSError for a link."""
    private_folder(path.parent)
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        chmod: Any = getattr(os, "fchmod", None)  # not on Windows before 3.13
        if chmod is not None:
            chmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
