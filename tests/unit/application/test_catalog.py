"""What the catalogue says of calls: fitting, not fitting, unknown, and those that nobody can check."""

from __future__ import annotations

from typing import Any

import pytest

from geode.adapters.schema_jsonschema import MAX_SCHEMA_CHARS, JsonschemaValidator
from geode.application.catalog import Catalog
from geode.domain.content import ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolSpec
from geode.domain.verdicts import Invalid, Unknown, Valid
from geode.entrypoints.tools import build_tools
from geode.ports.tools import Tool


def tool(**properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties}
    return Tool(ToolSpec("look", "Looks.", schema), SafetyTier.SAFE, lambda _, __: None)


BIG = tool(a={"type": "string", "description": "x" * MAX_SCHEMA_CHARS})


def test_a_call_fits_or_does_not_or_names_no_tool() -> None:
    catalog = Catalog.of([tool(a={"type": "integer"})], JsonschemaValidator())
    assert catalog.check(ToolUseBlock("1", "look", {"a": 1})) == Valid()
    assert catalog.check(ToolUseBlock("1", "look", {"a": "x"})) == Invalid(("/a: 'x' is not of type 'integer'",))
    assert catalog.check(ToolUseBlock("1", "loook", {"a": 1})) == Unknown(("look",))


def test_a_schema_that_the_validator_refuses_lets_no_arguments_pass() -> None:
    verdict = Catalog.of([BIG], JsonschemaValidator()).check(ToolUseBlock("1", "look", {"a": "x"}))
    assert isinstance(verdict, Invalid)
    assert "the tool's own schema cannot be used" in verdict.errors[0]
    assert f"at most {MAX_SCHEMA_CHARS}" in verdict.errors[0]


def test_such_a_tool_is_refused_where_it_is_given() -> None:
    with pytest.raises(Misuse, match=f"tool look: input_schema .* at most {MAX_SCHEMA_CHARS} are checked") as caught:
        build_tools([BIG], validator=JsonschemaValidator())
    assert caught.value.id == "tool-schema"
