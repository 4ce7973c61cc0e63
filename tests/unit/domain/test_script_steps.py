"""What each word of a script means, in Python and in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from geode.domain import script, script_json
from geode.domain.errors import Misuse
from geode.domain.script import (
    Called,
    Drops,
    Fails,
    Hangs,
    Malformed,
    Reply,
    Said,
    Step,
    Thought,
    calls,
    cut,
    drops,
    fails,
    hangs,
    is_status,
    malformed,
    pauses,
    refuses,
    says,
    step_problem,
    thinks,
)
from geode.domain.script_json import script_from_json

UNTYPED: Any = script
STEPS: list[tuple[Step, Step, Mapping[str, Any]]] = [
    (says("a"), Reply((Said("a"),)), {"says": "a"}),
    (thinks("a"), Reply((Thought("a", "sig"),)), {"thinks": "a"}),
    (calls(("add", {"a": 1})), Reply((Called("add", {"a": 1}),)), {"calls": [["add", {"a": 1}]]}),
    (refuses(), Reply((), "refusal", refusal_category="general_harms"), {"refuses": ""}),
    (refuses("no"), Reply((Said("no"),), "refusal", refusal_category="general_harms"), {"refuses": "no"}),
    (refuses("no", "x"), Reply((Said("no"),), "refusal", refusal_category="x"), {"refuses": "no", "category": "x"}),
    (pauses("a"), Reply((Said("a"),), "pause"), {"pauses": "a"}),
    (cut(says("a")), Reply((Said("a"),), "max_tokens"), {"says": "a", "cut": True}),
    (says("a"), Reply((Said("a"),)), {"says": "a", "cut": False}),
    (fails(529), Fails(529, None, None, "scripted failure", ()), {"fails": 529}),
    (fails(429, retry_after=2), Fails(429, headers=(("retry-after", "2"),)), {"fails": 429, "retry_after": 2}),
    (fails(429, retry_after="2"), Fails(429, headers=(("retry-after", "2"),)), {"fails": 429, "retry_after": "2"}),
    (
        fails(400, {"a": 1}, code="c", message="m"),
        Fails(400, {"a": 1}, "c", "m", ()),
        {"fails": 400, "body": {"a": 1}, "code": "c", "message": "m"},
    ),
    (hangs(), Hangs(), {"hangs": True}),
    (drops(), Drops("after_output", Reply((Said("cut off in the middle of a sentence"),))), {"drops": "after_output"}),
    (drops("connect"), Drops("connect"), {"drops": "connect"}),
    (malformed(), Malformed("html"), {"malformed": "html"}),
    (malformed("empty"), Malformed("empty"), {"malformed": "empty"}),
    (
        thinks("t") + says("s") + calls(("add", None)),
        Reply((Thought("t", "sig"), Said("s"), Called("add", None))),
        {"calls": [["add", None]], "says": "s", "thinks": "t"},
    ),
    (
        thinks("t") + refuses("no"),
        Reply((Thought("t", "sig"), Said("no")), "refusal", refusal_category="general_harms"),
        {"thinks": "t", "refuses": "no"},
    ),
    (thinks("t") + pauses("p"), Reply((Thought("t", "sig"), Said("p")), "pause"), {"thinks": "t", "pauses": "p"}),
]


@pytest.mark.parametrize(("made", "meant", "written"), STEPS, ids=[str(written) for _, _, written in STEPS])
def test_a_word_in_python_and_in_json(made: Step, meant: Step, written: Mapping[str, Any]) -> None:
    assert made == meant
    assert script_from_json([written]) == (meant,)


def test_what_is_meant_where_nothing_is_said() -> None:
    assert thinks("a") == Reply((Thought("a", "sig"),))
    assert refuses() == Reply((), "refusal", refusal_category="general_harms")
    assert fails(500) == Fails(500, None, None, "scripted failure", ())
    assert drops() == Drops("after_output", Reply((Said("cut off in the middle of a sentence"),)))
    assert malformed() == Malformed("html")


def test_what_only_python_can_say() -> None:
    assert thinks("a", "of mine") == Reply((Thought("a", "of mine"),))
    assert drops("headers", says("a")) == Drops("headers", Reply((Said("a"),)))


def test_a_joined_reply_keeps_the_later_stop_or_the_one_there_is() -> None:
    assert (pauses("a") + says("b")).stop == "pause"
    assert (pauses("a") + cut(says("b"))).stop == "max_tokens"
    assert (says("a") + says("b")).stop is None


@pytest.mark.parametrize(
    ("counts", "made"),
    [
        ({}, Reply((Said("a"),), None, 10, 5)),
        ({"input_tokens": 0}, Reply((Said("a"),), None, 0, 5)),
        ({"output_tokens": 0}, Reply((Said("a"),), None, 10, 0)),
        ({"input_tokens": 3, "output_tokens": 1}, Reply((Said("a"),), None, 3, 1)),
    ],
)
def test_tokens_of_a_reply(counts: dict[str, int], made: Reply) -> None:
    """A whole number of 0 or more; what is not said is 10 and 5."""
    assert script_from_json([{"says": "a", **counts}]) == (made,)


@pytest.mark.parametrize(
    ("value", "fits"), [(100, True), (599, True), (99, False), (600, False), (True, False), (200.0, False), ("200", False)]
)
def test_a_status_of_http(value: object, fits: bool) -> None:
    assert is_status(value) is fits


class NoName:
    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (says("a"), ""),
        (hangs(), ""),
        ("x" * 50, f"a step is no text: says('{'x' * 40}')"),
        ([says("a")], "steps are given one by one, not as a list: ScriptedModel(*steps)"),
        (says, "says is no step, says(…) is one"),
        (NoName(), "… is no step, …(…) is one"),
        (3, "a step is made by says(…), calls(…), fails(…), …; got int"),
    ],
)
def test_why_something_is_no_step(step: object, why: str) -> None:
    assert step_problem(step) == why


def test_a_signature_is_a_text() -> None:
    with pytest.raises(Misuse) as caught:
        UNTYPED.thinks("a", 3)
    assert str(caught.value) == "thinks(signature=…) takes a text, got int [script-step]"


WORDS = "says, thinks, calls, refuses, pauses, cut, fails, hangs, drops, malformed"
# Here they stand by what they take.
ACCEPTED = (
    "says, thinks, refuses, pauses, calls, cut, hangs, fails, drops, malformed, "
    "category, code, message, retry_after, body, input_tokens, output_tokens"
)
BODIES = "html, not_json, error_in_200, error_in_stream, empty, wrong_shape"


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            {"sings": 1, "hums": 2},
            f"script step 1 has unknown sings, hums; accepted: {ACCEPTED}",
        ),
        ({}, f"script step 1 must be an object with one of: {WORDS}"),
        ("says", f"script step 1 must be an object with one of: {WORDS}"),
        (["says"], f"script step 1 must be an object with one of: {WORDS}"),
        (
            {"drops": 3},
            "script step 1: drops takes one of connect, headers, before_output, after_output, before_end, got 3",
        ),
        (
            {"malformed": "xml"},
            f"script step 1: malformed takes one of {BODIES}, got 'xml'",
        ),
        ({"hangs": True, "says": "a", "cut": True}, "script step 1: hangs is a step of its own, without says, cut"),
    ],
)
def test_json_that_is_no_step(step: object, why: str) -> None:
    with pytest.raises(ValueError, match="script step 1") as caught:
        script_from_json([step])
    assert str(caught.value) == why


def test_a_word_out_of_a_list() -> None:
    fits, wanted = script_json._one_of("a", "b")
    assert [fits(value) for value in ("a", "b", "c", 3, None)] == [True, True, False, False, False]
    assert wanted == "one of a, b"
