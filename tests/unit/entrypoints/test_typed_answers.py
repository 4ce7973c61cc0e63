"""`answer=`: a type, or a JSON Schema, that the answer of a run has to be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Generic, Literal, TypedDict, TypeVar

import pydantic
import pytest

import geode
from geode import Approve, Later, Policy
from geode.application.structured import AnswerError
from geode.domain.content import ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Answered, Failed, Suspended
from geode.domain.request import Capabilities
from geode.domain.script import calls, cut, pauses, refuses, says
from geode.domain.turns import ToolResultsTurn, hints_of
from geode.events import Event, Finished
from geode.testing import ScriptedModel

T = TypeVar("T")


@dataclass
class Weather:
    city: str
    degrees: float
    sky: Literal["clear", "cloudy"] = "clear"


class Model(pydantic.BaseModel):
    day: date
    of: list[Weather] = []


class Even(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def _even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("it is odd")
        return n


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class Tree(pydantic.BaseModel):
    name: str
    children: list[Tree] = []


class Place(TypedDict):
    name: str


@dataclass
class Raises:
    n: int

    def __post_init__(self) -> None:
        raise KeyError("nobody expects this")


WEATHER = '{"city":"Kiel","degrees":21.5}'
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


async def answered(answer: Any, *texts: str, **settings: Any) -> geode.Outcome:
    return await geode.run("?", model=ScriptedModel(*map(says, texts)), answer=answer, **settings)


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        (Weather, WEATHER, Weather("Kiel", 21.5)),
        (
            Model,
            f'{{"day":"2026-11-30","of":[{WEATHER}]}}',
            Model(day=date(2026, 11, 30), of=[Weather("Kiel", 21.5)]),
        ),
        (Page[int], '{"items":[1,2]}', Page[int](items=[1, 2])),
        (Tree, '{"name":"a","children":[{"name":"b"}]}', Tree(name="a", children=[Tree(name="b")])),
        (Place, '{"name":"Kiel"}', {"name": "Kiel"}),
        (SCHEMA, '{"a":1}', {"a": 1}),
    ],
)
async def test_the_value_is_of_the_type(answer: Any, text: str, value: Any) -> None:
    outcome = await answered(answer, text)
    assert isinstance(outcome, Answered), outcome
    assert outcome.value == value
    assert (type(outcome.value), outcome.text) == (type(value), text)


async def test_without_one_there_is_no_value() -> None:
    outcome = await answered(None, '{"a":1}')
    assert isinstance(outcome, Answered)
    assert outcome.value is None


@pytest.mark.parametrize("answer", [5, "Weather", int, list[int], dict, Weather("a", 1.0), object(), [SCHEMA]])
def test_what_is_no_type_of_an_answer_is_misuse_at_once(answer: Any) -> None:
    with pytest.raises(Misuse, match="answer= takes a pydantic model, a dataclass, a TypedDict or a JSON Schema"):
        geode.session(model=ScriptedModel(), answer=answer)


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"properties": 5}, {"a": object()}])
def test_a_mapping_that_is_no_json_schema_is_misuse_at_once(schema: Any) -> None:
    with pytest.raises(Misuse, match="answer="):
        geode.session(model=ScriptedModel(), answer=schema)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "answer=: a response_schema describes an object at its root"),
        ({"anyOf": [{"type": "object"}]}, "answer=: a response_schema describes an object at its root"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
            "answer=: a response_schema refers to #/$defs/none, which is not in it",
        ),
    ],
)
def test_a_schema_that_no_answer_can_fit_or_no_server_takes_is_misuse_at_once(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse, match=f"^{re.escape(said)}"):
        geode.session(model=ScriptedModel(), answer=schema)


def test_a_type_that_no_schema_describes_is_misuse_at_once() -> None:
    @dataclass
    class Odd:
        one: object
        other: type[Any] | pytest.Item

    with pytest.raises(Misuse, match="answer= is a type that no schema describes"):
        geode.session(model=ScriptedModel(), answer=Odd)


@pytest.mark.parametrize("name", ["response_format", "output_type", "response_schema"])
def test_the_names_of_others_are_told_this_one(name: str) -> None:
    given: dict[str, Any] = {name: Weather}
    with pytest.raises(Misuse, match="that is answer="):
        geode.session(model=ScriptedModel(), **given)


# ---- what does not fit -------------------------------------------------------------------------


async def test_the_model_is_told_the_places_and_the_schema_and_answers_again() -> None:
    model = ScriptedModel(says('{"city":5,"degrees":1}'), says(WEATHER))
    outcome = await geode.run("?", model=model, answer=Weather)
    assert isinstance(outcome, Answered)
    assert outcome.value == Weather("Kiel", 21.5)
    (hint,) = hints_of(outcome.conversation.turns)
    assert hint.kind == "answer"
    assert "\n/city: " in hint.text
    assert '"required":["city","degrees"]' in hint.text
    assert model.requests[0].response_schema == model.requests[1].response_schema != None  # noqa: E711


async def test_what_only_the_type_refuses_is_told_too() -> None:
    outcome = await answered(Even, '{"n":3}', '{"n":4}')
    assert isinstance(outcome, Answered)
    assert outcome.value.n == 4
    assert "/n: Value error, it is odd" in hints_of(outcome.conversation.turns)[0].text


async def test_a_type_whose_code_raises_anything_fails_the_run_and_nothing_else() -> None:
    outcome = await answered(Raises, '{"n":3}', '{"n":4}')
    assert isinstance(outcome, Failed)
    assert outcome.reason == "answer_invalid"
    assert "KeyError" in outcome.why


async def test_a_text_that_is_no_json_is_never_an_empty_value() -> None:
    text = "Sorry, here is the data: a=1"
    outcome = await answered(SCHEMA, text, text + "." * 10_000)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.text) == ("answer_invalid", text + "." * 10_000)
    assert "/: the answer is no JSON" in outcome.why
    assert text in outcome.why
    assert len(outcome.why) < 1_500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"a":1}\n```', {"a": 1}),
        ('```\n{"a":1}', {"a": 1}),
        ('{"a":1,"code":"```py\\nx\\n```"}', {"a": 1, "code": "```py\nx\n```"}),
        ('```json\n{"a":1,"code":"```py\\nx\\n```"}\n```', {"a": 1, "code": "```py\nx\n```"}),
    ],
)
async def test_a_fence_around_it_is_taken_off_and_one_inside_stays(text: str, value: Any) -> None:
    outcome = await answered(SCHEMA, text)
    assert isinstance(outcome, Answered)
    assert outcome.value == value


async def test_a_refusal_is_not_read_and_not_repaired() -> None:
    model = ScriptedModel(refuses("I can't"))
    outcome = await geode.run("?", model=model, answer=SCHEMA)
    assert (outcome.reason, outcome.text, len(model.requests)) == ("model_refusal", "I can't", 1)


async def test_what_was_cut_off_is_not_read_though_it_would_fit() -> None:
    model = ScriptedModel(cut(says('{"a":1}')))
    outcome = await geode.run("?", model=model, answer=SCHEMA)
    assert (outcome.reason, outcome.text, len(model.requests)) == ("answer_truncated", '{"a":1}', 1)


async def test_a_paused_answer_is_read_whole() -> None:
    outcome = await geode.run("?", model=ScriptedModel(pauses('{"a"'), says(":1}")), answer=SCHEMA)
    assert isinstance(outcome, Answered)
    assert outcome.value == {"a": 1}


async def test_a_model_that_cannot_be_asked_is_not_asked() -> None:
    model = ScriptedModel(capabilities=Capabilities())
    outcome = await geode.run("?", model=model, answer=SCHEMA)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "request_error"
    assert "scripted: model scripted cannot be given a response_schema" in outcome.why
    assert model.requests == []


# ---- beside calls ------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "ran", "requests"), [("early", [], 1), ("finish_tools", ["a"], 2)])
async def test_an_answer_beside_calls(policy: Any, ran: list[str], requests: int) -> None:
    noted: list[str] = []

    @geode.tool(tier="safe")
    def note(text: str) -> str:
        """Note it."""
        noted.append(text)
        return "noted"

    script = [says('{"a":1}') + calls(("note", {"text": "a"})), says('{"a":2}')][:requests]
    model = ScriptedModel(*script)
    given = Policy(answer_beside_calls=policy)
    outcome = await geode.run("?", model=model, tools=[note], answer=SCHEMA, policy=given)
    assert isinstance(outcome, Answered)
    assert (outcome.value, noted, len(model.requests)) == ({"a": requests}, ran, requests)
    (results,) = [turn for turn in outcome.conversation.turns if isinstance(turn, ToolResultsTurn)]
    assert results.results[0].kind == ("ok" if ran else "interrupted")
    # The history can be gone on with.
    again = await geode.run("and?", model=ScriptedModel(says("yes")), conversation=outcome.conversation)
    assert again.text == "yes"


def test_the_policy_knows_two_ways() -> None:
    late: Any = "late"
    with pytest.raises(Misuse, match="finish_tools"):
        Policy(answer_beside_calls=late)
    with pytest.raises(Misuse, match="answer_repairs"):
        Policy(answer_repairs=-1)


# ---- told, streamed, resumed, inside -----------------------------------------------------------


async def test_the_last_event_has_the_value() -> None:
    told: list[Event] = []
    outcome = await geode.run("?", model=ScriptedModel(says(WEATHER)), answer=Weather, observe=told.append)
    finished = told[-1]
    assert isinstance(finished, Finished)
    assert isinstance(finished.outcome, Answered)
    assert finished.outcome.value == Weather("Kiel", 21.5)
    assert outcome == finished.outcome


@geode.tool(tier="write")
def put(text: str) -> str:
    """Put it there."""
    return text


def _later(_: ToolUseBlock) -> Later:
    return Later()


async def suspended(**settings: Any) -> Suspended:
    model = ScriptedModel(calls(("put", {"text": "x"})))
    found = await geode.run("?", model=model, tools=[put], approve=_later, answer=Weather, **settings)
    assert isinstance(found, Suspended)
    return found


async def test_a_suspended_run_is_gone_on_with_and_is_still_typed() -> None:
    waiting = await suspended()
    model = ScriptedModel(says("hm"), says(WEATHER))
    async with geode.session(model=model, tools=[put], answer=Weather) as loop:
        outcome = await loop.resume(waiting.snapshot, {waiting.asked[0].id: Approve()})
    assert isinstance(outcome, Answered)
    assert outcome.value == Weather("Kiel", 21.5)


@pytest.mark.parametrize("other", [None, Place])
async def test_with_another_answer_it_is_not_gone_on_with(other: Any) -> None:
    waiting = await suspended()
    settings: dict[str, Any] = {} if other is None else {"answer": other}
    async with geode.session(model=ScriptedModel(), tools=[put], **settings) as loop:
        with pytest.raises(Misuse, match="was begun with another answer="):
            await loop.resume(waiting.snapshot, {waiting.asked[0].id: Approve()})


async def test_a_run_of_the_journal_gives_its_value_again(tmp_path: Path) -> None:
    outcome = await geode.run("?", model=ScriptedModel(says("hm"), says(WEATHER)), answer=Weather, journal=tmp_path)
    async with geode.session(model=ScriptedModel(), answer=Weather, journal=tmp_path) as loop:
        again = await loop.resume_run(outcome.run_id)
    assert isinstance(again, Answered)
    assert again.value == Weather("Kiel", 21.5)
    assert again == outcome
    async with geode.session(model=ScriptedModel(), journal=tmp_path) as loop:
        with pytest.raises(Misuse, match="was begun with another answer="):
            await loop.resume_run(outcome.run_id)


async def test_a_value_that_its_type_refuses_by_now_is_an_error_and_no_default(tmp_path: Path) -> None:
    outcome = await geode.run("?", model=ScriptedModel(says('{"n":4}')), answer=Even, journal=tmp_path)

    class Stricter(Even):
        model_config = pydantic.ConfigDict(title="Even")

        @pydantic.field_validator("n")
        @classmethod
        def _small(cls, n: int) -> int:
            if n > 3:
                raise ValueError("too large")
            return n

    async with geode.session(model=ScriptedModel(), answer=Stricter, journal=tmp_path) as loop:
        with pytest.raises(AnswerError, match="too large"):
            await loop.resume_run(outcome.run_id)


async def test_the_answer_of_a_sub_agent_is_its_json_text() -> None:
    asks = geode.subagent("asks", "asks", answer=Weather, model=ScriptedModel(says(f"```json\n{WEATHER}\n```"), name="inner"))
    model = ScriptedModel(calls(("asks", {"task": "?"})), says("done"))
    outcome = await geode.run("?", model=model, tools=[asks])
    (results,) = [turn for turn in outcome.conversation.turns if isinstance(turn, ToolResultsTurn)]
    assert (results.results[0].kind, results.results[0].text) == ("ok", WEATHER)


async def test_a_sub_agent_does_not_inherit_the_answer_and_its_failure_is_told() -> None:
    inner = ScriptedModel(says("no"), says("no"), name="inner")
    asks = geode.subagent("asks", "asks", answer=Weather, model=inner)
    plain = geode.subagent("plain", "plain", model=ScriptedModel(says("free"), name="free"))
    model = ScriptedModel(calls(("asks", {"task": "?"}), ("plain", {"task": "?"})), says('{"a":1}'))
    outcome = await geode.run("?", model=model, tools=[asks, plain], answer=SCHEMA)
    (results,) = [turn for turn in outcome.conversation.turns if isinstance(turn, ToolResultsTurn)]
    first, second = results.results
    assert (first.kind, second.text) == ("failed", "free")
    assert "asks failed: its answer did not have the form that it has to have" in first.text
    assert isinstance(outcome, Answered)
    assert outcome.value == {"a": 1}
