"""Reads JSON files that people write, and says at which line they say something."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from geode.domain.errors import Misuse

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file that was read: `value` is plain JSON, in which no object has a key twice."""

    path: Path
    value: Any = field(repr=False)
    text: str = field(default="", repr=False)

    def where(self, keys: Sequence[str | int]) -> str:
        """`FILE:LINE` of the value at `keys`, or of what is nearest around it where there is none."""
        at = _start(self.text)
        for key in keys:
            found = dict(_members(self.text, at)).get(key)
            if found is None:
                break
            at = found
        return self._at(at)

    def places(self) -> Mapping[str | int, str]:
        """`FILE:LINE` of each member of the outermost value."""
        return {key: self._at(at) for key, at in _members(self.text, _start(self.text))}

    def _at(self, position: int) -> str:
        return f"{self.path}:{self.text.count(chr(10), 0, position) + 1}"


def read_json(path: Path) -> JsonFile:
    """The file. Misuse `json-file`, with its line, where it cannot be read, is no JSON, or says something twice."""
    text = _text(path)
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise Misuse("json-file", f"{path}:{error.lineno}: this is no JSON: {error.msg} (column {error.colno})") from None
    except _Twice as error:
        line = text.count("\n", 0, _second(text, error.key)) + 1
        shown = json.dumps(error.key, ensure_ascii=False)
        raise Misuse("json-file", f"{path}:{line}: {shown} is there twice in one object; take one of them out") from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise Misuse("json-file", f"{path}: this is no JSON: {why}") from None
    return JsonFile(path, value, text)


def _text(path: Path) -> str:
    try:
        # A pipe in its place would be waited for.
        if not stat.S_ISREG(path.stat().st_mode):
            raise Misuse("json-file", f"{path} is no file")
        return path.read_bytes().decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Misuse("json-file", f"{path}:{line}: this is not UTF-8, as JSON is: save it as UTF-8") from None
    except OSError as error:
        raise Misuse("json-file", f"{path} cannot be read: {error.strerror or error}") from None


class _Twice(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise _Twice(key)
        made[key] = value
    return made


def _constant(word: str) -> None:
    raise ValueError(f"{word} is no number that JSON has")


# ---- places ------------------------------------------------------------------------------------


def _start(text: str, at: int = 0) -> int:
    """The first place from `at` on that is no white space."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _members(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """The members of the object or list that begins at `at`, each with the place where its value begins."""
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        return
    count = 0
    at = _start(text, at + 1)
    while text[at] not in "}]":
        key: str | int = count
        if opening == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _start(text, _start(text, at) + 1)
        yield key, at
        count += 1
        at = _start(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _start(text, at + 1)


def _second(text: str, wanted: str) -> int:
    """Where the key stands for the second time in one object; the text is JSON in which one does."""
    outer = [_start(text)]
    while outer:
        seen = False
        for key, at in _members(text, outer.pop(0)):
            if seen and key == wanted:
                return at
            seen = seen or key == wanted
            outer.append(at)
    return 0
