"""Variables: of the process, then of `.env` files."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from geode.domain.configuration import Candidate, Found
from geode.domain.errors import Misuse

PROCESS: Final = "the process environment"


@dataclass(frozen=True, slots=True)
class EnvFile:
    """The variables of a `.env` file, each with its line."""

    path: Path
    exists: bool = False
    values: Mapping[str, tuple[str, int]] = field(default_factory=dict, repr=False)


class Environment:
    """What the process has, and then the files, strongest first. An empty variable is no value."""

    def __init__(self, files: Sequence[EnvFile], process: Mapping[str, str] | None = None) -> None:
        """`process` stands for the variables of this process, which are looked at when they are asked for."""
        self.files = tuple(files)
        self._process = os.environ if process is None else process

    def find(self, name: str) -> Found | None:
        """The variable's value and its place: the process, or `FILE:LINE`."""
        there = (Found(value, place) for place, value in self._said(name) if value.strip())
        return next(there, None)

    def candidates(self, name: str) -> Iterator[Candidate]:
        """What each place says of the variable; where none does, one that names it."""
        said = [Candidate("environment", f"{name} in {place}", value) for place, value in self._said(name)]
        yield from said or (Candidate("environment", name),)

    def _said(self, name: str) -> Iterator[tuple[str, str]]:
        if name in self._process:
            yield PROCESS, self._process[name]
        for file in self.files:
            if name in file.values:
                value, line = file.values[name]
                yield f"{file.path}:{line}", value


def read_env_file(path: Path) -> EnvFile:
    """The file, taken as it stands: a `$NAME` in it is no variable. One that is missing is empty.

    Misuse names the line that cannot be read, but never shows it: it may hold a secret.
    """
    text = _text(path)
    if text is None:
        return EnvFile(path)
    from dotenv.parser import parse_stream

    values: dict[str, tuple[str, int]] = {}
    for one in parse_stream(io.StringIO(text, newline=None)):
        whole = one.original.string
        line = one.original.line + whole.count("\n", 0, len(whole) - len(whole.lstrip()))  # empty lines before it are in it
        if one.error:
            raise Misuse("env-file", f"{path}:{line}: this line cannot be read: write NAME=value, or NAME='…' for any text")
        if one.key is not None and one.value is not None:
            values[one.key] = one.value, line
    return EnvFile(path, True, values)


def _text(path: Path) -> str | None:
    try:
        # Elsewhere `.env` is a folder (a virtual environment), or a pipe, which would be waited for.
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        return path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Misuse("env-file", f"{path}:{line}: this is not UTF-8: save it as UTF-8") from None
    except OSError as error:
        raise Misuse("env-file", f"{path} cannot be read: {error.strerror or error}") from error
