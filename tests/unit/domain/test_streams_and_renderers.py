"""Iterators as results, read to a bound, and what an application says of its own types."""

import itertools
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from geode.domain.content import Document, Image, Part, Text
from geode.domain.results import Rendering, Stream, Unrenderable, gather, is_stream, render

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PICTURE = Image("image/png", PNG)


def few(items: int = 3, characters: int = 1000) -> Rendering:
    return Rendering({}, items, characters)


def said(content: tuple[Part, ...]) -> list[str]:
    return [part.text if isinstance(part, Text) else part.media_type for part in content if isinstance(part, Text | Image)]


# ---- iterators -----------------------------------------------------------------------------------


def generator() -> Iterator[int]:
    yield 1
    yield 2


@pytest.mark.parametrize(
    ("value", "streams"),
    [(generator(), True), (iter([]), True), (map(str, [1]), True), ([1], False), ("ab", False), (range(3), False), ({}, False)],
)
def test_what_gives_its_items_once_is_a_stream(value: object, streams: bool) -> None:
    assert is_stream(value) is streams


def test_a_file_is_no_stream(tmp_path: Any) -> None:
    with (tmp_path / "a").open("w+") as file:
        assert not is_stream(file)
        with pytest.raises(Unrenderable, match="which is open; return what is in it, or its path"):
            render(file)


def test_what_a_generator_returns_comes_last() -> None:
    def steps() -> Generator[str, None, str]:
        yield "one"
        return "sum"

    assert said(render(steps())) == ['["one","sum"]']


def test_three_items_are_not_more_than_three() -> None:
    assert said(render(iter([1, 2, 3]), few())) == ["[1,2,3]"]


def test_a_line_says_where_there_is_more_and_the_generator_is_closed() -> None:
    closed: list[bool] = []

    def endless() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    data, line = said(render(endless(), few()))
    assert data == "[0,1,2]"
    assert line == "[there is more: these are its first 3 items; an iterator is read up to 3 items]"
    assert closed == [True]


def test_an_iterator_of_long_texts_ends_with_the_one_that_is_too_much() -> None:
    data, line = said(render(itertools.repeat("x" * 60), few(99, characters=100)))
    assert data == f'["{"x" * 60}","{"x" * 60}"]'
    assert line == "[there is more: these are its first 2 items; an iterator is read up to 100 characters]"


@pytest.mark.parametrize("items", [[{"k": "x" * 60}] * 9, [b"x" * 60] * 9, [PNG * 4] * 9, [{"x" * 60: 1}] * 9])
def test_whatever_is_long_counts(items: list[object]) -> None:
    stream = Stream(few(99, characters=100))
    gather(iter(items), stream.take)
    assert len(stream) == 2


def test_an_iterator_inside_of_a_value_has_its_place_in_the_line() -> None:
    data, line = said(render({"a": {"rows": itertools.count()}}, few()))
    assert data == '{"a":{"rows":[0,1,2]}}'
    assert line.startswith("[there is more at /a/rows: these are its first 3 items")


def test_pictures_and_texts_one_by_one_are_blocks() -> None:
    assert render(iter(["before", PNG, Text("after")])) == (Text("before"), PICTURE, Text("after"))
    assert render(iter([PNG, {"n": 1}])) == (Text('[{"image":1},{"n":1}]'), PICTURE)
    assert said(render(iter([PNG] * 5), few())) == ["image/png"] * 3 + [
        "[there is more: these are its first 3 items; an iterator is read up to 3 items]"
    ]


def test_nothing_given_is_an_empty_list() -> None:
    assert said(render(iter([]))) == ["The tool returned an empty list."]


def test_each_item_is_rendered_as_it_comes() -> None:
    """A generator may give the same object again and again, changed."""

    def same() -> Iterator[dict[str, int]]:
        row: dict[str, int] = {}
        for row["n"] in range(3):
            yield row

    assert said(render(same())) == ['[{"n":0},{"n":1},{"n":2}]']


def test_what_came_before_a_failure_stays() -> None:
    stream = Stream()
    with pytest.raises(Unrenderable, match="a value of type object at /2"):
        gather(iter(["a", PNG, object()]), stream.take)
    assert stream.content() == (Text("a"), PICTURE)


