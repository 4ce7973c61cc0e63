"""One line of a file of kept traffic: an exchange, or what is wrong with the line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from geode.domain.json_value import clean_json
from geode.domain.naming import closest
from geode.entrypoints.emulator.render import DEFAULT_DIALECT, DIALECTS, Dialect, Protocol
from geode.entrypoints.emulator.rules import dialect_of

_SHOWN: Final = 80
_BOM: Final = "\ufeff"


class BadLine(ValueError):
    """The line is no exchange that can be looked at. `id` is the line's own, where it has one."""

    def __init__(self, message: str, id: Any = None) -> None:
        super().__init__(message)
        self.id = id


@dataclass(frozen=True, slots=True)
class Exchange:
    """A line of kept traffic; `fields` is the whole of it. What nothing asks for is not looked at."""

    id: Any
    protocol: Protocol
    dialect: Dialect
    fields: Mapping[str, Any]

    def field(self, name: str) -> Any:
        """The field, whatever it is; BadLine if there is none."""
        if name not in self.fields:
            raise BadLine(f'"{name}" is missing', self.id)
        return self.fields[name]

    def object(self, name: str) -> Mapping[str, Any]:
        """The field that must be a JSON object; BadLine if it is none."""
        value = self.field(name)
        if not isinstance(value, Mapping):
            raise BadLine(f'"{name}" must be a JSON object, got {_shown(value)}', self.id)
        return cast("Mapping[str, Any]", value)

    def header(self, name: str) -> str | None:
        """The header of the request with this name (lower case), or None if the line does not tell it."""
        for field in ("request_headers", "headers"):
            headers = self.fields.get(field)
            for key, value in cast("Mapping[str, Any]", headers).items() if isinstance(headers, Mapping) else ():
                if key.lower() == name and isinstance(value, str):
                    return value
        return None


def read_exchange(line: bytes) -> Exchange:
    """The exchange in a line: `{"protocol", …}`. BadLine says what is wrong with any other."""
    fields = _object(line)
    id, protocol, dialect, host = (fields.get(name) for name in ("id", "protocol", "dialect", "host"))
    known = _word("protocol", protocol, tuple(DIALECTS), id)
    wire = cast("Protocol", known)
    if dialect is not None:
        return Exchange(id, wire, cast("Dialect", _word("dialect", dialect, DIALECTS[wire], id)), fields)
    if not isinstance(host, str):
        return Exchange(id, wire, DEFAULT_DIALECT[wire], fields)
    spoken = dialect_of(host)
    return Exchange(id, wire, spoken if spoken in DIALECTS[wire] else "generic", fields)


def _word(what: str, value: object, known: Sequence[str], id: Any) -> str:
    if isinstance(value, str) and value in known:
        return value
    close = closest(value, known) if isinstance(value, str) else ()
    hint = f"did you mean {close[0]}? " if close else ""
    said = "is missing" if value is None else f"is unknown: {_shown(value)}"
    raise BadLine(f'"{what}" {said}; {hint}accepted: {", ".join(known)}', id)


def _shown(value: object) -> str:
    plain = isinstance(value, str | int | float | None)
    return json.dumps(value, ensure_ascii=False)[:_SHOWN] if plain else type(value).__name__


def _object(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode().removeprefix(_BOM)
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
        if isinstance(value, dict):
            return cast("dict[str, Any]", clean_json(value))
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8 (byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise BadLine(f"not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise BadLine("not to be read: nested too deeply") from None
    except ValueError as error:
        raise BadLine(f"not to be read: {error}", None) from None
    raise BadLine(f"not a JSON object but {_KINDS.get(type(value).__name__, 'a number')}")


_KINDS: Final[Mapping[str, str]] = {"list": "a list", "str": "a text", "NoneType": "null", "bool": "a boolean"}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two equal keys counts, so neither does."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set[str]()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {json.dumps(key, ensure_ascii=False)[:_SHOWN]} is there twice in one object")
            seen.add(key)
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:_SHOWN]} is beyond what JSON readers take")
    return value
