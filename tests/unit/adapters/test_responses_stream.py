"""Responses streams, in all the forms in which servers send them (wire facts D2)."""

from __future__ import annotations

from typing import Any

import pytest

from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.reply import Stop
from tests.unit.adapters.streams import Event, decode, feed, kinds

WIRE = ResponsesWire()
USAGE = {"input_tokens": 10, "output_tokens": 42}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "BLOB"}


def message(id: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def call(id: str, call_id: str, arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": id, "call_id": call_id, "name": "read", "arguments": arguments}


def added(index: int | None, item: dict[str, Any]) -> Event:
    return {"type": "response.output_item.added", **_at(index), "item": item}


def done(index: int | None, item: dict[str, Any]) -> Event:
    return {"type": "response.output_item.done", **_at(index), "item": item}


def _at(index: int | None) -> dict[str, Any]:
    return {} if index is None else {"output_index": index}


def said(index: int | None, id: str, *pieces: str, kind: str = "output_text") -> list[Event]:
    return [{"type": f"response.{kind}.delta", **_at(index), "item_id": id, "delta": piece} for piece in pieces]


def argued(index: int | None, id: str, *pieces: Any) -> list[Event]:
    return [{"type": "response.function_call_arguments.delta", **_at(index), "item_id": id, "delta": piece} for piece in pieces]


def final(*output: dict[str, Any], status: str = "completed", **more: Any) -> Event:
    return {"type": f"response.{status}", "response": {"status": status, "output": list(output), "usage": USAGE, **more}}


CREATED: Event = {"type": "response.created", "response": {"status": "in_progress", "output": []}}
TEXT, FIRST, SECOND = message("msg_1", "Two files."), call("fc_1", "call_a", '{"path": "a"}'), call("fc_2", "call_b", "{}")
WHOLE = [
    CREATED,
    added(0, {**REASONING, "encrypted_content": "BL"}),
    {"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "delta": "hm"},
    done(0, REASONING),
    added(1, {**TEXT, "content": []}),
    *said(1, "msg_1", "Two ", "files."),
    done(1, TEXT),
    added(2, {**FIRST, "arguments": ""}),
    *argued(2, "fc_1", '{"path"', ': "a"}'),
    done(2, FIRST),
    added(3, {**SECOND, "arguments": ""}),
    *argued(3, "fc_2", "{}"),
    done(3, SECOND),
    final(REASONING, TEXT, FIRST, SECOND),
]
CALLS = [("call_a", "read", {"path": "a"}), ("call_b", "read", {})]


def test_a_whole_stream() -> None:
    fed = feed(WIRE, WHOLE)

    assert kinds(fed.reply) == ["reasoning", "text", "call", "call"]
    assert (fed.reply.text, fed.calls) == ("Two files.", CALLS)
    assert (fed.reply.stop, fed.reply.usage.input_tokens, fed.reply.usage.output_tokens) == (Stop.TOOL_CALLS, 10, 42)
    assert fed.shown == ("Two files.", "hm", {2: '{"path": "a"}', 3: "{}"})


def test_a_last_event_without_output_undoes_nothing() -> None:
    """The reasoning is that of the `done` event: the `added` one was unfinished."""
    assert feed(WIRE, [*WHOLE[:-1], final()]).reply == feed(WIRE, WHOLE).reply


def test_streamed_is_what_the_whole_answer_says() -> None:
    body = {"status": "completed", "output": [REASONING, TEXT, FIRST, SECOND], "usage": USAGE}
    assert feed(WIRE, WHOLE).reply == decode(WIRE, body).unwrap()


@pytest.mark.parametrize("kept", range(len(WHOLE)))
def test_a_stream_that_is_cut_anywhere_is_not_complete(kept: int) -> None:
    assert not feed(WIRE, WHOLE[:kept]).stream.complete


@pytest.mark.parametrize("at", range(len(WHOLE)))
@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "broke"}},
        {"type": "error", "code": "server_error", "message": "broke", "param": None},
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "broke"}}},
    ],
    ids=["nested", "flat", "failed"],
)
def test_an_error_in_any_form_and_anywhere_is_a_failure(at: int, event: Event) -> None:
    failure = feed(WIRE, [*WHOLE[:at], event, *WHOLE[at:]]).failure

    assert (failure.error_code, failure.status) == ("server_error", 200)
    assert "broke" in failure.message
    assert classify_retry_error(failure) is FailureClass.SERVER


