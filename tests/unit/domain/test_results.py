"""What a tool returned, as content: the table of the module, value by value."""

import collections
import io
import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple, cast
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_serializer

from geode.domain.content import Image, Text
from geode.domain.pictures import image_type
from geode.domain.results import Rendering, Unrenderable, render

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 8
GIF87, GIF89 = b"GIF87a" + b"\0" * 8, b"GIF89a" + b"\0" * 8
WEBP = b"RIFF\x04\0\0\0WEBPVP8 "
WAV = b"RIFF\x04\0\0\0WAVEfmt "


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Unit(StrEnum):
    C = "celsius"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class City:
    name: str
    founded: date
    tags: set[str] = field(default_factory=set)


class Model(BaseModel):
    when: datetime
    price: Decimal
    path: PurePosixPath


def text_of(value: object) -> str:
    (block,) = render(value)
    assert isinstance(block, Text)
    return block.text


def refusal_of_own(value: object, renderers: Any) -> str:
    with pytest.raises(Unrenderable) as caught:
        render(value, Rendering(renderers))
    return str(caught.value)


def refusal_of(value: object) -> str:
    with pytest.raises(Unrenderable) as caught:
        render(value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ('{"not": "touched"}', '{"not": "touched"}'),
        ("größer 日本", "größer 日本"),
        (0, "0"),
        (-7, "-7"),
        (2**80, str(2**80)),
        (1.5, "1.5"),
        (True, "true"),
        (False, "false"),
        ({"a": 1, "b": [None, True]}, '{"a":1,"b":[null,true]}'),
        ({"größe": "日本"}, '{"größe":"日本"}'),
        (["a", "b"], '["a","b"]'),
        ((1, 2), "[1,2]"),
        (Point(1, 2), "[1,2]"),
        ([[], {}], "[[],{}]"),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        ({1, "a", None}, '"a",1,null'.join("[]")),
        (collections.deque([1, 2]), "[1,2]"),
        (range(3), "[0,1,2]"),
        ({"b": 1, "a": 2}.keys(), '["b","a"]'),
        ({"a": 2}.values(), "[2]"),
        (collections.OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (Color.RED, "red"),
        (Level.HIGH, "3"),
        (Unit.C, "celsius"),
        ({"c": Color.RED, "l": Level.HIGH, "u": Unit.C}, '{"c":"red","l":3,"u":"celsius"}'),
        (datetime(2024, 5, 1, 12, 30, tzinfo=UTC), "2024-05-01T12:30:00+00:00"),
        (date(2024, 5, 1), "2024-05-01"),
        (time(12, 30), "12:30:00"),
        ([date(2024, 5, 1)], '["2024-05-01"]'),
        (timedelta(minutes=1, milliseconds=500), "60.5"),
        (Decimal("1.10"), "1.10"),
        ([Decimal("1e999")], '["1E+999"]'),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/etc/hosts"), "/etc/hosts"),
        (City("Ulm", date(854, 7, 22), {"b", "a"}), '{"name":"Ulm","founded":"0854-07-22","tags":["a","b"]}'),
        (b"\x00\x01", '{"base64":"AAE="}'),
        ({"raw": bytearray(b"\x00")}, '{"raw":{"base64":"AA=="}}'),
        (memoryview(b"\x00"), '{"base64":"AA=="}'),
        (
            Model(when=datetime(2024, 1, 1, tzinfo=UTC), price=Decimal("1.5"), path=PurePosixPath("a")),
            '{"when":"2024-01-01T00:00:00Z","price":"1.5","path":"a"}',
        ),
        ([Model(when=datetime(2024, 1, 1, tzinfo=UTC), price=Decimal(1), path=PurePosixPath("a"))], None),
        (Text("as it is"), "as it is"),
        ({"t": Text("inside")}, '{"t":"inside"}'),
    ],
)
def test_every_kind_of_value_has_its_text(value: object, expected: str | None) -> None:
    text = text_of(value)
    assert text == expected or (expected is None and json.loads(text)[0]["price"] == "1")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "The tool returned nothing."),
        ("", "The tool returned an empty text."),
        (" \n", "The tool returned only white space."),
        ([], "The tool returned an empty list."),
        ((), "The tool returned an empty list."),
        (set(), "The tool returned an empty list."),
        ({}, "The tool returned an empty object."),
        (b"", "The tool returned no bytes."),
        (Text(" "), "The tool returned only white space."),
        ([Text("")], "The tool returned an empty text."),
    ],
)
def test_nothing_and_empty_say_so_in_words(value: object, words: str) -> None:
    assert text_of(value) == words


