"""Tools from definitions: what a file says, the functions behind it, and what is refused with which words."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest

import geode
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Answered
from geode.domain.tiers import SafetyTier
from geode.entrypoints.tools import build_tools
from geode.entrypoints.tools.definitions import definitions_in, read_definitions
from geode.entrypoints.tools.handlers import bind, tools_from
from geode.ports.tools import Tool, ToolContext, ToolRetry
from geode.testing import ScriptedModel, calls, says

CONTEXT: ToolContext[Any] = ToolContext(None, "call_1", "run/call_1", 120.0)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


@dataclass
class Db:
    users: int


def defined(name: str = "get_weather", schema: Mapping[str, Any] = CITY, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "What it does.", "input_schema": dict(schema), **more}


def schema_of(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def get_weather(city: str) -> str:
    """Another description, which the definition hides."""
    return f"18 C in {city}"


def in_days(days: int) -> str:
    return f"18 C in {days} days"


def one(definition: Mapping[str, Any], handler: Callable[..., Any]) -> Tool:
    (tool,) = tools_from([definition], {definition["name"]: handler})
    return tool


def problems(value: object) -> list[tuple[str, str]]:
    return [(problem.id, problem.text) for problem in definitions_in(value, "d.json").problems]


def refused(definition: Mapping[str, Any], handler: object) -> list[str]:
    """What keeps the function from being the definition's, after the words that name both."""
    bound = bind(definitions_in([definition], "d.json"), {definition["name"]: handler})
    assert bound.tools == ()
    told = [problem.text for problem in bound.problems]
    assert all(text.startswith("d.json[0]: tool ") for text in told)
    return [text.partition("its handler ")[2].partition(") ")[2] or text for text in told]


# ---- what a definition says --------------------------------------------------------------------


def test_a_definition_and_a_function_are_a_tool(tmp_path: Path) -> None:
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps([defined(), defined("other")], indent=1))
    first, second = tools_from(file, {"get_weather": get_weather, "other": get_weather})
    assert (first.spec.name, first.spec.description, first.spec.input_schema) == ("get_weather", "What it does.", CITY)
    assert (first.tier, first.blocking, first.place) == (SafetyTier.DANGEROUS, True, f"{file}:2")
    assert (second.spec.name, second.place) == ("other", f"{file}:18")
    assert first.invoke({"city": "Paris"}, CONTEXT) == "18 C in Paris"
    assert tools_from(str(file), {"get_weather": get_weather, "other": get_weather})[0].spec == first.spec


async def test_it_runs_as_any_other_tool() -> None:
    tools = tools_from([defined(tier="safe")], {"get_weather": get_weather})
    model = ScriptedModel(calls(("get_weather", {"city": "Paris"}), ("get_weather", {"town": "Paris"})), says("18 C"))
    outcome = await geode.run("Weather?", model=model, tools=[*tools, later])
    assert isinstance(outcome, Answered)
    good, bad = outcome.conversation.results()
    assert (good.kind, good.text, bad.kind) == ("ok", "18 C in Paris", "failed")


@geode.tool(tier="safe")
def later() -> str:
    """A decorated function beside them."""
    return "later"


def test_everything_that_a_definition_may_say() -> None:
    said: dict[str, Any] = {"tier": "Safe", "timeout_seconds": 2.5, "alternative": "a", "fallback": "b", "max_calls": 3}
    tool = one(defined(**said, strict=True, poller=True, idempotent=True, deferred=True), get_weather)
    assert (tool.tier, tool.timeout_seconds, tool.alternative, tool.fallback, tool.max_calls) == (
        *(SafetyTier.SAFE, 2.5, "a", "b", 3),
    )
    assert (tool.spec.strict, tool.poller, tool.idempotent, tool.deferred) == (True, True, True, True)


def test_the_definition_wins_and_what_it_does_not_say_is_as_it_was_declared() -> None:
    @geode.tool(tier="write", timeout_seconds=5, strict=True, poller=True, blocking=False, description="Own", max_calls=2)
    def declared(city: str) -> str:
        return city

    tool = one(defined(tier="safe", poller=False, strict=False, timeout_seconds=None), declared)
    assert (tool.tier, tool.poller, tool.spec.strict, tool.spec.description) == (SafetyTier.SAFE, False, False, "What it does.")
    assert (tool.timeout_seconds, tool.blocking, tool.max_calls) == (5, False, 2)
    quiet = one(defined(), declared)
    assert (quiet.tier, quiet.poller, quiet.spec.strict) == (SafetyTier.WRITE, True, True)


