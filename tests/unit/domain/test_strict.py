"""Strict: granted only to what fits, told from what does not by its place; and its nulls taken back."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given, settings

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.choice import Auto
from geode.domain.content import Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.negotiation import negotiate
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.schema_profile import ANTHROPIC, GENERIC, GLM, OPENAI, OPENROUTER, SchemaProfile, StrictForm
from geode.domain.sent_tools import restored, sent_schema, tools_problem
from geode.domain.strict import strict_problem
from geode.domain.tools import ToolSpec
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage
from geode.entrypoints.emulator import check
from tests.unit.domain.schemas import schemas
from tests.unit.domain.strategies import json_objects
from tests.unit.domain.test_projection import WIRES, of, request

T: Final = {"type": "string"}
WAY_OUT: Final = "Leave strict off for this tool, or change its schema"


def strict(schema: dict[str, Any], name: str = "t") -> ToolSpec:
    return ToolSpec(name, "", schema, strict=True)


def closed(properties: dict[str, Any], required: list[str] | None = None, **words: Any) -> dict[str, Any]:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False, **words}


# ---- the form ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema", [closed({"a": T, "n": {"type": ["integer", "null"]}}), closed({}), closed({"o": closed({"a": T})})]
)
def test_what_is_strict_already_goes_out_as_it_is(schema: dict[str, Any]) -> None:
    tool = strict(schema)
    for profile in (OPENAI, ANTHROPIC):
        assert tools_problem([tool], profile) is None
        assert sent_schema(tool, profile) is tool.input_schema


def test_without_strict_an_optional_property_stays_optional() -> None:
    """SC-06: the caller's contract changes only where the caller asked for it."""
    plain = ToolSpec("t", "", of({"name": T, "nickname": T}, required=["name"]))
    assert sent_schema(plain, OPENAI) is plain.input_schema


