"""Replies that an SDK would smooth over, looked at as they are on the wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from geode.domain.script import Called, Reply, Said, calls, pauses, refuses, says, thinks
from geode.entrypoints.emulator import Dialect, Exchange, Protocol, ScriptError
from geode.entrypoints.emulator import render_chat as chat
from geode.entrypoints.emulator import render_messages as messages
from geode.entrypoints.emulator import render_responses as responses


def _exchange(protocol: Protocol, dialect: Dialect = "openai", **request: Any) -> Exchange:
    return Exchange(protocol, {"model": "m", **request}, dialect, round=2, serial=7, created=1_700_000_000)


MESSAGES, RESPONSES, CHAT = _exchange("messages", "anthropic"), _exchange("responses"), _exchange("chat")


def test_broken_arguments_go_out_verbatim() -> None:
    reply = calls(Called("read", '{"path": "a', id=""))

    assert messages.whole(reply, MESSAGES)["content"][0]["input"] == '{"path": "a'
    deltas = [
        event["delta"]["partial_json"] for event in messages.events(reply, MESSAGES) if event["type"] == "content_block_delta"
    ]
    assert "".join(deltas) == '{"path": "a'
    assert len(deltas) > 2
    (call,) = responses.whole(reply, RESPONSES)["output"]
    assert (call["arguments"], call["call_id"]) == ('{"path": "a', "")
    (call,) = chat.whole(reply, CHAT)["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["arguments"], call["id"]) == ('{"path": "a', "")


def test_absent_arguments_are_absent() -> None:
    reply = calls(("read", None))

    assert "input" not in messages.whole(reply, MESSAGES)["content"][0]
    assert [event["type"] for event in messages.events(reply, MESSAGES)].count("content_block_delta") == 0
    assert "arguments" not in responses.whole(reply, RESPONSES)["output"][0]
    assert not [event for event in responses.events(reply, RESPONSES) if "function_call_arguments" in event["type"]]
    assert "arguments" not in chat.whole(reply, CHAT)["choices"][0]["message"]["tool_calls"][0]["function"]


def test_minted_ids_tell_round_and_place() -> None:
    reply = says("x") + calls(("a", {}), ("b", {}))

    assert [block.get("id") for block in messages.whole(reply, MESSAGES)["content"]] == [None, "toolu_r2c0", "toolu_r2c1"]
    assert [item.get("call_id") for item in responses.whole(reply, RESPONSES)["output"]] == [None, "call_r2c0", "call_r2c1"]


def test_a_messages_stream_has_the_events_of_the_wire_in_order() -> None:
    events = messages.events(thinks("t", "SIG") + says("abcdef"), MESSAGES)

    assert [event["type"] for event in events] == [
        "message_start",
        *("content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert events[4]["delta"] == {"type": "signature_delta", "signature": "SIG"}
    assert events[0]["message"]["usage"]["output_tokens"] == 1
    assert (events[-2]["usage"]["output_tokens"], events[-2]["delta"]["stop_reason"]) == (5, "end_turn")


def test_a_responses_stream_has_the_events_of_the_wire_in_order() -> None:
    events = responses.events(thinks("t", "SIGN") + calls(("read", {})), RESPONSES)

    assert [event["type"].removeprefix("response.") for event in events] == [
        *("created", "in_progress"),
        *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"),
        *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"),
        *("function_call_arguments.done", "output_item.done", "completed"),
    ]
    # The copy of the item that opens the stream is not to be trusted.
    assert events[2]["item"]["encrypted_content"] == "SI"
    assert events[7]["item"]["encrypted_content"] == "SIGN"


@pytest.mark.parametrize(
    ("stop", "on_messages", "on_responses", "on_chat"),
    [
        ("end", "end_turn", ("completed", None), "stop"),
        ("max_tokens", "max_tokens", ("incomplete", "max_output_tokens"), "length"),
        ("content_filter", None, ("incomplete", "content_filter"), "content_filter"),
        ("pause", "pause_turn", ("incomplete", "steered"), None),
        ("context_exceeded", "model_context_window_exceeded", None, None),
    ],
)
def test_stop_words(stop: Any, on_messages: str | None, on_responses: Any, on_chat: str | None) -> None:
    reply = Reply((Said("x"),), stop=stop)

    if on_messages is None:
        with pytest.raises(ScriptError, match=stop):
            messages.whole(reply, MESSAGES)
    else:
        assert messages.whole(reply, MESSAGES)["stop_reason"] == on_messages
    if on_responses is None:
        failure = responses.as_failure(reply, RESPONSES)
        assert failure is not None
        assert (failure.status, failure.code) == (400, "context_length_exceeded")
    else:
        body = responses.whole(reply, RESPONSES)
        assert (body["status"], (body["incomplete_details"] or {}).get("reason")) == on_responses
    if on_chat is None and chat.as_failure(reply, CHAT) is None:
        with pytest.raises(ScriptError, match=stop):
            chat.whole(reply, CHAT)
    elif on_chat is not None:
        assert chat.whole(reply, CHAT)["choices"][0]["finish_reason"] == on_chat


def test_a_full_window_breaks_a_responses_stream() -> None:
    events = responses.events(Reply(stop="context_exceeded"), RESPONSES)

    assert [event["type"] for event in events] == ["response.created", "response.in_progress", "error", "response.failed"]
    assert events[2]["error"]["code"] == events[3]["response"]["error"]["code"] == "context_length_exceeded"


def test_glm_has_finish_reasons_of_its_own() -> None:
    glm = _exchange("chat", "glm")

    def finish(stop: Any) -> str:
        return str(chat.whole(Reply(stop=stop), glm)["choices"][0]["finish_reason"])

    assert (finish("context_exceeded"), finish("content_filter")) == ("model_context_window_exceeded", "sensitive")
    assert chat.as_failure(Reply(stop="context_exceeded"), glm) is None


def test_glm_sends_arguments_in_one_late_chunk_and_usage_with_the_finish() -> None:
    events = chat.events(calls(("read", {"path": "a long enough path"})), _exchange("chat", "glm"))

    deltas = [event["choices"][0]["delta"] for event in events]
    assert [delta["tool_calls"][0]["function"]["arguments"] for delta in deltas if "tool_calls" in delta] == [
        '{"path": "a long enough path"}'
    ]
    assert events[-1]["usage"]["completion_tokens"] == 5


def test_glm_sends_arguments_as_they_grow_where_it_is_asked_to() -> None:
    asked = {"model": "glm-5.2", "stream": True, "tool_stream": True, "tools": [{"type": "function"}]}
    exchange = replace(_exchange("chat", "glm"), request=asked)
    events = chat.events(calls(("read", {"path": "a long enough path"})), exchange)

    deltas = [event["choices"][0]["delta"] for event in events]
    pieces = [delta["tool_calls"][0]["function"]["arguments"] for delta in deltas if "tool_calls" in delta]
    assert len(pieces) > 2
    assert "".join(pieces) == '{"path": "a long enough path"}'


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("anthropic/claude-sonnet-4.6", "end_turn"),
        ("openai/gpt-5.5", "completed"),
        ("google/x", "STOP"),
        ("z-ai/glm-5", "stop"),
    ],
)
def test_openrouter_passes_on_the_word_of_the_model_s_own_server(model: str, word: str) -> None:
    exchange = replace(_exchange("chat", "openrouter"), request={"model": model})
    body = chat.whole(says("x"), exchange)

    (choice,) = body["choices"]
    assert (choice["finish_reason"], choice["native_finish_reason"]) == ("stop", word)
    assert (body["service_tier"], body["system_fingerprint"]) == (None, None)
    assert chat.events(says("x"), exchange)[-1]["choices"][0]["native_finish_reason"] == word


def test_openrouter_names_its_route_its_cost_and_its_reasoning() -> None:
    body = chat.whole(thinks("hm", "SIG") + says("x"), _exchange("chat", "openrouter"))

    assert body["provider"]
    assert body["usage"]["cost"] > 0
    assert body["choices"][0]["native_finish_reason"] == "stop"
    (detail,) = body["choices"][0]["message"]["reasoning_details"]
    assert (detail["type"], detail["text"], detail["signature"]) == ("reasoning.text", "hm", "SIG")


def test_content_is_null_only_beside_calls() -> None:
    assert chat.whole(calls(("read", {})), CHAT)["choices"][0]["message"]["content"] is None
    assert chat.whole(Reply(), CHAT)["choices"][0]["message"]["content"] == ""


def test_a_refusal_without_a_word_is_still_one() -> None:
    assert messages.whole(refuses(), MESSAGES)["content"] == []
    assert responses.whole(refuses(), RESPONSES)["output"][0]["content"][0]["type"] == "refusal"
    assert chat.whole(refuses(), CHAT)["choices"][0]["message"]["refusal"]


def test_a_pause_keeps_its_text() -> None:
    assert messages.whole(pauses("more to come"), MESSAGES)["content"] == [{"type": "text", "text": "more to come"}]
