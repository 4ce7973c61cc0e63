"""Types of other packages, by what their classes offer. The packages are not needed: stand-ins have their names and methods.

The real ones (numpy, pandas, polars, attrs, msgspec) have been rendered the same.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from geode.domain.content import Text
from geode.domain.results import Unrenderable, render


def named(package: str, name: str, bases: tuple[type, ...] = (), **members: Any) -> Any:
    """A class that looks like one of that package."""
    return type(name, bases, {"__module__": package, **members})


def text_of(value: object) -> str:
    (block,) = render(value)
    assert isinstance(block, Text)
    return block.text


class RangeIndex:
    name = None
    is_unique = True


class Labels:
    name = None

    def __init__(self, unique: bool = True) -> None:
        self.is_unique = unique


class Table:
    """What a table does; the class below has the name that counts."""

    def __init__(self, records: list[dict[str, Any]], index: Any, *, columns_are_unique: bool = True) -> None:
        self.records, self.index = records, index
        self.columns = SimpleNamespace(is_unique=columns_are_unique)

    def reset_index(self) -> Any:
        return DataFrame([{"index": at, **record} for at, record in zip("ab", self.records, strict=True)], RangeIndex())

    def to_dict(self, form: str) -> Any:
        assert form == "records"
        return self.records


DataFrame = named("pandas.core.frame", "DataFrame", (Table,))


class Column:
    def __init__(self, pairs: list[tuple[Any, Any]], index: Any) -> None:
        self.pairs, self.index = pairs, index

    def items(self) -> Any:
        return iter(self.pairs)

    def tolist(self) -> list[Any]:
        return [value for _, value in self.pairs]


Series = named("pandas.core.series", "Series", (Column,))
ROWS = [{"n": 1, "x": float("nan")}, {"n": 2, "x": 0.5}]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (DataFrame(ROWS, RangeIndex()), '[{"n":1,"x":"NaN"},{"n":2,"x":0.5}]'),
        (DataFrame(ROWS, Labels()), '[{"index":"a","n":1,"x":"NaN"},{"index":"b","n":2,"x":0.5}]'),
        (Series([(0, 1), (1, 2)], RangeIndex()), "[1,2]"),
        (Series([("a", 1), ("b", 2)], Labels()), '{"a":1,"b":2}'),
        (Series([("a", 1), ("a", 2)], Labels(unique=False)), '[["a",1],["a",2]]'),
        ([named("pandas._libs.missing", "NAType")()], "[null]"),
        (named("pandas", "Period", __str__=lambda self: "2026-11")(), "2026-11"),
        (named("numpy", "int64", tolist=lambda self: 7)(), "7"),
        (
            named("numpy", "ndarray", dtype=SimpleNamespace(kind="i"), tolist=lambda self: [[1, 2], [3, 4]])(),
            "[[1,2],[3,4]]",
        ),
        (named("numpy", "datetime64", __str__=lambda self: "2026-11-30T09:30", tolist=lambda self: 17)(), "2026-11-30T09:30"),
        (named("polars.dataframe.frame", "DataFrame", to_dicts=lambda self: [{"n": 1}])(), '[{"n":1}]'),
        (named("polars", "Series", to_list=lambda self: [1, 2])(), "[1,2]"),
        (named("pyarrow.lib", "Table", to_pylist=lambda self: [{"n": 1}])(), '[{"n":1}]'),
        (named("attr_made", "Point", __attrs_attrs__=(SimpleNamespace(name="x"),), x=3)(), '{"x":3}'),
        (named("msgspec_made", "Point", __struct_fields__=("x", "y"), x=3, y=None)(), '{"x":3,"y":null}'),
        (named("some_db", "Row", keys=lambda self: ["n"], __getitem__=lambda self, key: 1)(), '{"n":1}'),
    ],
)
def test_what_packages_return(value: object, written: str) -> None:
    assert text_of(value) == written


def test_dates_in_an_array_are_dates_and_no_numbers() -> None:
    days = SimpleNamespace(tolist=lambda: ["2026-11-30"])
    array = named("numpy", "ndarray", dtype=SimpleNamespace(kind="M"), astype=lambda self, kind: days, tolist=lambda self: [1])
    assert text_of(array()) == '["2026-11-30"]'


def test_columns_of_one_name_are_refused_for_none_would_be_lost_in_silence() -> None:
    with pytest.raises(Unrenderable, match="which raised ValueError when it was read"):
        render(DataFrame(ROWS, RangeIndex(), columns_are_unique=False))


@pytest.mark.parametrize("kind", [Table, Column, SimpleNamespace])
def test_a_class_is_no_value(kind: type) -> None:
    with pytest.raises(Unrenderable, match="a value of type type at /"):
        render(kind)
