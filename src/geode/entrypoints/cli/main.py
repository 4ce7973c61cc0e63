"""Where `geode` begins: the arguments, the subcommand, and what its faults look like to a person."""

from __future__ import annotations

import io
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from geode.domain.errors import Misuse
from geode.entrypoints.cli.arguments import parser
from geode.entrypoints.cli.exit_codes import INTERRUPTED, READER_GONE, WRONG_USE
from geode.entrypoints.cli.wrong_use import on_the_command_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code (see `exit_codes`). Nothing expected shows a traceback."""
    _never_fail_to_print()
    arguments = parser().parse_args(argv)
    try:
        code = _perform(arguments)
        sys.stdout.flush()
    except Misuse as error:
        print(f"geode {arguments.command}: {on_the_command_line(error)}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        print(f"\ngeode {arguments.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return READER_GONE
    return code


def _perform(arguments: Namespace) -> int:
    match arguments.command:
        case "run":
            from geode.entrypoints.cli.run import run_command

            return run_command(arguments)
        case "emulate":
            from geode.entrypoints.cli.emulate import emulate_command

            return emulate_command(arguments)
        case _:
            from geode.entrypoints.demo.main import demo_command

            return demo_command(arguments)


def _never_fail_to_print() -> None:
    """A terminal that lacks a character gets a stand-in; it must not end a run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _forget_stdout() -> None:
    """Keep the interpreter from flushing into the closed pipe once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
