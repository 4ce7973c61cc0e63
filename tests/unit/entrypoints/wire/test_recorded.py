"""Recorded traffic through `geode wire`: what is taken is accepted, answers say what they say, requests move and come back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from geode.entrypoints.emulator import laws
from geode.entrypoints.wire.checking import checked
from geode.entrypoints.wire.decoding import decoded
from geode.entrypoints.wire.exchange import Exchange, read_exchange
from geode.entrypoints.wire.transcoding import Target, transcoded
from tests.recordings import needs_recordings, recorded
from tests.unit.adapters.answers import STREAM, WHOLE, Json, Seen, events_of
from tests.unit.entrypoints.wire.views import View, view

pytestmark = needs_recordings

TARGETS = (
    Target("messages", "anthropic"),
    Target("responses", "openai"),
    Target("chat", "openai"),
    Target("chat", "openrouter"),
    Target("chat", "glm"),
    Target("chat", "generic"),
)
# What may stay behind when a request moves.
STAYS_BEHIND = {"server_tool", "opaque", "media", "file_id", "sampling"}


@cache
def exchanges() -> tuple[tuple[Exchange, dict[str, Any]], ...]:
    return tuple((read_exchange(json.dumps(one).encode()), one) for one in recorded())


def _failed(one: Json) -> bool:
    return one["status"] != 200 or "event: error" in one.get("sse", "") or '"error":{' in one.get("sse", "")


# ---- check ---------------------------------------------------------------------------------------


def test_what_the_server_took_is_accepted() -> None:
    taken = [exchange for exchange, one in exchanges() if not _failed(one)]
    refused = [shown for exchange in taken if not (shown := checked(exchange))["accepted"]]

    assert len(taken) > 750
    assert refused == []


# ---- decode --------------------------------------------------------------------------------------

# Words that mean the same everywhere are not here: an answer with calls that ends well stopped for them.
STOPS = {"max_tokens": "max_tokens", "length": "max_tokens", "max_output_tokens": "max_tokens", "refusal": "refusal"}
STOPS |= {"pause_turn": "pause", "content_filter": "content_filter", "model_context_window_exceeded": "context_exceeded"}
STOPS |= {"end_turn": "end", "stop_sequence": "end", "stop": "end", "tool_use": "tool_calls", "tool_calls": "tool_calls"}


def _said(one: Json) -> tuple[Seen, str]:
    protocol = one["protocol"]
    if "sse" not in one:
        return WHOLE[protocol](one["response"]), _stop(protocol, one["response"])
    last: dict[str, Any] = {}
    for event in events_of(one["sse"]):
        match protocol:
            case "messages":
                last |= event.get("delta") or {} if event["type"] == "message_delta" else {}
            case "responses":
                last |= event.get("response") or {}
            case _:
                last |= (
                    {"choices": event["choices"]} if any(it.get("finish_reason") for it in event.get("choices") or ()) else {}
                )
    return STREAM[protocol](events_of(one["sse"])), _stop(protocol, last)


def _stop(protocol: str, body: Json) -> str:
    """The word for why it stopped, in geode's words."""
    if protocol == "messages":
        return STOPS[body["stop_reason"]]
    if protocol == "chat":
        choice = body["choices"][0]
        return "refusal" if (choice.get("message") or {}).get("refusal") else STOPS.get(choice["finish_reason"], "unknown")
    parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
    if any(part["type"] == "refusal" for part in parts):
        return "refusal"
    if body["status"] == "incomplete":
        return STOPS[body["incomplete_details"]["reason"]]
    if body["status"] != "completed":
        return "unknown"
    return "tool_calls" if any(item["type"] == "function_call" for item in body["output"]) else "end"


def _found(shown: Json) -> Seen:
    calls = [(call["id"], call["name"], call.get("unparsed", call["input"])) for call in shown["calls"]]
    return Seen(shown["text"], calls, (shown["usage"]["input_tokens"], shown["usage"]["output_tokens"]))


