"""An answer that has to fit a schema: read whole or not at all, and never taken for one where it was declined or cut."""

from __future__ import annotations

from typing import Any

import pytest

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.application.structured import (
    MAX_RAW_CHARS,
    AnswerError,
    Declined,
    DoesNotFit,
    Fits,
    Truncated,
    check_of,
    typed_answer,
    value_of,
)
from geode.domain.content import Text
from geode.domain.errors import Misuse
from geode.domain.json_value import dump_json
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import Capabilities
from geode.domain.script import Step, cut, fails, refuses, says
from geode.domain.turns import hints_of
from geode.domain.usage import Usage
from geode.entrypoints.runtime import Runtime
from geode.errors import RequestRefused
from geode.testing import ScriptedModel

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "of": {"type": "array", "items": {"type": "string"}}},
    "required": ["n"],
    "additionalProperties": False,
}
CHECK = check_of(SCHEMA, JsonschemaValidator())


def reply(text: str, stop: Stop = Stop.END) -> AdapterCallResult:
    return AdapterCallResult((Text(text),), stop, Usage(), refusal={"category": "x"} if stop is Stop.REFUSAL else None)


def errors_of(text: str) -> tuple[str, ...]:
    answer = typed_answer(reply(text), CHECK)
    assert isinstance(answer, DoesNotFit), answer
    assert answer.text == text
    return answer.errors


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 3}',
        ' \n{"n": 3}\n',
        '```json\n{"n": 3}\n```',
        '```\n{"n": 3}\n```\n',
        '``` json\r\n{"n": 3}\r\n```',
        '```json\n{"n": 3}```',
        '```json\n{"n": 3}\n',
        '```\n{"n": 3}',
    ],
)
def test_an_answer_that_fits(text: str) -> None:
    assert typed_answer(reply(text), CHECK) == Fits({"n": 3})


@pytest.mark.parametrize(
    "text",
    [
        *("", "Three.", 'Here it is: {"n": 3}', '{"n": 3} and more', '{"n": NaN}', "[" * 100_000, '{"n": 3'),
        *('```json\n{"n": 3}\n```\nI hope it helps', '```json\n{"n": 3}\n```\n```json\n{"n": 4}\n```'),
    ],
)
def test_what_is_no_json_is_not_mended(text: str) -> None:
    (error,) = errors_of(text[:MAX_RAW_CHARS])
    assert error.startswith("/: the answer is no JSON")


def test_every_error_has_its_place() -> None:
    errors = errors_of('{"n": "3", "of": ["a", 5], "more": 1}')
    assert {error.partition(":")[0] for error in errors} == {"/n", "/of/1", "/"}


def test_a_fence_inside_of_a_text_is_no_end() -> None:
    assert typed_answer(reply('```json\n{"n": 3, "of": ["```"]}\n```'), CHECK) == Fits({"n": 3, "of": ["```"]})


def test_a_fence_of_spaces_without_end_is_read_in_no_time() -> None:
    """A million of them: whatever looked at them for each other one would never end."""
    for blank in (" ", "\t", "a"):
        answer = typed_answer(reply("```" + blank * 1_000_000 + "!x"), CHECK)
        assert isinstance(answer, DoesNotFit)
        assert answer.errors[0].startswith("/: the answer is no JSON")


def test_a_schema_need_not_be_of_objects() -> None:
    check = check_of({"type": "array", "items": {"type": "integer"}}, JsonschemaValidator())
    assert typed_answer(reply("[1, 2]"), check) == Fits([1, 2])
    assert isinstance(typed_answer(reply('["a"]'), check), DoesNotFit)


def test_a_refusal_and_a_cut_are_never_validated() -> None:
    """Even where what was said would fit."""
    said = '{"n": 3}'
    assert typed_answer(reply(said, Stop.REFUSAL), CHECK) == Declined(said, {"category": "x"})
    assert typed_answer(reply(said, Stop.CONTENT_FILTER), CHECK) == Declined(said)
    assert typed_answer(reply(said, Stop.MAX_TOKENS), CHECK) == Truncated(said)