@pytest.mark.parametrize(
    ("value", "id", "said"),
    [
        ({}, "definition", 'd.json: the outermost value must be a list of definitions [{"name": …'),
        ("text", "definition", "got text"),
        (["x"], "definition", "d.json[0]: a definition must be an object"),
        ([None], "definition", "got null"),
        ([{"description": "d", "input_schema": CITY}], "definition", "d.json[0]: a tool has no name: a definition is"),
        ([{"name": "n", "input_schema": CITY}], "definition", 'd.json[0]: tool "n" has no description'),
        ([{"name": "n", "description": "d"}], "definition", 'tool "n" has no input_schema'),
        ([{**defined(), "name": 5}], "definition", "a tool must have text as its name, got a number"),
        ([defined("get weather")], "definition", 'tool "get weather" has a name that cannot be sent: 1 to 64 of'),
        ([defined("")], "definition", "has a name that cannot be sent"),
        ([{**defined(), "description": " "}], "definition", "has an empty description: a model chooses a tool by it"),
        ([{**defined(), "input_schema": []}], "definition", "must have an object as its input_schema, got a list"),
        ([{**defined(), "inputSchema": {}}], "definition", 'has "inputSchema", which is unknown; did you mean input_schema?'),
        ([{**defined(), "parameters": {}}], "definition", "did you mean input_schema?"),
        ([{**defined(), "teir": "safe"}], "definition", 'has "teir", which is unknown; did you mean tier?'),
        ([{**defined(), "zzz": 1}], "definition", 'has "zzz", which is unknown; known: name, description, input_schema, tier,'),
        ([{"type": "function", "function": {}}], "definition", "did you mean name, description and input_schema, with nothing"),
        ([defined(tier="careful")], "unknown-tier", "tier 'careful' is unknown. Accepted: safe, mcp_trusted, expensive"),
        ([defined(tier=1)], "tool-setting", "tier must be text, got a number"),
        ([defined(timeout_seconds=-1)], "tool-timeout", "timeout_seconds must be a number of seconds above 0, got -1"),
        ([defined(timeout_seconds="2")], "tool-timeout", "got '2'"),
        ([defined(max_calls=0)], "tool-setting", "max_calls must be a whole number of 1 or more, got 0"),
        ([defined(poller="yes")], "tool-setting", "poller must be true or false, got text"),
        ([defined(strict=1)], "tool-setting", "strict must be true or false, got a number"),
        ([defined(fallback=["a"])], "tool-setting", "fallback must be text, got a list"),
        (
            [defined(schema={"type": "array"})],
            "tool-schema",
            'd.json[0]: tool get_weather: input_schema must have type "object"',
        ),
        ([defined(schema={})], "tool-schema", "has none"),
        ([defined(), defined()], "tool-twice", 'd.json[1]: two tools are called "get_weather", the first at d.json[0]. Rename'),
    ],
)
def test_what_is_wrong_is_told_with_its_place(value: object, id: str, said: str) -> None:
    found = problems(value)
    assert [problem for problem, _ in found if problem == id], found
    assert any(said in text for _, text in found), found


def test_definitions_on_one_line_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text(json.dumps([defined("a"), defined("b"), defined("a")]))
    read = read_definitions(file)
    assert [one.spec.name for one in read.definitions] == ["a", "b"]
    assert [one.text for one in read.problems] == [f'{file}:1: two tools are called "a", the first at {file}:1. Rename one']


def test_every_problem_is_found_and_the_others_can_be_used() -> None:
    value = [defined(teir="safe", tier=7), defined("good"), {"name": "n"}]
    read = definitions_in(value, "d.json")
    assert [one.spec.name for one in read.definitions] == ["good"]
    assert len(read.problems) == 4
    with pytest.raises(Misuse, match=r"teir.*; and 3 more: geode tools check --tools FILE.json:MODULE says each"):
        tools_from(value, {"good": get_weather})


def test_a_file_that_is_broken_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "definitions.json"
    file.write_text('[{"name": "a",\n "name": "b"}]')
    with pytest.raises(Misuse, match=rf'{file}:2: "name" is there twice'):
        read_definitions(file)
    file.write_text(f'[\n{json.dumps(defined())},\n{{"name": "b"}}]')
    assert [problem.text.partition(" ")[0] for problem in read_definitions(file).problems] == [f"{file}:3:", f"{file}:3:"]


