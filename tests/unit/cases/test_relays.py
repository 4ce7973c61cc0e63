"""Kinds of answers of relays that were misread, each with the id of its case."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import geode
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.model import chat_model, with_quirks
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.clock_manual import ManualClock
from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.choice import Auto
from geode.domain.conversation import Conversation
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.negotiation import negotiate
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest
from geode.domain.targets import DialectName, Quirks
from geode.entrypoints.emulator import Protocol
from geode.entrypoints.routes.capabilities import capabilities_of
from tests.unit.application.rig import loop_of
from tests.unit.cases.server import Json, refused, reply, sent
from tests.unit.cases.turns import ME, T1, Counted, user


async def answered_so(status: int, body: Json, *, tools: bool = False) -> tuple[geode.Outcome, int]:
    """The outcome of a run whose server always answers so, and how often it was asked."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(status, json=body)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        model = chat_model("lab", Endpoint("http://lab.test", "the test"), http, dialect="openrouter")
        given = [Counted().tool] if tools else []
        outcome = await loop_of(model=model, clock=ManualClock(), policy=Policy(), tools=given).run("go")
    return outcome, len(asked)


async def test_cf_10_an_error_in_the_body_of_a_200_is_looked_for_before_choices() -> None:
    error = {
        "code": 429,
        "message": "Provider returned error",
        "metadata": {"provider_name": "Google", "raw": "Too Many Requests"},
    }
    outcome, requests = await answered_so(200, {"choices": None, "error": error})

    assert isinstance(outcome, geode.Failed)
    assert outcome.failure is not None
    assert classify_retry_error(outcome.failure) is FailureClass.RATE_LIMIT
    assert requests == 3, "it may pass by itself"
    assert all(said in outcome.why for said in ("Provider returned error", "Google", "Too Many Requests"))


async def test_cf_12_metadata_that_nobody_reads_makes_no_answer_unusable() -> None:
    body = {
        "id": None,
        "service_tier": "standard",
        "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    }
    found = await reply("chat", body, "openrouter")
    assert (found.text, found.stop.value) == ("hi", "end")

    nothing: Json = {"provider": None, "model": 7, "usage": None, "created": "x", "openrouter_metadata": []}
    assert (await reply("chat", {**body, **nothing}, "openrouter")).text == "hi"


@pytest.mark.parametrize("code", [{}, {"code": 404}])
async def test_cf_13_a_route_without_tools_is_no_missing_page(code: Json) -> None:
    body = {"error": {"message": "No endpoints found that support tool use", **code}}
    outcome, requests = await answered_so(404, body, tools=True)

    assert isinstance(outcome, geode.Failed)
    assert outcome.failure is not None
    assert classify_retry_error(outcome.failure) is FailureClass.REQUEST_FATAL
    assert requests == 1
    assert "The model, or the route that the options allow to it, lacks tool support" in outcome.why


ANSWER: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
SCHEMED: list[tuple[Protocol, DialectName]] = [("chat", "openai"), ("chat", "openrouter")]


@pytest.mark.parametrize(("protocol", "dialect"), SCHEMED)
@pytest.mark.parametrize("tools", [(), (T1,)])
def test_so_07_a_schema_goes_out_beside_tools_too(protocol: Protocol, dialect: DialectName, tools: tuple[Any, ...]) -> None:
    request = AdapterCallRequest("m", Conversation((user("go"),)), tools=tools, tool_choice=Auto(), response_schema=ANSWER)
    body = sent(protocol, request, dialect)

    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "response", "strict": False, "schema": ANSWER},
    }
    assert ("tools" in body) == bool(tools)


def test_so_07_a_server_that_is_said_to_take_one_is_sent_it() -> None:
    quirks = Quirks(response_schema=True)
    request = AdapterCallRequest("m", Conversation((user("go"),)), tools=(T1,), response_schema=ANSWER)
    able = with_quirks(capabilities_of("chat"), quirks)
    agreed = negotiate("lab", request, able).unwrap().request
    body = json.loads(ChatWire(DIALECTS["generic"].with_quirks(quirks)).encode(agreed, ME))
    assert body["response_format"]["json_schema"]["schema"] == ANSWER


@pytest.mark.parametrize("dialect", ["glm", "generic"])
@pytest.mark.parametrize("tools", [(), (T1,)])
def test_so_07_a_server_that_takes_none_is_refused_here(dialect: DialectName, tools: tuple[Any, ...]) -> None:
    request = AdapterCallRequest("m", Conversation((user("go"),)), tools=tools, response_schema=ANSWER)
    assert "cannot be given a response_schema here" in refused("chat", request, dialect)
