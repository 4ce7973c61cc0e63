"""Checking arguments: every error has its place, nothing is raised, and the work is bounded."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from geode.adapters.schema_jsonschema import MAX_ERRORS, JsonschemaValidator

compile = JsonschemaValidator().compile
HUGE = 10**400


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "object", "$ref": "#"}, {"a": 1}, "RecursionError"),
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
    began = time.perf_counter()
    errors = check({"a": list(range(200_000))})
    assert time.perf_counter() - began < 0.5
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
