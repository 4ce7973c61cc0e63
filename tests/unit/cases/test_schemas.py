"""Kinds of tool schemas that a server refuses or that were altered on the way, each with the id of its case."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

import geode
from geode.domain.conversation import Conversation
from geode.domain.discovery import discovered
from geode.domain.errors import Misuse
from geode.domain.request import AdapterCallRequest
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolSpec
from geode.entrypoints.emulator import Protocol
from geode.entrypoints.tools import build_tools
from geode.ports.tools import Tool
from tests.unit.application.rig import answered, loop_of
from tests.unit.application.rig import results as given
from tests.unit.cases.server import adapter, asks, refused, says, sent
from tests.unit.cases.turns import user

OPENAI_STYLE: tuple[Protocol, ...] = ("responses", "chat")
Json = dict[str, Any]


def asking(schema: Any, *, strict: bool = False) -> AdapterCallRequest:
    return AdapterCallRequest("m", Conversation((user("hi"),)), tools=(ToolSpec("t1", "A tool.", schema, strict=strict),))


def told(protocol: Protocol, schema: Any, *, strict: bool = False) -> tuple[Any, bool]:
    """The schema as the server is told it, and whether it is strict."""
    (tool,) = sent(protocol, asking(schema, strict=strict), "openai")["tools"]
    function = tool.get("function", tool)
    return function["parameters"], bool(function.get("strict"))


def schema_of(function: Any) -> Any:
    (built,) = build_tools([geode.tool(tier="safe")(function)], None)
    return built.spec.input_schema


def objects(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, **more}


def test_sc_02_null_for_properties_is_none_and_a_bad_tool_hides_no_other() -> None:
    listed: list[tuple[str, Any]] = [("good", objects({})), ("bad", {"type": "object", "properties": None}), ("worse", [])]
    made = [discovered(name, "", schema) for name, schema in listed]

    assert [one.unwrap().input_schema["properties"] for one in made[:2]] == [{}, {}]
    assert "worse" in made[2].failure()


@pytest.mark.parametrize("protocol", OPENAI_STYLE)
def test_sc_04_strict_is_never_said_of_a_schema_outside_the_strict_subset(protocol: Protocol) -> None:
    """By default no tool is strict; where it is asked for, what does not fit is refused before anything leaves."""
    union = objects({"v": {"oneOf": [{"type": "integer"}, {"type": "string"}]}})
    assert told(protocol, union) == (union, False)
    for schema in (
        union,
        objects({"deep": {"$ref": "#/$defs/one"}}, **{"$defs": {"one": union}}),
        objects({"many": {"type": "array", "items": union}}),
    ):
        why = refused(protocol, asking(schema, strict=True), "openai")
        assert "t1" in why
        assert "oneOf" in why


NICKNAMED = objects({"name": {"type": "string"}, "nickname": {"type": "string"}}, required=["name"])


@pytest.mark.parametrize("protocol", OPENAI_STYLE)
async def test_sc_06_an_optional_property_stays_optional_and_under_strict_may_be_null_which_is_taken_back(
    protocol: Protocol,
) -> None:
    assert told(protocol, NICKNAMED) == (NICKNAMED, False)
    schema, strict = told(protocol, NICKNAMED, strict=True)
    assert strict
    assert sorted(schema["required"]) == ["name", "nickname"]
    assert schema["properties"]["nickname"]["type"] == ["string", "null"]

    inputs: list[Mapping[str, Any]] = []
    tool = Tool(ToolSpec("t1", "A tool.", NICKNAMED, strict=True), SafetyTier.SAFE, lambda given, _: inputs.append(given))
    lab = adapter(protocol, asks(protocol, '{"name": "n", "nickname": null}'), says(protocol), dialect="openai")
    (result,) = given(answered(await loop_of(model=lab.http, tools=[tool]).run("go")))
    assert (inputs, result.kind) == ([{"name": "n"}], "ok")


def free(arguments: dict[str, Any]) -> str:
    """A tool with a mapping of anything."""
    return str(arguments)


@pytest.mark.parametrize("protocol", OPENAI_STYLE)
def test_sc_07_a_mapping_of_anything_stays_open_and_is_refused_where_strict_is_asked_for(protocol: Protocol) -> None:
    schema = schema_of(free)
    sent_schema, strict = told(protocol, schema)
    assert (sent_schema["properties"]["arguments"].get("additionalProperties", True), strict) == (True, False)
    assert "/properties/arguments" in refused(protocol, asking(schema, strict=True), "openai")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Nested(BaseModel):
    inner: Open


@pytest.mark.parametrize("protocol", OPENAI_STYLE)
@pytest.mark.parametrize("model", [Open, Nested])
def test_sc_08_a_model_that_allows_more_fields_is_never_closed_in_silence(protocol: Protocol, model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    assert "additionalProperties" in refused(protocol, asking(schema, strict=True), "openai")
    assert told(protocol, schema)[1] is False


@pytest.mark.parametrize("protocol", OPENAI_STYLE)
async def test_sc_09_a_default_is_left_out_of_strict_and_applied_when_the_tool_runs(protocol: Protocol) -> None:
    @geode.tool(tier="safe", strict=True)
    def defaulted(x: int | None = 5) -> str:
        """A tool with a default."""
        return f"x is {x}"

    (built,) = build_tools([defaulted], None)
    assert "default" in built.spec.input_schema["properties"]["x"]
    strict, said = told(protocol, built.spec.input_schema, strict=True)
    assert said
    assert "default" not in str(strict)

    lab = adapter(protocol, asks(protocol, "{}", name="defaulted"), says(protocol), dialect="openai")
    (result,) = given(answered(await loop_of(model=lab.http, tools=[defaulted]).run("go")))
    assert result.text == "x is 5"


ITEM = objects({"n": {"type": "integer"}})
SELF = objects({"next": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": objects({"next": {"$ref": "#/$defs/node"}})}})


@pytest.mark.parametrize("protocol", OPENAI_STYLE)
@pytest.mark.parametrize(
    "schema",
    [
        objects({"many": {"type": "array", "items": {"$ref": "#/$defs/item"}}}, **{"$defs": {"item": ITEM}}),
        objects({"one": {"anyOf": [{"$ref": "#/$defs/item"}, {"type": "null"}]}}, **{"$defs": {"item": ITEM}}),
        objects({"many": {"type": "array", "items": {"anyOf": [ITEM, {"type": "string"}]}}}),
        SELF,
    ],
    ids=["items", "anyOf", "anyOf in items", "itself"],
)
def test_sc_10_strict_reaches_every_object_and_leaves_the_given_schema_alone(protocol: Protocol, schema: Json) -> None:
    before = deepcopy(schema)
    strict, said = told(protocol, schema, strict=True)

    assert said
    assert schema == before
    assert all(one.get("additionalProperties") is False for one in _objects(strict))
    assert len(_objects(strict)) == len(_objects(before))
    assert told(protocol, schema) == (before, False), "sent elsewhere it is as it was"


def _objects(value: Any) -> list[Json]:
    """Every schema of an object in a schema."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    here = [value] if isinstance(value, dict) and value.get("type") == "object" else []
    return [*here, *(found for one in inner for found in _objects(one))]


@pytest.mark.parametrize("root", [{"type": "array", "items": {"type": "string"}}, {"type": "string"}, [], "x"])
def test_sc_14_a_schema_whose_root_is_no_object_is_refused_when_the_tool_is_made(root: Any) -> None:
    with pytest.raises(Misuse, match="t1"):
        ToolSpec("t1", "", root)
    assert "t1" in discovered("t1", "", root).failure()


@pytest.mark.parametrize("protocol", ["messages", *OPENAI_STYLE])
def test_sc_15_an_array_says_what_it_holds_where_the_server_wants_that(protocol: Protocol) -> None:
    (tool,) = sent(protocol, asking(objects({"xs": {"type": "array"}})))["tools"]
    schema = tool.get("input_schema") or tool.get("function", tool).get("parameters")
    wanted = {"type": "array"} if protocol == "messages" else {"type": "array", "items": {}}
    assert schema["properties"] == {"xs": wanted}
