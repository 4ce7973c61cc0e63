"""Schemas of answers, of every kind that the JSON Schema test suite has, each with an answer that fits and one that does not.

`closed` says which of them a server takes that turns each into a grammar of closed objects without recursion; `strict`,
which are strict at a server that has both forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    schema: Mapping[str, Any]
    fits: Any
    wrong: Any
    # Where the wrong one is wrong.
    at: str
    closed: bool = True
    strict: bool = False
    # Whether a server takes it whose functions have no union at their root.
    rooted: bool = True


def obj(*required: str, more: Mapping[str, Any] | None = None, closed: bool = True, **properties: Any) -> dict[str, Any]:
    """An object with these properties, which are required if no others are named."""
    end = {"additionalProperties": False} if closed else {}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required or properties),
        **end,
        **(more or {}),
    }


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
NODE = obj("name", name=TEXT, children={"type": "array", "items": {"$ref": "#/$defs/node"}})
LEAF = obj(kind={"const": "leaf"}, n=WHOLE)
PAIR = obj(kind={"const": "pair"}, of={"type": "array", "items": {"$ref": "#/$defs/leaf"}})

ROWS: Mapping[str, Row] = {
    "string": Row(obj(a=TEXT), {"a": "x"}, {"a": 1}, "/a", strict=True),
    "integer": Row(obj(a=WHOLE), {"a": 1}, {"a": 1.5}, "/a", strict=True),
    "number": Row(obj(a=NUMBER), {"a": 1.5}, {"a": "1.5"}, "/a", strict=True),
    "boolean": Row(obj(a={"type": "boolean"}), {"a": True}, {"a": 1}, "/a", strict=True),
    "null": Row(obj(a={"type": "null"}), {"a": None}, {"a": ""}, "/a", strict=True),
    "nullable": Row(obj(a={"type": ["string", "null"]}), {"a": None}, {"a": 5}, "/a", strict=True),
    "optional": Row(obj("a", a=TEXT, b=WHOLE), {"a": "x"}, {"a": "x", "b": None}, "/b"),
    "missing": Row(obj(a=TEXT, b=WHOLE), {"a": "x", "b": 1}, {"a": "x"}, "/", strict=True),
    "additional": Row(obj(a=TEXT), {"a": "x"}, {"a": "x", "b": 1}, "/", strict=True),
    "open": Row(obj(a=TEXT, closed=False), {"a": "x", "b": 1}, {"b": 1}, "/", strict=True),
    "free": Row({"type": "object"}, {"any": "thing"}, "text", "/", closed=False),
    "map": Row(
        obj(a={"type": "object", "additionalProperties": WHOLE}), {"a": {"x": 1}}, {"a": {"x": "1"}}, "/a/x", closed=False
    ),
    "nested": Row(obj(a=obj(b=obj(c=TEXT))), {"a": {"b": {"c": ""}}}, {"a": {"b": {"c": 0}}}, "/a/b/c", strict=True),
    "array": Row(obj(a={"type": "array", "items": TEXT}), {"a": ["x", "y"]}, {"a": ["x", 2]}, "/a/1", strict=True),
    "array of objects": Row(
        obj(a={"type": "array", "items": obj(b=WHOLE)}), {"a": [{"b": 1}]}, {"a": [{"b": 1}, {}]}, "/a/1", strict=True
    ),
    "lengths of arrays": Row(
        obj(a={"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 3}), {"a": [1, 2]}, {"a": [1]}, "/a", strict=True
    ),
    "unique": Row(obj(a={"type": "array", "items": WHOLE, "uniqueItems": True}), {"a": [1, 2]}, {"a": [1, 1]}, "/a"),
    "prefixItems": Row(
        obj(a={"type": "array", "prefixItems": [TEXT, WHOLE], "items": False}), {"a": ["x", 1]}, {"a": [1, "x"]}, "/a/0"
    ),
    "contains": Row(obj(a={"type": "array", "items": WHOLE, "contains": {"const": 5}}), {"a": [1, 5]}, {"a": [1]}, "/a"),
    "enum": Row(obj(a={"enum": ["x", "y"]}), {"a": "y"}, {"a": "z"}, "/a", strict=True),
    "const": Row(obj(a={"const": 3}), {"a": 3}, {"a": 4}, "/a", strict=True),
    "pattern": Row(obj(a={**TEXT, "pattern": "^[A-Z]{2}$"}), {"a": "DE"}, {"a": "de"}, "/a", strict=True),
    "lengths of texts": Row(obj(a={**TEXT, "minLength": 2, "maxLength": 3}), {"a": "abc"}, {"a": "abcd"}, "/a", strict=True),
    "bounds": Row(obj(a={**WHOLE, "minimum": 1, "maximum": 5}), {"a": 5}, {"a": 6}, "/a", strict=True),
    "exclusive bounds": Row(
        obj(a={**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1}), {"a": 0.5}, {"a": 1}, "/a", strict=True
    ),
    "multipleOf": Row(obj(a={**WHOLE, "multipleOf": 5}), {"a": 10}, {"a": 11}, "/a", strict=True),
    "$ref": Row(
        obj(a={"$ref": "#/$defs/b"}, more={"$defs": {"b": obj(c=TEXT)}}), {"a": {"c": "x"}}, {"a": {}}, "/a", strict=True
    ),
    "$ref twice": Row(
        obj(a={"$ref": "#/$defs/b"}, d={"$ref": "#/$defs/b"}, more={"$defs": {"b": obj(c=TEXT)}}),
        {"a": {"c": "x"}, "d": {"c": "y"}},
        {"a": {"c": "x"}, "d": {"c": 1}},
        "/d/c",
        strict=True,
    ),
    "recursive": Row(
        {**obj(tree={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
        {"tree": {"name": "a", "children": [{"name": "b"}]}},
        {"tree": {"name": "a", "children": [{"name": 5}]}},
        "/tree/children/0/name",
        closed=False,
    ),
    "anyOf": Row(obj(a={"anyOf": [TEXT, WHOLE]}), {"a": 1}, {"a": 1.5}, "/a", strict=True),
    "anyOf of objects": Row(
        {**obj(a={"anyOf": [{"$ref": "#/$defs/leaf"}, {"$ref": "#/$defs/pair"}]}), "$defs": {"leaf": LEAF, "pair": PAIR}},
        {"a": {"kind": "pair", "of": [{"kind": "leaf", "n": 1}]}},
        {"a": {"kind": "pair", "of": [{"kind": "pair", "n": 1}]}},
        "/a",
        strict=True,
    ),
    "oneOf": Row(obj(a={"oneOf": [WHOLE, {"type": "number", "minimum": 5}]}), {"a": 3}, {"a": 7}, "/a"),
    "allOf": Row(obj(a={"allOf": [{**WHOLE, "minimum": 1}, {**WHOLE, "maximum": 5}]}), {"a": 3}, {"a": 7}, "/a"),
    "not": Row(obj(a={**TEXT, "not": {"const": "x"}}), {"a": "y"}, {"a": "x"}, "/a"),
    "if": Row(
        obj("a", a=WHOLE, b=TEXT, more={"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}),
        {"a": 1, "b": "x"},
        {"a": 1},
        "/",
    ),
    "dependentRequired": Row(
        obj("a", a=TEXT, b=TEXT, more={"dependentRequired": {"a": ["b"]}}), {"a": "x", "b": "y"}, {"a": "x"}, "/"
    ),
    "patternProperties": Row(
        {"type": "object", "patternProperties": {"^x": WHOLE}, "additionalProperties": False},
        {"x1": 1},
        {"x1": "1"},
        "/x1",
        closed=False,
    ),
    "union at the root": Row(
        {"type": "object", "anyOf": [obj(a=TEXT), obj(b=WHOLE)]}, {"b": 1}, {"b": "x"}, "/", closed=False, rooted=False
    ),
    "letters of names": Row(
        {"type": "object", "properties": {"größe in cm": WHOLE}, "required": ["größe in cm"], "additionalProperties": False},
        {"größe in cm": 5},
        {"größe in cm": ""},
        "/größe in cm",
        strict=True,
    ),
}
