"""Where `geode` begins: the arguments, the subcommand, and what its faults look like to a person."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from geode.domain.errors import Misuse
from geode.entrypoints.cli.arguments import parser
from geode.entrypoints.cli.exit_codes import INTERRUPTED, READER_GONE, WRONG_USE
from geode.entrypoints.cli.stdout import forget_stdout, never_fail_to_print
from geode.entrypoints.cli.wrong_use import on_the_command_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code (see `exit_codes`). Nothing expected shows a traceback."""
    never_fail_to_print()
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
        forget_stdout()
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
