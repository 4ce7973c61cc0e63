"""Chat streams, in all the forms in which OpenAI and those that imitate it send them (wire facts D3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.wire import END_MARK
from geode.domain.content import Opaque
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.reply import Stop
from tests.unit.adapters.streams import Event, decode, feed, kinds

WIRE = ChatWire(DIALECTS["generic"])
USAGE = {"prompt_tokens": 10, "completion_tokens": 42}
Fragment = dict[str, Any]


def delta(**fields: Any) -> Event:
    return {"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def calls(*fragments: Fragment) -> Event:
    return delta(tool_calls=list(fragments))


def part(index: Any = ..., id: Any = ..., name: Any = ..., arguments: Any = ...) -> Fragment:
    """A fragment; what is left out is not sent."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not ...}
    given = {key: value for key, value in (("index", index), ("id", id)) if value is not ...}
    return {**given, "function": function}


def end(reason: str = "tool_calls") -> list[Event]:
    return [
        {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": None},
        {"id": "chatcmpl-1", "choices": [], "usage": USAGE},
    ]


WHOLE = [
    delta(role="assistant", content=""),
    delta(reasoning_content="h"),
    delta(reasoning_content="m"),
    delta(content="Two "),
    delta(content="files."),
    calls(part(0, "call_a", "read", "")),
    calls(part(0, arguments='{"path"')),
    calls(part(0, arguments=': "a"}')),
    calls(part(1, "call_b", "read", "")),
    calls(part(1, arguments="{}")),
    *end(),
]


def test_a_whole_stream() -> None:
    fed = feed(WIRE, WHOLE)

    assert kinds(fed.reply) == ["reasoning_content", "text", "call", "call"]
    assert (fed.reply.text, fed.calls) == ("Two files.", [("call_a", "read", {"path": "a"}), ("call_b", "read", {})])
    assert (fed.reply.stop, fed.reply.usage.input_tokens, fed.reply.usage.output_tokens) == (Stop.TOOL_CALLS, 10, 42)
    assert fed.shown == ("Two files.", "hm", {1: '{"path": "a"}', 2: "{}"})


@pytest.mark.parametrize("kept", range(len(WHOLE) - 2))
def test_a_stream_that_is_cut_before_its_finish_is_not_complete(kept: int) -> None:
    assert not feed(WIRE, WHOLE[:kept]).stream.complete


def test_a_stream_that_is_cut_after_its_finish_lacks_the_usage_alone() -> None:
    reply = feed(WIRE, WHOLE[:-1]).reply
    assert (len(reply.calls), reply.usage.output_tokens) == (2, 0)


TWO = [("a", "w", {"c": 1}), ("b", "w", {"c": 2})]


@pytest.mark.parametrize(
    ("chunks", "wanted"),
    [
        # ST-01: all at index 0
        ([[part(0, "a", "w", '{"c":1}')], [part(0, "b", "w", '{"c":2}')]], TWO),
        ([[part(0, "a", "w", "")], [part(0, arguments='{"c":1}')], [part(0, "b", "w")], [part(0, arguments='{"c":2}')]], TWO),
        ([[part(0, "a", "w", '{"c"'), part(0, "b", "w", '{"c"')], [part(0, "a", arguments=":1}")],
          [part(0, "b", arguments=":2}")]], TWO),
        # ST-02: no index, and null
        ([[part(..., "a", "t1", "{}")], [part(None, "b", "t2", "{}")], [part(..., ..., "t3", "{}")]],
         [("a", "t1", {}), ("b", "t2", {}), ("", "t3", {})]),
        ([[part(..., "a", "w", '{"c":')], [part(arguments="1}")], [part(..., "b", "w")], [part(arguments='{"c":2}')]], TWO),
        # ST-04: several in one delta
        ([[part(0, "a", "w"), part(1, "b", "w")], [part(1, arguments='{"c":2}'), part(0, arguments='{"c":1}')]], TWO),
        # an index that begins at 1, or leaves one out
        ([[part(1, "a", "w", '{"c":1}')], [part(4, "b", "w", '{"c":2}')]], TWO),
        # id and name repeated with every fragment
        ([[part(0, "a", "w", '{"c"')], [part(0, "a", "w", ":1}")], [part(1, "b", "w", '{"c":2}')]], TWO),
        # AR-16: no id at all, an empty one, null
        ([[part(0, ..., "t1", "{}")]], [("", "t1", {})]),
        ([[part(0, "", "t1", "{")], [part(0, "", "", "}")], [part(1, None, "t1")]], [("", "t1", {}), ("", "t1", {})]),
        # AR-12: one id for two calls
        ([[part(0, "x", "t1", '{"c":1}')], [part(1, "x", "t2", '{"c":2}')]], [("x", "t1", {"c": 1}), ("x", "t2", {"c": 2})]),
        ([[part(..., "x", "t1", "{}")], [part(..., "x", "t2", "{}")]], [("x", "t1", {}), ("x", "t2", {})]),
        # two equal calls without ids
        ([[part(0, ..., "t1", "{}")], [part(1, ..., "t1", "{}")]], [("", "t1", {}), ("", "t1", {})]),
        # an id that is no text
        ([[part(0, 7, "t1", "{}")]], [("", "t1", {})]),
    ],
)  # fmt: skip
def test_fragments_find_their_call(chunks: list[list[Fragment]], wanted: Any) -> None:
    fed = feed(WIRE, [*(calls(*fragments) for fragments in chunks), *end()])

    assert fed.calls == wanted
    assert len(fed.shown[2]) == len(wanted)


@pytest.mark.parametrize(
    ("pieces", "input"),
    [
        ([...], {}),
        ([""], {}),
        (["", "   "], {}),
        ([None], {}),
        (["null"], {}),
        (['{"x":1}'], {"x": 1}),
        (["{", '"x"', ":", "1", "}"], {"x": 1}),
        ([{"x": 1}], {"x": 1}),
        ([["a"]], '["a"]'),
        (['"{\\"x\\":1}"'], {"x": 1}),
        (['{"text": "line1\nline2"}'], {"text": "line1\nline2"}),
        (['{"path": "a'], '{"path": "a'),
        (["[1,2]"], "[1,2]"),
        (["5"], "5"),
        (["true"], "true"),
        (["```json\n{}\n```"], {}),
        ([{"n": float("inf")}], '{"n": Infinity}'),
    ],
)
def test_arguments_in_every_form(pieces: list[Any], input: Any) -> None:
    """AR-01, AR-03, AR-04, AR-05, AR-07, AR-08, AR-19; and streamed they are what they are unstreamed."""
    opening, *rest = pieces
    fed = feed(WIRE, [calls(part(0, "a", "t1", opening)), *(calls(part(0, arguments=piece)) for piece in rest), *end()])
    assert fed.calls == [("a", "t1", input)]

    if len(pieces) == 1:
        message = {"content": None, "tool_calls": [part(..., "a", "t1", opening)]}
        body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": USAGE, "model": "m"}
        whole = decode(WIRE, body).unwrap()
        assert [(call.id, call.name, call.input, call.unparsed is None) for call in whole.calls] == [
            (call.id, call.name, call.input, call.unparsed is None) for call in fed.reply.calls
        ]


def test_the_old_form_of_a_single_call() -> None:
    old = feed(
        WIRE,
        [
            delta(function_call={"name": "read", "arguments": ""}),
            delta(function_call={"arguments": '{"path":'}),
            delta(function_call={"arguments": '"a"}'}),
            *end("function_call"),
        ],
    )
    empty = feed(WIRE, [delta(content="hi", function_call={"name": "", "arguments": ""}), *end("stop")])

    assert (old.calls, old.reply.stop) == ([("", "read", {"path": "a"})], Stop.TOOL_CALLS)
    assert (empty.calls, empty.reply.text) == ([], "hi")


@pytest.mark.parametrize(
    ("event", "code", "judged"),
    [
        ({"error": {"message": "m", "type": "server_error", "code": "server_error"}}, "server_error", FailureClass.SERVER),
        ({"error": {"code": 502, "message": "m"}, "choices": [{"finish_reason": "error"}]}, "502", FailureClass.SERVER),
        ({"choices": [{"index": 0, "delta": {}, "error": {"code": 429, "message": "m"}}]}, "429", FailureClass.RATE_LIMIT),
        ({"error": {"code": "1302", "message": "m"}}, "1302", FailureClass.RATE_LIMIT),
        ({"error": {"code": "1113", "message": "m"}}, "1113", FailureClass.BILLING),
        ({"error": "only words"}, "", FailureClass.UNKNOWN),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", [0, 4, len(WHOLE) - 1])
def test_an_error_in_a_stream_is_a_failure_wherever_it_stands(at: int, event: Event, code: str, judged: FailureClass) -> None:
    failure = feed(WIRE, [*WHOLE[:at], event, *WHOLE[at:]]).failure

    assert (failure.error_code, failure.status) == (code, 200)
    assert classify_retry_error(failure) is judged


def test_nothing_more_is_waited_for_after_the_usage_that_follows_the_finish() -> None:
    """A server that leaves out the end mark would keep its reader waiting."""
    assert [feed(WIRE, WHOLE[:kept]).stream.over for kept in (len(WHOLE) - 2, len(WHOLE) - 1, len(WHOLE))] == [
        False,
        False,
        True,
    ]
    running = [{**event, "usage": USAGE} for event in WHOLE[:-1]]
    assert not feed(WIRE, running).stream.over, "usage beside text, or beside the finish, may not be the last"
    early = {"choices": [], "usage": USAGE}
    assert feed(WIRE, [early, *WHOLE]).calls == feed(WIRE, WHOLE).calls


def test_an_empty_finish_reason_is_none() -> None:
    """Servers that write every field write it empty in each chunk."""
    open = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": ""}]} for piece in ("a", "b")]

    assert not feed(WIRE, open).stream.complete
    assert feed(WIRE, [*open, *end("stop")]).reply.text == "ab"
    whole = decode(WIRE, {"choices": [{"message": {"content": "ab"}, "finish_reason": ""}]}).unwrap()
    assert (whole.stop, whole.stop_word) == (Stop.UNKNOWN, "")


@pytest.mark.parametrize("word", ["error", "network_error"])
def test_a_finish_that_says_broken_is_a_failure(word: str) -> None:
    failure = feed(WIRE, [delta(content="half"), *end(word)]).failure
    assert (failure.error_type, failure.status) == (word, 200)


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("stop", Stop.END),
        ("tool_calls", Stop.TOOL_CALLS),
        ("length", Stop.MAX_TOKENS),
        ("content_filter", Stop.CONTENT_FILTER),
        ("sensitive", Stop.CONTENT_FILTER),
        ("model_context_window_exceeded", Stop.CONTEXT_EXCEEDED),
        ("something_new", Stop.UNKNOWN),
    ],
)
def test_why_it_stopped(word: str, stop: Stop) -> None:
    reply = feed(WIRE, [delta(content="x"), *end(word)]).reply
    assert (reply.stop, reply.stop_word) == (stop, word)


def test_a_refusal_in_pieces_is_a_refusal() -> None:
    fed = feed(WIRE, [delta(refusal="I "), delta(refusal="won't."), *end("stop")])

    assert (fed.reply.stop, fed.reply.text, fed.shown[0]) == (Stop.REFUSAL, "I won't.", "I won't.")


def test_usage_beside_the_finish_or_after_it_counts_once() -> None:
    beside = {**end("stop")[0], "usage": USAGE}
    later = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 43, "cost": 0.5}}

    first, last = (
        feed(WIRE, [delta(content="x"), beside]).reply.usage,
        feed(WIRE, [delta(content="x"), beside, later]).reply.usage,
    )

    assert (first.input_tokens, first.output_tokens, first.cost_usd) == (10, 42, None)
    assert (last.input_tokens, last.output_tokens, str(last.cost_usd)) == (11, 43, "0.5")


