"""Recorded answers of real servers are read as they say: text, calls and tokens, against a reading of its own.

The recordings are other people's data and stay outside the project; without them this is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from returns.result import Failure, Result

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.facts import error_in_body, failure_of_response
from geode.adapters.http_json.json_bytes import read_object
from geode.adapters.http_json.sse import EventSplitter
from geode.adapters.http_json.wire import Body, Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Owner
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.reply import AdapterCallResult
from tests.recordings import needs_recordings, recorded
from tests.unit.adapters.answers import STREAM, WHOLE, Json, Seen, events_of

WIRES: Mapping[str, Wire] = {
    "messages": MessagesWire(),
    "responses": ResponsesWire(),
    "chat": ChatWire(DIALECTS["generic"]),
}
ME = Owner("recorded", "model")

pytestmark = needs_recordings


# ---- the adapters' reading -----------------------------------------------------------------------


def _decoded(wire: Wire, body: Json) -> Result[AdapterCallResult, CallFailure]:
    """As the adapter over HTTP does it: an error inside a 200 is a failure."""
    if body.get("error"):
        return Failure(error_in_body(body, ""))
    return wire.decode(Body(body, ""), ME)


def _streamed(wire: Wire, sse: str) -> Result[AdapterCallResult, CallFailure] | None:
    splitter, stream = EventSplitter(), wire.accumulator()
    data = sse.encode()
    for event in (*splitter.feed(data), *splitter.end()):
        if event != b"[DONE]" and not stream.over:
            found = read_object(event)
            assert found is not None, event
            list(stream.feed(found))
    return _decoded(wire, stream.body()) if stream.complete else None


def _seen(reply: AdapterCallResult) -> Seen:
    calls = [(call.id, call.name, call.input if call.unparsed is None else call.unparsed) for call in reply.calls]
    return Seen(reply.text, calls, (reply.usage.input_tokens, reply.usage.output_tokens))


@pytest.mark.parametrize(("protocol", "least"), [("messages", 190), ("responses", 185), ("chat", 300)])
def test_whole_answers(protocol: str, least: int) -> None:
    judged, wrong = 0, list[tuple[str, Any, Any]]()
    for exchange in recorded([protocol]):
        if exchange["status"] != 200 or "sse" in exchange:
            continue
        judged += 1
        answer = _decoded(WIRES[protocol], exchange["response"])
        failure = answer.swap().value_or(None)
        found, wanted = failure or _seen(answer.unwrap()), WHOLE[protocol](exchange["response"])
        if found != wanted:
            wrong.append((exchange["id"], found, wanted))

    assert judged >= least
    assert wrong == []


@pytest.mark.parametrize(("protocol", "least"), [("messages", 9), ("responses", 21), ("chat", 45)])
def test_streams(protocol: str, least: int) -> None:
    judged, wrong = 0, list[tuple[str, Any, Any]]()
    for exchange in recorded([protocol]):
        if exchange["status"] != 200 or "sse" not in exchange:
            continue
        judged += 1
        answer = _streamed(WIRES[protocol], exchange["sse"])
        if answer is None:
            wrong.append((exchange["id"], "is not complete", ""))
            continue
        failure = answer.swap().value_or(None)
        if failure is not None:
            said = next(
                (event for event in events_of(exchange["sse"]) if event.get("error") or event.get("type") == "error"), {}
            )
            if not said or failure.message == "":
                wrong.append((exchange["id"], failure, said))
            continue
        found, wanted = _seen(answer.unwrap()), STREAM[protocol](events_of(exchange["sse"]))
        if found != wanted:
            wrong.append((exchange["id"], found, wanted))

    assert judged >= least
    assert wrong == []


@pytest.mark.parametrize("protocol", ["messages", "responses", "chat"])
def test_refusals_have_the_server_s_own_words(protocol: str) -> None:
    for exchange in recorded([protocol]):
        if exchange["status"] == 200:
            continue
        content = json.dumps(exchange["response"]).encode()
        failure = failure_of_response(
            httpx2.Response(exchange["status"], headers=exchange["headers"], content=content), content
        )
        error = exchange["response"].get("error", exchange["response"])
        message = error["message"] if isinstance(error, dict) else error
        assert message in failure.message
        assert failure.status == exchange["status"]
        assert classify_retry_error(failure) is not FailureClass.UNKNOWN
