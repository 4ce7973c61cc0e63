"""Every failure that a provider documents, through the real SDK to the class it belongs to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from geode.adapters.anthropic_messages.model import messages_model
from geode.adapters.chat_completions.model import chat_model
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.model import HttpModel
from geode.adapters.openai_responses.model import responses_model
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.failures import RETRYABLE, CallFailure, FailureClass, classify_retry_error
from geode.domain.quota import Quota
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import UserTurn
from geode.ports.model import Delta
from tests.unit.adapters.failures import GLM, STREAMED, WHOLE, Sent


@asynccontextmanager
async def answering(sent: Sent) -> AsyncIterator[tuple[HttpModel, list[httpx2.Request]]]:
    """The adapter of the wire, whose server always answers so; and what it was sent."""
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if isinstance(sent.body, list):
            events = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in sent.body)
            return httpx2.Response(200, headers={"content-type": "text/event-stream", **sent.headers}, content=events)
        return httpx2.Response(sent.status, headers=dict(sent.headers), json=sent.body)

    endpoint = Endpoint("http://lab.test", "the test", subscription=sent.subscription)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        match sent.wire:
            case "messages":
                yield messages_model("lab", endpoint, http), seen
            case "responses":
                yield responses_model("lab", endpoint, http), seen
            case "chat":
                yield chat_model("lab", endpoint, http, dialect=sent.dialect), seen


async def failure_of(sent: Sent, *, streamed: bool) -> CallFailure:
    shown: list[Delta] = []

    async def emit(delta: Delta) -> None:
        shown.append(delta)

    request = AdapterCallRequest("m", Conversation((UserTurn((Text("go"),)),)), streamed=streamed)
    async with answering(sent) as (adapter, seen):
        failure = (await adapter.acomplete(request, emit)).failure()
    assert len(seen) == 1, "one attempt: retries are geode's"
    assert shown == []
    return failure


def named(sent: Any) -> str:
    return f"{sent.wire}-{sent.dialect}-{sent.status}-{sent.kind.value}" if isinstance(sent, Sent) else ""


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("sent", WHOLE, ids=named)
async def test_an_answer_is_classified_as_documented(sent: Sent, streamed: bool) -> None:
    failure = await failure_of(sent, streamed=streamed)
    assert classify_retry_error(failure) is sent.kind, failure
    assert failure.subscription is sent.subscription


@pytest.mark.parametrize("sent", STREAMED, ids=named)
async def test_an_error_inside_a_stream_is_classified_as_documented(sent: Sent) -> None:
    failure = await failure_of(sent, streamed=True)
    assert classify_retry_error(failure) is sent.kind, failure


def test_the_table_has_every_class_that_a_server_can_name_on_every_wire() -> None:
    by_network = {FailureClass.STREAM_INTERRUPTED, FailureClass.CONNECTION, FailureClass.UNKNOWN}
    met = {(sent.wire, sent.kind) for sent in WHOLE}
    everywhere = set(FailureClass) - by_network - {FailureClass.TIMEOUT, FailureClass.CONFLICT}
    assert {(wire, kind) for wire in ("messages", "responses", "chat") for kind in everywhere} <= met
    assert set(FailureClass) - by_network == {sent.kind for sent in WHOLE}
    assert {FailureClass.RATE_LIMIT, FailureClass.SERVER} <= RETRYABLE


# ---- quotas ------------------------------------------------------------------------------------


async def test_a_reset_that_a_plan_tells_in_words_is_in_the_failure() -> None:
    used_up = next(sent for sent in GLM if "reset" in json.dumps(sent.body))
    assert (await failure_of(used_up, streamed=False)).quota == (Quota("plan", reset="2026-11-30 18:00:00"),)


async def test_limits_in_the_headers_are_in_the_failure() -> None:
    sent = next(sent for sent in WHOLE if sent.wire == "messages" and sent.kind is FailureClass.RATE_LIMIT)
    headers = {"anthropic-ratelimit-requests-limit": "50", "Anthropic-RateLimit-Requests-Remaining": "0"}
    limited = Sent(sent.wire, sent.status, sent.body, sent.kind, sent.source, headers)
    assert (await failure_of(limited, streamed=False)).quota == (Quota("requests", 50, 0),)


@pytest.mark.parametrize("streamed", [False, True])
async def test_limits_are_in_the_usage_of_a_reply(streamed: bool) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    headers = {"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984"}
    sent = Sent("chat", 200, [chunk] if streamed else whole, FailureClass.UNKNOWN, "", headers, "openai")
    request = AdapterCallRequest("m", Conversation((UserTurn((Text("go"),)),)), streamed=streamed)

    async def emit(delta: Delta) -> None:
        """Nobody reads along."""

    async with answering(sent) as (adapter, _):
        reply = (await adapter.acomplete(request, emit)).unwrap()
    assert reply.usage.quota == (Quota("tokens", 150_000, 149_984),)
