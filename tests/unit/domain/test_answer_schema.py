"""The schema of an answer on its way to a server."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.answer_schema import answer_name, answer_problem, is_strict, reference_problem, sent_answer
from geode.domain.schema_profile import ANTHROPIC, GLM, OPENAI, PLAIN

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (CLOSED, ""),
        ({}, "a response_schema describes an object at its root: put the value into a property of one"),
        ({"type": "object", "enum": []}, "a response_schema has no enum at its root here: put it into a property"),
        ({"type": "object"}, ""),
        ({"type": "array"}, "describes an object at its root"),
        ({}, "describes an object at its root"),
        ({"type": ["object", "null"]}, "describes an object at its root"),
        ({"type": "object", "anyOf": []}, "has no anyOf at its root"),
        ({"type": "object", "not": {}}, "has no not at its root"),
    ],
)
def test_an_answer_is_an_object_and_no_union_at_its_root(schema: dict[str, Any], problem: str) -> None:
    found = answer_problem(schema, OPENAI)
    assert problem in found
    assert bool(problem) == bool(found)
    assert found == problem or not problem.startswith("a ")


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}}, ""),
        ({"properties": {"a": {"$ref": "#"}}}, ""),
        ({"properties": {"a": {"$ref": "#of-a"}, "b": {"$anchor": "of-a"}}}, ""),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "#/$defs/none"),
        ({"properties": {"a": {"items": {"$ref": "http://there/x.json"}}}}, "http://there/x.json"),
        ({"properties": {"a": {"$ref": "other.json#/$defs/A"}}, "$defs": {"A": {}}}, "other.json#/$defs/A"),
        ({"$id": "http://here/s.json", "properties": {"a": {"$ref": "http://here/s.json#/$defs/A"}}, "$defs": {"A": {}}}, ""),
        ({"properties": {"a": {"$ref": "in.json"}}, "$defs": {"A": {"$id": "in.json"}}}, ""),
        ({"properties": {"$ref": {"type": "string"}}}, ""),
    ],
)
def test_a_reference_that_leads_nowhere_is_told_before_anything_is_asked(more: dict[str, Any], lost: str) -> None:
    said = f"a response_schema refers to {lost}, which is not in it: put it among its $defs" if lost else ""
    assert reference_problem({"type": "object", **more}) == said


def test_a_server_says_itself_what_it_refuses_at_the_root() -> None:
    assert answer_problem({"type": "object", "not": {}}, PLAIN) == ""
    assert "anyOf" in answer_problem({"type": "object", "anyOf": []}, ANTHROPIC)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        (..., "response"),
        ("Ans", "Ans"),
        ("The weather (today)", "The_weather_today"),
        ("Größe", "Gr_e"),
        ("…", "response"),
        ("_X!", "X"),
        ("Xmas X", "Xmas_X"),
        (5, "response"),
        ("x" * 65, "x" * 64),
    ],
)
def test_its_name_is_its_title_in_the_letters_of_names(title: Any, name: str) -> None:
    assert answer_name({"type": "object"} | ({} if title is ... else {"title": title})) == name


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "additionalProperties": True}, False),
        ({key: value for key, value in CLOSED.items() if key != "additionalProperties"}, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"a": {"type": "string", "default": "x"}}}, False),
        ({**CLOSED, "properties": {"a": {"oneOf": [{"type": "string"}]}}}, False),
        ({**CLOSED, "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, True),
    ],
)
def test_strict_is_what_is_so_as_it_stands(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema, OPENAI) is strict


def test_nothing_is_strict_where_a_server_has_no_such_mode() -> None:
    assert not is_strict(CLOSED, GLM)


# ---- what goes out -----------------------------------------------------------------------------

TEXT = {"type": "string"}


def test_what_is_closed_already_goes_out_as_it_is() -> None:
    assert sent_answer(CLOSED, OPENAI) == (CLOSED, True)
    assert sent_answer(CLOSED, ANTHROPIC) == (CLOSED, True)
    assert sent_answer(CLOSED, GLM) == (CLOSED, False)


def test_an_open_object_is_closed_to_be_strict() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    assert sent_answer(schema, OPENAI) == ({**schema, "additionalProperties": False}, True)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": TEXT}},
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": True},
        {"type": "object", "properties": {"a": {"oneOf": [TEXT]}}, "required": ["a"]},
    ],
)
def test_what_would_ask_for_something_else_is_not_made_strict(schema: dict[str, Any]) -> None:
    assert sent_answer(schema, OPENAI) == (schema, False)


def of_a(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (
            {"type": "integer", "minimum": 1},
            {"type": "integer", "description": 'It must also fit {"minimum":1}'},
        ),
        (
            {"type": "string", "description": "A code.", "pattern": "^x", "maxLength": 5},
            {"type": "string", "description": 'A code.\n\nIt must also fit {"pattern":"^x","maxLength":5}'},
        ),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        (
            {"type": "string", "format": "color"},
            {"type": "string", "description": 'It must also fit {"format":"color"}'},
        ),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "array", "items": TEXT, "minItems": 1}, {"type": "array", "items": TEXT, "minItems": 1}),
        (
            {"type": "array", "items": TEXT, "minItems": 2},
            {"type": "array", "items": TEXT, "description": 'It must also fit {"minItems":2}'},
        ),
        (
            {"type": "array", "prefixItems": [TEXT, {"type": "null"}]},
            {
                "type": "array",
                "items": {"anyOf": [TEXT, {"type": "null"}]},
                "description": 'It must also fit {"prefixItems":[{"type":"string"},{"type":"null"}]}',
            },
        ),
        (
            {"type": "array", "prefixItems": [TEXT], "items": {"type": "null"}},
            {
                "type": "array",
                "items": {"anyOf": [TEXT, {"type": "null"}]},
                "description": 'It must also fit {"prefixItems":[{"type":"string"}]}',
            },
        ),
    ],
)
def test_a_grammar_is_given_what_it_holds_and_the_rest_in_words(schema: dict[str, Any], sent: dict[str, Any]) -> None:
    assert sent_answer(of_a(schema), ANTHROPIC) == (of_a(sent), True)
    assert answer_problem(of_a(schema), ANTHROPIC) == ""


def test_an_optional_property_stays_optional_in_a_grammar() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}}
    assert sent_answer(schema, ANTHROPIC)[0] == {**schema, "additionalProperties": False}


def _all_of(count: int, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    names = [f"p{number}" for number in range(count)]
    return {"type": "object", "properties": dict.fromkeys(names, schema), "required": names if required else []}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object"}, "names the properties of its answer"),
        (of_a({"type": "object", "additionalProperties": TEXT}), "/properties/a/additionalProperties"),
        (of_a({"type": "object"}), "/properties/a: an object without properties of its own is free-form"),
        (of_a({}), "/properties/a: it does not say what it holds"),
        ({**of_a({"$ref": "#/$defs/b"}), "$defs": {"b": of_a({"$ref": "#/$defs/b"})}}, "$ref"),
        ({**CLOSED, "patternProperties": {"^x": TEXT}}, "/patternProperties: patternProperties is not permitted"),
        (_all_of(25, TEXT, required=False), "25 optional properties, at most 24 are permitted"),
        (_all_of(17, {"type": ["string", "null"]}, required=True), "17 unions, at most 16 are permitted"),
    ],
)
def test_what_no_grammar_holds_is_refused_with_its_place(schema: dict[str, Any], problem: str) -> None:
    assert problem in answer_problem(schema, ANTHROPIC)
    assert answer_problem(schema, OPENAI) == ""