def test_other_choices_and_odd_chunks_are_passed_over() -> None:
    odd: list[Event] = [
        {},
        {"choices": None},
        {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0}]},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": ["x"], "object": "ping"},
        delta(content=5, tool_calls="none"),
    ]
    fed = feed(WIRE, [event for known in WHOLE for event in (*odd, known)])

    assert fed.reply == feed(WIRE, WHOLE).reply


def test_a_burst_in_one_chunk_is_a_whole_reply() -> None:
    """A server that has no stream to give: one chunk with a message."""
    message = {"role": "assistant", "content": "hi", "tool_calls": [part(..., "a", "read", '{"x":1}')]}
    fed = feed(WIRE, [{"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": USAGE}])

    assert (fed.reply.text, fed.calls) == ("hi", [("a", "read", {"x": 1})])


def test_reasoning_details_in_fragments_go_back_as_one() -> None:
    """The relay sends the text of one entry in pieces, then what signs it."""

    def detail(text: Any, index: int = 0, **more: Any) -> Event:
        return delta(reasoning=text, reasoning_details=[
            {"type": "reasoning.text", "text": text, "format": "f", "index": index, "signature": None, **more},
        ])  # fmt: skip

    sealed = {"type": "reasoning.encrypted", "data": "AA", "index": 1}
    fed = feed(
        WIRE,
        [
            detail("h"),
            detail("m"),
            detail("", signature="SIG"),
            detail("again", 2),
            delta(reasoning_details=[sealed, sealed]),
            *end(),
        ],
    )

    (kept,) = fed.reply.items
    assert isinstance(kept, Opaque)
    assert kept.kind == "reasoning_details"
    assert json.loads(kept.json_text) == [
        {"type": "reasoning.text", "text": "hm", "format": "f", "index": 0, "signature": "SIG"},
        {"type": "reasoning.text", "text": "again", "format": "f", "index": 2, "signature": None},
        sealed,
        sealed,
    ]
    assert fed.shown[1] == "hmagain"