def test_a_schema_that_is_none_is_refused_when_a_session_is_made_with_its_place() -> None:
    broken = {"type": "object", "properties": {"city": {"type": "strung"}}, "required": ["city"]}
    tools = tools_from([defined(schema=broken)], {"get_weather": get_weather})
    with pytest.raises(Misuse, match=r"tool get_weather \(definitions\[0\]\): input_schema is no JSON Schema that can be"):
        build_tools(tools, validator=JsonschemaValidator())


# ---- handlers ----------------------------------------------------------------------------------


def test_a_module_and_an_object_have_handlers_by_name_and_by_what_was_declared() -> None:
    module = types.ModuleType("app")
    vars(module).update(get_weather=get_weather, unrelated=later, number=5)
    assert tools_from([defined()], module)[0].invoke({"city": "Rome"}, CONTEXT) == "18 C in Rome"

    class Weather:
        @geode.tool(name="get-weather")
        def anything(self, city: str) -> str:
            return f"{city}!"

        @property
        def get_weather(self) -> str:
            raise AssertionError("nothing is worked out")

    assert tools_from([defined("get-weather")], Weather())[0].invoke({"city": "Rome"}, CONTEXT) == "Rome!"
    with pytest.raises(
        Misuse, match=r'tool "get_weather" has no handler: the Weather has no "get_weather"; did you mean get-w'
    ):
        tools_from([defined()], Weather())


def test_a_definition_without_a_handler_is_refused_with_the_closest() -> None:
    with pytest.raises(Misuse) as caught:
        tools_from([defined()], {"get_wether": get_weather})
    assert caught.value.id == "definition-handlers"
    assert str(caught.value).startswith(
        'definitions[0]: tool "get_weather" has no handler: handlers= has no "get_weather"; did you mean get_wether?'
    )


def test_a_handler_of_a_mapping_that_nothing_defines_is_refused() -> None:
    with pytest.raises(
        Misuse, match=r'handlers= has "get_wether", which definitions does not define; did you mean get_weather'
    ):
        tools_from([defined()], {"get_weather": get_weather, "get_wether": get_weather})
    with pytest.raises(Misuse, match=r'handlers= has "x", which definitions does not define; there are: none'):
        tools_from([], {"x": get_weather})


@pytest.mark.parametrize(
    ("handlers", "got"),
    [(None, "NoneType"), ("app", "str"), ([get_weather], "list"), (get_weather, "function"), (dict, "the class dict")],
)
def test_what_has_no_names_is_refused(handlers: object, got: str) -> None:
    with pytest.raises(Misuse, match=rf"handlers= takes a mapping \{{name: function\}}, a module, .* got {got}"):
        tools_from([defined()], handlers)


def test_the_context_is_injected_by_its_type_and_its_dependencies_are_checked() -> None:
    def count(city: str, ctx: ToolContext[Db]) -> str:
        return f"{city}: {ctx.deps.users}"

    tools = tools_from([defined()], {"get_weather": count})
    assert tools[0].invoke({"city": "Rome"}, ToolContext(Db(3), "c", "k", 1.0)) == "Rome: 3"
    assert build_tools(tools, Db(3)) == tuple(tools)
    with pytest.raises(Misuse, match="ctx wants deps of type Db, there are none"):
        build_tools(tools)


def test_arguments_become_what_the_parameters_are_annotated_with() -> None:
    def plan(day: date, order: Literal["new", "old"], count: int = 1, *, rest: Any = None) -> object:
        return day, order, count, rest

    properties = {"day": {"type": "string"}, "order": {"type": "string"}, "count": {"type": "integer"}, "rest": {}}
    tool = one(defined(schema=schema_of("day", "order", **properties)), plan)
    arguments = {"day": "2026-01-31", "order": "new", "count": 2.0, "rest": [1]}
    assert tool.invoke(arguments, CONTEXT) == (date(2026, 1, 31), "new", 2, [1])
    assert isinstance(tool.invoke({"day": "2026-01-31", "order": "old", "count": 2.0}, CONTEXT), tuple)
    with pytest.raises(ToolRetry, match="/day"):
        tool.invoke({"day": "soon", "order": "new"}, CONTEXT)


def test_a_value_that_the_type_does_not_take_fails_and_says_which() -> None:
    def sized(size: Literal[1, 2]) -> int:
        return size

    tool = one(defined(schema=schema_of("size", size={"type": "integer"})), sized)
    assert tool.invoke({"size": 1.0}, CONTEXT) == 1
    with pytest.raises(ToolRetry, match='the argument "size" has a value that this tool does not take'):
        tool.invoke({"size": 3}, CONTEXT)