@pytest.mark.parametrize(
    ("key", "written"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        (Color.RED, "red"),
        (date(2024, 5, 1), "2024-05-01"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_keys_that_are_no_strings_become_the_text_of_their_json(key: object, written: str) -> None:
    assert json.loads(text_of({key: "v"})) == {written: "v"}


def test_a_lone_surrogate_is_replaced() -> None:
    assert text_of("a\ud800") == "a\ufffd"
    assert text_of({"k\ud800": ["\ud800"]}) == '{"k\ufffd":["\ufffd"]}'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"conn": object()}, "a value of type object at /conn"),
        (object(), "a value of type object at /"),
        ([1, {"a/b": {"c~": object()}}], "a value of type object at /1/a~1b/c~0"),
        ({"f": print}, "a value of type builtin_function_or_method at /f"),
        (City, "a value of type type at /"),
        (MagicMock(spec=[]), "a value of type MagicMock at /"),
        (io.StringIO("x"), "a value of type StringIO at /, which is open; return what is in it, or its path"),
        ({"n": 10**5000}, "a value of type int at /n with too many digits"),
        ([City("Ulm", date(854, 7, 22), cast("set[str]", {object()}))], "a value of type object at /0/tags/0"),
        ({"m": {(1, 2): 3}}, "a value of type tuple at /m, which cannot be a key"),
        ({1: "a", "1": "b"}, "a value of type str at /1, a second value for that key"),
    ],
)
def test_what_cannot_be_rendered_is_named_with_its_place(value: object, message: str) -> None:
    assert refusal_of(value) == message


def test_a_value_inside_itself_is_refused() -> None:
    looped: dict[str, Any] = {"a": [1]}
    looped["a"].append(looped)
    assert refusal_of(looped) == "a value of type dict at /a/1 that contains itself"


def test_the_same_value_twice_is_no_loop() -> None:
    shared = {"x": 1}
    assert text_of([shared, shared]) == '[{"x":1},{"x":1}]'


@pytest.mark.parametrize(("levels", "fine"), [(100, True), (101, False)])
def test_a_hundred_levels_are_enough(levels: int, fine: bool) -> None:
    value: object = 1
    for _ in range(levels):
        value = [value]
    if fine:
        assert text_of(value) == "[" * levels + "1" + "]" * levels
    else:
        assert "deeper than 100 levels" in refusal_of(value)


def test_a_value_that_raises_when_it_is_read_is_a_refusal() -> None:
    class Broken(BaseModel):
        x: int

        @field_serializer("x")
        def fail(self, value: int) -> int:
            raise ZeroDivisionError

    class Odd(collections.UserDict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("no")

    class Masked:
        def __getattribute__(self, name: str) -> Any:
            raise LookupError("no")

    assert refusal_of({"b": Broken(x=1)}).startswith("a value of type Broken at /b, which raised ")
    assert refusal_of([Odd()]) == "a value of type Odd at /0, which raised RuntimeError when it was read"
    assert refusal_of(Masked()) == "a value of type Masked at /, which raised LookupError when it was read"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF87, "image/gif"),
        (GIF89, "image/gif"),
        (WEBP, "image/webp"),
        (WAV, None),
        (b"12345678WEBP", None),
        (b"", None),
        (b"\x89PNG", None),
    ],
)
def test_pictures_are_known_by_their_first_bytes(data: bytes, media_type: Any) -> None:
    assert image_type(data) == media_type
    if media_type is not None:
        assert render(data) == (Image(media_type, data),)
        assert render(bytearray(data)) == (Image(media_type, data),)


def test_blocks_pass_through_in_their_order() -> None:
    picture = Image("image/png", PNG)
    assert render(picture) == (picture,)
    assert render([Text("before"), picture, "after"]) == (Text("before"), picture, Text("after"))
    assert render(("chart:", PNG)) == (Text("chart:"), picture)
    assert render(["", picture]) == (picture,)


def test_a_picture_inside_data_follows_the_text() -> None:
    blocks = render({"title": "t", "charts": [PNG, {"x": Image("image/gif", GIF89)}]})
    assert blocks == (
        Text('{"title":"t","charts":[{"image":1},{"x":{"image":2}}]}'),
        Image("image/png", PNG),
        Image("image/gif", GIF89),
    )


def test_a_picture_is_checked() -> None:
    class Shot:
        @property
        def picture(self) -> Image:
            return Image("image/png", JPEG)

    refused = refusal_of_own({"shots": [Shot()]}, {Shot: lambda shot: shot.picture})
    assert refused.startswith("a value of type Shot at /shots/0, which raised Misuse when it was rendered: Image('image/png'")


def test_the_returned_value_is_not_changed() -> None:
    value = {"a": [1, {"b": {2, 1}}], 3: "c"}
    render(value)
    assert value == {"a": [1, {"b": {2, 1}}], 3: "c"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.decimals()
    | st.datetimes() | st.timedeltas() | st.uuids() | st.just(PNG) | st.builds(object) | st.sampled_from(Color)
)  # fmt: skip
keys = st.text(st.characters()) | st.integers() | st.booleans() | st.none() | st.floats() | st.dates()
any_values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(keys, inner)
        | st.frozensets(st.integers() | st.text())
        | st.builds(City, st.text(), inner)
    ),
)


@given(json_values)
def test_json_comes_back_as_it_was(value: Any) -> None:
    text = text_of(value)
    if isinstance(value, str):
        assert text == value or not value.strip()
    elif value is not None and value not in ([], {}):
        assert json.loads(text) == value


@given(any_values)
def test_whatever_comes_is_rendered_or_refused(value: object) -> None:
    try:
        blocks = render(value)
    except Unrenderable:
        return
    assert blocks
    for block in blocks:
        if isinstance(block, Text):
            assert block.text.strip()
            block.text.encode()
