"""The words of JSON Schema that hold schemas, and walking through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from geode.domain.json_value import pointer_part

Schema: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str, ...]

ONE_SCHEMA: Final = frozenset(
    (
        *("items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"),
        *("additionalItems", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
    )
)
MANY_SCHEMAS: Final = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
NAMED_SCHEMAS: Final = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
DEFINITIONS: Final = ("$defs", "definitions")
HOLDING: Final = ONE_SCHEMA | MANY_SCHEMAS | NAMED_SCHEMAS


def object_in(value: object) -> Schema:
    """`value` if it is an object, else an empty one."""
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def list_in(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def types_of(schema: Schema) -> tuple[str, ...]:
    """The types that a schema names: none, one or several."""
    kind = schema.get("type")
    return tuple(one for one in list_in(kind) if isinstance(one, str)) if not isinstance(kind, str) else (kind,)


def required_of(schema: Schema) -> frozenset[str]:
    """The names that a schema requires."""
    return frozenset(name for name in list_in(schema.get("required")) if isinstance(name, str))


def describes_object(schema: Schema) -> bool:
    """Whether it describes an object, by its type or by having properties."""
    return "object" in types_of(schema) or "properties" in schema


def children(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """The schemas right inside one, each with the way to it; `true` and `false` are none."""
    for word, value in schema.items():
        if word in ONE_SCHEMA and isinstance(value, Mapping):
            yield (word,), cast("Schema", value)
        elif word in MANY_SCHEMAS or word == "items":
            yield from (((word, str(at)), one) for at, one in enumerate(list_in(value)) if isinstance(one, Mapping))
        elif word in NAMED_SCHEMAS:
            yield from (((word, name), one) for name, one in object_in(value).items() if isinstance(one, Mapping))


def places(schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Every schema in `schema` with its path, the root first, in the order of the text."""
    yield path, schema
    for steps, child in children(schema):
        yield from places(child, path + steps)


def with_children(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """`schema` with `change` applied to each schema right inside it; the very same object if none is changed."""
    changed: dict[str, Any] = {}
    for word, value in schema.items():
        new: Any = value
        if word in ONE_SCHEMA and isinstance(value, Mapping):
            new = change(cast("Schema", value))
        elif word in MANY_SCHEMAS or word == "items":
            new = _same([change(one) if isinstance(one, Mapping) else one for one in list_in(value)], value)
        elif word in NAMED_SCHEMAS:
            named = object_in(value)
            parts = {name: change(one) if isinstance(one, Mapping) else one for name, one in named.items()}
            new = value if all(parts[name] is named[name] for name in named) else parts
        if new is not value:
            changed[word] = new
    return {**schema, **changed} if changed else schema


def _same(new: list[Any], old: Any) -> Any:
    return old if all(one is other for one, other in zip(new, list_in(old), strict=True)) else new


def resolved(root: Schema, reference: object) -> Schema | None:
    """The schema that a local reference of `root` points to: `#`, or `#/` and a JSON pointer. None for any other."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: object = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            at = int(name) if name.isdecimal() and len(name) < 6 else -1
            found = cast("list[object]", found)[at] if 0 <= at < len(found) else None
        else:
            found = object_in(found).get(name)
    return cast("Schema", found) if isinstance(found, Mapping) and reference[1:2] in ("", "/") else None


def pointer(path: Path) -> str:
    """A path as a JSON pointer; `/` for the root."""
    return "".join(f"/{pointer_part(step)}" for step in path) or "/"
