"""A real terminal for `geode`: a pseudo-terminal that the process owns, and the screen that a person would see."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

from tests.unit.entrypoints.cli.commands import command, environment

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
TAB, ENTER, ESCAPE, CTRL_C, CTRL_D = "\t", "\r", "\x1b", "\x03", "\x04"
ALT_ENTER = ESCAPE + ENTER
# A new session takes the first terminal that it opens for its own: then Ctrl-C comes from it.
_TAKES_ITS_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"


class Screen:
    """What is on the terminal, as lines; and whoever types on it."""

    def __init__(self, descriptor: int, columns: int, lines: int) -> None:
        self._descriptor = descriptor
        self._screen = pyte.HistoryScreen(columns, lines, history=1000)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def lines(self) -> list[str]:
        """What is to be seen, without blanks at the ends and without empty lines."""
        return [line.rstrip() for line in self._screen.display if line.strip()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def waits(self, until: Callable[[str], bool], what: str, seconds: float = 30) -> None:
        """Read on until the screen is as it should be."""
        end = time.monotonic() + seconds
        while not until(self.text):
            assert time.monotonic() < end, f"{what} never came:\n{self.text}"
            if select.select([self._descriptor], [], [], 0.05)[0]:
                self._read()

    def sees(self, *texts: str) -> None:
        """Wait until all of these are on the screen."""
        self.waits(lambda shown: all(text in shown for text in texts), " and ".join(map(repr, texts)))

    def prompts(self) -> None:
        """Wait until `geode chat` waits for a line."""
        self.waits(lambda shown: shown.endswith("\n>"), "the prompt")

    def loses(self, text: str) -> None:
        """Wait until it is on the screen no more."""
        self.waits(lambda shown: text not in shown, f"the end of {text!r}")

    def types(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def ended(self, process: subprocess.Popen[bytes]) -> int:
        """Read to the end of the process; its exit code."""
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            if select.select([self._descriptor], [], [], 0.05)[0]:
                self._read()
        assert process.poll() is not None, f"it did not end:\n{self.text}"
        while select.select([self._descriptor], [], [], 0)[0] and self._read():
            pass
        return process.returncode

    def _read(self) -> bool:
        try:
            read = os.read(self._descriptor, 1 << 16)
        except OSError:  # nobody is at the other end any more
            return False
        self._stream.feed(read)
        # Whoever asks where the cursor is gets an answer, as from any terminal.
        for _ in range(read.count(b"\x1b[6n")):
            os.write(self._descriptor, b"\x1b[%d;%dR" % (self._screen.cursor.y + 1, self._screen.cursor.x + 1))
        return bool(read)


@contextmanager
def on_a_screen(
    *arguments: str, cwd: Path, env: Mapping[str, str], columns: int = 80, lines: int = 24
) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    """`geode …` at a terminal of that size; killed at the end if it still runs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _TAKES_ITS_TERMINAL, *command(*arguments)],
        cwd=cwd,
        env=environment(TERM="xterm", **env),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        with process:
            try:
                yield Screen(ours, columns, lines), process
            finally:
                process.kill()
    finally:
        os.close(ours)
