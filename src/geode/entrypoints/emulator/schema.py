"""JSON Schema as the servers take it: which words, where, and how much of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.entrypoints.emulator.rule import Path, ident, listed, mapped

ONE_SCHEMA: Final = ("items", "not", "if", "then", "else", "additionalProperties", "contains", "propertyNames")
MANY_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED_SCHEMAS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")
NESTING_LIMIT: Final = 10
# Steps of a path; beyond it a schema is not looked at, so that the work stays in proportion to its length.
DEPTH_LIMIT: Final = 200

Place = tuple[Path, dict[str, Any]]


def places(schema: Any, path: Path = ()) -> Iterator[Place]:
    """Every sub-schema with its path, the root first, as deep as anyone nests them."""
    waiting: list[tuple[Path, Any]] = [(path, schema)]
    while waiting:
        where, found = waiting.pop()
        if not isinstance(found, dict) or len(where) > DEPTH_LIMIT:
            continue
        yield where, found
        waiting.extend(reversed(list(_inner(where, found))))


def _inner(path: Path, schema: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    for word in ONE_SCHEMA:
        if word in schema:
            yield (*path, word), schema[word]
    for word in MANY_SCHEMAS:
        for number, sub in enumerate(listed(schema.get(word))):
            yield (*path, word, number), sub
    for word in NAMED_SCHEMAS:
        for name, sub in mapped(schema.get(word)).items():
            yield (*path, word, name), sub


def is_object(schema: Mapping[str, Any]) -> bool:
    """Does it describe an object, by its type or by having properties?"""
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


def is_array(schema: Mapping[str, Any]) -> bool:
    """Does it describe an array?"""
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def open_objects(schema: Any) -> Iterator[Path]:
    """Objects that do not say `additionalProperties: false`."""
    return (path for path, sub in places(schema) if is_object(sub) and sub.get("additionalProperties") is not False)


def not_required(schema: Any) -> Iterator[tuple[Path, str]]:
    """Properties that their object does not require."""
    for path, sub in places(schema):
        required = {ident(name) for name in listed(sub.get("required"))}
        for name in mapped(sub.get("properties")):
            if name not in required:
                yield path, name


def unions(schema: Any) -> Iterator[Path]:
    """Places with `anyOf` or with several types."""
    return (path for path, sub in places(schema) if "anyOf" in sub or isinstance(sub.get("type"), list))


def having(schema: Any, words: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """Places that use one of `words`."""
    return ((path, word) for path, sub in places(schema) for word in words if word in sub)


def arrays_without_items(schema: Any) -> Iterator[Path]:
    """Arrays that do not say what they hold."""
    return (path for path, sub in places(schema) if is_array(sub) and "items" not in sub)


def tuples(schema: Any) -> Iterator[Path]:
    """The tuple form of older drafts: `items` with a list."""
    return (path for path, sub in places(schema) if isinstance(sub.get("items"), list))


def depth(schema: Any) -> int:
    """Levels of objects inside objects, the root being one."""
    return max((1 + sum(part == "properties" for part in path) for path, sub in places(schema) if is_object(sub)), default=0)


def recursive(schema: Any) -> bool:
    """Does a definition lead back to itself?"""
    named = {**mapped(mapped(schema).get("$defs")), **mapped(mapped(schema).get("definitions"))}
    links = {name: set(_references(sub)) for name, sub in named.items()}
    links["#"] = set(_references({key: value for key, value in mapped(schema).items() if key not in ("$defs", "definitions")}))
    return bool(_left(links))


def _references(schema: Any) -> Iterator[str]:
    for _, sub in places(schema):
        reference = sub.get("$ref")
        if isinstance(reference, str):
            yield reference.rsplit("/", 1)[-1]


def _left(links: Mapping[str, set[str]]) -> set[str]:
    """What is left when everything that leads nowhere is taken away again and again: the circles."""
    leading = {name: goals & links.keys() for name, goals in links.items()}
    sources: dict[str, list[str]] = {}
    for name, goals in leading.items():
        for goal in goals:
            sources.setdefault(goal, []).append(name)
    open_goals = {name: len(goals) for name, goals in leading.items()}
    done = [name for name, count in open_goals.items() if count == 0]
    while done:
        name = done.pop()
        del open_goals[name]
        for source in sources.get(name, ()):
            open_goals[source] -= 1
            if open_goals[source] == 0:
                done.append(source)
    return set(open_goals)


def booleans(schema: Any) -> Iterator[Path]:
    """Properties described by a bare true or false."""
    for path, sub in places(schema):
        for name, inner in mapped(sub.get("properties")).items():
            if isinstance(inner, bool):
                yield (*path, "properties", name)


def names(schema: Any) -> Iterator[str]:
    """The names of all properties, and of everything else that a schema names."""
    for _, sub in places(schema):
        for word in NAMED_SCHEMAS:
            yield from map(ident, mapped(sub.get(word)))
