"""Messages streams, in all the forms in which servers and proxies send them (wire facts D1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.domain.content import Opaque
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.reply import Stop
from geode.ports.model import CallPart
from tests.unit.adapters.streams import Event, decode, feed, kinds

WIRE = MessagesWire()


def start(**usage: int) -> Event:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
    }
    return {"type": "message_start", "message": {**message, "usage": {"input_tokens": 10, "output_tokens": 1, **usage}}}


def block(index: int | None, block: dict[str, Any], *deltas: dict[str, Any]) -> list[Event]:
    place = {} if index is None else {"index": index}
    return [
        {"type": "content_block_start", **place, "content_block": block},
        *({"type": "content_block_delta", **place, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **place},
    ]


def text(index: int | None, *pieces: str) -> list[Event]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(index: int | None, id: str, *pieces: str, input: Any = None) -> list[Event]:
    opened = {"type": "tool_use", "id": id, "name": "read", "input": input or {}}
    return block(index, opened, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def end(reason: str | None = "end_turn", **usage: int) -> list[Event]:
    delta = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    return [delta, {"type": "message_stop"}]


PING: Event = {"type": "ping"}
THOUGHT = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "hm "},
    {"type": "thinking_delta", "thinking": "ü"},
    {"type": "signature_delta", "signature": "SIG"},
)
WHOLE = [
    start(),
    PING,
    *THOUGHT,
    *text(1, "Two ", "files."),
    *call(2, "toolu_a", "", '{"path"', ': "a"}'),
    *call(3, "toolu_b", '{"path": "b"}'),
    *end("tool_use", output_tokens=42),
]


def test_a_whole_stream() -> None:
    fed = feed(WIRE, WHOLE)

    assert kinds(fed.reply) == ["thinking", "text", "call", "call"]
    thought = fed.reply.items[0]
    assert isinstance(thought, Opaque)
    assert json.loads(thought.json_text) == {"type": "thinking", "thinking": "hm ü", "signature": "SIG"}
    assert fed.reply.text == "Two files."
    assert fed.calls == [("toolu_a", "read", {"path": "a"}), ("toolu_b", "read", {"path": "b"})]
    assert (fed.reply.stop, fed.reply.usage.input_tokens, fed.reply.usage.output_tokens) == (Stop.TOOL_CALLS, 10, 42)
    assert fed.shown == ("Two files.", "hm ü", {2: '{"path": "a"}', 3: '{"path": "b"}'})


@pytest.mark.parametrize("kept", range(len(WHOLE)))
def test_a_stream_that_is_cut_anywhere_is_not_complete(kept: int) -> None:
    assert not feed(WIRE, WHOLE[:kept]).stream.complete


@pytest.mark.parametrize("at", range(len(WHOLE)))
@pytest.mark.parametrize(
    ("event", "kind", "judged"),
    [
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded_error",
            FailureClass.SERVER,
        ),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "m"}}, "rate_limit_error", FailureClass.RATE_LIMIT),
        ({"type": "error"}, "", FailureClass.UNKNOWN),
        ({"type": "error", "error": "just words"}, "", FailureClass.UNKNOWN),
    ],
)
def test_an_error_event_anywhere_is_a_failure(at: int, event: Event, kind: str, judged: FailureClass) -> None:
    fed = feed(WIRE, [*WHOLE[:at], event, *WHOLE[at:]])

    assert (fed.failure.error_type, fed.failure.status) == (kind, 200)
    assert classify_retry_error(fed.failure) is judged


def test_usage_comes_as_snapshots_and_is_never_added_up() -> None:
    """ST-06: the last value of a field holds, a field that is left out keeps its value."""
    snapshots: list[Event] = [
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 8}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
            "input_tokens": 30, "cache_creation_input_tokens": 5000, "cache_read_input_tokens": None, "output_tokens": 20,
        }},
        {"type": "message_stop"},
    ]  # fmt: skip
    opening = start(input_tokens=30, cache_creation_input_tokens=5000, cache_read_input_tokens=7, output_tokens=1)
    usage = feed(WIRE, [opening, *text(0, "x"), *snapshots]).reply.usage

    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (5037, 7, 20)


def test_a_word_that_was_said_is_not_taken_back() -> None:
    later: Event = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 9}}
    reply = feed(WIRE, [start(), *text(0, "x"), end("max_tokens")[0], later, {"type": "message_stop"}]).reply

    assert (reply.stop, reply.usage.output_tokens) == (Stop.MAX_TOKENS, 9)


def test_fragments_of_several_blocks_may_be_mixed() -> None:
    first, second = call(0, "a", '{"path":', '"1"}'), call(1, "b", '{"path":', '"2"}')
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]

    assert feed(WIRE, [start(), *mixed, *end("tool_use")]).calls == [("a", "read", {"path": "1"}), ("b", "read", {"path": "2"})]


@pytest.mark.parametrize(
    ("pieces", "given", "input"),
    [
        ([], None, {}),
        ([""], None, {}),
        ([], {"path": "at once"}, {"path": "at once"}),
        ([""], {"path": "at once"}, {"path": "at once"}),
        (['{"path": "burst"}'], None, {"path": "burst"}),
        (['{"path": "a'], None, '{"path": "a'),
        (["[1,2]"], None, "[1,2]"),
        (['"{\\"x\\":1}"'], None, {"x": 1}),
        (['{"a":"x\ny"}'], None, {"a": "x\ny"}),
        (["   "], None, {}),
        (["null"], None, {}),
        ([{"x": 1}], None, {"x": 1}),
    ],
)
def test_arguments_in_every_form(pieces: list[Any], given: Any, input: Any) -> None:
    assert feed(WIRE, [start(), *call(0, "a", *pieces, input=given), *end("tool_use")]).calls == [("a", "read", input)]


def test_places_may_be_missing_or_have_gaps() -> None:
    missing = feed(WIRE, [start(), *text(None, "one"), *call(None, "a", '{"x":', "1}"), *call(None, "b"), *end("tool_use")])
    gaps = feed(WIRE, [start(), *text(3, "one"), *call(7, "a", '{"x":1}'), *end("tool_use")])

    assert (missing.reply.text, missing.calls) == ("one", [("a", "read", {"x": 1}), ("b", "read", {})])
    assert (gaps.reply.text, gaps.calls) == ("one", [("a", "read", {"x": 1})])


@pytest.mark.parametrize("id", [None, "", 5])
def test_a_call_without_an_id_is_a_call(id: Any) -> None:
    assert feed(WIRE, [start(), *call(0, id, '{"x":1}'), *end("tool_use")]).calls == [("", "read", {"x": 1})]


def test_a_block_that_was_not_opened_is_what_its_deltas_say() -> None:
    deltas: list[Event] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "said"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'}},
    ]
    fed = feed(WIRE, [start(), *deltas, *end()])

    assert (fed.reply.text, fed.calls) == ("said", [("", "", {"x": 1})])


def test_what_is_unknown_is_passed_over() -> None:
    unknown: list[Event] = [
        {"type": "new_event", "index": 0},
        {},
        {"type": 5},
        PING,
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta", "text": "no"}},
        {"type": "content_block_delta", "index": 0},
    ]
    fed = feed(WIRE, [start(), *unknown, text(0, "a")[0], *unknown, *text(0, "yes")[1:], *unknown, *end()])

    assert fed.reply.text == "yes"


def test_blocks_of_the_server_are_kept_for_their_owner() -> None:
    web = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    search = block(0, web, {"type": "input_json_delta", "partial_json": '{"query": "ü"}'})
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web_search_result", "url": "u"}]}
    cited = block(
        2,
        {"type": "text", "text": "", "citations": []},
        {"type": "citations_delta", "citation": {"url": "u"}},
        {"type": "text_delta", "text": "It is."},
    )
    fed = feed(WIRE, [start(), *search, *block(1, found), *cited, *end()])
    reply = fed.reply

    assert kinds(reply) == ["server_tool_use", "web_search_tool_result", "text"]
    assert reply.text == "It is."
    called, result = reply.items[:2]
    assert isinstance(called, Opaque)
    assert isinstance(result, Opaque)
    # As it would stand in the whole answer: the server takes back no text in the place of its own arguments.
    assert json.loads(called.json_text) == {**web, "input": {"query": "ü"}}
    assert json.loads(result.json_text) == found
    assert not any(isinstance(delta, CallPart) for delta in fed.deltas), "it is no call of the client's"


def test_arguments_of_a_server_that_did_not_finish_them_are_none() -> None:
    web = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    search = block(0, web, {"type": "input_json_delta", "partial_json": '{"query": '})
    (called,) = feed(WIRE, [start(), *search, *end()]).reply.items

    assert isinstance(called, Opaque)
    assert json.loads(called.json_text) == web


def test_streamed_is_what_the_whole_answer_says() -> None:
    body = {
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "hm ü", "signature": "SIG"},
            {"type": "text", "text": "Two files."},
            {"type": "tool_use", "id": "toolu_a", "name": "read", "input": {"path": "a"}},
            {"type": "tool_use", "id": "toolu_b", "name": "read", "input": {"path": "b"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "output_tokens": 42},
    }
    assert feed(WIRE, WHOLE).reply == decode(WIRE, body).unwrap()


def test_a_place_that_is_given_twice_is_two_blocks() -> None:
    first, second = call(0, "a", '{"x":', "1}"), call(0, "b", '{"x":2}')
    wanted = [("a", "read", {"x": 1}), ("b", "read", {"x": 2})]

    open_still = feed(WIRE, [start(), *first[:-1], *second, *end("tool_use")])
    closed = feed(WIRE, [start(), *text(0, "one"), *first, *second, *text(1, "two"), *end("tool_use")])

    assert open_still.calls == closed.calls == wanted
    assert closed.reply.text == "onetwo"
    assert open_still.shown[2] == {0: '{"x":1}', 1: '{"x":2}'}


@pytest.mark.parametrize("citations", [None, 5, "x", {"a": 1}])
def test_citations_may_begin_as_anything(citations: Any) -> None:
    opened = {"type": "text", "text": "", "citations": citations}
    cited: list[dict[str, Any]] = [
        {"type": "citations_delta", "citation": {"url": "u"}},
        {"type": "text_delta", "text": "It is."},
    ]
    assert feed(WIRE, [start(), *block(0, opened, *cited), *end()]).reply.text == "It is."


@pytest.mark.parametrize(
    ("message", "judged"),
    [
        ("Your credit balance is too low to access the API", FailureClass.BILLING),
        ("prompt is too long: 9 > 8", FailureClass.CONTEXT_OVERFLOW),
        ("messages: wrong", FailureClass.REQUEST_FATAL),
    ],
)
def test_an_error_event_is_judged_as_the_same_words_in_a_400(message: str, judged: FailureClass) -> None:
    event: Event = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    assert classify_retry_error(feed(WIRE, [start(), event]).failure) is judged
