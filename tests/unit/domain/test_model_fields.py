"""Fields of a pydantic model that are rendered apart from its JSON form: those that hold, at any depth, what JSON lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, computed_field, field_serializer

from geode.domain.json_value import MAX_DEPTH
from geode.domain.model_fields import fields_apart

BYTES = (bytes,)


class Shot(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    of: Any = None
    name: str = "x"


@dataclass
class Frame:
    picture: bytes
    number: int = 0


def apart(of: Any) -> dict[str, Any]:
    return fields_apart(Shot(of=of), BYTES)


def nested(levels: int) -> Any:
    """Bytes inside so many lists."""
    value: Any = b"x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "of",
    [b"x", [b"x"], (b"x",), {"k": b"x"}, frozenset({b"x"}), {b"x"}, Frame(b"x"), Shot(of=b"x"), {"k": [Frame(b"x")]}],
    ids=lambda of: type(of).__name__,
)
def test_a_field_that_holds_bytes_is_apart(of: Any) -> None:
    assert apart(of) == {"of": of}


@pytest.mark.parametrize("of", [None, "x", 1, [], {"k": "x"}, Frame, Shot(of="x"), object()], ids=lambda of: type(of).__name__)
def test_a_field_without_any_is_not(of: Any) -> None:
    assert apart(of) == {}


def test_extra_and_computed_fields_count() -> None:
    class Computed(Shot):
        @computed_field  # type: ignore[prop-decorator]
        @property
        def twice(self) -> bytes:
            return b"xx"

    assert fields_apart(Computed.model_validate({"more": b"y"}), BYTES) == {"twice": b"xx", "more": b"y"}


def test_what_a_serializer_writes_is_the_model_s_to_write() -> None:
    class One(Shot):
        @field_serializer("of")
        def written(self, value: Any) -> str:
            return "written"

    class All(Shot):
        @field_serializer("*")
        def written(self, value: Any) -> str:
            return "written"

    given = {"of": b"x", "more": b"y"}
    assert fields_apart(One.model_validate(given), BYTES) == {"more": b"y"}
    assert fields_apart(All.model_validate(given), BYTES) == {}


def test_it_is_looked_for_as_deep_as_json_may_be() -> None:
    assert list(apart(nested(MAX_DEPTH + 1))) == ["of"]
    assert apart(nested(MAX_DEPTH + 2)) == {}


def test_values_that_hold_each_other_are_looked_at_once() -> None:
    circle: dict[str, Any] = {}
    circle.update(a=circle, b=circle, c=[circle, circle])
    assert apart(circle) == {}
