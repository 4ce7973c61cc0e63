"""The schema of an answer on its way to a server."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.answer_schema import answer_name, answer_problem, is_strict
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
