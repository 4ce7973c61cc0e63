"""What calls cost and was miscounted, over the adapters as they are, each with the id of its case."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import httpx2
import pytest

import geode
from geode.adapters.anthropic_messages.model import messages_model
from geode.adapters.chat_completions.model import chat_model
from geode.adapters.clock_manual import ManualClock
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.model import HttpModel
from geode.adapters.openai_responses.model import responses_model
from geode.application.askable import askable
from geode.application.auxiliary import run_with_retry_policy, text_call
from geode.domain.conversation import Conversation
from geode.domain.policy import Policy
from geode.domain.prices import Price
from geode.domain.usage import Usage
from geode.entrypoints.emulator import Protocol
from geode.events import Finished, ModelFailed, ModelReplied
from tests.unit.application.rig import Recorder, loop_of
from tests.unit.cases.server import Json, called, completion, message, reply, says
from tests.unit.cases.turns import Counted, user

# A body, or the events of a stream, which breaks off after the last one of them.
Answer: TypeAlias = Json | list[Json]


@asynccontextmanager
async def answering(protocol: Protocol, *answers: Answer) -> AsyncIterator[tuple[HttpModel, list[httpx2.Request]]]:
    """An adapter whose server gives each of these answers once, and what it was sent."""
    asked, left = list[httpx2.Request](), list(answers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        match left.pop(0):
            case list(events):
                sent = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
                return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=sent)
            case body:
                return httpx2.Response(200, json=body)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        endpoint = Endpoint("http://lab.test", "the test")
        match protocol:
            case "messages":
                yield messages_model("lab", endpoint, http), asked
            case "responses":
                yield responses_model("lab", endpoint, http), asked
            case "chat":
                yield chat_model("lab", endpoint, http, dialect="openrouter"), asked


# ---- each token has one price ------------------------------------------------------------------------

PRICE: Final = Price(Decimal("0.5"), Decimal(3), Decimal("0.05"), Decimal("0.625"))


@pytest.mark.parametrize(
    ("written", "cost"),
    [
        # (2000 x 0.5 + 8000 x 0.05 + 500 x 3) / 1e6
        (0, "0.0029"),
        # (1000 x 0.5 + 8000 x 0.05 + 1000 x 0.625 + 500 x 3) / 1e6
        (1000, "0.003025"),
    ],
)
async def test_cf_06_what_came_from_the_cache_or_went_to_it_is_not_paid_as_input_once_more(written: int, cost: str) -> None:
    details = {"cached_tokens": 8000, "cache_write_tokens": written}
    usage = {"prompt_tokens": 10_000, "completion_tokens": 500, "total_tokens": 10_500, "prompt_tokens_details": details}
    async with answering("chat", {**says("chat"), "usage": usage}) as (model, _):
        asked = text_call(Conversation((user("go"),)))
        served = await run_with_retry_policy(askable(model, "m", price=PRICE), asked, clock=ManualClock())

    found = served.usage
    assert found.cost_usd == Decimal(cost)
    assert (found.cached_input_tokens, found.cache_write_input_tokens) == (8000, written)
    assert (found.input_tokens, found.total_tokens) == (10_000, 10_500)


# ---- input is all of it, on every wire ----------------------------------------------------------------

TOLD: Final[dict[Protocol, Json]] = {
    "messages": {"input_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 200, "output_tokens": 5},
    "chat": {"prompt_tokens": 1210, "prompt_tokens_details": {"cached_tokens": 1000}, "completion_tokens": 5},
}
BOTH_WIRES = pytest.mark.parametrize("protocol", TOLD)


@BOTH_WIRES
async def test_cf_07_input_is_the_same_in_usage_whatever_a_provider_calls_input(protocol: Protocol) -> None:
    found = (await reply(protocol, {**says(protocol), "usage": TOLD[protocol]})).usage
    assert (found.input_tokens, found.cached_input_tokens, found.output_tokens, found.total_tokens) == (1210, 1000, 5, 1215)


@BOTH_WIRES
@pytest.mark.parametrize(("budget", "requests"), [(2430, 1), (2431, 2)])
async def test_cf_07_a_budget_of_tokens_is_of_all_of_them(protocol: Protocol, budget: int, requests: int) -> None:
    """The next call reads at least what the last one read and wrote: 1215 tokens, and one more to answer with."""
    calling = (
        completion(called()) if protocol == "chat" else message({"type": "tool_use", "id": "a", "name": "t1", "input": {}})
    )
    async with answering(protocol, {**calling, "usage": TOLD[protocol]}, says(protocol)) as (model, asked):
        policy = Policy(max_total_tokens=budget)
        outcome = await loop_of(model=model, clock=ManualClock(), tools=[Counted().tool], policy=policy).run("go")

    assert (outcome.usage.total_tokens, len(asked)) == (1215, requests)
    assert outcome.reason == ("token_budget" if requests == 1 else "natural")


# ---- what came to nothing was paid for too --------------------------------------------------------------

LOST: Final = {"prompt_tokens": 100, "completion_tokens": 7, "cost": 0.25}
SPENT: Final = {"prompt_tokens": 20, "completion_tokens": 3, "cost": 0.5}
DOWN: Final = {"code": 502, "message": "Provider disconnected"}
EMPTY: Final = {"role": "assistant", "content": ""}
DELTA: Final = [{"index": 0, "delta": EMPTY}]
GOOD: Final[dict[Protocol, Answer]] = {
    "chat": {**says("chat"), "usage": SPENT},
    "messages": {**says("messages"), "usage": {"input_tokens": 20, "output_tokens": 3}},
    "responses": {**says("responses"), "usage": {"input_tokens": 20, "output_tokens": 3, "cost": 0.5}},
}


@dataclass(frozen=True)
class Lost:
    """An answer that tells what it took and comes to nothing; `again`: the failure may pass, so it is asked again."""

    protocol: Protocol
    answer: Answer
    again: bool = True


FAILED: Final = {
    "id": "r",
    "status": "failed",
    "error": {"code": "server_error", "message": "x"},
    "output": [],
    "usage": {"input_tokens": 100, "output_tokens": 7, "cost": 0.25},
}
START: Final = {"id": "m", "content": [], "usage": {"input_tokens": 100, "output_tokens": 7}}
OVERLOADED: Final = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
LOSSES: Final[dict[str, Lost]] = {
    "a stream that is cut": Lost("chat", [{"choices": DELTA, "usage": LOST}]),
    "a stream that is cut, Messages": Lost("messages", [{"type": "message_start", "message": START}]),
    "an error chunk after usage": Lost("chat", [{"choices": DELTA, "usage": LOST}, {"error": DOWN}]),
    "an error chunk with usage": Lost("chat", [{"choices": DELTA}, {"error": DOWN, "usage": LOST}]),
    "an error of the choice beside usage": Lost(
        "chat", [{"choices": [{**DELTA[0], "error": DOWN, "finish_reason": "error"}], "usage": LOST}]
    ),
    "an error of the choice, usage after it": Lost(
        "chat", [{"choices": DELTA, "usage": LOST}, {"choices": [{**DELTA[0], "error": DOWN}]}]
    ),
    "an error event after message_start": Lost("messages", [{"type": "message_start", "message": START}, OVERLOADED]),
    "response.failed": Lost("responses", [{"type": "response.failed", "response": FAILED}]),
    "a whole body with an error": Lost("chat", {"choices": None, "error": DOWN, "usage": LOST}),
    "a whole body without choices": Lost("chat", {"choices": [], "usage": LOST}, again=False),
    "a word that says it broke": Lost(
        "chat", {"choices": [{"index": 0, "message": EMPTY, "finish_reason": "error"}], "usage": LOST}, again=False
    ),
    "that word in a stream": Lost("chat", [{"choices": [{**DELTA[0], "finish_reason": "error"}], "usage": LOST}], again=False),
}


@pytest.mark.parametrize("lost", LOSSES.values(), ids=LOSSES)
async def test_cf_09_what_a_failed_attempt_told_counts_and_each_has_its_number(lost: Lost) -> None:
    seen = Recorder()
    async with answering(lost.protocol, lost.answer, GOOD[lost.protocol]) as (model, asked):
        outcome = await outcome_of(model, seen, streamed=isinstance(lost.answer, list))

    charges = {"chat": ("0.25", "0.75"), "responses": ("0.25", "0.75"), "messages": (None, None)}[lost.protocol]
    first, both = (None if one is None else Decimal(one) for one in charges)
    attempts: Sequence[Any] = [(type(event), event.attempt, tokens(event.usage)) for event in told(seen)]
    assert attempts[0] == (ModelFailed, 1, (100, 7))
    if lost.again:
        assert isinstance(outcome, geode.Answered), outcome
        assert attempts[1:] == [(ModelReplied, 2, (20, 3))]
        assert (tokens(outcome.usage), outcome.usage.cost_usd) == ((120, 10), both)
    else:
        assert isinstance(outcome, geode.Failed), outcome
        assert len(attempts) == 1
        assert (tokens(outcome.usage), outcome.usage.cost_usd) == ((100, 7), first)
    assert len(asked) == len(attempts)


async def outcome_of(model: HttpModel, seen: Recorder, *, streamed: bool) -> geode.Outcome:
    loop = loop_of(model=model, clock=ManualClock(), observe=[seen])
    if not streamed:
        return await loop.run("go")
    last = [event async for event in loop.stream("go")][-1]
    assert isinstance(last, Finished)
    return last.outcome


def told(seen: Recorder) -> list[ModelFailed | ModelReplied]:
    return [event for event in seen.events if isinstance(event, ModelFailed | ModelReplied)]


def tokens(usage: Usage | None) -> tuple[int, int] | None:
    return None if usage is None else (usage.input_tokens, usage.output_tokens)
