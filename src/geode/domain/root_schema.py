"""The root of a tool's schema as one object: no reference, and no union that a server refuses there.

The properties of all branches are there, what every branch requires is required, and the rules of the
branches are said in the description. It allows more than the original, never less.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from geode.domain.json_value import dump_json
from geode.domain.schema_words import DEFINITIONS, Schema, list_in, object_in, places, resolved, types_of, with_children

# Branches may refer to each other in ways that never end, or end late: what is beyond is not merged.
_MAX_STEPS: Final = 10_000
_MAX_HOPS: Final = 32
_ALTERNATIVES: Final = ("anyOf", "oneOf")
# What is lost of a branch of `allOf` by merging it: nothing, as long as it says nothing else.
_MERGED_WHOLE: Final = frozenset(("type", "properties", "required", "title", "description"))
_ROOT: Final = "arguments"


@dataclass(frozen=True, slots=True)
class _Fields:
    """What a schema says of an object's properties."""

    properties: dict[str, Schema] = field(default_factory=dict[str, Schema])
    required: tuple[str, ...] = ()


def merged_root(root: Schema, refused: Collection[str]) -> Schema:
    """`root` without a reference and without the words of `refused`; `root` itself if it has none of them."""
    words = [word for word in root if word in refused]
    if not words and "$ref" not in root:
        return root
    anchor = anchored(root)
    plain = _without_reference(anchor)
    words = [word for word in plain if word in refused]
    if not words:
        return plain
    found = _Branches(anchor).fields(plain, frozenset())
    lossless = [word for word in words if word == "allOf" and _merges_whole(list_in(plain["allOf"]), found)]
    rest = told({word: value for word, value in plain.items() if word not in lossless}, set(words) - set(lossless))
    merged: dict[str, Any] = {**rest, "properties": found.properties}
    return {**merged, "required": list(found.required)} if found.required else merged


def told(root: Schema, words: Iterable[str]) -> Schema:
    """`root` with the rules of `words` in its description, as text."""
    rules = {word: root[word] for word in root if word in set(words)}
    if not rules:
        return root
    said = f"The arguments must also fit {dump_json(rules)}"
    text = root.get("description")
    kept = {word: value for word, value in root.items() if word not in rules}
    return {**kept, "description": f"{text}\n\n{said}" if isinstance(text, str) and text else said}


def anchored(root: Schema) -> Schema:
    """`root`, with references to it, or into it, pointing to a copy among its definitions: so that it can change."""
    inside = [sub.get("$ref") for _, sub in places(root)]
    if not any(_points_to_root(reference) for reference in inside):
        return root
    definitions = object_in(root.get("$defs"))
    name = _ROOT
    while name in definitions:
        name += "_"

    def moved(schema: Schema) -> Schema:
        node = with_children(schema, moved)
        reference = node.get("$ref")
        if not isinstance(reference, str) or not _points_to_root(reference):
            return node
        return {**node, "$ref": f"#/$defs/{name}{reference[1:]}"}

    changed = moved(root)
    copy = {word: value for word, value in changed.items() if word not in DEFINITIONS}
    return {**changed, "$defs": {**object_in(changed.get("$defs")), name: copy}}


def _points_to_root(reference: object) -> bool:
    if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
        return False
    return reference.split("/")[1:2] not in ([word] for word in DEFINITIONS)


def _without_reference(root: Schema) -> Schema:
    """The root and all that its reference leads to as one schema; what stands nearer wins."""
    plain, seen = root, set[str]()
    while isinstance(reference := plain.get("$ref"), str):
        near = {word: value for word, value in plain.items() if word != "$ref"}
        target = resolved(root, reference) if reference not in seen and len(seen) < _MAX_HOPS else None
        seen.add(reference)
        if target is None or not _may_be_object(target):
            return near
        far = {word: value for word, value in target.items() if word not in DEFINITIONS}
        plain = {**far, **near}
        if "properties" in far and "properties" in near:
            plain["properties"] = {**far["properties"], **near["properties"]}
        if "required" in far and "required" in near:
            plain["required"] = list(dict.fromkeys([*far["required"], *near["required"]]))
    return plain


def _merges_whole(branches: Sequence[Any], found: _Fields) -> bool:
    """Whether the merged object says all that these branches say."""
    said = [object_in(branch) for branch in branches]
    return all(
        branch.keys() <= _MERGED_WHOLE
        and all(found.properties.get(name) is one for name, one in object_in(branch.get("properties")).items())
        for branch in said
    )


def _may_be_object(schema: Schema) -> bool:
    return not types_of(schema) or "object" in types_of(schema)


class _Branches:
    """Reads properties out of branches, following references into `root`, in a bounded number of steps."""

    def __init__(self, root: Schema) -> None:
        self._root, self._steps = root, 0

    def fields(self, schema: Schema, open: frozenset[str]) -> _Fields:
        """What `schema` says itself, then its `allOf`, its reference, its alternatives; `open` are those on the way."""
        own = object_in(schema.get("properties"))
        self._steps += 1 + len(own)
        if self._steps > _MAX_STEPS:
            return _Fields()
        parts = [_Fields(dict(own), tuple(list_in(schema.get("required"))))]
        parts += [self.fields(branch, open) for branch in list_in(schema.get("allOf"))]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in open and len(open) < _MAX_HOPS:
            parts.append(self.fields(resolved(self._root, reference) or {}, open | {reference}))
        for word in _ALTERNATIVES:
            branches = [branch for branch in list_in(schema.get(word)) if _may_be_object(branch)]
            parts.append(_either([self.fields(branch, open) for branch in branches]))
        return _all_of(parts)


def _all_of(parts: Sequence[_Fields]) -> _Fields:
    """All parts hold; of a property that several describe the first that says anything is told."""
    properties: dict[str, Schema] = {}
    required: dict[str, None] = {}
    for part in parts:
        required |= dict.fromkeys(part.required)
        for name, schema in part.properties.items():
            properties[name] = properties.get(name) or schema
    return _Fields(properties, tuple(required))


def _either(branches: Sequence[_Fields]) -> _Fields:
    """One of the branches holds: any of their properties may be there, and what all of them require must be."""
    # By identity first: branches may share what a reference leads to, and comparing costs its length.
    variants: dict[str, dict[int, Schema]] = {}
    for branch in branches:
        for name, schema in branch.properties.items():
            variants.setdefault(name, {}).setdefault(id(schema), schema)
    properties = {name: _any_of(list(schemas.values())) for name, schemas in variants.items()}
    first, *others = branches or [_Fields()]
    in_others = [frozenset(other.required) for other in others]
    return _Fields(properties, tuple(name for name in first.required if all(name in other for other in in_others)))


def _any_of(schemas: list[Schema]) -> Schema:
    if len(schemas) == 1:
        return schemas[0]
    different = list({dump_json(schema): schema for schema in schemas}.values())
    return different[0] if len(different) == 1 else {"anyOf": different}