def test_an_iterator_that_raises_is_a_refusal_of_render() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    for value, place in ((broken(), "/"), ({"a": broken()}, "/a")):
        with pytest.raises(Unrenderable, match=f"generator at {place}, which raised ZeroDivisionError when it was read"):
            render(value)


async def test_what_has_to_be_awaited_says_so() -> None:
    async def later() -> int:
        return 1

    async def several() -> Any:
        yield 1

    coroutine = later()
    with pytest.raises(Unrenderable, match="a value of type coroutine at /0, which was not awaited"):
        render([coroutine])
    coroutine.close()
    with pytest.raises(Unrenderable, match="a value of type async_generator at /a, which only the event loop can read"):
        render({"a": several()})


# ---- own types -----------------------------------------------------------------------------------


@dataclass
class Money:
    cents: int


class Gold(Money):
    pass


class Plot:
    def __init__(self, title: str) -> None:
        self.title = title


class Level(Enum):
    HIGH = 3


def own(value: object, renderers: Any) -> tuple[Part, ...]:
    return render(value, Rendering(renderers))


def test_at_any_depth_and_for_subclasses_the_nearest_class_first() -> None:
    renderers = {Money: lambda money: f"{money.cents} ct", Gold: lambda money: f"{money.cents} gold"}
    assert said(own([Money(1), {"a": Gold(2)}], renderers)) == ['["1 ct",{"a":"2 gold"}]']
    assert said(own(Gold(3), {Money: lambda money: f"{money.cents} ct"})) == ["3 ct"]
    assert said(own(iter([Money(1)]), renderers)) == ['["1 ct"]']


def test_what_it_makes_is_rendered_in_turn() -> None:
    renderers = {Plot: lambda plot: [plot.title, PNG], Money: lambda money: {"euro": Level.HIGH}}
    assert own(Plot("Sales"), renderers) == (Text("Sales"), PICTURE)
    assert own({"plot": Plot("Sales")}, renderers) == (Text('{"plot":["Sales",{"image":1}]}'), PICTURE)
    assert said(own(Money(1), renderers)) == ['{"euro":3}']
    assert own(["look:", Plot("x")], {Plot: lambda plot: PNG}) == (Text("look:"), PICTURE)


def test_it_comes_before_what_geode_knows() -> None:
    assert said(own([datetime(2026, 11, 30, tzinfo=UTC), date(2026, 11, 30)], {date: lambda day: day.strftime("%d.%m.")})) == [
        '["30.11.","30.11."]'
    ]
    assert said(own("plain", {str: str.upper})) == ["PLAIN"]
    assert said(own(Level.HIGH, {Level: lambda level: level.name})) == ["HIGH"]


def test_one_that_gives_back_the_same_kind_is_asked_once() -> None:
    assert said(own({"a": {"b": 1}}, {dict: lambda value: {**value, "seen": True}})) == [
        '{"a":{"b":1,"seen":true},"seen":true}'
    ]


def test_that_of_object_is_for_what_has_no_form() -> None:
    renderers: dict[type, Any] = {object: lambda value: f"a {type(value).__name__}"}
    assert said(own([Plot("x"), 1, "text", Money(2)], renderers)) == ['["a Plot",1,"text",{"cents":2}]']


@pytest.mark.parametrize("value", [Plot("x"), [Plot("x")]])
def test_one_that_raises_is_named(value: object) -> None:
    with pytest.raises(Unrenderable, match=r"a value of type Plot at /0?, which raised ZeroDivisionError when it was rendered"):
        own(value, {Plot: lambda plot: 1 // 0})


# ---- pydantic models with media ------------------------------------------------------------------


class Report(BaseModel):
    title: str
    chart: bytes
    pages: list[bytes]


def test_media_of_a_model_are_media() -> None:
    """Its own JSON form has no place for bytes that are no text."""
    report = Report(title="T", chart=PNG, pages=[b"%PDF-1.7"])
    text, picture, paper = render(report)
    assert text == Text('{"title":"T","chart":{"image":1},"pages":[{"document":2}]}')
    assert (picture, paper) == (PICTURE, Document("application/pdf", b"%PDF-1.7"))
