"""Tools that are described as data: an array of `{name, description, input_schema, tier?, …}` (spec section 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, cast

from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.tiers import tier_of
from geode.domain.tools import ToolSpec
from geode.entrypoints.tools.declaration import tool

# A file, or the array itself.
Definitions: TypeAlias = str | Path | Sequence[Mapping[str, Any]]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FLAGS: Final = ("strict", "poller", "idempotent", "deferred")
# Those of `@tool`, which says what they take.
_DECLARED: Final = ("tier", "timeout_seconds", "alternative", "fallback", "max_calls")
_KNOWN: Final = ("name", "description", "input_schema", *_DECLARED, *_FLAGS)
# What others call it.
_ELSEWHERE: Final = {
    **dict.fromkeys(("parameters", "inputSchema", "schema", "args_schema"), "input_schema"),
    "function": "name, description and input_schema, with nothing around them",
    "timeout": "timeout_seconds",
}
_FORM: Final = '{"name": …, "description": …, "input_schema": {…}}'


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a definition: its place is in the text, `id` is that of the Misuse."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool without its handler. `settings` are those that it says, by the names that they have in `Tool`."""

    spec: ToolSpec
    settings: Mapping[str, Any]
    place: str


@dataclass(frozen=True, slots=True)
class Defined:
    """What was read: the definitions that can be used, in their order, and everything that is wrong with the others."""

    definitions: tuple[Definition, ...]
    problems: tuple[Problem, ...]
    origin: str


def read_definitions(given: Definitions) -> Defined:
    """The definitions of a file, or of the array itself. Misuse `json-file` for a file that is no JSON."""
    if isinstance(given, str | Path):
        from geode.adapters.json_files import read_json

        file = read_json(Path(given))
        return definitions_in(file.value, str(file.path), file.places())
    return definitions_in(given, "definitions")


def definitions_in(value: object, origin: str, places: Mapping[str | int, str] | None = None) -> Defined:
    """The definitions in a JSON value. `places` says where each stands; else it is told by its index."""
    if not isinstance(value, list | tuple):
        text = f"{origin}: the outermost value must be a list of definitions [{_FORM}, …], got {_kind(value)}"
        return Defined((), (Problem("definition", text),), origin)
    found: list[Definition] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for index, entry in enumerate(cast("Sequence[object]", value)):
        place = (places or {}).get(index) or f"{origin}[{index}]"
        made = _definition(entry, place)
        if not isinstance(made, Definition):
            problems += made
        elif first := seen.get(made.spec.name):
            text = f'{place}: two tools are called "{made.spec.name}", the first at {first}. Rename one'
            problems.append(Problem("tool-twice", text))
        else:
            seen[made.spec.name] = place
            found.append(made)
    return Defined(tuple(found), tuple(problems), origin)


def refuse(problems: Sequence[Problem]) -> NoReturn:
    """Misuse for the first of them, which says how many more there are."""
    first, *others = problems
    more = f"; and {len(others)} more: geode tools check --tools FILE.json:MODULE says each" if others else ""
    raise Misuse(first.id, f"{first.text}{more}")


# ---- one entry ---------------------------------------------------------------------------------


def _definition(entry: object, place: str) -> Definition | list[Problem]:
    if not isinstance(entry, Mapping):
        return [Problem("definition", f"{place}: a definition must be an object {_FORM}, got {_kind(entry)}")]
    given = cast("Mapping[str, Any]", entry)
    name = given.get("name")
    about = f'{place}: tool "{name:.64}"' if isinstance(name, str) else f"{place}: a tool"
    problems = [Problem("definition", f"{about} {text}") for text in _wrong_words(given)]
    settings, wrong = _settings(given, about)
    problems += wrong
    if problems:
        return problems
    try:
        spec = ToolSpec(given["name"], given["description"], given["input_schema"], settings.get("strict", False))
    except Misuse as error:
        return [Problem(error.id, f"{place}: {_words(error)}")]
    return Definition(spec, settings, place)


def _wrong_words(given: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with the three that each has, and with names that none has."""
    for word in given:
        if word not in _KNOWN:
            close = (_ELSEWHERE[word],) if word in _ELSEWHERE else closest(word, _KNOWN)
            yield f'has "{word:.64}", which is unknown; ' + (
                f"did you mean {close[0]}?" if close else f"known: {', '.join(_KNOWN)}"
            )
    for word, kind, expected in (("name", str, "text"), ("description", str, "text"), ("input_schema", Mapping, "an object")):
        value = given.get(word)
        if word not in given:
            yield f"has no {word}: a definition is {_FORM}"
        elif not isinstance(value, kind):
            yield f"must have {expected} as its {word}, got {_kind(value)}"
        elif word == "description" and not str(value).strip():
            yield "has an empty description: a model chooses a tool by it"
        elif word == "name" and not _NAME.fullmatch(str(value)):
            yield "has a name that cannot be sent: 1 to 64 of A-Z a-z 0-9 _ -"


def _settings(given: Mapping[str, Any], about: str) -> tuple[Mapping[str, Any], list[Problem]]:
    """What it says beside those three. A null says nothing, as None does in Python."""
    settings: dict[str, Any] = {}
    problems: list[Problem] = []
    for word, value in given.items():
        if value is None or word not in (*_DECLARED, *_FLAGS):
            continue
        try:
            settings[word] = _setting(word, value)
        except Misuse as error:
            problems.append(Problem(error.id, f"{about}: {_words(error)}"))
    return settings, problems


def _setting(word: str, value: Any) -> Any:
    if word in _FLAGS:
        if not isinstance(value, bool):
            raise Misuse("tool-setting", f"{word} must be true or false, got {_kind(value)}")
        return value
    if word in ("tier", "alternative", "fallback") and not isinstance(value, str):
        raise Misuse("tool-setting", f"{word} must be text, got {_kind(value)}")
    declared: dict[str, Any] = {word: value}
    tool(**declared)
    return tier_of(value) if word == "tier" else value


def _words(error: Misuse) -> str:
    """What it says, without its id."""
    return str(error).removesuffix(f" [{error.id}]")


def _kind(value: object) -> str:
    """What JSON calls such a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