def test_every_answer_says_what_a_reading_of_its_own_says() -> None:
    judged, wrong = 0, list[Any]()
    for exchange, one in exchanges():
        if _failed(one):
            continue
        judged += 1
        shown, (seen, stop) = decoded(exchange), _said(one)
        # A call without an id gets one.
        seen.calls = [(id or f"call_g0_{place}", name, input) for place, (id, name, input) in enumerate(seen.calls)]
        if shown["failure"] or (_found(shown), shown["stop"]) != (seen, stop):
            wrong.append((exchange.id, shown, seen, stop))

    assert judged > 750
    assert wrong == []


# The classes of section 7 by status; the exceptions are failures that a stream told after it had begun.
BY_STATUS = {400: "request_fatal", 404: "other_client", 429: "rate_limit"}
IN_A_STREAM = {
    "f8a160dd5a": "request_fatal",  # only thoughts had been shown
    "6789c39e4f": "stream_interrupted",  # a word of the answer had been shown
    "10d08fc4f4": "request_fatal",  # its code is 400
}


def test_every_failure_is_of_the_class_that_the_specification_says() -> None:
    found, wanted = dict[str, Any](), dict[str, Any]()
    for exchange, one in exchanges():
        if not _failed(one):
            continue
        failure = decoded(exchange)["failure"]
        found[exchange.id] = failure and (failure["kind"], failure["status"], failure["retryable"])
        kind = IN_A_STREAM.get(exchange.id) or BY_STATUS[one["status"]]
        wanted[exchange.id] = (kind, one["status"], kind == "rate_limit")

    assert len(wanted) >= 20
    assert found == wanted


# ---- transcode -----------------------------------------------------------------------------------


def _with_tools() -> Iterator[Exchange]:
    for exchange, one in exchanges():
        if one["request"].get("tools"):
            yield exchange


def _again(shown: Json) -> Exchange:
    return read_exchange(json.dumps(shown).encode())


def _worded(shown: Json) -> bool:
    """Whether media became words, as the target or its model has no form for them."""
    return any(note["kind"] == "media" and "becomes words" in note["message"] for note in shown["notes"])


def _without_media(one: View) -> View:
    rounds: list[Any] = [
        (text, calls, [(number, failed) for number, (failed, _, _) in results], "", [])
        for text, calls, results, _, _ in one.rounds
    ]
    return View(one.system, rounds, one.tools, one.choice)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.protocol}:{target.dialect}")
def test_a_request_with_tools_moves_and_comes_back(target: Target) -> None:
    moved, worded, wrong = 0, 0, list[Any]()
    kinds = Counter[str]()
    for exchange in _with_tools():
        moved += 1
        there = transcoded(exchange, target)
        back = transcoded(_again(there), Target(exchange.protocol, exchange.dialect))
        kinds.update(note["kind"] for note in there["notes"])
        violations = [*checked(_again(there))["violations"], *laws(target.protocol, there["request"])]
        before = view(exchange.protocol, exchange.object("request"))
        after = [view(target.protocol, there["request"]), view(exchange.protocol, back["request"])]
        if _worded(there) or _worded(back):
            worded += 1
            before, after = _without_media(before), [_without_media(one) for one in after]
        if violations or any(one != before for one in after):
            wrong.append((exchange.protocol, exchange.id, violations, before, after))

    assert wrong == []
    assert moved > 500
    assert worded <= 25
    assert set(kinds) <= STAYS_BEHIND


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.protocol}:{target.dialect}")
def test_any_recorded_request_moves(target: Target) -> None:
    """Without tools too: what is written of a request that was taken is taken, and the laws hold."""
    refused = [
        (exchange.id, found)
        for exchange, one in exchanges()
        if not _failed(one)
        if (found := checked(_again(there := transcoded(exchange, target)))["violations"])
        or laws(target.protocol, there["request"])
    ]
    assert refused == []


def test_to_its_own_wire_goes_what_only_its_maker_understands() -> None:
    """Byte for byte: signed thinking, encrypted reasoning."""
    kept = 0
    for exchange, one in exchanges():
        if exchange.protocol != "messages":
            continue
        sent = _blocks(one["request"])
        back = _blocks(transcoded(exchange, Target("messages", exchange.dialect))["request"])
        assert [json.dumps(block) for block in back] == [json.dumps(block) for block in sent], exchange.id
        kept += len(sent)
    assert kept >= 9


def _blocks(body: Mapping[str, Any]) -> list[Any]:
    contents = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]