@pytest.mark.parametrize(
    ("code", "judged"),
    [
        ("rate_limit_exceeded", FailureClass.RATE_LIMIT),
        ("insufficient_quota", FailureClass.BILLING),
        ("context_length_exceeded", FailureClass.CONTEXT_OVERFLOW),
        ("invalid_prompt", FailureClass.REQUEST_FATAL),
        ("something_new", FailureClass.UNKNOWN),
    ],
)
def test_an_error_in_a_stream_is_judged_by_its_code(code: str, judged: FailureClass) -> None:
    failed: Event = {"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "m"}}}
    assert classify_retry_error(feed(WIRE, [CREATED, failed]).failure) is judged


def test_a_failed_response_without_an_error_is_a_failure() -> None:
    failure = feed(WIRE, [*WHOLE[:6], final(status="failed", error=None)]).failure
    assert failure.message


def test_argument_pieces_belong_to_the_item_and_not_to_the_call() -> None:
    """ST-05: pieces name the item, results name the call; the order is that of the output."""
    events = [
        added(0, {**call("fc_1", "a", ""), "arguments": ""}),
        added(1, {**call("fc_2", "b", ""), "arguments": ""}),
        *argued(1, "fc_2", "{}"),
        *argued(0, "fc_1", '{"x":1}'),
        final(),
    ]
    assert feed(WIRE, events).calls == [("a", "read", {"x": 1}), ("b", "read", {})]
    without_places = [{name: value for name, value in event.items() if name != "output_index"} for event in events]
    assert feed(WIRE, without_places).calls == [("a", "read", {"x": 1}), ("b", "read", {})]


@pytest.mark.parametrize("index", [0, None])
def test_deltas_are_optional(index: int | None) -> None:
    """A burst: only finished items come, perhaps without their places."""
    second = None if index is None else 1
    fed = feed(WIRE, [CREATED, done(index, TEXT), done(second, FIRST), final()])

    assert (fed.reply.text, fed.calls) == ("Two files.", CALLS[:1])


@pytest.mark.parametrize(
    ("pieces", "last", "input"),
    [
        ([], None, {}),
        ([""], None, {}),
        (['{"a":', "1}"], None, {"a": 1}),
        ([], '{"a":1}', {"a": 1}),
        (['{"a":'], '{"a":1}', {"a": 1}),
        (['{"path": "a'], None, '{"path": "a'),
        (["[1]"], None, "[1]"),
        ([{"a": 1}], None, {"a": 1}),
        ([], {"a": 1}, {"a": 1}),
    ],
)
def test_arguments_in_every_form(pieces: list[Any], last: Any, input: Any) -> None:
    opened = {key: value for key, value in call("fc_1", "a", "").items() if key != "arguments"}
    finished: list[Event] = []
    if last is not None:
        finished = [{"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": last}]
    assert feed(WIRE, [added(0, opened), *argued(0, "fc_1", *pieces), *finished, final()]).calls == [("a", "read", input)]


def test_fragments_of_several_calls_may_be_mixed() -> None:
    opened = [added(index, {**one, "arguments": ""}) for index, one in ((0, FIRST), (1, SECOND))]
    mixed = [*argued(0, "fc_1", '{"path"'), *argued(1, "fc_2", "{"), *argued(0, "fc_1", ': "a"}'), *argued(1, "fc_2", "}")]

    assert feed(WIRE, [CREATED, *opened, *mixed, final()]).calls == CALLS
    without_index = [{key: value for key, value in event.items() if key != "output_index"} for event in (*opened, *mixed)]
    assert feed(WIRE, [CREATED, *without_index, final()]).calls == CALLS


@pytest.mark.parametrize("call_id", [None, ""])
def test_a_call_without_ids_is_a_call(call_id: Any) -> None:
    nameless = {**FIRST, "id": None, "call_id": call_id}
    assert feed(WIRE, [CREATED, done(0, nameless), final()]).calls == [("", "read", {"path": "a"})]
    assert feed(WIRE, [CREATED, done(None, nameless), done(None, nameless), final()]).calls == [("", "read", {"path": "a"})] * 2


def test_what_was_shown_is_in_the_reply_though_no_item_was_opened() -> None:
    fed = feed(WIRE, [*said(0, "msg_1", "half ", "told"), final()])
    assert fed.reply.text == fed.shown[0] == "half told"


def test_a_refusal_that_only_the_deltas_told_is_a_refusal() -> None:
    opened = {**message("msg_1", ""), "content": []}
    fed = feed(WIRE, [added(0, opened), *said(0, "msg_1", "I ", "won't.", kind="refusal"), final()])

    assert (fed.reply.stop, fed.reply.text) == (Stop.REFUSAL, "I won't.")
    assert fed.reply.refusal == {"type": "refusal", "explanation": "I won't."}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", Stop.MAX_TOKENS),
        ("content_filter", Stop.CONTENT_FILTER),
        ("max_messages", Stop.PAUSE),
        ("steered", Stop.PAUSE),
        ("something_new", Stop.UNKNOWN),
    ],
)
def test_an_incomplete_response_says_why(reason: str, stop: Stop) -> None:
    event = final(status="incomplete", incomplete_details={"reason": reason})
    reply = feed(WIRE, [added(0, {**TEXT, "content": []}), *said(0, "msg_1", "half"), event]).reply

    assert (reply.stop, reply.stop_word, reply.text) == (stop, reason, "half")


