"""Walking through a schema: which words hold schemas, where they are, and where references lead."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import pytest

from geode.domain.schema_words import (
    Path,
    Schema,
    children,
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

A: Final = {"const": "a"}
B: Final = {"const": "b"}


def test_what_is_of_another_kind_is_empty() -> None:
    held, listed = {"a": 1}, [1]
    assert object_in(held) is held
    assert list_in(listed) is listed
    for other in (None, "x", 7, True, (1,)):
        assert (object_in(other), list_in(other)) == ({}, [])
    assert (object_in([1]), list_in({"a": 1})) == ({}, [])


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({}, ()),
        ({"type": "string"}, ("string",)),
        ({"type": ["string", "null"]}, ("string", "null")),
        ({"type": ["string", 7, None]}, ("string",)),
        ({"type": 7}, ()),
    ],
)
def test_the_types_that_a_schema_names(schema: Schema, types: tuple[str, ...]) -> None:
    assert types_of(schema) == types


def test_the_names_that_a_schema_requires() -> None:
    assert required_of({"required": ["a", 7, "b", "a"]}) == {"a", "b"}
    assert required_of({"required": "a"}) == required_of({}) == frozenset()


@pytest.mark.parametrize(
    ("schema", "describes"),
    [
        ({"type": "object"}, True),
        ({"type": ["null", "object"]}, True),
        ({"properties": {}}, True),
        ({"type": "array", "properties": {}}, True),
        ({"type": "array"}, False),
        ({}, False),
    ],
)
def test_what_describes_an_object(schema: Schema, describes: bool) -> None:
    assert describes_object(schema) is describes


ONE: Final = (
    *("items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"),
    *("additionalItems", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
Inside: TypeAlias = list[tuple[Path, Schema]]


def inside_of(*pairs: tuple[Path, Schema]) -> Inside:
    return list(pairs)


INSIDE: Final[list[tuple[Schema, Inside]]] = [
    *[({word: A}, inside_of(((word,), A))) for word in ONE],
    *[({word: [A, True, B]}, inside_of(((word, "0"), A), ((word, "2"), B))) for word in MANY],
    *[({word: {"x": A, "y": False, "z": B}}, inside_of(((word, "x"), A), ((word, "z"), B))) for word in NAMED],
    # Words that hold none, and values that are none.
    ({"const": {"items": A}, "enum": [A], "default": A, "examples": [A], "x-own": A}, []),
    ({"not": True, "anyOf": A, "properties": [A], "items": False}, []),
]


@pytest.mark.parametrize(("schema", "inside"), INSIDE, ids=str)
def test_the_schemas_right_inside_one(schema: Schema, inside: Inside) -> None:
    assert list(children(schema)) == inside


@pytest.mark.parametrize(("schema", "inside"), INSIDE, ids=str)
def test_each_of_them_is_changed_and_nothing_else(schema: Schema, inside: Inside) -> None:
    assert with_children(schema, lambda child: child) is schema
    changed = with_children(schema, lambda child: {"was": child["const"]})
    assert list(children(changed)) == [(path, {"was": child["const"]}) for path, child in inside]
    assert changed.keys() == schema.keys()
    (value,) = schema.values() if len(schema) == 1 else (None,)
    if isinstance(value, list) and inside:
        assert changed == {next(iter(schema)): [{"was": "a"}, True, {"was": "b"}]}
    if not inside:
        assert changed is schema


def test_only_what_changed_is_made_anew() -> None:
    schema: dict[str, Any] = {"not": A, "properties": {"x": B, "y": A}, "anyOf": [A], "allOf": [A, B], "title": "t"}
    changed = with_children(schema, lambda child: {"new": 1} if child is B else child)
    assert changed == {**schema, "properties": {"x": {"new": 1}, "y": A}, "allOf": [A, {"new": 1}]}
    assert changed["anyOf"] is schema["anyOf"]


def test_every_place_in_the_order_of_the_text() -> None:
    inner = {"anyOf": [A, {"not": B}]}
    schema = {"properties": {"x": inner}, "items": [A]}
    assert list(places(schema)) == [
        ((), schema),
        (("properties", "x"), inner),
        (("properties", "x", "anyOf", "0"), A),
        (("properties", "x", "anyOf", "1"), {"not": B}),
        (("properties", "x", "anyOf", "1", "not"), B),
        (("items", "0"), A),
    ]


ROOT: Final[Schema] = {
    "$defs": {"a": A, "a/b": B, "a~b": {"c": A}, "~1": B},
    "allOf": [A, B],
    "title": "t",
    "": {"": B},
    "many": [{"n": n} for n in range(12)],
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", ROOT),
        ("#/$defs/a", A),
        ("#/$defs/a~1b", B),
        ("#/$defs/a~0b/c", A),
        ("#/$defs/~01", B),
        ("#/allOf/0", A),
        ("#/allOf/1", B),
        ("#/many/10", {"n": 10}),
        ("#/", {"": B}),
        ("#//", B),
        ("#/allOf", None),
        ("#/allOf/2", None),
        ("#/allOf/-1", None),
        ("#/allOf/x", None),
        ("#/allOf/", None),
        ("#/many/000010", None),
        ("#/title", None),
        ("#/title/t", None),
        ("#/nowhere/a", None),
        ("#a", None),
        ("#a/$defs/a", None),
        ("other.json#/$defs/a", None),
        ("/$defs/a", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_where_a_reference_leads(reference: object, found: Schema | None) -> None:
    """RFC 6901: `~1` is a slash and `~0` a tilde, in this order."""
    assert resolved(ROOT, reference) == found


def test_a_path_as_a_pointer() -> None:
    assert pointer(()) == "/"
    assert pointer(("properties", "a/b", "0")) == "/properties/a~1b/0"
