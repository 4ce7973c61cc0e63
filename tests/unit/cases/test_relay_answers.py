"""Answers that have to fit a schema and were misread, over the adapters as they are, each with the id of its case."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import pytest

import geode
from geode.adapters.anthropic_messages.model import messages_model
from geode.adapters.chat_completions.model import chat_model
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.model import HttpModel
from geode.adapters.openai_responses.model import responses_model
from geode.application.structured import MAX_RAW_CHARS, AnswerError, Declined, DoesNotFit
from geode.domain.turns import ToolResultsTurn
from geode.entrypoints.emulator import Dialect, Protocol, check, laws
from tests.unit.cases.server import Json, called, completion, message, response, says

SPOKEN: Final[dict[Protocol, Dialect]] = {"messages": "anthropic", "responses": "openai", "chat": "openrouter"}
EACH_WIRE = pytest.mark.parametrize("protocol", SPOKEN)
ANSWER: Final[Json] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "code": {"type": "string"}},
    "additionalProperties": False,
}


def made(protocol: Protocol, http: httpx2.AsyncClient) -> HttpModel:
    endpoint = Endpoint("http://lab.test", "the test")
    models: dict[Protocol, Callable[[], HttpModel]] = {
        "messages": lambda: messages_model("lab", endpoint, http),
        "responses": lambda: responses_model("lab", endpoint, http),
        "chat": lambda: chat_model("lab", endpoint, http, dialect="openrouter"),
    }
    return models[protocol]()


@asynccontextmanager
async def answering(protocol: Protocol, *bodies: Json) -> AsyncIterator[tuple[HttpModel, list[Json]]]:
    """An adapter whose server gives each of these answers once, and what it was sent; none of that would be refused."""
    asked, left = list[Json](), list(bodies)

    def answer(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        assert (*check(protocol, body, SPOKEN[protocol]), *laws(protocol, body)) == ()
        asked.append(body)
        return httpx2.Response(200, json=left.pop(0))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        yield made(protocol, http), asked


FENCED: Final[list[tuple[str, Json]]] = [
    ('```json\n{"a":1}\n```', {"a": 1}),
    ('```\n{"a":1}', {"a": 1}),
    (r'{"code":"```py\nx\n```"}', {"code": "```py\nx\n```"}),
]


@EACH_WIRE
@pytest.mark.parametrize(("text", "value"), FENCED)
async def test_so_01_a_fence_around_the_answer_is_taken_off_and_one_inside_stays(
    protocol: Protocol, text: str, value: Json
) -> None:
    async with answering(protocol, says(protocol, text), says(protocol, text)) as (model, asked):
        outcome = await geode.run("go", model=model, answer=ANSWER)
        async with geode.Runtime(model=model) as runtime:
            beside = await runtime.ask("go", response_schema=ANSWER)

    assert isinstance(outcome, geode.Answered), outcome
    assert (outcome.value, beside.value, len(asked)) == (value, value, 2), "nothing is asked again"


@EACH_WIRE
async def test_so_02_a_text_that_is_no_json_is_an_error_with_that_text_and_never_a_default(protocol: Protocol) -> None:
    said = "Sorry, here is the data: a=1"
    long = said + "." * 10_000
    async with answering(protocol, *[says(protocol, long)] * 4) as (model, asked):
        outcome = await geode.run("go", model=model, answer=ANSWER)
        async with geode.Runtime(model=model) as runtime:
            beside = await runtime.ask("go", response_schema=ANSWER)

    assert isinstance(outcome, geode.Failed), outcome
    assert (outcome.reason, outcome.text) == ("answer_invalid", long)
    assert "/: the answer is no JSON" in outcome.why
    assert said in outcome.why
    assert len(outcome.why) < 1_500
    with pytest.raises(AnswerError) as caught:
        _ = beside.value
    assert isinstance(caught.value.answer, DoesNotFit)
    assert caught.value.answer.text == long[:MAX_RAW_CHARS]
    assert len(asked) == 4, "each is answered with the errors once"


FINAL: Final = '{"a":1}'
BESIDE: Final[dict[Protocol, Json]] = {
    "messages": message({"type": "text", "text": FINAL}, {"type": "tool_use", "id": "a", "name": "t1", "input": {}}),
    "responses": response(
        {"type": "message", "content": [{"type": "output_text", "text": FINAL}]},
        {"type": "function_call", "id": "fc_a", "call_id": "a", "name": "t1", "arguments": "{}"},
    ),
    "chat": completion(called("a"), content=FINAL),
}


@EACH_WIRE
@pytest.mark.parametrize(("policy", "runs"), [("early", 0), ("finish_tools", 1)])
async def test_so_03_calls_beside_an_answer_are_run_or_not_as_the_policy_says(
    protocol: Protocol, policy: Any, runs: int
) -> None:
    ran: list[int] = []

    @geode.tool(tier="safe")
    def t1() -> str:
        """The first tool."""
        ran.append(1)
        return "run"

    given = geode.Policy(answer_beside_calls=policy)
    after = [says(protocol, '{"a":2}')] * runs
    async with answering(protocol, BESIDE[protocol], *after, says(protocol, "on")) as (model, asked):
        outcome = await geode.run("go", model=model, tools=[t1], answer=ANSWER, policy=given)
        requests = len(asked)
        # The history can be gone on with: the server judges it.
        again = await geode.run("and?", model=model, tools=[t1], conversation=outcome.conversation)

    assert isinstance(outcome, geode.Answered), outcome
    assert (len(ran), requests, outcome.value) == (runs, 1 + runs, {"a": 1 + runs})
    (told,) = [turn.results[0] for turn in outcome.conversation.turns if isinstance(turn, ToolResultsTurn)]
    assert (told.call_id, told.kind, "not executed" in told.text) == ("a", "ok" if runs else "interrupted", not runs)
    assert again.text == "on"


async def test_so_08_a_refusal_is_looked_for_before_the_answer_is_read() -> None:
    body = completion(finish="stop", refusal="I can't", content=None)
    async with answering("chat", body, body) as (model, asked):
        outcome = await geode.run("go", model=model, answer={"type": "object"})
        requests = len(asked)
        async with geode.Runtime(model=model) as runtime:
            beside = await runtime.ask("go", response_schema={"type": "object"})

    assert isinstance(outcome, geode.Refused), outcome
    assert (outcome.reason, outcome.text, requests) == ("model_refusal", "I can't", 1)
    assert isinstance(beside.typed, Declined)
    assert (beside.typed.text, len(asked)) == ("I can't", 2)
