"""What a tool is, and how much harm it can do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.tiers import SafetyTier, tier_of
from geode.domain.tools import ToolSpec, same_contract, schema_digest

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_a_spec_holds_what_it_was_given() -> None:
    made = ToolSpec("get_weather", "Weather of a city", SCHEMA)
    assert (made.name, made.description, made.input_schema) == ("get_weather", "Weather of a city", SCHEMA)


def test_a_spec_is_a_value() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    made = ToolSpec("w", "", schema)
    schema["properties"]["late"] = {}
    assert made.input_schema == {"type": "object", "properties": {}}
    assert made == ToolSpec("w", "", {"type": "object", "properties": {}})
    assert "_memo" not in repr(made)


def test_lone_surrogates_are_replaced() -> None:
    made = ToolSpec("w", "d\ud800", {"type": "object", "title": "t\ud800"})
    assert (made.description, made.input_schema) == ("d\ufffd", {"type": "object", "title": "t\ufffd"})


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_a_blank_name_is_refused(name: str) -> None:
    with pytest.raises(Misuse) as caught:
        ToolSpec(name, "d", SCHEMA)
    assert str(caught.value) == ("a tool has a blank name. Give it one: @tool(name=…) or ToolSpec(name, …) [tool-name]")


WRAP = 'Wrap it: {"type":"object","properties":{"items":…}} [tool-schema]'
BAD_SCHEMAS: list[tuple[Any, str]] = [
    ({"type": "array", "items": {"type": "string"}}, f'input_schema must have type "object", has "array". {WRAP}'),
    ({"type": "string"}, f'input_schema must have type "object", has "string". {WRAP}'),
    ({"type": ["object", "null"]}, f'input_schema must have type "object", has ["object", "null"]. {WRAP}'),
    ({}, f'input_schema must have type "object", has none. {WRAP}'),
    ({"type": None}, f'input_schema must have type "object", has none. {WRAP}'),
    ([], "input_schema must be a JSON object, got list [tool-schema]"),
    ("x", "input_schema must be a JSON object, got str [tool-schema]"),
    (None, "input_schema must be a JSON object, got NoneType [tool-schema]"),
    (
        {"type": "object", "default": math.nan},
        "input_schema is not JSON: /default is nan, which JSON cannot carry [tool-schema]",
    ),
    (
        {"type": "object", "properties": {"a": {"maximum": math.inf}}},
        "input_schema is not JSON: /properties/a/maximum is inf, which JSON cannot carry [tool-schema]",
    ),
    (
        {"type": "object", "properties": {1: {}}},
        "input_schema is not JSON: /properties has the key 1; keys must be strings [tool-schema]",
    ),
    (
        {"type": "object", "x": object()},
        "input_schema is not JSON: /x is of type object, which JSON cannot carry [tool-schema]",
    ),
]


@pytest.mark.parametrize(("schema", "why"), BAD_SCHEMAS, ids=range(len(BAD_SCHEMAS)))
def test_a_schema_that_is_no_json_object_is_refused_by_name(schema: Any, why: str) -> None:
    with pytest.raises(Misuse) as caught:
        ToolSpec("list_items", "d", schema)
    assert str(caught.value) == f"tool list_items: {why}"
    assert caught.value.id == "tool-schema"


def test_equal_schemas_have_equal_fingerprints() -> None:
    one = ToolSpec("a", "x", {"type": "object", "required": ["é"], "properties": {}})
    other = ToolSpec("b", "y", {"properties": {}, "required": ["é"], "type": "object"})
    changed = ToolSpec("a", "x", {"type": "object", "required": ["e"], "properties": {}})
    assert schema_digest(one) == schema_digest(other)
    assert schema_digest(one) != schema_digest(changed)
    # It is stored: printf '{"type": "object"}' | sha256sum | cut -c1-16
    assert schema_digest(ToolSpec("a", "x", {"type": "object"})) == SHA_OF_TYPE_OBJECT
    # The same of {"title": "\\u00e9", "type": "object"}, in ASCII.
    assert schema_digest(ToolSpec("a", "x", {"type": "object", "title": "é"})) == "d984ae2e6b4e8239"


SHA_OF_TYPE_OBJECT = "ff419ebbeba438f6"

TIERS = [
    # tier, word, needs a person, runs alone
    (SafetyTier.SAFE, "safe", False, False),
    (SafetyTier.MCP_TRUSTED, "mcp_trusted", False, False),
    (SafetyTier.EXPENSIVE, "expensive", True, False),
    (SafetyTier.WRITE, "write", True, True),
    (SafetyTier.DANGEROUS, "dangerous", True, True),
]


@pytest.mark.parametrize(("tier", "word", "asked", "alone"), TIERS, ids=[row[1] for row in TIERS])
def test_the_five_tiers(tier: SafetyTier, word: str, asked: bool, alone: bool) -> None:
    assert (tier.needs_approval, tier.runs_alone) == (asked, alone)
    assert [tier_of(word), tier_of(word.upper()), tier_of(tier)] == [tier, tier, tier]


def test_there_are_no_more_tiers_than_five() -> None:
    assert list(SafetyTier) == [row[0] for row in TIERS]


def test_a_tool_that_declares_no_tier_is_dangerous() -> None:
    assert tier_of(None) is SafetyTier.DANGEROUS


@pytest.mark.parametrize("word", ["", "tier0", "unsafe", "safe "])
def test_an_unknown_tier_is_refused(word: str) -> None:
    with pytest.raises(Misuse) as caught:
        tier_of(word)
    assert str(caught.value) == (
        f"tier {word!r} is unknown. Accepted: safe, mcp_trusted, expensive, write, dangerous [unknown-tier]"
    )
    assert caught.value.id == "unknown-tier"


# ---- the same contract -------------------------------------------------------------------------


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (schema(a={"type": "string"}), schema(a={"type": "string", "description": "a", "title": "A", "default": "x"})),
    ({**schema(), "title": "one", "$comment": "x"}, {**schema(), "description": "other", "examples": [1]}),
    ({**schema(a={}, b={})}, {**schema(a={}, b={}), "required": ["b", "a"]}),
    (schema(a={"items": [{"title": "x"}]}), schema(a={"items": [{}]})),
    (schema(a={"items": {"title": "x"}}), schema(a={"items": {}})),
    (schema(a={"minimum": 1}), schema(a={"minimum": 1.0})),
    # What is malformed is nobody's contract, and no reason to fail.
    ({"type": "object", "properties": [1], "required": "a"}, {"type": "object", "properties": [1], "required": "a"}),
]
OTHER_CONTRACT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (schema(a={"type": "string"}), schema(a={"type": "integer"})),
    (schema(a={}), schema(a={}, b={})),
    (schema(a={"anyOf": [{"type": "string"}]}), schema(a={"anyOf": [{"type": "integer"}]})),
    (schema(a={}), {**schema(a={}), "required": []}),
    (schema(a={}), {**schema(a={}), "additionalProperties": False}),
    (schema(title={}), schema()),
    ({**schema(), "$defs": {"title": {"type": "string"}}}, {**schema(), "$defs": {"title": {"type": "integer"}}}),
    (schema(a={"const": {"title": "x"}}), schema(a={"const": {"title": "y"}})),
    (schema(a={"enum": [{"description": "x"}]}), schema(a={"enum": [{}]})),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=range(len(SAME)))
def test_what_a_schema_says_in_words_is_no_part_of_the_contract(one: Any, other: Any) -> None:
    assert same_contract(ToolSpec("a", "", one), ToolSpec("b", "", other))
    assert same_contract(ToolSpec("b", "", other), ToolSpec("a", "", one))


@pytest.mark.parametrize(("one", "other"), OTHER_CONTRACT, ids=range(len(OTHER_CONTRACT)))
def test_what_a_schema_takes_is_the_contract(one: Any, other: Any) -> None:
    assert not same_contract(ToolSpec("a", "", one), ToolSpec("a", "", other))