def test_what_is_unknown_is_passed_over() -> None:
    unknown: list[Event] = [{}, {"type": "response.new.delta", "delta": "no"}, {"type": "keepalive"}, {"type": 7}]
    fed = feed(WIRE, [event for known in WHOLE for event in (*unknown, known)])

    assert fed.reply == feed(WIRE, WHOLE).reply


def _shown(events: list[Event]) -> list[tuple[str, str, Any]]:
    return feed(WIRE, events).calls


B = call("fc_2", "call_b", '{"path": "b"}')
BOTH = [("call_a", "read", {"path": "a"}), ("call_b", "read", {"path": "b"})]


@pytest.mark.parametrize("output", [(), (FIRST,), (B,), (FIRST, B)], ids=["empty", "first", "second", "both"])
def test_a_last_event_that_lost_items_undoes_nothing(output: tuple[dict[str, Any], ...]) -> None:
    assert _shown([CREATED, done(0, FIRST), done(1, B), final(*output)]) == BOTH


@pytest.mark.parametrize(
    "events",
    [
        [done(0, FIRST), done(0, B)],
        [added(0, FIRST), added(0, B), done(0, FIRST), done(0, B)],
        [added(0, {**FIRST, "arguments": ""}), *argued(0, "fc_1", '{"path": "a"}'), done(0, FIRST),
         added(0, {**B, "arguments": ""}), *argued(0, "fc_2", '{"path": "b"}')],
    ],
)  # fmt: skip
def test_a_place_that_is_given_twice_is_two_items(events: list[Event]) -> None:
    assert _shown([CREATED, *events, final()]) == BOTH
    assert _shown([CREATED, *events, final(FIRST, B)]) == BOTH


def test_an_item_that_has_another_id_in_each_event_is_one() -> None:
    """Some proxies encrypt ids anew; a call keeps its `call_id`."""
    events = [
        added(0, {**TEXT, "id": "x1", "content": []}),
        *said(0, "x2", "Two ", "files."),
        done(0, {**TEXT, "id": "x3"}),
        added(1, {**FIRST, "id": "y1", "arguments": ""}),
        *argued(1, "y2", '{"path": "a"}'),
        done(1, {**FIRST, "id": "y3"}),
    ]
    for last in (final(), final({**TEXT, "id": "x4"}, {**FIRST, "id": "y4"}), final({**FIRST, "id": "y4"})):
        fed = feed(WIRE, [CREATED, *events, last])
        assert (fed.reply.text, fed.calls) == ("Two files.", CALLS[:1])


def test_what_was_shown_is_not_lost_in_an_item_that_says_nothing() -> None:
    events = [*said(0, "msg_1", "Two files."), *argued(1, "fc_1", '{"path": "a"}')]
    fed = feed(WIRE, [*events, final({**TEXT, "content": []}, {**FIRST, "arguments": ""})])

    assert (fed.reply.text, fed.calls) == ("Two files.", CALLS[:1])


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.output_text.done", "output_index": 0, "item_id": "m", "content_index": 0, "text": "A"},
        {"type": "response.content_part.done", "output_index": 0, "item_id": "m", "part": {"type": "output_text", "text": "A"}},
    ],
    ids=["text", "part"],
)
def test_a_text_that_comes_whole_and_without_deltas_is_said_and_shown(event: Event) -> None:
    fed = feed(WIRE, [CREATED, added(0, {"type": "message", "id": "m", "content": []}), event, final()])
    assert (fed.reply.text, fed.shown[0]) == ("A", "A")


def test_the_whole_text_of_a_part_wins_over_its_deltas_and_is_shown_once() -> None:
    whole = {"type": "response.output_text.done", "output_index": 0, "item_id": "m", "text": "AB"}
    fed = feed(WIRE, [CREATED, *said(0, "m", "A", "B"), whole, final()])
    assert (fed.reply.text, fed.shown[0]) == ("AB", "AB")


def test_parts_of_a_message_stand_in_their_order() -> None:
    pieces = [{**event, "content_index": at} for at, event in zip((1, 0, 1), said(0, "m", "c", "ab", "d"), strict=True)]
    assert feed(WIRE, [CREATED, *pieces, final()]).reply.text == "abcd"
