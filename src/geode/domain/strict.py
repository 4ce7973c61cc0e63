"""Strict tools: whether a server's grammar can hold a schema, and the schema in the form that it wants.

Strict is granted only to a schema that fits already: closing objects, requiring what is optional as
nullable, and leaving defaults out are all that is done to it. Source: wire facts H.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from geode.domain.json_value import dump_json
from geode.domain.schema_profile import StrictForm
from geode.domain.schema_words import (
    DEFINITIONS,
    MANY_SCHEMAS,
    NAMED_SCHEMAS,
    Path,
    Schema,
    describes_object,
    list_in,
    object_in,
    places,
    pointer,
    required_of,
    resolved,
    types_of,
    with_children,
)

_SAYS_WHAT: Final = frozenset(("type", "$ref", "anyOf", "allOf", "enum", "const"))
_NULL: Final = {"type": "null"}


@dataclass(frozen=True, slots=True)
class Load:
    """What a strict schema adds to the bounds of a request: its optional properties, and its unions."""

    optional: int = 0
    unions: int = 0


def load_of(schema: Schema) -> Load:
    """The optional properties and the unions of a schema, nested ones included."""
    found = [sub for _, sub in places(schema)]
    optional = sum(len(object_in(sub.get("properties")).keys() - required_of(sub)) for sub in found)
    return Load(optional, sum("anyOf" in sub or isinstance(sub.get("type"), list) for sub in found))


def strict_problem(schema: Schema, form: StrictForm) -> str | None:
    """Why `schema` does not fit `form`: the JSON pointer, and what stands there. None if it fits."""
    return next(chain(_of_places(schema, form), _of_size(schema, form), _of_references(schema, form)), None)


def in_strict_form(schema: Schema, form: StrictForm) -> Schema:
    """A fitting `schema` as strict: objects closed, and where `form` wants it, all properties required and no default.

    `schema` itself if it is so already.
    """
    node = with_children(schema, lambda child: in_strict_form(child, form))
    changes: dict[str, Any] = {}
    if describes_object(node) and "additionalProperties" not in node:
        changes["additionalProperties"] = False
    if form.nullable:
        properties, required = object_in(node.get("properties")), required_of(node)
        optional = properties.keys() - required
        if optional:
            changes["properties"] = {name: _nullable(one) if name in optional else one for name, one in properties.items()}
        if optional or (describes_object(node) and "required" not in node):
            changes["required"] = list(properties)
        if "default" in node:
            node = {word: value for word, value in node.items() if word != "default"}
    return {**node, **changes} if changes else node


def accepts_null(schema: Schema, root: Schema) -> bool:
    """Whether null fits `schema` as far as its types, values, references and unions say."""
    return _accepts_null(schema, root, set())


def _accepts_null(schema: Schema, root: Schema, seen: set[str]) -> bool:
    """What was seen has been asked already: had it said yes, nobody would ask again."""
    while isinstance(reference := schema.get("$ref"), str):
        target = resolved(root, reference) if reference not in seen else None
        if target is None:
            return False
        seen.add(reference)
        schema = target
    if "const" in schema:
        return schema["const"] is None
    if "enum" in schema and None not in list_in(schema["enum"]):
        return False
    if "anyOf" in schema:
        return any(_accepts_null(object_in(branch), root, seen) for branch in list_in(schema["anyOf"]))
    return not types_of(schema) or "null" in types_of(schema)


def _nullable(schema: Schema) -> Schema:
    kind, values = schema.get("type"), schema.get("enum")
    if isinstance(values, list) and None not in values:
        schema = {**schema, "enum": [*list_in(values), None]}
    if "$ref" in schema or "const" in schema:
        text = schema.get("description")
        inner = {word: value for word, value in schema.items() if word != "description"}
        return {"anyOf": [inner, _NULL], **({} if text is None else {"description": text})}
    if "anyOf" in schema:
        branches = list_in(schema["anyOf"])
        return schema if _NULL in branches else {**schema, "anyOf": [*branches, _NULL]}
    types = types_of(schema)
    return schema if kind is None or "null" in types else {**schema, "type": [*types, "null"]}


# ---- what does not fit -------------------------------------------------------------------------


def _of_places(schema: Schema, form: StrictForm) -> Iterator[str]:
    for path, sub in places(schema):
        for word in sub:
            if word in form.refused:
                yield f"{pointer((*path, word))}: {word} is not permitted"
        if describes_object(sub):
            yield from _of_object(path, sub)
        elif not _SAYS_WHAT & sub.keys():
            yield f"{pointer(path)}: it does not say what it holds"
        if "array" in types_of(sub) and "items" not in sub:
            yield f"{pointer(path)}: the array does not say what it holds"
        if "format" in sub and sub["format"] not in form.formats:
            yield f"{pointer((*path, 'format'))}: the format {dump_json(sub['format'])} is not permitted"
        if form.min_items is not None and sub.get("minItems", 0) > form.min_items:
            yield f"{pointer((*path, 'minItems'))}: minItems above {form.min_items} is not permitted"
        if form.scalars and any(isinstance(value, dict | list) for value in list_in(sub.get("enum"))):
            yield f"{pointer((*path, 'enum'))}: an enum of objects or arrays is not permitted"


def _of_object(path: Path, sub: Schema) -> Iterator[str]:
    """An object is closed, or can be: not one that takes any properties, and not one that would then be always empty."""
    extra = sub.get("additionalProperties", False)
    if extra is not False:
        place = pointer((*path, "additionalProperties"))
        yield f"{place}: {dump_json(extra)[:80]} allows free properties, strict allows none"
    elif path and not sub.get("properties") and "additionalProperties" not in sub:
        yield f"{pointer(path)}: an object without properties of its own is free-form, strict would keep it empty"


def _of_size(schema: Schema, form: StrictForm) -> Iterator[str]:
    found = list(places(schema))
    names = [name for _, sub in found for name in object_in(sub.get("properties"))]
    values = [value for _, sub in found for value in [*list_in(sub.get("enum")), *([sub["const"]] if "const" in sub else [])]]
    titles = [name for word in DEFINITIONS for name in object_in(schema.get(word))]
    levels = max(_level(path) for path, sub in found if describes_object(sub) or not path)
    counted = (
        (levels, form.levels, "levels of objects"),
        (len(names), form.properties, "properties"),
        (len(values), form.enum_values, "values of enums"),
        (sum(map(len, [*names, *titles, *map(dump_json, values)])), form.characters, "characters of names and values"),
    )
    for number, most, what in counted:
        if most is not None and number > most:
            yield f"/: {number} {what}, at most {most} are permitted"


def _level(path: Path) -> int:
    """How many objects a place is inside, the one that it is included."""
    level, at = 1, 0
    while at < len(path):
        level += path[at] == "properties"
        # After such a word comes a name or a number.
        at += 2 if path[at] in NAMED_SCHEMAS | MANY_SCHEMAS else 1
    return level


def _of_references(schema: Schema, form: StrictForm) -> Iterator[str]:
    """References lead to definitions of the schema, and not back to where they came from."""
    links: dict[Path, dict[Path, Path]] = {}
    for path, sub in places(schema):
        if "$ref" not in sub:
            continue
        if resolved(schema, sub["$ref"]) is None:
            yield f"{pointer((*path, '$ref'))}: {dump_json(sub['$ref'])[:80]} leads nowhere in the schema"
        links.setdefault(_home(path), {})[_home(tuple(str(sub["$ref"]).split("/")[1:]))] = path
    if not form.recursion and (place := _circle(links)) is not None:
        yield f"{pointer((*place, '$ref'))}: a definition that leads back to itself is not permitted"


def _home(path: Path) -> Path:
    """The definition that a path is in, or the root."""
    return path[:2] if path and path[0] in DEFINITIONS else ()


def _circle(links: Mapping[Path, Mapping[Path, Path]]) -> Path | None:
    """A reference on a way back to where it starts: such ways are what is left without the places that lead nowhere."""
    leads = {home: dict(targets) for home, targets in links.items()}
    coming: dict[Path, list[Path]] = {}
    for home, targets in leads.items():
        for target in targets:
            coming.setdefault(target, []).append(home)
    ends = [place for place in coming if place not in leads]
    while ends:
        done = ends.pop()
        for home in coming.get(done, ()):
            del leads[home][done]
            if not leads[home]:
                del leads[home]
                ends.append(home)
    passed, place = set[Path](), next(iter(leads), None)
    while place is not None and place not in passed:
        passed.add(place)
        place = next(iter(leads[place]))
    return next(iter(leads[place].values())) if place is not None else None
