"""The schema that a server is told: a projection of the tool's own, which arguments are checked against.

What a server takes goes out as it is, the very same object; what it would refuse is left out, written
in another form, or said in the description. A projection never asks for more than the original.
Source: wire facts H.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from geode.domain.regular import well_formed
from geode.domain.root_schema import anchored, merged_root, told
from geode.domain.schema_profile import SchemaProfile
from geode.domain.schema_words import (
    HOLDING,
    MANY_SCHEMAS,
    NAMED_SCHEMAS,
    ONE_SCHEMA,
    Schema,
    list_in,
    object_in,
    types_of,
    with_children,
)
from geode.domain.wire_names import sent_key

_TYPES: Final = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
# Where `true` and `false` are the usual form.
_OPEN_OR_CLOSED: Final = frozenset(("additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties"))
_LIMITS: Final = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"),
    )
)
_TEXTS: Final = frozenset(("title", "description", "format", "$ref", "$comment", "$schema", "$id"))
_CONDITIONAL: Final = ("if", "then", "else", "not", "dependentRequired", "dependentSchemas", "dependencies")
# Where these stand, `properties` does not name all that there can be.
_NAMES_ELSEWHERE: Final = ("$ref", "patternProperties", "allOf", "anyOf", "oneOf")
_GONE: Final = object()


def projected(schema: Schema, profile: SchemaProfile) -> Schema:
    """`schema` as a server of `profile` takes it, `type: "object"` at the root; `schema` itself if it fits.

    Total for any JSON object, pure, linear in its length, and `projected(projected(s)) == projected(s)`.
    """
    mended = _mended(schema, profile)
    root = merged_root(mended, profile.root_refused)
    if profile.bound_keys:
        root = _keys_sent(root)
    return _rooted(root, profile)


def _rooted(root: Schema, profile: SchemaProfile) -> Schema:
    """The root says that it is an object, and names in `required` only what it has."""
    added: dict[str, Any] = {}
    if root.get("type") != "object":
        added["type"] = "object"
    if profile.root_properties and "properties" not in root:
        added["properties"] = {}
    if profile.root_required and root.get("properties") and "required" not in root:
        added["required"] = []
    filled = {**root, **added} if added else root
    return _changed(filled, "required", _known(filled)) if "properties" in filled else filled


def _mended(schema: Schema, profile: SchemaProfile) -> Schema:
    """What is malformed is gone, older forms are in those of today; all the way down, the root's own rules aside."""
    node = schema
    for word, value in schema.items():
        node = _changed(node, word, _value(word, value))
    node = with_children(node, lambda child: _mended(child, profile))
    if "properties" in node and not any(word in node for word in _NAMES_ELSEWHERE):
        node = _changed(node, "required", _known(node))
    return _array(node, profile)


def _changed(node: Schema, word: str, value: Any) -> Schema:
    if value is node.get(word, _GONE):
        return node
    if value is _GONE:
        return {key: one for key, one in node.items() if key != word}
    return {**node, word: value}


# ---- one word ----------------------------------------------------------------------------------


def _value(word: str, value: Any) -> Any:
    """What a word may say: `value` itself, or what is left of it."""
    if word in HOLDING:
        return _schemas(word, value)
    match word:
        case "type":
            return _type(value)
        case "required":
            return _required(value)
        case "enum":
            return value if isinstance(value, list) and value else _GONE
        case "pattern":
            return value if isinstance(value, str) and well_formed(value) else _GONE
        case _ if word in _LIMITS:
            return value if isinstance(value, int | float) and not isinstance(value, bool) else _GONE
        case _ if word in _TEXTS:
            return value if isinstance(value, str) else _GONE
        case _:
            return value


def _schemas(word: str, value: Any) -> Any:
    if word in NAMED_SCHEMAS:
        if not isinstance(value, Mapping):
            return {} if word == "properties" else _GONE
        named = object_in(value)
        kept = {name: _schema(one) for name, one in named.items() if word != "patternProperties" or well_formed(name)}
        return value if len(kept) == len(named) and all(one is named[name] for name, one in kept.items()) else kept
    if word in MANY_SCHEMAS or (word == "items" and isinstance(value, list)):
        listed = list_in(value)
        if not listed and word != "items":
            return _GONE
        members = [_schema(one) for one in listed]
        return value if all(one is other for one, other in zip(members, listed, strict=True)) else members
    if word in ONE_SCHEMA and isinstance(value, bool) and word not in _OPEN_OR_CLOSED:
        return _schema(value)
    return value if isinstance(value, Mapping | bool) else _GONE


def _schema(value: Any) -> Any:
    """A schema as an object: `true` allows all and `false` nothing; what is no schema says nothing."""
    if value is False:
        return {"not": {}}
    return value if isinstance(value, Mapping) else {}


def _type(value: Any) -> Any:
    if isinstance(value, str):
        return value if value in _TYPES else _GONE
    known = list(dict.fromkeys(one for one in list_in(value) if isinstance(one, str) and one in _TYPES))
    return (value if known == value else known) if known else _GONE


def _required(value: Any) -> Any:
    if value is None:
        return []
    if not isinstance(value, list):
        return _GONE
    names = list(dict.fromkeys(one for one in list_in(value) if isinstance(one, str)))
    return value if names == value else names


def _known(node: Schema) -> Any:
    """`required` without the names of what is not there; what is not said stays unsaid."""
    required, properties = node.get("required", _GONE), object_in(node.get("properties"))
    if required is _GONE or all(name in properties for name in list_in(required)):
        return required
    return [name for name in list_in(required) if name in properties]


# ---- arrays ------------------------------------------------------------------------------------


def _array(node: Schema, profile: SchemaProfile) -> Schema:
    items = node.get("items")
    if isinstance(items, list):
        return _tuple(node, list_in(items), profile)
    if profile.array_items and "array" in types_of(node) and "items" not in node:
        members = list_in(node.get("prefixItems"))
        return {**_without(node, "prefixItems"), "items": {"anyOf": members} if members else {}}
    return node


def _tuple(node: Schema, members: list[Any], profile: SchemaProfile) -> Schema:
    """The tuple of older drafts: `items` is a list, and what may follow it is in `additionalItems`."""
    rest = node.get("additionalItems", True)
    others = _without(node, "items", "additionalItems", "prefixItems")
    if profile.tuples == "items":
        more = [rest] if isinstance(rest, Mapping) else []
        return {**others, "items": {"anyOf": [*members, *more]} if members else {}}
    closed: dict[str, Any] = {} if rest is True else {"items": _schema(rest)}
    return {**others, **({"prefixItems": members} if members else {}), **closed}


def _without(node: Schema, *words: str) -> dict[str, Any]:
    return {word: value for word, value in node.items() if word not in words}


# ---- names of properties -----------------------------------------------------------------------


def _keys_sent(root: Schema) -> Schema:
    """Top-level properties under names that are taken; what else speaks of them is said in words."""
    properties = object_in(root.get("properties"))
    names: Mapping[str, str] = {name: sent_key(name) for name in properties}
    if all(name == sent for name, sent in names.items()):
        return root
    kept = told(anchored(root), [word for word in _CONDITIONAL if word in root])
    renamed = {**kept, "properties": {names[name]: one for name, one in object_in(kept.get("properties")).items()}}
    return _changed(renamed, "required", _renamed(renamed.get("required", _GONE), names))


def _renamed(required: Any, names: Mapping[str, str]) -> Any:
    return required if required is _GONE else [names[name] for name in list_in(required) if name in names]
