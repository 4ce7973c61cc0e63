"""What a tool returned, where the rules of the table meet their ends."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.content import Document, Image, ImageUrl, Text
from geode.domain.results import Unrenderable, render

PNG = b"\x89PNG\r\n\x1a\n"


def refusal_of(value: object) -> str:
    with pytest.raises(Unrenderable) as caught:
        render(value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([Text("")], "The tool returned an empty text."),
        (["\n", Text(" ")], "The tool returned only white space."),
        ([Text("a"), " "], "a"),
    ],
)
def test_blank_text_among_blocks_is_left_out_or_said_in_words(blocks: object, words: str) -> None:
    assert render(blocks) == (Text(words),)


def test_media_inside_of_data_are_attached_and_named_by_their_number() -> None:
    document, picture = Document("text/plain", b"a"), Image("image/png", PNG)
    linked = ImageUrl("https://x.org/a.png")
    assert render({"d": document, "i": [picture, linked]}) == (
        Text('{"d":{"document":1},"i":[{"image":2},{"image":3}]}'),
        *(document, picture, linked),
    )


def test_a_set_is_in_the_order_of_its_values_where_they_compare() -> None:
    assert render({10, 9}) == (Text("[9,10]"),)
    assert render({10, "9"}) == (Text('["9",10]'),)


def test_too_deep_is_told_by_the_type_that_was_there() -> None:
    value: Any = {}
    for _ in range(101):
        value = [value]
    place = "/0" * 100
    assert refusal_of(value) == f"a value of type dict at {place}…, deeper than 100 levels"


@pytest.mark.parametrize(("letters", "shown"), [(199, "/" + "k" * 199), (200, "/" + "k" * 199 + "…")])
def test_a_place_is_shown_up_to_a_length(letters: int, shown: str) -> None:
    assert refusal_of({"k" * letters: object()}) == f"a value of type object at {shown}"
