"""stdout and stderr as a command needs them: printing never ends a run."""

from __future__ import annotations

import io
import os
import sys


def never_fail_to_print() -> None:
    """A terminal that lacks a character gets a stand-in."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def forget_stdout() -> None:
    """Nobody reads it any more: what is still printed, also when the interpreter ends, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
