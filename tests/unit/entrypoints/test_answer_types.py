"""What type checkers make of `answer=`: each `assert_type` is checked by them, and the values by running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, assert_type

import pydantic
from typing_extensions import TypedDict

import geode
from geode.testing import ScriptedModel, says

Item = TypeVar("Item")


@dataclass
class Point:
    x: int


class Place(pydantic.BaseModel):
    name: str


class Row(TypedDict):
    id: int


@dataclass
class Page(Generic[Item]):
    items: list[Item]


async def test_a_run_has_a_value_of_the_type() -> None:
    outcome = await geode.run("Where?", model=ScriptedModel(says('{"x": 1}')), answer=Point)
    assert isinstance(outcome, geode.Answered)
    assert assert_type(outcome.value, Point) == Point(1)
    place = await geode.run("Where?", model=ScriptedModel(says('{"name": "here"}')), answer=Place, system="Be brief.")
    match place:
        case geode.Answered(value=value):
            assert assert_type(value, Place).name == "here"
        case _:
            raise AssertionError(place)
    row = await geode.run("Which?", model=ScriptedModel(says('{"id": 7}')), answer=Row)
    assert isinstance(row, geode.Answered)
    assert assert_type(row.value, Row) == {"id": 7}
    page = await geode.run("Which?", model=ScriptedModel(says('{"items": [1]}')), answer=Page[int])
    assert isinstance(page, geode.Answered)
    assert assert_type(page.value, Page[int]).items == [1]


async def test_so_has_one_of_a_session_and_of_a_runtime() -> None:
    async with geode.session(model=ScriptedModel(says('{"x": 1}')), answer=Point) as loop:
        outcome = await loop.run("Where?")
    assert isinstance(outcome, geode.Answered)
    assert assert_type(outcome.value, Point) == Point(1)
    async with (
        geode.Runtime(model=ScriptedModel(says('{"x": 2}')), answer=Point, max_sessions=1) as runtime,
        runtime.session() as lent,
    ):
        again = await lent.run("Where?")
    assert isinstance(again, geode.Answered)
    assert assert_type(again.value, Point) == Point(2)


async def test_of_a_json_schema_it_is_whatever_json_says() -> None:
    outcome = await geode.run("Which?", model=ScriptedModel(says('{"id": 7}')), answer={"type": "object"})
    assert isinstance(outcome, geode.Answered)
    assert assert_type(outcome.value, Any) == {"id": 7}
    plain: geode.Outcome = await geode.run("Hi", model=ScriptedModel(says("hello")))
    assert plain.text == "hello"
