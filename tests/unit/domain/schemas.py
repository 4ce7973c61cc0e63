"""JSON Schemas as other programs write them: fitting, sloppy, recursive, hostile; and none at all."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.unit.domain.strategies import json_values

# Few names, so that they meet; some that a wire refuses, and some that are words of schemas.
NAMES: Final = ("a", "b", "kind", "filter[name]", "$top", "ü", "properties", "items", "a b", "a_b", "x" * 70)
_TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null", "strng")
_REFERENCES: Final = ("#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/anyOf/0", "#/$defs/none", "other.json", "#anchor")

_names = st.sampled_from(NAMES)
_kinds = st.sampled_from(_TYPES)
_junk: st.SearchStrategy[Any] = st.sampled_from([None, True, False, 0, "x", [], {}, [None]])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    one, many, named = inner | _junk, st.lists(inner, max_size=3) | _junk, st.dictionaries(_names, inner, max_size=3) | _junk
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _kinds | st.lists(_kinds, max_size=3) | _junk,
            "properties": named,
            "required": st.lists(_names | st.none(), max_size=3) | _junk,
            "$defs": st.fixed_dictionaries({"a": inner}, optional={"b": inner, "arguments": inner}) | _junk,
            "$ref": st.sampled_from(_REFERENCES) | _junk,
            "anyOf": many,
            "oneOf": many,
            "allOf": many,
            "not": one,
            "if": one,
            "items": one | many,
            "prefixItems": many,
            "additionalItems": one,
            "additionalProperties": one,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "[", "(?<x>a)", "*"]), inner, max_size=2) | _junk,
            "dependentSchemas": named,
            "enum": st.lists(json_values, max_size=3) | _junk,
            "const": json_values,
            "default": json_values,
            "format": st.sampled_from(["date", "iri"]) | _junk,
            "pattern": st.sampled_from(["^a+$", "(", "a\\"]) | _junk,
            "minimum": st.integers() | _junk,
            "exclusiveMinimum": st.integers() | _junk,
            "minItems": st.integers(0, 3) | _junk,
            "description": st.text(max_size=5) | _junk,
            "x-own": json_values,
        },
    )


schemas: Final = _schemas(st.recursive(_junk, _schemas, max_leaves=12))
