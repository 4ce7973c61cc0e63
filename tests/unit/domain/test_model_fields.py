"""Which fields of a model hold what its own JSON form cannot carry, directly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, RootModel, computed_field, field_serializer

from geode.domain.model_fields import fields_apart, is_root

DATA = b"data"
KINDS = (bytes,)


class Loose(BaseModel):
    value: Any = None
    other: int = 1


@dataclass
class Held:
    late: bytes = field(init=False)
    data: object = None


HELD = Held(DATA)


class Computed(BaseModel):
    @computed_field
    def chart(self) -> bytes:
        return DATA

    @computed_field
    def told(self) -> bytes:
        return DATA

    @field_serializer("told")
    def in_words(self, told: bytes) -> str:
        return "told"


class AllWritten(BaseModel):
    raw: bytes = DATA

    @field_serializer("*")
    def in_words(self, value: object) -> str:
        return "written"


class LikeAModel:
    """It declares its fields as pydantic does, and says nothing of them."""

    model_fields = {"a": object()}  # noqa: RUF012 - as the class that it stands for
    a = DATA


@pytest.mark.parametrize(
    ("model", "apart"),
    [
        (Loose(value=DATA), {"value": DATA}),
        (Loose(value="text"), {}),
        (Loose(value=HELD), {"value": HELD}),
        (Loose(value=[Held([])]), {}),
        (Loose(value=Held), {}),
        (Computed(), {"chart": DATA}),
        (AllWritten(), {}),
        (LikeAModel(), {"a": DATA}),
    ],
    ids=range(8),
)
def test_the_fields_that_hold_it(model: object, apart: dict[str, object]) -> None:
    assert fields_apart(model, KINDS) == apart


def around(value: object, lists: int) -> object:
    for _ in range(lists):
        value = [value]
    return value


@pytest.mark.parametrize(("lists", "found"), [(0, True), (1, True), (101, True), (102, False)])
def test_as_deep_as_a_result_may_be(lists: int, found: bool) -> None:
    """A hundred levels below the field itself; what is deeper is refused anyway."""
    assert (fields_apart(Loose(value=around(DATA, lists)), KINDS) != {}) is found


def test_what_holds_the_same_many_times_is_looked_at_once() -> None:
    value: list[object] = []
    for _ in range(60):
        value = [value, value]
    assert fields_apart(Loose(value=value), KINDS) == {}


def test_a_model_that_is_its_one_value() -> None:
    assert is_root(RootModel[int](1))
    assert not is_root(Loose())
    assert not is_root(LikeAModel())
