"""The way through a value, where it could go wrong: the ends of bounds, odd classes, and the place that is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, RootModel, field_serializer, model_serializer

from geode.domain.content import Image, Text
from geode.domain.results import Rendering, Stream, Unrenderable, gather, render

PNG = b"\x89PNG\r\n\x1a\n"


def texts(value: object, how: Rendering = Rendering()) -> list[str]:
    return [part.text for part in render(value, how) if isinstance(part, Text)]


def refusal_of(value: object) -> str:
    with pytest.raises(Unrenderable) as caught:
        render(value)
    return str(caught.value)


@pytest.mark.parametrize(("characters", "taken"), [(99, 2), (100, 3), (149, 3), (150, 4)])
def test_an_iterator_is_read_until_its_items_have_more_than_so_many_characters(characters: int, taken: int) -> None:
    how = Rendering({}, 99, characters)
    items = ["x" * 50] * 9
    stream = Stream(how)
    gather(iter(items), stream.take)
    assert len(stream) == taken
    # Inside of a value the count begins where the iterator does.
    data, line = texts({"before": "y" * 500, "rows": iter(items)}, how)
    assert data.count("x" * 50) == taken
    assert line.startswith(f"[there is more at /rows: these are its first {taken} items;")


@pytest.mark.parametrize("items", [[Text(" "), 1], ["", PNG, 1], [Text(""), PNG], ["a", " "]], ids=range(4))
def test_an_iterator_is_rendered_as_a_list_of_its_items(items: list[object]) -> None:
    assert render(iter(items)) == render(items)


def test_numbers_that_are_none_are_words() -> None:
    assert texts([Decimal("sNaN"), Decimal("-Infinity"), Decimal("1.10")]) == ['["NaN","-Infinity","1.10"]']


class Row(Sequence[Any]):
    """As databases return them: a sequence of its values that knows its columns."""

    def keys(self) -> list[str]:
        return ["n", "name"]

    def __len__(self) -> int:
        return 2

    def __getitem__(self, key: Any) -> Any:
        return {"n": 1, "name": "Ada", 0: 1, 1: "Ada"}[key]


def test_a_row_is_an_object() -> None:
    assert texts([Row()]) == ['[{"n":1,"name":"Ada"}]']


class Listing(type):
    def tolist(cls) -> list[int]:
        return [1]


class Listed(metaclass=Listing):
    pass


def test_a_class_is_no_value_whatever_its_class_offers() -> None:
    assert refusal_of([Listed]) == "a value of type Listing at /0"


class Dated(BaseModel):
    when: datetime
    chart: bytes = b""


def test_beside_media_a_model_has_its_own_json_form() -> None:
    dated = Dated(when=datetime(2024, 1, 1, tzinfo=UTC), chart=PNG)
    assert render(dated) == (Text('{"when":"2024-01-01T00:00:00Z","chart":{"image":1}}'), Image("image/png", PNG))


def test_a_model_of_which_fields_are_missing_has_the_others() -> None:
    assert texts(Dated.model_construct(when=datetime(2024, 1, 1, tzinfo=UTC))) == ['{"when":"2024-01-01T00:00:00Z","chart":""}']
    hollow = Dated.model_construct()
    del hollow.chart
    assert texts(hollow) == ["The tool returned an empty object."]


class LikeAModel:
    def model_dump(self, mode: str) -> dict[str, str]:
        return {"mode": mode}


def test_what_dumps_like_a_model_is_one() -> None:
    assert texts(LikeAModel()) == ['{"mode":"json"}']


def test_a_place_inside_of_an_iterator_is_told() -> None:
    def rows() -> Iterator[object]:
        yield 1
        yield {"a": object()}

    assert refusal_of({"rows": rows()}) == "a value of type object at /rows/1/a"


# ---- models inside of models ---------------------------------------------------------------------


class Money(NamedTuple):
    cents: int


class Bill(BaseModel):
    total: Money


class Page(BaseModel):
    number: int
    dated: Dated


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    value: Any = None


class Guarded(BaseModel):
    title: str
    raw: bytes = Field(default=PNG, exclude=True)
    size: bytes = PNG
    length: Annotated[bytes, PlainSerializer(len)] = PNG

    @field_serializer("size")
    def in_words(self, size: bytes) -> str:
        return f"{len(size)} bytes"


class Written(BaseModel):
    raw: bytes = PNG

    @model_serializer
    def in_words(self) -> str:
        return "a picture"


PICTURE = Image("image/png", PNG)
DATED = Dated(when=datetime(2024, 1, 1, tzinfo=UTC), chart=PNG)
DATED_TEXT = '{"when":"2024-01-01T00:00:00Z","chart":{"image":1}}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Page(number=1, dated=DATED), f'{{"number":1,"dated":{DATED_TEXT}}}'),
        (Loose(value=[DATED]), f'{{"value":[{DATED_TEXT}]}}'),
        (Loose(value={"shot": PNG}), '{"value":{"shot":{"image":1}}}'),
        (Loose(value={"shot": PICTURE}), '{"value":{"shot":{"image":1}}}'),
        (Loose.model_validate({"shot": PNG}), '{"value":null,"shot":{"image":1}}'),
        (RootModel[list[bytes]]([PNG]), '[{"image":1}]'),
    ],
    ids=["model", "list of models", "bytes in an object", "image in an object", "extra", "root"],
)
def test_media_are_found_in_a_model_at_any_depth(value: object, text: str) -> None:
    assert render(value) == (Text(text), PICTURE)


def test_what_a_model_leaves_out_or_writes_itself_is_as_it_says() -> None:
    length = len(PNG)
    assert texts(Guarded(title="a")) == [f'{{"title":"a","size":"{length} bytes","length":{length}}}']
    assert texts(Written()) == ["a picture"]


def test_a_renderer_counts_in_a_model_too() -> None:
    renderers: Rendering = Rendering({Money: lambda money: f"{money.cents} ct"})
    assert render(Bill(total=Money(5)), renderers) == (Text('{"total":"5 ct"}'),)


def test_models_that_hold_each_other_are_refused_soon() -> None:
    one, other = Loose(), Loose()
    one.value, other.value = [other] * 9, [one] * 9
    assert refusal_of(one) == "a value of type Loose at /, which raised ValueError when it was read"
