"""Every kind of value that is stored, by an example: written, and read back as what it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from geode.domain import codec
from geode.domain.codec import dumps, loads
from geode.domain.content import Image, Owner
from geode.domain.errors import CodecError
from geode.domain.request import Capabilities
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts


@pytest.fixture(autouse=True)
def _nothing_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_readers", {})


@dataclass(frozen=True)
class _Of:
    words: frozenset[str] = frozenset()
    data: bytes = b""
    price: Decimal = Decimal(0)
    tier: SafetyTier = SafetyTier.SAFE
    seconds: float = 0.0
    number: int = 0


@pytest.mark.parametrize(
    ("value", "field", "written"),
    [
        (_Of(words=frozenset(("b", "a"))), "words", ["a", "b"]),
        (_Of(data=b"\x00\xff"), "data", "AP8="),
        (_Of(price=Decimal("0.10")), "price", "0.10"),
        (_Of(tier=SafetyTier.WRITE), "tier", "write"),
        (_Of(seconds=1.5), "seconds", 1.5),
        (_Of(number=2**80), "number", 2**80),
    ],
)
def test_a_value_is_written_and_comes_back(value: _Of, field: str, written: Any) -> None:
    stored = dumps(value)
    assert json.loads(stored)["value"][field] == written
    again = loads(_Of, stored)
    assert again == value
    assert type(getattr(again, field)) is type(getattr(value, field))


@dataclass(frozen=True)
class _Owners:
    owners: frozenset[Owner]


def test_a_set_of_values_is_written_in_the_order_of_their_text() -> None:
    stored = dumps(_Owners(frozenset((Owner("b", "m"), Owner("a", "n"), Owner("a", "m")))))
    written = [(one["adapter"], one["model"]) for one in json.loads(stored)["value"]["owners"]]
    assert written == [("a", "m"), ("a", "n"), ("b", "m")]
    assert dumps(loads(_Owners, stored)) == stored


def test_values_of_the_domain_come_back() -> None:
    for value in (Capabilities(), Image("image/png", b"\x89PNG\r\n\x1a\n"), ToolFacts(SafetyTier.SAFE, "d", 1.5)):
        assert loads(type(value), dumps(value)) == value


@pytest.mark.parametrize(
    ("field", "written", "why"),
    [
        ("words", "ab", "/words: expected a list, got str"),
        ("words", [1], "/words/0: expected str, got int"),
        ("data", "*AP8=", "/data: '*AP8=' is no bytes"),
        ("data", None, "/data: None is no bytes"),
        ("price", "dear", "/price: 'dear' is no Decimal"),
        ("tier", "deep", "/tier: 'deep' is no SafetyTier"),
        ("seconds", "1", "/seconds: expected float, got str"),
        ("seconds", True, "/seconds: expected float, got bool"),
        ("seconds", float("inf"), "/seconds: inf is no number that can be stored"),
        ("seconds", float("nan"), "/seconds: nan is no number that can be stored"),
        ("seconds", 10**400, "/seconds: inf is no number that can be stored"),
        ("number", 1.0, "/number: expected int, got float"),
        ("number", True, "/number: expected int, got bool"),
    ],
)
def test_what_is_not_as_written_is_refused_at_its_place(field: str, written: Any, why: str) -> None:
    document = json.loads(dumps(_Of()))
    document["value"][field] = written
    with pytest.raises(CodecError) as caught:
        loads(_Of, json.dumps(document))
    assert str(caught.value) == why
