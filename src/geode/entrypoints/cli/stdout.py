"""stdout, stderr and stdin as a command needs them: whatever becomes of them, nothing shows a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import sys


def never_fail_to_print() -> bool:
    """What a stream cannot carry gets a stand-in, and a stream that is closed becomes a nowhere. Whether stdout is there."""
    there = sys.stdout is not None
    sys.stdin = sys.stdin or io.StringIO()
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    return there


def forget_stdout() -> None:
    """Nobody reads it any more: what is still printed, also when the interpreter ends, goes nowhere."""
    with contextlib.suppress(io.UnsupportedOperation):  # what stands for it has no descriptor, and loses nothing
        descriptor = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _nowhere() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(os.devnull, "w"), "utf-8")
