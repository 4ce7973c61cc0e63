"""Reads TOML files, and says at which line and column they say something."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from geode.domain.errors import Misuse

_PLACE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A file that was read. One that is not there says nothing."""

    path: Path
    exists: bool = False
    text: str = field(default="", repr=False)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def place_of(self, keys: Sequence[str | int]) -> tuple[int, int]:
        """Line and column, from 1, of the statement that first says something at or below `keys`.

        A header that opens the table is such a statement. LookupError where nothing is said of it.
        """
        lines = _lines(self.text)
        lowest, highest, last = 1, len(lines), 0
        # A statement may go over several lines, so only some beginnings of the file can be parsed; those that
        # can have `keys` from one of them on. The search looks at the next one that can.
        while lowest <= highest:
            middle = (lowest + highest) // 2
            count, values = _next_parsed(lines, middle)
            if _has(values, keys):
                last, highest = count, middle - 1
            else:
                lowest = count + 1
        if not last:
            raise LookupError(keys)
        first = next(count for count in range(last - 1, -1, -1) if _parsed(lines, count) is not None) + 1
        statement = lines[first - 1]
        return first, len(statement) - len(statement.lstrip()) + 1

    def where(self, keys: Sequence[str | int]) -> str:
        """`FILE:LINE:COLUMN` of what is said at `keys`, as editors and terminals know it."""
        line, column = self.place_of(keys)
        return f"{self.path}:{line}:{column}"


def read_toml(path: Path) -> TomlFile:
    """The file; one that is missing is empty. Misuse, with line and column, where it is no TOML, or where it cannot be read."""
    data = _bytes(path)
    if data is None:
        return TomlFile(path)
    text = _text(path, data)
    try:
        return TomlFile(path, True, text, tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise Misuse("config-file", _broken(path, text, error)) from None


def _bytes(path: Path) -> bytes | None:
    try:
        # A pipe in its place would be waited for.
        if not stat.S_ISREG(path.stat().st_mode):
            raise Misuse("config-file", f"{path} is no file: move it away, or put a file there")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Misuse("config-file", f"{path} cannot be read: {error.strerror or error}") from error


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        raise Misuse("config-file", f"{path}:{line}:{column}: this is not UTF-8, as TOML is: save it as UTF-8") from None


def _broken(path: Path, text: str, error: Exception) -> str:
    told = _PLACE.match(str(error))
    if told is None:  # a number of more digits than Python reads, or brackets within brackets without end
        lines = _lines(text)
        first = next((count for count in range(1, len(lines) + 1) if _fails_alike(lines, count, error)), len(lines))
        return f"{path}:{first}:1: this cannot be read: {error}"
    end = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
    line, column = (told[2], told[3]) if told[2] else end
    return f"{path}:{line}:{column}: this is no TOML: {told[1]}"


def _fails_alike(lines: Sequence[str], count: int, error: Exception) -> bool:
    try:
        tomllib.loads("\n".join(lines[:count]))
    except (ValueError, RecursionError) as again:
        return type(again) is type(error)
    return False


# ---- beginnings of a file ----------------------------------------------------------------------


def _lines(text: str) -> Sequence[str]:
    return text.replace("\r\n", "\n").split("\n")  # as tomllib does: a line that is cut off must not end in half of its end


def _parsed(lines: Sequence[str], count: int) -> Mapping[str, Any] | None:
    """What the first `count` lines say; None where they end inside a statement."""
    try:
        return tomllib.loads("\n".join(lines[:count]))
    except tomllib.TOMLDecodeError:
        return None


def _next_parsed(lines: Sequence[str], count: int) -> tuple[int, Mapping[str, Any]]:
    """The shortest beginning of `count` lines or more that says something, and what it says."""
    while (values := _parsed(lines, count)) is None:
        count += 1
    return count, values


def _has(values: object, keys: Sequence[str | int]) -> bool:
    for key in keys:
        match values, key:
            case dict(), str() if key in values:
                values = values[key]
            case list(), int() if 0 <= key < len(values):
                values = values[key]
            case _:
                return False
    return True
