"""Every type of a parameter: its schema, and the way from JSON to the value that the function gets."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import GenericAlias
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict, Union
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field

from geode.domain.errors import Misuse
from geode.entrypoints.tools import as_tool
from geode.ports.tools import Tool, ToolContext, ToolRetry

CONTEXT: ToolContext[Any] = ToolContext(None, "call_1", "run/call_1", 120.0)
UserId = NewType("UserId", int)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Unit(StrEnum):
    C = "celsius"


class Odd(Enum):
    PAIR = (1, 2)


class Place(TypedDict):
    """Where something is."""

    city: str
    height: NotRequired[float]


class Options(TypedDict, total=False):
    depth: Required[int]
    tags: set[str]


class Trip(TypedDict):
    day: date
    stops: NotRequired[list[Place]]


class Tree(TypedDict):
    kids: "list[Tree]"


class Address(BaseModel):
    """Where to send it."""

    street_name: str
    zip: str = Field("00000", title="Postal code", description="five digits")


class Node(BaseModel):
    kids: list["Node"] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    day: date


@dataclass
class Point:
    x: float
    title: str = "t"


def tool_of(annotation: Any, default: Any = ...) -> Tool:
    """A tool with one parameter `x` that returns what it gets."""

    def f(x):  # type: ignore[no-untyped-def]
        return x

    if default is not ...:
        f.__defaults__ = (default,)
    f.__annotations__ = {"x": annotation}
    return as_tool(f)


def schema_of(annotation: Any, default: Any = ...) -> Any:
    return tool_of(annotation, default).spec.input_schema["properties"]["x"]


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


PLAIN = [
    (str, text(), "a", "a"),
    (int, {"type": "integer"}, 1, 1),
    (int, {"type": "integer"}, 2.0, 2),
    (float, {"type": "number"}, 1, 1.0),
    (float, {"type": "number"}, 1.5, 1.5),
    (bool, {"type": "boolean"}, True, True),
    (None, {"type": "null"}, None, None),
    (Any, {}, {"a": [1]}, {"a": [1]}),
    (object, {}, "a", "a"),
    (UserId, {"type": "integer"}, 7.0, 7),
    (list, {"type": "array", "items": {}}, [1, "a"], [1, "a"]),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1.0, 2], [1, 2]),
    (list[str], {"type": "array", "items": text()}, ["a"], ["a"]),
    (Sequence[str], {"type": "array", "items": text()}, ["a"], ["a"]),
    (tuple[str, ...], {"type": "array", "items": text()}, ["a", "b"], ("a", "b")),
    (tuple[float, ...], {"type": "array", "items": {"type": "number"}}, [1], (1.0,)),
    (set[str], {"type": "array", "items": text(), "uniqueItems": True}, ["a"], {"a"}),
    (frozenset[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1.0], frozenset({1})),
    (dict, {"type": "object", "additionalProperties": True}, {"a": 1}, {"a": 1}),
    (dict[str, Any], {"type": "object", "additionalProperties": True}, {"a": 1}, {"a": 1}),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, {"a": 1.0}),
    (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": 1}),
    (list[dict[str, list[float]]], None, [{"a": [1, 2]}], [{"a": [1.0, 2.0]}]),
    (Literal["a", "b"], text(enum=["a", "b"]), "b", "b"),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, 2.0, 2),
    (Literal["a", 1, True], {"enum": ["a", 1, True]}, True, True),
    (Literal["a", 1, True], {"enum": ["a", 1, True]}, 1.0, 1),
    (Literal["a", None], {"enum": ["a", None]}, None, None),  # noqa: PYI061
    (Color, text(enum=["red", "blue"]), "blue", Color.BLUE),
    (Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
    (Odd, text(enum=["PAIR"]), "PAIR", Odd.PAIR),
    (Unit, text(enum=["celsius"]), "celsius", Unit.C),
    (list[Color], {"type": "array", "items": text(enum=["red", "blue"])}, ["red"], [Color.RED]),
    (set[Color], None, ["red"], {Color.RED}),
    (set[tuple[int, ...]], None, [[1.0]], {(1,)}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 3.0, 3),  # noqa: UP045
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (Union[str, int], {"anyOf": [text(), {"type": "integer"}]}, 1.0, 1),  # noqa: UP007
    (str | int, {"anyOf": [text(), {"type": "integer"}]}, "1", "1"),
    (bool | int, {"anyOf": [{"type": "boolean"}, {"type": "integer"}]}, True, True),
    (int | float, {"anyOf": [{"type": "integer"}, {"type": "number"}]}, 1, 1),
    (int | float | None, None, 1.5, 1.5),
    (Color | int | None, None, "red", Color.RED),
    (str | list[str], {"anyOf": [text(), {"type": "array", "items": text()}]}, ["a"], ["a"]),
    (tuple[int, ...] | None, None, [1], (1,)),
    (list[Annotated[str, "a city"]], {"type": "array", "items": text(description="a city")}, ["a"], ["a"]),
    (
        Place,
        {
            "description": "Where something is.",
            "type": "object",
            "properties": {"city": text(), "height": {"type": "number"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        {"city": "Ulm", "height": 478},
        {"city": "Ulm", "height": 478.0},
    ),
    (Place, None, {"city": "Ulm"}, {"city": "Ulm"}),
    (Options, None, {"depth": 1.0, "tags": ["a"]}, {"depth": 1, "tags": {"a"}}),
]

DESCRIBED = [
    (datetime, text(format="date-time"), "2024-05-01T12:00:00", datetime(2024, 5, 1, 12)),  # noqa: DTZ001
    (date, text(format="date"), "2024-05-01", date(2024, 5, 1)),
    (timedelta, text(format="duration"), "PT1M", timedelta(minutes=1)),
    (UUID, text(format="uuid"), "00000000-0000-0000-0000-000000000001", UUID(int=1)),
    (Decimal, None, "1.10", Decimal("1.10")),
    (bytes, None, "ab", b"ab"),
    (Annotated[int, Field(gt=0)], {"type": "integer", "exclusiveMinimum": 0}, 1, 1),
    (tuple[int, str], None, [1, "a"], (1, "a")),
    (dict[int, str], None, {"1": "a"}, {1: "a"}),
    (set[Any], None, ["a"], {"a"}),
    (Color | str, None, "green", "green"),
    (Address, {"$ref": "#/$defs/Address"}, {"street_name": "A"}, Address(street_name="A", zip="00000")),
    (Address | None, None, None, None),
    (list[Address], None, [{"street_name": "A"}], [Address(street_name="A", zip="00000")]),
    (Point, {"$ref": "#/$defs/Point"}, {"x": 1}, Point(1.0)),
    (Node, {"$ref": "#/$defs/Node"}, {"kids": [{"kids": []}]}, Node(kids=[Node()])),
    (Strict, {"$ref": "#/$defs/Strict"}, {"day": "2024-05-01"}, Strict(day=date(2024, 5, 1))),
    (Trip, None, {"day": "2024-05-01"}, {"day": date(2024, 5, 1)}),
    (
        list[Trip] | None,
        None,
        [{"day": "2024-05-01", "stops": [{"city": "Ulm"}]}],
        [{"day": date(2024, 5, 1), "stops": [{"city": "Ulm"}]}],
    ),
    (Annotated[Trip, Field(description="one")], None, {"day": "2024-05-01"}, {"day": date(2024, 5, 1)}),
]


@pytest.mark.parametrize(("annotation", "schema", "sent", "got"), PLAIN + DESCRIBED)
def test_a_type_has_a_schema_and_a_way_back(annotation: Any, schema: Any, sent: Any, got: Any) -> None:
    tool = tool_of(annotation)
    whole = tool.spec.input_schema
    Draft202012Validator.check_schema(whole)
    Draft202012Validator(whole).validate({"x": sent})
    assert schema in (None, whole["properties"]["x"])
    assert whole["required"] == ["x"]
    value = tool.invoke({"x": sent}, CONTEXT)
    # Not ==, by which 1, 1.0 and True are the same.
    assert repr(value) == repr(got)


@pytest.mark.parametrize(
    ("annotation", "wrong"),
    [
        (int, 1.5),
        (int, True),
        (int | None, "1"),
        (Literal[1], True),
        (Color, "green"),
        (set[str], ["a", "a"]),
        (Place, {"height": 1}),
        (Place, {"city": "a", "x": 1}),
        (Options, {"tags": []}),
        (dict[str, int], {"a": "b"}),
        (Address, {"zip": "1"}),
        (tuple[int, str], [1]),
    ],
)
def test_what_does_not_fit_the_type_does_not_fit_the_schema(annotation: Any, wrong: Any) -> None:
    assert not Draft202012Validator(tool_of(annotation).spec.input_schema).is_valid({"x": wrong})


def test_a_recursive_typed_dict_ends() -> None:
    # pydantic describes it from Python 3.12 on; before that it says which TypedDict to use.
    if sys.version_info < (3, 12):
        with pytest.raises(Misuse, match=r"typing_extensions\.TypedDict"):
            tool_of(Tree)
    else:
        assert tool_of(Tree).invoke({"x": {"kids": [{"kids": []}]}}, CONTEXT) == {"kids": [{"kids": []}]}


@pytest.mark.parametrize(
    ("annotation", "default", "written"),
    [
        (str, "C", "C"),
        (int, 0, 0),
        (bool, False, False),
        (list[str], ["a"], ["a"]),
        (tuple[int, ...], (1, 2), [1, 2]),
        (int | None, None, None),
        (Color, Color.RED, "red"),
        (Level, Level.HIGH, 2),
        (dict[str, int], {"a": 1}, {"a": 1}),
    ],
)
def test_a_default_that_is_json_is_told(annotation: Any, default: Any, written: Any) -> None:
    tool = tool_of(annotation, default)
    assert repr(tool.spec.input_schema["properties"]["x"]["default"]) == repr(written)
    assert "required" not in tool.spec.input_schema
    assert tool.invoke({}, CONTEXT) is default


@pytest.mark.parametrize(
    ("annotation", "default"),
    [(date, date(2024, 5, 1)), (Point, Point(1.0)), (float, float("nan")), (set[str], {"a"}), (Any, object())],
)
def test_a_default_that_is_no_json_is_only_used(annotation: Any, default: Any) -> None:
    tool = tool_of(annotation, default)
    assert "default" not in tool.spec.input_schema["properties"]["x"]
    assert "required" not in tool.spec.input_schema
    assert tool.invoke({}, CONTEXT) is default


def test_a_default_of_none_may_be_said_by_the_model() -> None:
    assert schema_of(str, None) == {"anyOf": [text(), {"type": "null"}], "default": None}


def test_definitions_stand_at_the_root_and_keep_apart_types_of_one_name() -> None:
    class Address(BaseModel):
        line: int

    other = Address

    def send(a: Any, b: Any, c: Any) -> str:
        return f"{type(a).__qualname__} {type(b).__qualname__} {type(c[0]).__qualname__}"

    send.__annotations__ = {"a": globals()["Address"], "b": other, "c": GenericAlias(list, other)}
    tool = as_tool(send)
    schema = tool.spec.input_schema
    Draft202012Validator.check_schema(schema)
    first, second = (schema["properties"][name]["$ref"] for name in "ab")
    assert first != second
    assert schema["properties"]["c"]["items"]["$ref"] == second
    defs = schema["$defs"]
    assert sorted(defs[first.removeprefix("#/$defs/")]["properties"]) == ["street_name", "zip"]
    assert sorted(defs[second.removeprefix("#/$defs/")]["properties"]) == ["line"]
    arguments = {"a": {"street_name": "A"}, "b": {"line": 1}, "c": [{"line": 2}]}
    Draft202012Validator(schema).validate(arguments)
    kind = other.__qualname__
    assert tool.invoke(arguments, CONTEXT) == f"Address {kind} {kind}"


def test_titles_that_repeat_names_are_left_out_and_chosen_ones_stay() -> None:
    definition = tool_of(Address).spec.input_schema["$defs"]["Address"]
    assert definition == {
        "description": "Where to send it.",
        "type": "object",
        "properties": {
            "street_name": text(),
            "zip": text(default="00000", title="Postal code", description="five digits"),
        },
        "required": ["street_name"],
    }
    assert "title" in tool_of(Point).spec.input_schema["$defs"]["Point"]["properties"]


def test_a_text_for_one_parameter_stays_with_it() -> None:
    def link(a: Node, b: Annotated[Node, Field(description="the other end")]) -> None: ...

    properties = as_tool(link).spec.input_schema["properties"]
    assert properties["a"] == {"$ref": "#/$defs/Node"}
    assert properties["b"] == {"$ref": "#/$defs/Node", "description": "the other end"}


def test_what_pydantic_refuses_is_told_to_the_model_with_its_place() -> None:
    with pytest.raises(ToolRetry) as caught:
        tool_of(list[Strict]).invoke({"x": [{"day": "2024-05-01"}, {"day": "tomorrow"}, {}]}, CONTEXT)
    lines = str(caught.value).splitlines()
    assert lines[0] == "the arguments are not accepted:"
    assert [line.partition(": ")[0] for line in lines[1:]] == ["/x/1/day", "/x/2/day"]
    assert lines[2] == "/x/2/day: Field required"


def test_a_long_list_of_errors_is_cut() -> None:
    with pytest.raises(ToolRetry) as caught:
        tool_of(list[date]).invoke({"x": ["no"] * 50}, CONTEXT)
    lines = str(caught.value).splitlines()
    assert len(lines) == 12
    assert lines[-1] == "and 40 more"


def test_a_number_that_no_float_holds_is_told_to_the_model() -> None:
    with pytest.raises(ToolRetry, match="too large"):
        tool_of(float).invoke({"x": 10**400}, CONTEXT)
