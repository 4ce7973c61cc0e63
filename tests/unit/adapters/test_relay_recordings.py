"""Every recorded exchange of OpenRouter and of Z.ai: its request is accepted, its answer read, charge and route as recorded.

What is recorded is read here by itself; nothing of the adapters takes part in that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import httpx2
import pytest

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.answer import read_answer
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Opaque, Owner
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.targets import DialectName
from geode.entrypoints.emulator import check
from tests.recordings import needs_recordings, recorded
from tests.unit.adapters.answers import STREAM, WHOLE, Json, events_of

pytestmark = needs_recordings

HOSTS: dict[str, DialectName] = {"openrouter.ai": "openrouter", "api.z.ai": "glm"}
ME = Owner("recorded", "m")


@cache
def exchanges() -> tuple[Json, ...]:
    """Those of the wire that geode speaks with them."""
    return tuple(one for one in recorded(("chat",)) if one["host"] in HOSTS)


@cache
def of_responses() -> tuple[Json, ...]:
    """OpenRouter's of the other wire that it speaks."""
    return tuple(one for one in recorded(("responses",)) if one["host"] == "openrouter.ai")


def read(one: Json) -> Any:
    """What the adapter makes of the answer."""
    streamed = "sse" in one
    wire = ResponsesWire() if one["protocol"] == "responses" else ChatWire(DIALECTS[HOSTS[one["host"]]])
    kind = "text/event-stream" if streamed else "application/json"
    sent = one["sse"].encode() if streamed else json.dumps(one["response"], ensure_ascii=False).encode()
    response = httpx2.Response(one["status"], headers={"content-type": kind})
    return read_answer(wire, response, [sent], ME, streamed=streamed)


def chunks(one: Json) -> Iterator[Json]:
    yield from events_of(one["sse"])


def last(one: Json, name: str) -> Any:
    """What the answer says of itself under `name`: the last chunk of a stream that says anything."""
    if "sse" not in one:
        return one["response"].get(name)
    return next((found for chunk in reversed(list(chunks(one))) if (found := chunk.get(name)) is not None), None)


def broke(one: Json) -> Json | None:
    """The error that the answer is, or ends in."""
    error: Json | None = last(one, "error")
    return error


def answered() -> list[Json]:
    return [one for one in exchanges() if broke(one) is None]


def test_there_are_as_many_as_were_recorded() -> None:
    hosts = [one["host"] for one in exchanges()]
    assert (hosts.count("openrouter.ai"), hosts.count("api.z.ai")) == (47, 5)
    assert len(answered()) == 48
    assert len(of_responses()) == 2


def test_every_request_that_was_taken_is_accepted() -> None:
    refused = [(one["id"], found) for one in answered() if (found := check("chat", one["request"], HOSTS[one["host"]])) != ()]
    assert refused == []


@pytest.mark.parametrize("host", HOSTS)
def test_every_answer_says_what_was_recorded(host: str) -> None:
    for one in answered():
        if one["host"] != host:
            continue
        seen = STREAM["chat"](chunks(one)) if "sse" in one else WHOLE["chat"](one["response"])
        found = read(one).unwrap()
        calls = [(call.id, call.name, call.input) for call in found.calls]
        assert (found.text, calls) == (seen.text, seen.calls), one["id"]
        assert (found.usage.input_tokens, found.usage.output_tokens) == seen.tokens, one["id"]


def test_the_charge_is_what_the_relay_says_it_charged() -> None:
    told = {one["id"]: (last(one, "usage") or {}).get("cost") for one in answered()}
    found = {one["id"]: read(one).unwrap().usage.cost_usd for one in answered()}
    assert found == {id: None if cost is None else Decimal(str(cost)) for id, cost in told.items()}
    assert sum(cost is not None for cost in told.values()) >= 35
    assert sum(cost == 0 for cost in told.values()) >= 2, "some were paid with a key of the caller's own"


def test_the_route_is_the_endpoint_that_served_and_the_model_it_was_asked_for() -> None:
    endpoints = set[str | None]()
    for one in answered():
        endpoint, model = last(one, "provider"), last(one, "model")
        route = read(one).unwrap().route
        own_key = (last(one, "usage") or {}).get("is_byok") is True
        wanted = model if endpoint is None else f"{endpoint}: {model}"
        assert route == (f"{wanted} (your own key)" if own_key else wanted), one["id"]
        endpoints.add(endpoint)
    assert endpoints >= {"Amazon Bedrock", "Anthropic", "Google", "OpenAI", "Google AI Studio", None}


def test_the_word_for_the_end_is_the_endpoint_s_own() -> None:
    words = set[str]()
    for one in answered():
        choices = [choice for body in (chunks(one) if "sse" in one else [one["response"]]) for choice in body["choices"]]
        native = [choice.get("native_finish_reason") for choice in choices if choice.get("finish_reason")]
        plain = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
        assert read(one).unwrap().stop_word == (native[-1] or plain[-1]), one["id"]
        words.add(native[-1] or plain[-1])
    assert words >= {"end_turn", "completed", "STOP", "MAX_TOKENS", "tool_calls", "length"}


def test_reasoning_is_kept_whole_and_once() -> None:
    kept = 0
    for one in answered():
        if "sse" in one:
            continue
        message = one["response"]["choices"][0]["message"]
        found = [item for item in read(one).unwrap().items if isinstance(item, Opaque)]
        own = next((name for name in ("reasoning_details", "reasoning_content", "reasoning") if message.get(name)), None)
        assert [item.kind for item in found] == ([own] if own else []), one["id"]
        if own:
            kept += 1
            assert json.loads(found[0].json_text) == message[own], one["id"]
            assert found[0].json_text == json.dumps(message[own], ensure_ascii=False, separators=(",", ":"))
    assert kept >= 10


def test_every_failure_is_of_its_class_and_names_who_failed() -> None:
    found = {}
    for one in exchanges():
        error = broke(one)
        if error is None:
            continue
        failure = read(one).failure()
        found[one["id"]] = classify_retry_error(failure)
        metadata = error.get("metadata") or {}
        assert all(said in failure.message for said in (error["message"], metadata.get("provider_name", ""))), failure
        assert metadata.get("raw", "")[:100] in failure.message
    assert sorted(found.values(), key=lambda kind: kind.value) == [
        *[FailureClass.RATE_LIMIT] * 3,
        FailureClass.REQUEST_FATAL,
    ]


def test_on_the_other_wire_the_charge_is_what_the_relay_says_too() -> None:
    """The first one filled the cache, the second one was read from it."""
    found = list[Any]()
    for one in of_responses():
        assert check("responses", one["request"], "openrouter") == (), one["id"]
        seen, reply = WHOLE["responses"](one["response"]), read(one).unwrap()
        calls = [(call.id, call.name, call.input) for call in reply.calls]
        assert (reply.text, calls) == (seen.text, seen.calls) == ("OK", []), one["id"]
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == seen.tokens == (4020, 5), one["id"]
        assert reply.usage.cost_usd == Decimal(str(one["response"]["usage"]["cost"]))
        found.append((reply.usage.cost_usd, reply.usage.cache_write_input_tokens, reply.usage.cached_input_tokens))
    assert found == [(Decimal("0.025265"), 4012, 0), (Decimal("0.002196"), 0, 4012)]