def test_of_an_answer_that_does_not_fit_the_beginning_is_kept() -> None:
    answer = typed_answer(reply("x" * 1_000_000), CHECK)
    assert isinstance(answer, DoesNotFit)
    assert answer.text == "x" * 4000


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (DoesNotFit(("/n: is no integer",), "x"), "does not fit response_schema: /n: is no integer"),
        (Declined("no"), "declined"),
        (Truncated("{"), "cut off"),
    ],
)
def test_without_a_value_an_error_says_why(answer: DoesNotFit | Declined | Truncated, said: str) -> None:
    with pytest.raises(AnswerError, match=said) as caught:
        value_of(answer)
    assert caught.value.answer == answer


def test_a_schema_that_is_none_is_misuse() -> None:
    with pytest.raises(Misuse, match=r"response_schema is no JSON Schema: /type.*\[response-schema\]"):
        check_of({"type": "objekt"}, JsonschemaValidator())
    with pytest.raises(Misuse, match="a response_schema refers to #/none, which is not in it"):
        check_of({"properties": {"a": {"$ref": "#/none"}}}, JsonschemaValidator())


# ---- Runtime.ask ---------------------------------------------------------------------------------


def able(*steps: Step) -> ScriptedModel:
    return ScriptedModel(*steps, capabilities=Capabilities(response_schema=True))


async def test_a_call_beside_a_run_has_a_value() -> None:
    model = able(says('{"n": 3}'), refuses("no"), cut(says('{"n": ')), says("plain"))
    async with Runtime(model=model) as runtime:
        assert (await runtime.ask("How many?", response_schema=SCHEMA)).value == {"n": 3}
        assert isinstance((await runtime.ask("How many?", response_schema=SCHEMA)).typed, Declined)
        assert isinstance((await runtime.ask("How many?", response_schema=SCHEMA)).typed, Truncated)
        plain = await runtime.ask("How many?")
    assert plain.typed is None
    with pytest.raises(Misuse, match="ask with response_schema="):
        _ = plain.value
    assert [request.response_schema for request in model.requests] == [SCHEMA, SCHEMA, SCHEMA, None]


async def test_an_answer_beside_a_run_that_does_not_fit_is_asked_for_once_more() -> None:
    """Spec section 11: answered with the errors and the schema, at most one repair round by default."""
    model = able(says('{"n": "3"}'), says('{"n": 3}'))
    async with Runtime(model=model) as runtime:
        served = await runtime.ask("How many?", response_schema=SCHEMA)
    assert served.value == {"n": 3}
    first, again = model.requests
    assert again.turns[:1] == first.turns
    assert [getattr(turn, "text", "") for turn in again.turns[1:2]] == ['{"n": "3"}']
    (hint,) = hints_of(again.turns)
    assert (hint.kind, "/n: " in hint.text, dump_json(SCHEMA) in hint.text) == ("answer", True, True)
    assert served.usage.total_tokens == 30

    twice = able(says('{"n": "3"}'), says('{"n": "4"}'))
    async with Runtime(model=twice) as runtime:
        wrong = await runtime.ask("How many?", response_schema=SCHEMA)
    assert isinstance(wrong.typed, DoesNotFit)
    assert len(twice.requests) == 2

    silent = able(says(" "))
    async with Runtime(model=silent) as runtime:
        assert isinstance((await runtime.ask("How many?", response_schema=SCHEMA)).typed, DoesNotFit)

    failing = able(says('{"n": "3"}'), fails(400))
    async with Runtime(model=failing) as runtime:
        with pytest.raises(RequestRefused) as caught:
            await runtime.ask("How many?", response_schema=SCHEMA)
    assert caught.value.failure is not None
    assert caught.value.failure.usage == Usage(10, 5, unpriced_calls=1)

    never = able(says('{"n": "3"}'))
    async with Runtime(model=never, policy=Policy(answer_repairs=0)) as runtime:
        assert isinstance((await runtime.ask("How many?", response_schema=SCHEMA)).typed, DoesNotFit)


async def test_a_model_that_cannot_be_given_a_schema_is_not_asked() -> None:
    model = ScriptedModel(capabilities=Capabilities())
    async with Runtime(model=model) as runtime:
        with pytest.raises(RequestRefused, match="scripted: model scripted cannot be given a response_schema"):
            await runtime.ask("How many?", response_schema=SCHEMA)
    assert model.requests == []