@pytest.mark.parametrize(
    ("optional", "sent"),
    [
        (T, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"const": 1, "description": "One."}, {"anyOf": [{"const": 1}, {"type": "null"}], "description": "One."}),
        ({"anyOf": [T, {"type": "integer"}]}, {"anyOf": [T, {"type": "integer"}, {"type": "null"}]}),
        ({"$ref": "#/$defs/D"}, {"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}]}),
        ({"type": "integer", "default": 5}, {"type": ["integer", "null"]}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        ),
    ],
)
def test_openai_has_an_optional_property_as_one_that_may_be_null(optional: Any, sent: Any) -> None:
    """SC-06, SC-09: no default, all required."""
    definitions: dict[str, Any] = {"$defs": {"D": closed({"a": T})}}
    tool = strict(of({"x": optional}, **definitions))
    assert tools_problem([tool], OPENAI) is None
    assert sent_schema(tool, OPENAI) == closed({"x": sent}, **definitions)


def test_openai_keeps_what_is_required_as_it_is() -> None:
    tool = strict(of({"a": T, "o": T}, required=["a"]))
    assert sent_schema(tool, OPENAI) == closed({"a": T, "o": {"type": ["string", "null"]}})


def test_anthropic_keeps_what_is_optional() -> None:
    tool = strict(of({"a": T, "o": of({"b": T})}, required=["a"]))
    assert tools_problem([tool], ANTHROPIC) is None
    assert sent_schema(tool, ANTHROPIC) == {
        **of({"a": T, "o": {**of({"b": T}), "additionalProperties": False}}, required=["a"]),
        "additionalProperties": False,
    }


def test_every_object_is_reached_and_nothing_of_the_caller_changes() -> None:
    """SC-10: nested definitions, items, unions, a definition that leads back to itself; one schema for two providers."""
    item = of({"next": {"$ref": "#/$defs/Item"}, "tags": {"type": "array", "items": of({"t": T})}}, required=["tags"])
    schema = of(
        {"either": {"anyOf": [of({"a": T}), {"type": "integer"}]}, "item": {"$ref": "#/$defs/Item"}},
        **{"$defs": {"Item": item}},
    )
    before = deepcopy(schema)
    tool = strict(schema)

    found = sent_schema(tool, OPENAI)

    assert tools_problem([tool], OPENAI) is None
    assert check("responses", request("responses", found, strict=True), "openai") == ()
    assert json.dumps(found).count('"additionalProperties": false') == 4
    assert schema == before == tool.input_schema
    other = ToolSpec("t", "", schema)
    assert sent_schema(other, ANTHROPIC) is other.input_schema


# ---- what does not fit ---------------------------------------------------------------------------

DEEP: Any = T
for _ in range(10):
    DEEP = closed({"c": DEEP})

IN_LISTS: Any = T
for _ in range(10):
    IN_LISTS = {"type": "array", "items": closed({"c": IN_LISTS})}

UNFIT: Final[list[tuple[SchemaProfile, Any, str]]] = [
    (OPENAI, of({"v": {"oneOf": [{"type": "integer"}, T]}}), "/properties/v/oneOf: oneOf is not permitted"),
    (OPENAI, of({"a/b": {"allOf": [T]}}), "/properties/a~1b/allOf: allOf is not permitted"),
    (OPENAI, of({"v": {"anyOf": [T, {"not": T}]}}), "/properties/v/anyOf/1/not: not is not permitted"),
    (
        OPENAI,
        of({"v": of({}, patternProperties={"^x": T})}),
        "/properties/v/patternProperties: patternProperties is not permitted",
    ),
    (
        OPENAI,
        of({"m": {"type": "object", "additionalProperties": {"type": "number"}}}),
        '/properties/m/additionalProperties: {"type":"number"} allows free properties, strict allows none',
    ),
    (OPENAI, of({}, additionalProperties=True), "/additionalProperties: true allows free properties, strict allows none"),
    (
        OPENAI,
        of({"m": {"type": "object"}}),
        "/properties/m: an object without properties of its own is free-form, strict would keep it empty",
    ),
    (OPENAI, of({"a": True}), "/properties/a: it does not say what it holds"),
    (OPENAI, of({"xs": {"type": "array"}}), "/properties/xs/items: it does not say what it holds"),
    (OPENAI, of({"d": {"type": "string", "format": "iri"}}), '/properties/d/format: the format "iri" is not permitted'),
    (OPENAI, of({"r": {"$ref": "other.json"}}), '/properties/r/$ref: "other.json" leads nowhere in the schema'),
    (OPENAI, of({"a": T}, anyOf=[{"required": ["a"]}]), "/anyOf: it is not permitted at the root"),
    (OPENAI, {**DEEP, "properties": {"c": {**DEEP}}}, "/: 11 levels of objects, at most 10 are permitted"),
    (OPENAI, of({"e": {"enum": list(range(1001))}}), "/: 1001 values of enums, at most 1000 are permitted"),
    (OPENAI, of({f"p{n}": T for n in range(5001)}), "/: 5001 properties, at most 5000 are permitted"),
    (OPENAI, of({"n" * 120_001: T}), "/: 120001 characters of names and values, at most 120000 are permitted"),
    (ANTHROPIC, of({"n": {"type": "integer", "minimum": 0}}), "/properties/n/minimum: minimum is not permitted"),
    (ANTHROPIC, of({"s": {"type": "string", "pattern": "a"}}), "/properties/s/pattern: pattern is not permitted"),
    (ANTHROPIC, of({"v": {"oneOf": [T]}}), "/properties/v/oneOf: oneOf is not permitted"),
    (
        ANTHROPIC,
        of({"xs": {"type": "array", "items": T, "minItems": 2}}),
        "/properties/xs/minItems: minItems above 1 is not permitted",
    ),
    (ANTHROPIC, of({"e": {"enum": [{}]}}), "/properties/e/enum: an enum of objects or arrays is not permitted"),
    (
        ANTHROPIC,
        of(
            {"n": {"$ref": "#/$defs/N"}},
            **{"$defs": {"N": of({"n": {"$ref": "#/$defs/M"}}), "M": of({"m": {"$ref": "#/$defs/N"}})}},
        ),
        "/$defs/N/properties/n/$ref: a definition that leads back to itself is not permitted",
    ),
    (
        ANTHROPIC,
        of(
            {"a": {"$ref": "#/$defs/A"}},
            **{
                "$defs": {
                    "A": of({"end": {"$ref": "#/$defs/End"}, "b": {"$ref": "#/$defs/B"}}),
                    "B": of({"a": {"$ref": "#/$defs/A"}}),
                    "End": of({"t": T}),
                }
            },
        ),
        "/$defs/A/properties/b/$ref: a definition that leads back to itself is not permitted",
    ),
    (
        ANTHROPIC,
        of({"n": {"$ref": "#"}}),
        "/properties/n/$ref: a definition that leads back to itself is not permitted",
    ),
    (ANTHROPIC, of({"xs": {"type": "array"}}), "/properties/xs: the array does not say what it holds"),
    (
        OPENAI,
        of({"m": {"type": "object", "additionalProperties": {"const": "x" * 99}}}),
        f'/properties/m/additionalProperties: {{"const":"{"x" * 70} allows free properties, strict allows none',
    ),
    (OPENAI, closed({"c": IN_LISTS}), "/: 11 levels of objects, at most 10 are permitted"),
    (OPENAI, of({"e": {"enum": list(range(1000))}, "c": {"const": 1}}), "/: 1001 values of enums, at most 1000 are permitted"),
    *(
        (OPENAI, of({}, **{word: {"n" * 120_001: T}}), "/: 120001 characters of names and values, at most 120000 are permitted")
        for word in ("$defs", "definitions")
    ),
    (OPENAI, of({"r": {"$ref": "x" * 99}}), f'/properties/r/$ref: "{"x" * 79} leads nowhere in the schema'),
]


@pytest.mark.parametrize(("profile", "schema", "why"), UNFIT, ids=lambda value: value[:60] if isinstance(value, str) else None)
def test_what_does_not_fit_is_refused_by_its_place(profile: SchemaProfile, schema: Any, why: str) -> None:
    """SC-04, SC-07, SC-08: the kind is strict where the server would refuse it, or a field that could never be filled."""
    before = deepcopy(schema)
    assert tools_problem([strict(schema, "look")], profile) == f"tool look: its schema cannot be strict here; {why}. {WAY_OUT}"
    assert tools_problem([ToolSpec("look", "", schema)], profile) is None, "without strict it goes out"
    assert schema == before


def test_what_is_at_the_bounds_is_permitted() -> None:
    """A list of at least one, an object that is closed and empty, and no more than is counted."""
    assert tools_problem([strict(of({"xs": {"type": "array", "items": T, "minItems": 1}}))], ANTHROPIC) is None
    assert tools_problem([strict(of({"m": {"type": "object", "additionalProperties": False}}))], OPENAI) is None
    assert tools_problem([strict(of({"e": {"enum": list(range(999))}, "c": {"const": 1}}))], OPENAI) is None
    assert tools_problem([strict(closed({"c": IN_LISTS["items"]["properties"]["c"]}))], OPENAI) is None
    assert tools_problem([strict(of({}, **{"$defs": {"n" * 120_000: T}}))], OPENAI) is None
    none_at_least = StrictForm(frozenset(), frozenset(), min_items=0)
    assert strict_problem({"type": "array", "items": T}, none_at_least) is None


def test_definitions_that_lead_on_are_permitted() -> None:
    """Whatever they lead to, and from however many places, as long as no way leads back."""
    definitions = {
        "A": of({"b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/C"}}),
        "B": of({"c": {"$ref": "#/$defs/C"}}),
        "C": of({"d": {"$ref": "#/$defs/D"}}),
        "D": of({"t": T}),
    }
    schema = of({"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}}, **{"$defs": definitions})
    assert tools_problem([strict(schema)], ANTHROPIC) is None


def test_levels_are_objects_in_objects_whatever_they_are_called() -> None:
    nested: Any = T
    for _ in range(9):
        nested = closed({"properties": nested})
    assert tools_problem([strict(closed({"properties": nested}))], OPENAI) is None


def test_anthropic_counts_all_strict_tools_of_a_request() -> None:
    """At most 20 tools, 24 optional properties and 16 unions together."""
    optional = of({f"p{n}": T for n in range(13)})
    unions = closed({f"u{n}": {"type": ["string", "null"]} if n % 2 else {"anyOf": [T, {"type": "null"}]} for n in range(9)})
    for schema, most, number, what in (
        (closed({"a": T}), 20, 21, "21 strict tools, this server takes 20"),
        (optional, 1, 2, "26 optional properties in strict tools, this server takes 24"),
        (unions, 1, 2, "18 unions in strict tools, this server takes 16"),
    ):
        tools = [strict(schema, f"t{n}") for n in range(number)]
        assert tools_problem(tools[:most], ANTHROPIC) is None
        assert tools_problem(tools, ANTHROPIC) == f"{what}. Leave strict off for some of them, such as t0"
        assert tools_problem(tools, OPENAI) is None


def test_a_server_without_strict_says_so() -> None:
    assert tools_problem([strict(of({}))], GLM) == "tool t: this server has no strict tools. Leave strict off for this tool"
    assert [tools_problem([strict(of({}))], one) for one in (OPENROUTER, GENERIC)] == [None, None]


def test_two_properties_that_would_share_a_name_are_refused_where_names_change() -> None:
    schema = of({"a b": T, "a_b_c8687a08aa": T})
    assert tools_problem([ToolSpec("t", "", schema)], OPENAI) is None
    said = tools_problem([ToolSpec("t", "", schema)], ANTHROPIC)
    assert said == 'tool t: the properties "a b" and "a_b_c8687a08aa" would go out under one name. Rename one of them'


def test_nothing_leaves_with_a_tool_that_cannot_be_sent() -> None:
    asked = AdapterCallRequest("m", Conversation((UserTurn((Text("hi"),)),)), tools=(strict(of({"a": True})),))
    assert (
        negotiate("lab", asked, Capabilities(schemas=OPENAI))
        .failure()
        .startswith("lab: tool t: its schema cannot be strict here")
    )
    assert negotiate("lab", asked, Capabilities()).unwrap().request is asked, "a scripted model takes whatever it is given"
    text_only = negotiate("lab", asked, Capabilities(supports_tools=False, schemas=OPENAI)).unwrap().request
    assert (text_only.tools, text_only.tool_choice) == ((), Auto())


@settings(max_examples=150)
@given(schemas)
def test_what_is_granted_is_taken_by_the_server(schema: Any) -> None:
    for wire, dialect, profile in WIRES:
        tool = strict({**schema, "type": "object"})
        if tools_problem([tool], profile) is None:
            body = request(wire, sent_schema(tool, profile), strict=True)
            assert check(wire, body, dialect) == (), profile.name


# ---- taking back ---------------------------------------------------------------------------------


def taken_back(tool: ToolSpec, input: dict[str, Any], profile: SchemaProfile = OPENAI) -> Any:
    reply = AdapterCallResult((Text("so"), ToolUseBlock("c", tool.name, input)), Stop.TOOL_CALLS, Usage())
    return restored(reply, (tool,), profile).calls[0].input


SHAPE: Final = {
    "anyOf": [
        closed({"kind": {"const": "dot"}, "at": T}, ["kind"]),
        closed({"kind": {"const": "box"}, "at": {"type": ["string", "null"]}}, ["kind"]),
    ]
}
BACK: Final[list[tuple[Any, Any, Any]]] = [
    (of({"a": T, "b": T}, required=["a"]), {"a": "x", "b": None}, {"a": "x"}),
    (of({"b": {"type": ["string", "null"]}}), {"b": None}, {"b": None}),
    (of({"b": {"anyOf": [T, {"$ref": "#/$defs/N"}]}}, **{"$defs": {"N": {"type": "null"}}}), {"b": None}, {"b": None}),
    (of({"b": {"enum": ["x"]}}), {"b": None}, {}),
    (of({"b": {"enum": ["x", None]}}), {"b": None}, {"b": None}),
    (of({"b": {"const": 1}}), {"b": None}, {}),
    (of({"b": {"const": None}}), {"b": None}, {"b": None}),
    (of({"o": of({"b": T})}), {"o": {"b": None}}, {"o": {}}),
    (of({"xs": {"type": "array", "items": of({"b": T})}}), {"xs": [{"b": None}, {"b": "x"}]}, {"xs": [{}, {"b": "x"}]}),
    (of({"s": SHAPE}), {"s": {"kind": "dot", "at": None}}, {"s": {"kind": "dot"}}),
    (of({"s": SHAPE}), {"s": {"kind": "box", "at": None}}, {"s": {"kind": "box", "at": None}}),
    (
        of({"n": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": of({"n": {"$ref": "#/$defs/N"}})}}),
        {"n": {"n": {"n": None}}},
        {"n": {"n": {}}},
    ),
    (of({"a": T}, required=["a"]), {"a": None, "more": None}, {"a": None, "more": None}),
]


@pytest.mark.parametrize(("schema", "given_", "kept"), BACK)
def test_a_null_that_stands_for_nothing_is_taken_out(schema: Any, given_: Any, kept: Any) -> None:
    """SC-06: what the tool itself takes as null stays; what is wrong stays, for the check to tell the model."""
    before = deepcopy(given_)
    assert taken_back(strict(schema), given_) == kept
    assert taken_back(ToolSpec("t", "", schema), given_) is given_, "nothing was added to a tool that is not strict"
    assert taken_back(strict(schema), given_, ANTHROPIC) == given_, "Anthropic keeps what is optional"
    assert given_ == before


def test_what_is_taken_back_fits_the_original() -> None:
    """The model fills in the wire's schema; the check uses the tool's own."""
    schema = of({"name": T, "home": of({"zip": T, "tags": {"type": "array", "items": of({"t": T})}})}, required=["name"])
    valid = JsonschemaValidator()
    told = {"name": "Ada", "home": {"zip": None, "tags": [{"t": None}]}}
    assert valid.compile(sent_schema(strict(schema), OPENAI))(told) == ()
    assert valid.compile(schema)(told) != ()
    assert valid.compile(schema)(taken_back(strict(schema), told)) == ()


@given(schemas, json_objects)
def test_any_call_of_any_tool_can_be_taken_back(schema: Any, input: Any) -> None:
    for profile in (OPENAI, ANTHROPIC):
        assert taken_back(strict({**schema, "type": "object"}), input, profile).keys() <= input.keys() | schema_names(schema)


def schema_names(schema: Any) -> set[str]:
    """Every key in a schema: names of properties among them."""
    if isinstance(schema, list):
        return {name for one in schema for name in schema_names(one)}
    return set(schema) | schema_names(list(schema.values())) if isinstance(schema, dict) else set()


def test_what_has_nothing_to_take_back_is_the_very_same() -> None:
    tool = ToolSpec("t", "", of({"a": T}))
    for item in (
        ToolUseBlock("c", "t", {"a": "x"}),
        ToolUseBlock("c", "unknown", {"b": None}),
        ToolUseBlock("c", "t", {}, "{bro"),
    ):
        reply = AdapterCallResult((item,), Stop.TOOL_CALLS, Usage())
        assert restored(reply, (tool,), ANTHROPIC) is reply


@pytest.mark.parametrize(("reference", "inner"), [("#/$defs/A", {"a": None}), ("#", {})])
def test_references_without_end_end(reference: str, inner: Any) -> None:
    """What is made for no branch stays; one that is the root again has an optional `a`."""
    around: dict[str, Any] = {"anyOf": [{"$ref": reference}, {"$ref": "#/$defs/A"}]}
    schema = of({"a": around}, **{"$defs": {"A": around}})
    assert taken_back(strict(schema), {"a": {"a": None}}) == {"a": inner}