def test_two_entries_at_one_place_stay_two_by_their_ids_or_where_the_first_is_signed() -> None:
    """Nothing of what was signed may be lost: it goes back as it came."""

    def text(piece: str, **more: Any) -> Event:
        return delta(reasoning_details=[{"type": "reasoning.text", "text": piece, "index": 0, **more}])

    by_id = feed(WIRE, [text("a", id="r1", signature="S1"), text("b", id="r2", signature="S2"), *end("stop")])
    (kept,) = by_id.reply.items
    assert isinstance(kept, Opaque)
    assert [(one["text"], one["signature"]) for one in json.loads(kept.json_text)] == [("a", "S1"), ("b", "S2")]
    signed = feed(WIRE, [text("a"), text("", signature="S1"), text("b"), text("c", signature="S2"), *end("stop")])
    (kept,) = signed.reply.items
    assert isinstance(kept, Opaque)
    assert [(one["text"], one["signature"]) for one in json.loads(kept.json_text)] == [("a", "S1"), ("bc", "S2")]


def test_content_in_parts_and_in_text_is_one_content() -> None:
    """A thinking part, then the text, as parts or as plain text."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    fed = feed(
        WIRE,
        [delta(content=[thought]), delta(content=[{"type": "text", "text": "Two "}]), delta(content="files."), *end("stop")],
    )

    assert kinds(fed.reply) == ["part:thinking", "text"]
    assert fed.reply.text == fed.shown[0] == "Two files."


# ---- ends and forms that servers were recorded with ---------------------------------------------


def test_a_stream_that_only_marks_its_end_is_whole_and_gives_no_reason() -> None:
    """Calls decide what comes next; without any the loop is told that nobody knows why it stopped."""
    fed = feed(WIRE, [delta(content="Hi"), calls(part(0, "a", "w", '{"c":1}')), END_MARK])
    assert fed.stream.over
    assert (fed.reply.text, fed.reply.stop, fed.reply.stop_word) == ("Hi", Stop.UNKNOWN, "")
    assert fed.calls == [("a", "w", {"c": 1})]


def test_an_end_mark_after_nothing_is_no_reply() -> None:
    assert not feed(WIRE, [delta(role="assistant"), END_MARK]).stream.complete


def test_a_custom_call_keeps_its_name_and_its_text() -> None:
    """Its text is no object of arguments, so it is answered and not run."""
    custom = {"type": "custom", "id": "a", "custom": {"name": "patch", "input": "*** Begin"}}
    whole = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [custom]}}]}
    streamed = feed(WIRE, [calls({"index": 0, **custom}), *end()])
    for reply in (decode(WIRE, whole).unwrap(), streamed.reply):
        assert [(call.id, call.name, call.unparsed) for call in reply.calls] == [("a", "patch", "*** Begin")]


def test_content_that_is_an_object_is_its_json() -> None:
    whole = {"choices": [{"finish_reason": "stop", "message": {"content": {"city": "Zürich", "n": 1}}}]}
    assert json.loads(decode(WIRE, whole).unwrap().text) == {"city": "Zürich", "n": 1}


def test_a_call_in_both_forms_is_one_call() -> None:
    both = {"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": [part(0, "x", "f", "{}")]}
    whole = {"choices": [{"finish_reason": "tool_calls", "message": both}]}
    for reply in (decode(WIRE, whole).unwrap(), feed(WIRE, [delta(**both), *end()]).reply):
        assert [(call.id, call.name) for call in reply.calls] == [("x", "f")]


def test_an_index_that_is_written_as_text_is_its_number() -> None:
    fragments = [
        part("0", "a", "w", '{"c"'),
        part("1", "b", "w", '{"c"'),
        part("0", arguments=":1}"),
        part("1", arguments=":2}"),
    ]
    assert feed(WIRE, [*map(calls, fragments), *end()]).calls == TWO


def test_usage_in_the_place_where_groq_has_it() -> None:
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": USAGE}}
    usage = feed(WIRE, [delta(content="hi"), last, END_MARK]).reply.usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 42)


def test_of_several_choices_the_first_by_its_index_is_read() -> None:
    choices = [{"index": at, "finish_reason": "stop", "message": {"content": f"choice {at}"}} for at in (1, 0)]
    assert decode(WIRE, {"choices": choices}).unwrap().text == "choice 0"
