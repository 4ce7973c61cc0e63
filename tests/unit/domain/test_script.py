"""Steps that say nothing are refused where they are written, and in JSON by their number and word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from geode.domain import script
from geode.domain.errors import Misuse
from geode.domain.script import Called, Drops, Fails, Hangs, Malformed, Reply, Said, calls, cut, fails, says
from geode.domain.script_json import script_from_json
from geode.testing import ScriptedModel

UNTYPED: Any = script
MODEL: Any = ScriptedModel


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: UNTYPED.says(3), "says takes a text, got int"),
        (lambda: UNTYPED.thinks(None), "thinks takes a text, got NoneType"),
        (lambda: UNTYPED.refuses(True), "refuses takes a text, got bool"),
        (lambda: UNTYPED.pauses(["a"]), "pauses takes a text, got list"),
        (lambda: UNTYPED.calls("add", {"a": 1}), "calls takes pairs of a name and arguments"),
        (lambda: UNTYPED.calls("add"), "calls takes pairs of a name and arguments"),
        (lambda: UNTYPED.calls(("add",)), "got ('add',)"),
        (lambda: UNTYPED.calls(("add", [1])), "got ('add', [1])"),
        (lambda: UNTYPED.fails("529"), "fails takes a status of HTTP (100 to 599), got '529'"),
        (lambda: UNTYPED.fails(True), "got True"),
        (lambda: MODEL("hello"), "ScriptedModel, step 1: a step is no text: says('hello')"),
        (lambda: MODEL(says("a"), [says("b")]), "ScriptedModel, step 2: steps are given one by one"),
        (lambda: MODEL(says), "ScriptedModel, step 1: says is no step, says(…) is one"),
        (lambda: MODEL(None), "got NoneType"),
    ],
)
def test_a_step_that_says_nothing_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(Misuse) as caught:
        make()
    assert caught.value.id == "script-step"
    assert said in str(caught.value)


def test_every_form_of_a_call() -> None:
    broken = Called("read", "{broken", id="")
    called = (Called("a", {"x": 1}), Called("b", "{"), Called("c", None), broken)
    assert calls(("a", {"x": 1}), ("b", "{"), ("c", None), broken) == Reply(called)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"refuses": True}, "script step 1: refuses takes a text, got True"),
        ({"says": 3}, "says takes a text"),
        ({"thinks": None}, "thinks takes a text"),
        ({"pauses": {}}, "pauses takes a text"),
        ({"says": "a", "cut": "yes"}, "cut takes true"),
        ({"hangs": 3}, "hangs takes true"),
        ({"calls": "add"}, "calls takes a list of [name, arguments] or [name, arguments, id]"),
        ({"calls": ["add"]}, "calls takes a list"),
        ({"calls": [["add", 3]]}, "calls takes a list"),
        ({"calls": [["add", {}, 3]]}, "calls takes a list"),
        ({"calls": [[{}, "add"]]}, "calls takes a list"),
        ({"fails": "529"}, "fails takes a status number"),
        ({"fails": 529, "retry_after": []}, "retry_after takes a number of seconds"),
        ({"fails": 529, "body": 3}, "body takes an object or a text"),
        ({"fails": 529, "message": 3}, "message takes a text"),
        ({"fails": 529, "says": "a"}, "fails is a step of its own, without says"),
        ({"drops": "later"}, "drops takes one of connect, headers"),
        ({"malformed": "xml"}, "malformed takes one of html"),
        ({"says": "a", "input_tokens": -1}, "input_tokens takes a whole number of 0 or more"),
        ({"category": "x"}, "must be an object with one of: says"),
        ({"sings": "la", "says": "a"}, "has unknown sings; accepted: says"),
    ],
)
def test_json_of_the_wrong_kind_is_named(step: object, said: str) -> None:
    with pytest.raises(ValueError, match="script step 1") as caught:
        script_from_json([step])
    assert said in str(caught.value)


def test_json_as_steps() -> None:
    assert script_from_json(
        [
            {"says": "a", "calls": [["add", {}], ["add", "{", ""], ["add", None, None]], "cut": True, "input_tokens": 7},
            {"fails": 529, "retry_after": 1, "message": "busy", "body": {}},
            {"hangs": True},
            {"drops": "connect"},
            {"malformed": "empty"},
            {"refuses": "no", "category": "x"},
        ]
    ) == (
        cut(Reply((Said("a"), Called("add", {}), Called("add", "{", ""), Called("add", None)), input_tokens=7)),
        fails(529, {}, message="busy", retry_after=1),
        Hangs(),
        Drops("connect"),
        Malformed("empty"),
        Reply((Said("no"),), stop="refusal", refusal_category="x"),
    )
    assert isinstance(fails(500), Fails)
