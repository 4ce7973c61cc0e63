"""What can be configured, where it may be said, and which place wins (spec section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast, get_args

from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.targets import IDENTITIES

Layer: TypeAlias = Literal["command line", "environment", "project config.toml", "global config.toml", "routing.toml"]
KeyType: TypeAlias = Literal["model id", "word", "folder", "file"]

# Strongest first.
LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)


@dataclass(frozen=True, slots=True)
class Key:
    """Something that can be set: as `name` in config.toml (a dot stands for a table), or as `variable`."""

    name: str
    variable: str
    type: KeyType
    meaning: str

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


KEYS: Final[tuple[Key, ...]] = (
    Key("model", "GEODE_MODEL", "model id", "the model of runs that name none"),
    Key("effort", "GEODE_EFFORT", "word", "how hard the model is to think, in its provider's own words"),
    Key("reflection_model", "GEODE_REFLECTION_MODEL", "model id", "the model that looks back on a run"),
    Key("summary_model", "GEODE_SUMMARY_MODEL", "model id", "the model that writes summaries"),
    Key("journal", "GEODE_JOURNAL", "folder", "where `geode run` keeps its runs, and `geode runs` finds them"),
    Key("mcp.config", "GEODE_MCP_CONFIG", "file", "a JSON file of MCP servers, as other programs have it"),
    *(
        Key(f"sources.{identity}", f"GEODE_SOURCE_{identity.upper()}", "word", f"which credential source serves {identity}")
        for identity in IDENTITIES
    ),
)
_BY_PATH: Final[Mapping[tuple[str, ...], Key]] = {key.path: key for key in KEYS}
_TABLES: Final = frozenset(key.path[:-1] for key in KEYS if len(key.path) > 1)
# Tables and lists of a config.toml that are no such settings: `domain/mcp_declarations.py` reads them.
_READ_ELSEWHERE: Final = frozenset((("mcp", "servers"), ("mcp", "trust_projects")))
# What people look for in the wrong file.
_OF_ROUTING: Final = ("models", "prices", "providers", "routing")


def key_named(name: str) -> Key:
    """The key of this name. Misuse, with the closest name, where there is none."""
    path = tuple(name.split("."))
    if path[:2] in _READ_ELSEWHERE:
        raise Misuse(
            "config-key", f"{'.'.join(path[:2])} is written into a config.toml by hand; geode mcp list shows what it says"
        )
    if path not in _BY_PATH:
        raise Misuse("config-key", _unknown(name))
    return _BY_PATH[path]


def _unknown(name: str, further: Iterable[str] = ()) -> str:
    names = [*(key.name for key in KEYS), *further]
    close = closest(name, names)
    hint = f"; did you mean {close[0]}?" if close else f". Known: {', '.join(names)}"
    return f'there is no setting "{name}"{hint}'


# ---- layers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """A value, and where it is written."""

    value: str
    place: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one place of a layer says of a key; `value` is None where it says nothing."""

    layer: Layer
    place: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """What every layer says of a key. `candidates` are strongest first, with at least one for each layer."""

    key: Key
    candidates: tuple[Candidate, ...]

    @property
    def winner(self) -> Candidate | None:
        """The strongest that says something."""
        return next((one for one in self.candidates if one.value is not None), None)

    @property
    def value(self) -> str | None:
        """The value in force."""
        return None if self.winner is None else self.winner.value

    @property
    def place(self) -> str | None:
        """Where the value in force is written."""
        return None if self.winner is None else self.winner.place

    @property
    def hidden(self) -> tuple[Candidate, ...]:
        """Those that say something in vain."""
        return tuple(one for one in self.candidates if one.value is not None and one is not self.winner)


def explain(key: Key, candidates: Iterable[Candidate]) -> Explained:
    """The candidates in the order of their layers, given in any order; within a layer the order is kept.

    A value of nothing but white space is no value.
    """
    given = tuple(candidates)
    return Explained(key, tuple(one for layer in LAYERS for one in _of(layer, given)))


def _of(layer: Layer, given: Iterable[Candidate]) -> Iterator[Candidate]:
    there = [_cleaned(one) for one in given if one.layer == layer]
    yield from there or (Candidate(layer, ""),)


def _cleaned(one: Candidate) -> Candidate:
    if one.value is None or one.value.strip():
        return replace(one, value=one.value and one.value.strip())
    return Candidate(one.layer, f"{one.place}, empty")


# ---- what a config.toml says -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at `path` of a file. It never shows a value, which may be a secret in the wrong place."""

    path: tuple[str, ...]
    kind: Literal["key", "value"]
    text: str


def values_in(document: Mapping[str, object]) -> tuple[Mapping[str, str], tuple[Problem, ...]]:
    """The values of a config.toml by the names of their keys, and everything that is wrong with it, in its order."""
    said = tuple(_read(document, ()))
    problems = tuple(one for one in said if isinstance(one, Problem))
    return dict(one for one in said if not isinstance(one, Problem)), problems


def _read(table: Mapping[str, object], above: tuple[str, ...]) -> Iterator[tuple[str, str] | Problem]:
    for word, value in table.items():
        path = (*above, word)
        name = ".".join(path)
        if path in _READ_ELSEWHERE:
            continue
        if path in _BY_PATH:
            problem = value_problem(name, value)
            yield Problem(path, "value", problem) if problem else (name, str(value))
        elif path not in _TABLES:
            misplaced = f"[{word}] belongs into routing.toml" if not above and word in _OF_ROUTING else ""
            yield Problem(path, "key", misplaced or _unknown(name, map(".".join, sorted(_READ_ELSEWHERE))))
        elif isinstance(value, Mapping):
            yield from _read(cast("Mapping[str, object]", value), path)
        else:
            yield Problem(path, "value", f"{name} must be a table, got {toml_kind(value)}. Write [{name}]")


def value_problem(name: str, value: object) -> str:
    """What keeps `value` from being one of the key `name`; "" if nothing does."""
    if not isinstance(value, str):
        of_routing = "; [model.defaults] and [model.fallbacks] belong into routing.toml" if name == "model" else ""
        hint = of_routing if isinstance(value, Mapping) else ""
        return f"{name} must be text in quotes, got {toml_kind(value)}{hint}"
    if not value.strip():
        return f"{name} is empty: give it a value, or take it out (geode config unset {name})"
    return "" if value.isprintable() else f"{name} has a line break in it, or another character that cannot be seen"


def toml_kind(value: object) -> str:
    """What TOML calls such a value."""
    match value:
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case Mapping():
            return "a table"
        case _:
            return "a date or a time"
