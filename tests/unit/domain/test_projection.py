"""What servers are told of a schema: each way in which schemas break providers, and what stays as it is."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given, settings

from geode.domain.projection import projected
from geode.domain.schema_profile import ANTHROPIC, GENERIC, GLM, OPENAI, OPENROUTER, PLAIN, SchemaProfile
from geode.entrypoints.emulator import Dialect, Protocol, check
from tests.unit.domain.schemas import schemas

PROFILES: Final = {profile.name: profile for profile in (ANTHROPIC, OPENAI, OPENROUTER, GLM, GENERIC, PLAIN)}
LIKE_OPENAI: Final = (OPENAI, OPENROUTER, GLM)
ALL: Final = (ANTHROPIC, *LIKE_OPENAI, GENERIC)


def of(properties: Any, **words: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **words}


def same(schema: dict[str, Any], profile: SchemaProfile) -> bool:
    return projected(schema, profile) is schema


# ---- what fits -----------------------------------------------------------------------------------

FITTING: Final[list[dict[str, Any]]] = [
    of({}, required=[]),
    of(
        {"a": {"type": "string", "default": "x", "pattern": "^a+$", "format": "iri"}},
        required=["a"],
        additionalProperties=False,
    ),
    of({"xs": {"type": "array", "items": {}}, "o": {"type": "object"}}, required=[]),
    of({"v": {"oneOf": [{"type": "integer"}, {"allOf": [{"type": "string"}, {"not": {"const": ""}}]}]}}, required=["v"]),
    of({"n": {"$ref": "#/$defs/N"}}, required=[], **{"$defs": {"N": {"properties": {"n": {"$ref": "#/$defs/N"}}}}}),
    of({"m": {"type": "object", "additionalProperties": {"type": "number"}}}, required=["m"], title="M", **{"x-own": [None]}),
    of({"c": {"type": "number", "exclusiveMinimum": 0}}, required=[], **{"if": {"required": ["c"]}, "then": {}}),
]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
@pytest.mark.parametrize("schema", FITTING, ids=lambda schema: json.dumps(schema)[:60])
def test_what_fits_goes_out_as_it_is(schema: dict[str, Any], profile: SchemaProfile) -> None:
    assert same(schema, profile)


def test_an_object_without_properties_is_taken_by_anthropic() -> None:
    assert same({"type": "object"}, ANTHROPIC)


# ---- the list of wire facts H --------------------------------------------------------------------

EMPTY: Final = of({})
T1: Final = {"type": "string"}
T2: Final = {"type": "integer"}

# The schema, what OpenAI and those that speak like it are told, what Anthropic is told.
MENDED: Final[dict[str, tuple[Any, ...]]] = {
    "nothing at all": ({}, EMPTY, {"type": "object"}),
    "no type": ({"properties": {"a": T1}}, of({"a": T1}), of({"a": T1})),
    "no properties": ({"type": "object"}, EMPTY, {"type": "object"}),
    "properties: null (SC-02)": (of(None), EMPTY, EMPTY),
    "a root that may be null": ({"type": ["object", "null"], "properties": {}}, EMPTY, EMPTY),
    "a property that is true": (of({"a": True}), of({"a": {}}), of({"a": {}})),
    "a property that is false": (of({"a": False}), of({"a": {"not": {}}}), of({"a": {"not": {}}})),
    "items that are true": (
        of({"xs": {"type": "array", "items": True}}),
        of({"xs": {"type": "array", "items": {}}}),
        of({"xs": {"type": "array", "items": {}}}),
    ),
    "an array without items (SC-15)": (
        of({"xs": {"type": "array"}}),
        of({"xs": {"type": "array", "items": {}}}),
        of({"xs": {"type": "array"}}),
    ),
    "an array that may be null, deep inside": (
        of({"o": of({"xs": {"type": ["array", "null"]}})}),
        of({"o": of({"xs": {"type": ["array", "null"], "items": {}}})}),
        of({"o": of({"xs": {"type": ["array", "null"]}})}),
    ),
    "the tuple of draft 07": (
        of({"t": {"type": "array", "items": [T1, T2]}}),
        of({"t": {"type": "array", "items": {"anyOf": [T1, T2]}}}),
        of({"t": {"type": "array", "prefixItems": [T1, T2]}}),
    ),
    "a tuple with more to follow": (
        of({"t": {"type": "array", "items": [T1], "additionalItems": T2}}),
        of({"t": {"type": "array", "items": {"anyOf": [T1, T2]}}}),
        of({"t": {"type": "array", "prefixItems": [T1], "items": T2}}),
    ),
    "the tuple of today": (
        of({"t": {"type": "array", "prefixItems": [T1, T2]}}),
        of({"t": {"type": "array", "items": {"anyOf": [T1, T2]}}}),
        of({"t": {"type": "array", "prefixItems": [T1, T2]}}),
    ),
    "the tuples of two drafts at once": (
        of({"t": {"type": "array", "items": [T1], "prefixItems": [T2]}}),
        of({"t": {"type": "array", "items": {"anyOf": [T1]}}}),
        of({"t": {"type": "array", "prefixItems": [T1]}}),
    ),
    "an empty tuple": (
        of({"t": {"type": "array", "items": []}}),
        of({"t": {"type": "array", "items": {}}}),
        of({"t": {"type": "array"}}),
    ),
    "an empty tuple with more to follow": (
        of({"t": {"type": "array", "items": [], "additionalItems": T2}}),
        of({"t": {"type": "array", "items": {}}}),
        of({"t": {"type": "array", "items": T2}}),
    ),
    "required: null": (of({"a": T1}, required=None), of({"a": T1}, required=[]), of({"a": T1}, required=[])),
    "required names what is not there": (
        of({"a": T1}, required=["a", "ghost"]),
        of({"a": T1}, required=["a"]),
        of({"a": T1}, required=["a"]),
    ),
    "required as draft 03 has it": (of({"a": {**T1, "required": True}}), of({"a": T1}), of({"a": T1})),
    "exclusiveMinimum of draft 04": (
        of({"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}),
        of({"n": {"type": "number", "minimum": 0}}),
        of({"n": {"type": "number", "minimum": 0}}),
    ),
    "patternProperties that are none": (
        of({}, patternProperties={"[": T1, "^x": T1}),
        *[of({}, patternProperties={"^x": T1})] * 2,
    ),
    "patternProperties: null": (of({}, patternProperties=None), EMPTY, EMPTY),
    "a pattern that is none": (of({"a": {**T1, "pattern": "("}}), of({"a": T1}), of({"a": T1})),
    "a type that is none": (of({"a": {"type": "any"}}), of({"a": {}}), of({"a": {}})),
    "names that Anthropic refuses": (
        of({"filter[name]": T1, "$top": T2, "user.name": T1}, required=["$top"]),
        of({"filter[name]": T1, "$top": T2, "user.name": T1}, required=["$top"]),
        of({"filter_name__259d8078fe": T1, "_top_81bf98e409": T2, "user.name": T1}, required=["_top_81bf98e409"]),
    ),
    "names that Anthropic refuses, none of them required": (
        of({"$top": T2}),
        of({"$top": T2}),
        of({"_top_81bf98e409": T2}),
    ),
    "a root that is a reference": (
        {"$ref": "#/$defs/N", "$defs": {"N": of({"next": {"$ref": "#/$defs/N"}})}},
        *[of({"next": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": of({"next": {"$ref": "#/$defs/N"}})}})] * 2,
    ),
    "allOf at the root": (
        of({"a": T1}, allOf=[of({"b": T2}, required=["b"])], required=["a"]),
        *[of({"a": T1, "b": T2}, required=["a", "b"])] * 2,
    ),
}


@pytest.mark.parametrize("case", MENDED)
def test_what_breaks_a_provider_is_mended_on_its_way(case: str) -> None:
    schema, openai, anthropic = MENDED[case]
    before = deepcopy(schema)

    assert projected(schema, ANTHROPIC) == anthropic
    for profile in LIKE_OPENAI:
        assert projected(schema, profile) == openai
    # Strict gateways want the list where there is something to require (rule chat.generic.required_null).
    assert projected(schema, GENERIC) == {**({"required": []} if openai["properties"] else {}), **openai}
    assert schema == before, "SC-10: the caller's schema is never changed"


@pytest.mark.parametrize("word", ["oneOf", "anyOf"])
def test_a_union_at_the_root_becomes_one_object(word: str) -> None:
    """All properties of the branches, what all of them require, their rules in words."""
    by_id = {"properties": {"kind": {"const": "id"}, "id": T2, "deep": {"type": "boolean"}}, "required": ["kind", "id"]}
    by_name = {"properties": {"kind": {"const": "name"}, "name": T1, "deep": {"type": "boolean"}}, "required": ["kind", "name"]}
    schema = {
        "type": "object",
        "description": "Finds.",
        "properties": {"limit": T2},
        "required": ["limit"],
        word: [by_id, by_name],
    }

    for profile in ALL:
        found = dict(projected(schema, profile))
        assert set(found) == {"type", "description", "properties", "required"}
        assert found["properties"] == {
            "limit": T2,
            "kind": {"anyOf": [{"const": "id"}, {"const": "name"}]},
            "id": T2,
            "name": T1,
            "deep": {"type": "boolean"},
        }
        assert found["required"] == ["limit", "kind"]
        assert found["description"].startswith("Finds.\n\n")
        assert json.loads(found["description"].split(" fit ", 1)[1]) == {word: [by_id, by_name]}


def test_enum_and_not_at_the_root_are_told_where_they_are_refused() -> None:
    """Anthropic took a root `not` when it was tried."""
    schema = of({"a": T1}, **{"not": {"required": ["a"]}})
    told = of({"a": T1}, description='The arguments must also fit {"not":{"required":["a"]}}')
    assert same(schema, ANTHROPIC)
    assert projected(schema, OPENAI) == told
    assert projected(of({}, enum=[{}]), OPENAI) == of({}, description='The arguments must also fit {"enum":[{}]}')


def test_branches_that_are_references_are_merged_too() -> None:
    defs = {"A": of({"a": T1}, required=["a"]), "B": {"allOf": [{"$ref": "#/$defs/A"}, of({"b": T2})]}}
    schema = {"type": "object", "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": defs}
    found = projected(schema, OPENAI)
    assert (found["properties"], found["required"], found["$defs"]) == ({"a": T1, "b": T2}, ["a"], defs)


def test_a_reference_to_a_root_that_changes_leads_to_a_copy_of_it() -> None:
    """Nested properties keep their names: only those at the top have an alphabet."""
    schema = of({"$name": T1, "children": {"type": "array", "items": {"$ref": "#"}}}, required=["$name"])
    inner = of({"$name": T1, "children": {"type": "array", "items": {"$ref": "#/$defs/arguments"}}}, required=["$name"])
    found = projected(schema, ANTHROPIC)
    (name, children) = found["properties"]
    assert (children, found["required"]) == ("children", [name])
    assert found["properties"]["children"] == inner["properties"]["children"]
    assert found["$defs"] == {"arguments": inner}
    assert same(schema, OPENAI)


# ---- laws ----------------------------------------------------------------------------------------

WIRES: Final[list[tuple[Protocol, Dialect, SchemaProfile]]] = [
    ("messages", "anthropic", ANTHROPIC),
    ("responses", "openai", OPENAI),
    ("chat", "openai", OPENAI),
    ("chat", "openrouter", OPENROUTER),
    ("chat", "glm", GLM),
    ("chat", "generic", GENERIC),
]


def request(wire: Protocol, schema: Any, *, strict: bool = False) -> dict[str, Any]:
    """The least request with one tool."""
    said = {"role": "user", "content": "hi"}
    match wire:
        case "messages":
            tool = {"name": "f", "input_schema": schema, **({"strict": True} if strict else {})}
            return {"model": "claude-opus-5", "max_tokens": 9, "messages": [said], "tools": [tool]}
        case "responses":
            flat = {"type": "function", "name": "f", "parameters": schema, "strict": strict}
            return {"model": "gpt-4.1", "input": "hi", "tools": [flat]}
        case "chat":
            nested = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": strict}}
            return {"model": "gpt-4.1", "messages": [said], "tools": [nested]}


@settings(max_examples=150)
@given(schemas)
def test_any_schema_is_taken_by_the_server_it_is_projected_for(schema: Any) -> None:
    before = json.dumps(schema)
    for wire, dialect, profile in WIRES:
        found = projected(schema, profile)
        assert check(wire, request(wire, found), dialect) == (), profile.name
        assert projected(found, profile) is found, "twice is once"
    assert json.dumps(schema) == before


@pytest.mark.timed
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_what_refers_to_itself_without_end_ends(profile: SchemaProfile) -> None:
    doubling = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(60)}
    chain = {f"C{n}": {"$ref": f"#/$defs/C{n + 1}"} for n in range(5000)}
    branches = [of({f"p{n}_{m}": T1 for m in range(100)}) for n in range(500)]
    for schema in (
        {"type": "object", "$ref": "#"},
        {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        {"type": "object", "allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#/allOf/1"}]}]},
        {"type": "object", "anyOf": [{"$ref": "#/$defs/D0"}], "$defs": doubling},
        {"type": "object", "anyOf": [{"$ref": "#/$defs/C0"}], "$defs": chain},
        {"$ref": "#/$defs/C0", "$defs": chain},
        {"type": "object", "anyOf": branches},
    ):
        found = projected(schema, profile)
        assert found["type"] == "object"
        assert len(json.dumps(found)) < 4 * len(json.dumps(schema)) + 1000