def test_an_open_schema_gives_nothing_to_a_function_that_it_does_not_take() -> None:
    tool = one(defined(schema=schema_of("city", city={"type": "string"})), get_weather)
    with pytest.raises(ToolRetry, match="get_weather does not take days, unit; it takes city"):
        tool.invoke({"city": "Rome", "unit": "C", "days": 2}, CONTEXT)


def test_names_that_are_no_identifiers_go_to_a_function_that_takes_any() -> None:
    def anything(**given: object) -> object:
        return given

    tool = one(defined(schema=schema_of("max-results", **{"max-results": {}})), anything)
    assert tool.invoke({"max-results": 5, "other": 1}, CONTEXT) == {"max-results": 5, "other": 1}


def test_parameters_that_cannot_be_given_by_name_are_given_by_place() -> None:
    def add(a: int, b: int = 2, /, *more: int) -> tuple[int, ...]:
        return (a, b, *more)

    tool = one(defined(schema=schema_of("a", a={"type": "integer"}, b={"type": "integer"})), add)
    assert tool.invoke({"a": 1}, CONTEXT) == (1, 2)


async def test_coroutines_methods_and_functions_without_types() -> None:
    class Weather:
        async def get(self, city):  # type: ignore[no-untyped-def]
            return city

    tool = one(defined(), Weather().get)
    assert (tool.blocking, await tool.invoke({"city": "x"}, CONTEXT)) == (False, "x")


def test_where_the_schema_names_its_properties_elsewhere_the_function_is_believed() -> None:
    schema = {"type": "object", "anyOf": [schema_of("a", a={}), schema_of("b", b={})]}
    tool = one(defined(schema=schema), lambda a=None, b=None: (a, b))
    assert tool.invoke({"b": 1}, CONTEXT) == (None, 1)


@pytest.mark.parametrize(
    ("schema", "handler", "said"),
    [
        (
            CITY,
            lambda town: town,
            ['has no parameter "city"', 'has a parameter "town" without a default, and the input_schema'],
        ),
        (CITY, lambda citty="": citty, ['has no parameter "city"; did you mean citty?']),
        (CITY, lambda: None, ['has no parameter "city"; it takes: nothing']),
        (schema_of(**{"a-b": {}}), lambda a_b=1: a_b, ['"a-b"; no parameter can have that name: take it by **others']),
        (
            schema_of(city={}),
            lambda city: city,
            ['has a parameter "city" without a default, and the input_schema does not require it. Give it a default'],
        ),
        (
            schema_of("city", city={"type": "array"}),
            get_weather,
            ['has a parameter "city" of another type: the input_schema says array, it takes str'],
        ),
        (schema_of("city", city={"type": ["integer", "string"]}), get_weather, []),
        (
            schema_of("days", days={"type": "string"}),
            in_days,
            ['has a parameter "days" of another type: the input_schema says string, it takes int'],
        ),
    ],
)
def test_a_function_that_cannot_take_what_the_schema_names_is_refused(
    schema: dict[str, Any], handler: Callable[..., Any], said: list[str]
) -> None:
    if not said:
        assert one(defined(schema=schema), handler).spec.input_schema == schema
        return
    found = refused(defined(schema=schema), handler)
    assert len(found) == len(said)
    assert all(words in text for words, text in zip(said, found, strict=True)), found


def test_a_context_of_the_name_of_a_property_is_refused() -> None:
    def confused(city: ToolContext[Any]) -> None:
        """Nothing."""

    assert refused(defined(), confused) == [
        'takes its ToolContext as "city", which is a property of the input_schema. Rename one of them'
    ]


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (5, "d.json[0]: tools= has 5 of type int, which is no tool"),
        (dict, "d.json[0]: tools= has the class dict, which is no tool"),
    ],
)
def test_a_handler_that_is_no_function_is_refused_with_its_definition(handler: object, said: str) -> None:
    bound = bind(definitions_in([defined()], "d.json"), {"get_weather": handler})
    assert [problem.text.startswith(said) for problem in bound.problems] == [True]


def test_two_tools_of_one_name_are_told_with_both_places(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text(json.dumps([defined("later", schema_of())]))

    def nothing() -> None:
        """Nothing."""

    with pytest.raises(Misuse, match=rf'two tools are called "later": test_definitions.py:\d+ and {file}:1. Rename one'):
        build_tools([later, *tools_from(file, {"later": nothing})])


def test_stand_ins_are_checked_with_their_place() -> None:
    tools = tools_from([defined(tier="safe", alternative="nobody")], {"get_weather": get_weather})
    with pytest.raises(Misuse, match=r'tool get_weather \(definitions\[0\]\): alternative names "nobody"'):
        build_tools(tools)
