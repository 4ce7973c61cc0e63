"""Where `geode` begins: the arguments, the subcommand, and what its faults look like to a person."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

from geode.domain.errors import GeodeError, Misuse
from geode.domain.naming import closest
from geode.entrypoints.cli.arguments import parser
from geode.entrypoints.cli.exit_codes import INTERRUPTED, READER_GONE, SERVER_FAILED, UNWRITABLE, WRONG_USE
from geode.entrypoints.cli.stdout import forget_stdout, never_fail_to_print
from geode.entrypoints.cli.wrong_use import in_words_of_a_terminal, on_the_command_line
from geode.ports.adapters import AdapterError
from geode.ports.tool_sources import ToolSourceError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code (see `exit_codes`). Nothing expected shows a traceback."""
    writable = never_fail_to_print()
    arguments = _arguments(parser(), argv)
    if not writable:
        print(f"geode {arguments.command}: stdout is closed, so nobody would see what it says", file=sys.stderr)
        return UNWRITABLE
    try:
        code = _perform(arguments)
        sys.stdout.flush()
    except Misuse as error:
        print(f"geode {arguments.command}: {on_the_command_line(error, arguments)}", file=sys.stderr)
        return WRONG_USE
    except AdapterError as error:
        print(f"geode {arguments.command}: {error}", file=sys.stderr)
        return WRONG_USE
    except ToolSourceError as error:
        print(f"geode {arguments.command}: {in_words_of_a_terminal(str(error))}", file=sys.stderr)
        return SERVER_FAILED
    except GeodeError as error:  # what is kept in files is not as it was written, or somebody else has it
        print(f"geode {arguments.command}: {error}", file=sys.stderr)
        return UNWRITABLE
    except KeyboardInterrupt:
        print(f"\ngeode {arguments.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        forget_stdout()
        return READER_GONE
    except OSError as error:
        forget_stdout()
        place = f": {error.filename}" if error.filename else ""
        print(f"geode {arguments.command}: {error.strerror or error}{place}", file=sys.stderr)
        return UNWRITABLE
    return code


def _arguments(grammar: ArgumentParser, argv: Sequence[str] | None) -> Namespace:
    """The arguments; an option that does not exist is told with the one that was probably meant."""
    arguments, unknown = grammar.parse_known_args(argv)
    if unknown:
        option = next((word for word in unknown if word.startswith("-")), unknown[0]).partition("=")[0]
        close = closest(option, [f"--{name.replace('_', '-')}" for name in vars(arguments)])
        hint = f"did you mean {close[0]}?" if close and option.startswith("-") else f"see geode {arguments.command} --help"
        grammar.exit(WRONG_USE, f"geode {arguments.command}: there is no argument {option}; {hint}\n")
    return arguments


# Imported only by the command that is given: they need what others do without.
_MODULES: Final = {
    **{name: f"cli.{name}" for name in ("run", "chat", "model", "runs", "config", "models", "about", "mcp", "emulate", "wire")},
    "adapters": "cli.models",
    "tools": "cli.tools_command",
    "demo": "demo.main",
}


def _perform(arguments: Namespace) -> int:
    command = arguments.command
    perform: Callable[[Namespace], int] = getattr(import_module(f"geode.entrypoints.{_MODULES[command]}"), f"{command}_command")
    return perform(arguments)
