"""Values that JSON or a reader has no form for, in a plainer one: directly, without the walk around them."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from geode.domain.errors import CodecError
from geode.domain.known_types import Plain, plain_form
from geode.domain.value_words import unreal
from tests.unit.domain.test_known_types import ROWS, DataFrame, RangeIndex, named


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("NaN"), "NaN"),
        (Decimal("sNaN"), "NaN"),
        (Decimal("Infinity"), "Infinity"),
        (Decimal("-Infinity"), "-Infinity"),
    ],
)
def test_what_is_no_number_in_words(value: float | Decimal, word: str) -> None:
    """In the spelling of JavaScript, as `docs/results.md` has it."""
    assert unreal(value) == word


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (1 + 2j, "1+2j"),
        (-2j, "-0-2j"),
        (ValueError("what no model is to see"), {"error": "ValueError"}),
        (CodecError("/a: expected int, got str"), {"error": "/a: expected int, got str"}),
        (SimpleNamespace(a=1, b=[2]), {"a": 1, "b": [2]}),
        (named("some_files", "Path", __fspath__=lambda self: "/real", __str__=lambda self: "shown")(), "/real"),
    ],
    ids=range(6),
)
def test_a_value_in_a_plainer_type(value: object, plain: object) -> None:
    assert plain_form(value) == Plain(plain)


@pytest.mark.parametrize("members", [{"keys": lambda self: ["a"]}, {"__getitem__": lambda self, key: 1}], ids=["keys", "items"])
def test_half_a_row_is_none(members: dict[str, Any]) -> None:
    assert plain_form(named("some_db", "Half", **members)()) is None


@pytest.mark.parametrize("kind", ["m", "M"])
def test_times_in_an_array_are_told_as_text(kind: str) -> None:
    asked: list[type] = []

    def astype(self: object, to: type) -> Any:
        asked.append(to)
        return SimpleNamespace(tolist=lambda: ["9 days"])

    array = named("numpy", "ndarray", dtype=SimpleNamespace(kind=kind), astype=astype, tolist=lambda self: [777_600])
    assert plain_form(array()) == Plain(["9 days"])
    assert asked == [str]


def test_columns_of_one_name_say_so() -> None:
    with pytest.raises(ValueError, match=r"^two columns have the same name, and an object has each key once$"):
        plain_form(DataFrame(ROWS, RangeIndex(), columns_are_unique=False))
