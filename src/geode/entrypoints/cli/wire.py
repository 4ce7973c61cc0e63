"""`geode wire`: JSON lines in, a JSON line out for each, as they come and for files of any length."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, Final, TypeAlias

from geode.domain.json_value import dump_json
from geode.entrypoints.cli.exit_codes import NOT_ALL
from geode.entrypoints.wire.exchange import BadLine, Exchange, read_exchange

_Look: TypeAlias = Callable[[Exchange], dict[str, Any]]
_STDIN: Final = "-"
# What a line that cannot be looked at has besides its error.
_REFUSED: Final[dict[str, Any]] = {"accepted": False, "status": None, "violations": []}


def wire_command(arguments: Namespace) -> int:
    """Look at every line of the files. `NOT_ALL` if a request was refused, or a line could not be looked at."""
    look, code = _look(arguments), 0
    bad = _REFUSED if arguments.action == "check" else {}
    for number, line in enumerate(_lines(arguments.files or [_STDIN]), 1):
        if not line.strip():
            continue
        try:
            shown = look(read_exchange(line))
        except (BadLine, RecursionError) as error:
            why = str(error) if isinstance(error, BadLine) else "nested too deeply"
            shown = {"id": getattr(error, "id", None), "line": number, **bad, "error": f"line {number}: {why}"}
        code = NOT_ALL if "error" in shown or shown.get("accepted") is False else code
        print(dump_json(shown), flush=True)
    return code


def _look(arguments: Namespace) -> _Look:
    """Only what the action needs is imported: checking knows no adapter."""
    match arguments.action:
        case "check":
            from geode.entrypoints.wire.checking import checked

            return checked
        case "decode":
            from geode.entrypoints.wire.decoding import decoded

            return decoded
        case _:
            from geode.entrypoints.wire.transcoding import Target, transcoded

            protocol, dialect = arguments.to
            return partial(transcoded, target=Target(protocol, dialect, arguments.model or ""))


def _lines(files: Sequence[str]) -> Iterator[bytes]:
    """The lines of all files, one after the other; numbers go on from file to file as in `cat`."""
    for name in files:
        with _opened(name) as file:
            yield from file


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == _STDIN:
        # What stands for a closed stdin has no bytes.
        yield getattr(sys.stdin, "buffer", io.BytesIO())
        return
    with open(name, "rb") as file:
        yield file
