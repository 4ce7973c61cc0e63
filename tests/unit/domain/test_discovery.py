"""Tools as servers describe them: one bad one never hides the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from returns.result import Failure, Success

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.discovery import discovered
from geode.domain.tools import ToolSpec
from tests.unit.domain.schemas import schemas
from tests.unit.domain.strategies import wild_json


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        ({"type": "object", "properties": {}}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": None}, {"type": "object", "properties": {}}),
        ({}, {"type": "object"}),
        ({"type": ["object", "null"], "required": None}, {"type": "object", "required": []}),
        (
            {"type": "object", "properties": {"t": {"items": [{"type": "string"}]}, "deep": {"properties": None}}},
            {"type": "object", "properties": {"t": {"prefixItems": [{"type": "string"}]}, "deep": {"properties": {}}}},
        ),
    ],
)
def test_what_is_sure_is_mended(schema: Any, mended: Any) -> None:
    """SC-02: both tools are there."""
    assert discovered("bad", "d", schema) == Success(ToolSpec("bad", "d", mended))
    JsonschemaValidator().compile(mended)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array", "items": {"type": "string"}}, 'tool bad: input_schema must have type "object", has "array"'),
        ({"type": "string"}, 'tool bad: input_schema must have type "object", has "string"'),
        ([], "tool bad: input_schema must be a JSON object, got list"),
        ("x", "tool bad: input_schema must be a JSON object, got str"),
        ({"default": float("nan")}, "tool bad: input_schema is not JSON: /default is nan"),
    ],
)
def test_a_root_that_is_no_object_is_told_by_the_name_of_the_tool(schema: Any, why: str) -> None:
    """SC-14: the tool is left out, and it is said why."""
    assert discovered("bad", "d", schema).failure().startswith(why)


@given(schemas | wild_json)
def test_whatever_a_server_says_is_a_tool_or_a_reason(schema: Any) -> None:
    found = discovered("bad", "d", schema)
    assert isinstance(found, Success | Failure)
    assert "bad" in str(found.failure() if isinstance(found, Failure) else found.unwrap().name)
