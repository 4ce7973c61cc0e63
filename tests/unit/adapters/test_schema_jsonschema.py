"""Checking arguments: every error has its place, nothing is raised, and the work is bounded."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from geode.adapters.schema_jsonschema import (
    MAX_ERRORS,
    MAX_SCHEMA_CHARS,
    MAX_SCHEMA_OBJECTS,
    MAX_STEPS,
    PATTERN_SECONDS,
    JsonschemaValidator,
)
from geode.adapters.schema_jsonschema.meter import METER
from geode.domain.json_value import MAX_DEPTH

compile = JsonschemaValidator().compile
HUGE = 10**400


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "object", "$ref": "#"}, {"a": 1}, "refers to itself without end"),
        (of(a={"multipleOf": 0.5}), {"a": HUGE}, "OverflowError"),
        (of(a={"$ref": "https://example.com/s"}), {"a": 1}, "refers to https://example.com/s, which is not in it"),
        (of(a={"$ref": "#/nope"}), {"a": 1}, "which is not in it"),
    ],
)
def test_a_schema_that_cannot_be_applied_is_an_error_of_the_arguments(schema: Any, value: Any, said: str) -> None:
    (error,) = compile(schema)(value)
    assert said in error


@pytest.mark.parametrize(
    "schema", [of(a={"type": "strng"}), of(a={"pattern": "["}), of(a=3), {"type": "object", "required": 1}]
)
def test_a_schema_that_is_none_is_a_value_error(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"^/"):
        compile(schema)


def test_ten_errors_are_enough() -> None:
    check = compile(of(a={"type": "array", "items": {"type": "string"}}))
    errors = check({"a": list(range(200_000))})
    assert METER.left > MAX_STEPS / 2, "what comes after the tenth is not looked at"
    assert len(errors) == MAX_ERRORS
    assert errors[0] == "/a/0: 0 is not of type 'string'"
    assert check({"a": ["x"]}) == ()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)
PROPERTIES: dict[str, Any] = {
    "a": {"type": "string", "minLength": 2},
    "b": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    "c": {"anyOf": [{"type": "null"}, {"const": 1}]},
    "d": False,
}


@given(st.dictionaries(st.sampled_from("abcdef"), JSON_VALUES, max_size=5), st.booleans(), st.booleans())
def test_properties_checked_apart_find_what_the_whole_schema_finds(value: dict[str, Any], closed: bool, required: bool) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": PROPERTIES, "additionalProperties": not closed}
    if required:
        schema["required"] = ["a", "f"]
    whole = {error.message[:300] for error in Draft202012Validator(schema).iter_errors(value)}
    found = {text.partition(": ")[2] for text in JsonschemaValidator().compile(schema)(value)}
    assert found == whole


EXPLODES = "^(a|aa)+$"
LONG = "a" * 5_000 + "!"
DRAFT_7, DRAFT_4 = "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("schema", "value", "place"),
    [
        (of(a={"pattern": EXPLODES}), {"a": LONG}, "/a"),
        (of(a={"items": {"not": {"pattern": EXPLODES}}}), {"a": ["x", LONG]}, "/a/1"),
        (of(a={"anyOf": [{"pattern": EXPLODES}, {}]}), {"a": LONG}, "/a"),
        (of(a={"patternProperties": {EXPLODES: {}}}), {"a": {LONG: 1}}, "/a"),
        (of(a={"patternProperties": {EXPLODES: {}}, "additionalProperties": False}), {"a": {LONG: 1}}, "/a"),
        (of(a={"propertyNames": {"pattern": EXPLODES}}), {"a": {LONG: 1}}, "/a"),
        # In a schema that names another draft, and behind a reference to the root that does.
        (of(a={"$schema": DRAFT_7, "pattern": EXPLODES}), {"a": LONG}, "/a"),
        ({"$schema": DRAFT_7, **of(a={"$ref": "#"}), "patternProperties": {EXPLODES: {}}}, {"a": {LONG: 1}}, "/a"),
    ],
)
def test_a_pattern_that_cannot_be_checked_is_an_error_where_it_was_met(schema: Any, value: Any, place: str) -> None:
    """Also where an error inside would make the arguments fit."""
    (error,) = compile(schema)(value)
    assert error == f"{place}: the pattern '{EXPLODES}' could not be checked in {PATTERN_SECONDS} s: the search took too long"


def test_all_patterns_of_a_check_share_one_time() -> None:
    check = compile(of(a={"items": {"pattern": EXPLODES}}))
    errors = check({"a": ["b", *[LONG] * 1_000]})
    assert [error.partition(": ")[0] for error in errors] == ["/a/0", "/a/1"]
    assert check({"a": ["aaa"]}) == (), "and the next check has its own"


def test_errors_found_before_the_work_was_too_much_are_told_too() -> None:
    errors = compile(of(a={"items": {"type": "integer"}}))({"a": ["x", *range(200_000)]})
    assert [error.partition(": ")[0] for error in errors] == ["/", "/a/0"]
    assert f"could not be checked in {MAX_STEPS} steps" in errors[0]


def test_each_thread_counts_its_own_work() -> None:
    check, found = compile(of(a={"items": {"type": "integer"}})), list[tuple[str, ...]]()
    workers = [threading.Thread(target=lambda: found.append(check({"a": list(range(30_000))}))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [()] * 4


@pytest.mark.parametrize(
    ("schema", "bound"),
    [
        (of(a={"description": "x" * MAX_SCHEMA_CHARS}), f"at most {MAX_SCHEMA_CHARS}"),
        ({"type": "object", "allOf": [{}] * MAX_SCHEMA_OBJECTS}, f"at most {MAX_SCHEMA_OBJECTS}"),
        (of(a={"pattern": "a{100000}"}), "repeats too much"),
        ({**of(), "patternProperties": {"a": {}}, "unevaluatedProperties": False}, "write additionalProperties"),
    ],
)
def test_a_schema_beyond_a_bound_is_a_value_error_that_names_it(schema: Any, bound: str) -> None:
    with pytest.raises(ValueError, match=f"^/.*: .*{bound}"):
        compile(schema)


def test_what_is_no_json_is_no_schema() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"not": deep}
    for schema in (deep, {"type": {"object"}}, {"minimum": float("nan")}):
        with pytest.raises(ValueError, match=r"^/: the schema is no JSON"):
            compile(schema)


def test_a_schema_of_usual_size_is_taken() -> None:
    many = of(**{f"p{at}": {"type": "string", "description": "words " * 10} for at in range(1_000)})
    assert len(json.dumps(many)) > 90_000
    assert compile(many)({"p7": 1}) == ("/p7: 1 is not of type 'string'",)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (of(a={"type": "integer"}), {"a": "x" * 1_000_000}),
        (of(a={"type": "integer"}), {"a": [["x" * 1_000] * 100] * 100}),
        (of(a={"type": "integer"}), {"a": {f"{at}" * 100: at for at in range(1_000)}}),
        (of(a={"enum": [f"word {at}" for at in range(10_000)]}), {"a": "x" * 10_000}),
        (of(a={"const": "c" * 100_000}), {"a": 1}),
        ({"type": "object", "additionalProperties": False}, {"k" * 100_000 + str(at): 1 for at in range(20)}),
        (of(a={"items": {"items": {"type": "integer"}}}), {"a": [["x" * 10_000] * 20]}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"k" * 100_000: 1}),
    ],
)
def test_errors_are_short_whatever_the_schema_and_the_value(schema: Any, value: Any) -> None:
    errors = compile(schema)(value)
    assert errors
    assert all(len(error) <= 550 for error in errors)


def test_a_long_value_is_shown_by_its_beginning_and_its_length() -> None:
    text, items = "x" * 5_000, list(range(5_000))
    (of_text,) = compile(of(a={"type": "integer"}))({"a": text})
    assert of_text == f"/a: '{'x' * 80}'… (5000 characters) is not of type 'integer'"
    (of_items,) = compile(of(a={"maxItems": 3}))({"a": items})
    assert of_items == "/a: [0, 1, 2, 3, 4, … 4995 more] is too long"


UNIQUE: list[tuple[Any, bool]] = [
    ([1, 2, 3], True),
    ([1, True, 0, False, None, "1"], True),
    ([1, 1.0], False),
    ([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], False),
    ([[1], [True]], True),
    ([{"a": [1]}, {"a": [2]}], True),
    ([[], {}, ""], True),
    (["a", "b", "a"], False),
]


@pytest.mark.parametrize(("items", "unique"), UNIQUE, ids=str)
def test_items_are_unique_as_json_values(items: list[Any], unique: bool) -> None:
    """JSON Schema: numbers are equal by value, objects whatever the order of their names; true is not 1."""
    assert (compile(of(a={"uniqueItems": True}))({"a": items}) == ()) is unique


DRAFTS: list[tuple[str | None, Any, Any, bool]] = [
    (DRAFT_7, {"items": [{"type": "string"}], "additionalItems": False}, ["x"], True),
    (DRAFT_7, {"items": [{"type": "string"}], "additionalItems": False}, ["x", 1], False),
    (DRAFT_7, {"items": [{"type": "string"}]}, [1], False),
    (DRAFT_7, {"dependencies": {"a": ["b"]}}, {"a": 1}, False),
    (DRAFT_7, {"dependencies": {"a": {"required": ["b"]}}}, {"a": 1, "b": 1}, True),
    (DRAFT_4, {"minimum": 3, "exclusiveMinimum": True}, 3, False),
    (DRAFT_4, {"minimum": 3, "exclusiveMinimum": True}, 4, True),
    (
        "https://json-schema.org/draft/2019-09/schema",
        {"items": [{"type": "string"}], "additionalItems": False},
        ["x", 1],
        False,
    ),
    ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"type": "string"}], "items": False}, ["x", 1], False),
    (None, {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["x", 1], True),
    (None, {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["x", "y"], False),
    # An unknown draft is read as 2020-12.
    ("https://example.com/my-draft", {"prefixItems": [{"type": "string"}]}, [1], False),
    ("http://[no address", {"minimum": 3}, 2, False),
]


@pytest.mark.parametrize(("draft", "inner", "value", "fits"), DRAFTS, ids=str)
def test_the_draft_is_the_one_that_the_root_names(draft: str | None, inner: Any, value: Any, fits: bool) -> None:
    named = {} if draft is None else {"$schema": draft}
    assert (compile({**named, **of(a=inner)})({"a": value}) == ()) is fits


def test_a_draft_refuses_what_only_another_one_has() -> None:
    with pytest.raises(ValueError, match=r"^/properties/a/items: "):
        compile(of(a={"items": [{}]}))
    with pytest.raises(ValueError, match=r"^/properties/a/exclusiveMinimum: "):
        compile(of(a={"minimum": 3, "exclusiveMinimum": True}))


@pytest.mark.parametrize(
    "draft", ["https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema"]
)
@pytest.mark.parametrize(
    ("inner", "place"),
    [
        ({"type": "strng"}, "/type"),
        ({"properties": {"b": {"type": 3}}}, "/properties/b/type"),
        ({"allOf": [{"not": {"minLength": -1}}]}, "/allOf/0/not/minLength"),
        ({"allOf": []}, "/allOf"),
        ({"$ref": 3}, "/$ref"),
        ({"$anchor": "1"}, "/$anchor"),
        ({"required": ["a", "a"]}, "/required"),
        ({"dependencies": {"a": 1}}, "/dependencies/a"),
        ({"definitions": {"a": 1}}, "/definitions/a"),
        ({"patternProperties": {"[": {}}}, "/patternProperties"),
    ],
)
def test_the_draft_s_own_schema_in_one_piece_finds_what_it_finds_in_several(draft: str, inner: Any, place: str) -> None:
    with pytest.raises(ValueError, match=f"^/properties/x{place.replace('$', '[$]')}: "):
        compile({"$schema": draft, **of(x=inner)})


def test_a_format_is_no_promise() -> None:
    assert compile(of(a={"format": "date"}))({"a": "no date"}) == ()


def test_a_schema_of_the_drafts_may_be_referred_to() -> None:
    check = compile(of(a={"$ref": "https://json-schema.org/draft/2020-12/schema"}))
    assert check({"a": {"type": "string"}}) == ()
    assert [error.partition(": ")[0] for error in check({"a": {"properties": {"b": {"type": "strng"}}}})] == [
        "/a/properties/b/type"
    ]


def test_recursion_over_data_as_deep_as_json_may_be() -> None:
    node = {"properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}, "additionalProperties": False}
    check = compile({**of(a={"$ref": "#/$defs/node"}), "$defs": {"node": {"type": "object", **node}}})
    value: Any = None
    for _ in range(MAX_DEPTH - 10):
        value = {"next": value}
    assert check({"a": value}) == () or "nested too deeply" in check({"a": value})[0]


def test_additional_properties_beside_patterns() -> None:
    schema = {**of(a={}), "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    assert compile(schema)({"a": "any", "x-1": 1}) == ()
    assert [error.partition(": ")[0] for error in compile(schema)({"x-1": "no"})] == ["/x-1"]
    (error,) = compile(schema)({"y": 1})
    assert error == "/: Additional properties are not allowed ('y' match none of '^x-')"
    inner = {**schema, "additionalProperties": {"type": "null"}}
    assert [error.partition(": ")[0] for error in compile(inner)({"y": 1, "z": None})] == ["/y"]
