"""A person's answers: what they may be, and what they allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from geode.domain import approval
from geode.domain.approval import Approve, Deny, Grant
from geode.domain.errors import Misuse
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from tests.unit.domain.builders import call

UNTYPED: Any = approval


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: UNTYPED.Approve(always="yes"), 'Approve(always=…) takes "tool" or "arguments", got \'yes\''),
        (lambda: UNTYPED.Approve(always=True), 'Approve(always=…) takes "tool" or "arguments", got True'),
        (lambda: UNTYPED.Approve([1]), "Approve(input=…) takes an object of arguments, got list"),
        (lambda: Approve({"a": math.nan}), "Approve(input=…) is not JSON: /a is nan, which JSON cannot carry"),
        (lambda: UNTYPED.Deny(7), "Deny(…) takes a text for the model, got int"),
    ],
)
def test_what_is_no_answer_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(Misuse) as caught:
        make()
    assert str(caught.value) == f"{said} [answer-type]"
    assert caught.value.id == "answer-type"


def test_an_answer_is_a_copy_and_clean() -> None:
    edited: dict[str, Any] = {"a": [1], "t": "\ud800"}
    answer = Approve(edited, "arguments")
    edited["a"].append(2)
    assert (answer.input, answer.always) == ({"a": [1], "t": "\ufffd"}, "arguments")
    assert (Approve().input, Approve().always) == (None, None)
    assert Deny("no\ud800").why == "no\ufffd"
    assert Deny().why == "the operator denied this call"


READ = ToolFacts(SafetyTier.WRITE, "digest", origin="server")


@pytest.mark.parametrize(
    ("grant", "covers"),
    [
        (Grant("read"), True),
        (Grant("read", None, "digest WRITE server"), True),
        (Grant("read", None, "digest WRITE"), False),
        (Grant("read", None, "digest WRITE another"), False),
        (Grant("read", None, "digest SAFE server"), False),
        (Grant("read", {"p": 2}, "digest WRITE server"), False),
        (Grant("write"), False),
        (Grant("read", {"p": 1.0}), True),
        (Grant("read", {"p": 2}), False),
        (Grant("read", {}), False),
        (Grant("write", {"p": 1}), False),
    ],
)
def test_what_a_grant_covers(grant: Grant, covers: bool) -> None:
    """Spec section 4: a grant is for one tool of one server; arguments may be part of it."""
    assert grant.covers(call("a", "read", {"p": 1}), READ) is covers
