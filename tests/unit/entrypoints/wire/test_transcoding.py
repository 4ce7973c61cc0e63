"""What a target does not take is left out and noted; everything else arrives, and can be checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

import geode
from geode.domain.content import Opaque, Owner
from geode.domain.turns import AssistantTurn
from geode.entrypoints.emulator import check
from geode.entrypoints.wire.exchange import read_exchange
from geode.entrypoints.wire.transcoding import Target, transcoded

MESSAGES, RESPONSES = Target("messages", "anthropic"), Target("responses", "openai")
TOOL = {"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}
URL = "https://example.org/p.pdf"


def moved(protocol: str, target: Target, **request: Any) -> Any:
    key = "input" if protocol == "responses" else "messages"
    body = {"model": "m", key: [{"role": "user", "content": "go"}], **request}
    shown = transcoded(read_exchange(json.dumps({"protocol": protocol, "request": body}).encode()), target)
    assert check(target.protocol, shown["request"], target.dialect) == ()
    return shown


def noted(shown: Any) -> list[tuple[str, str]]:
    return [(note["kind"], note["at"]) for note in shown["notes"]]


def test_the_model_may_be_another_one_there() -> None:
    assert moved("chat", Target("messages", "anthropic", "claude-sonnet-4-5"))["request"]["model"] == "claude-sonnet-4-5"


@pytest.mark.parametrize(
    ("protocol", "target", "request_", "left", "gone"),
    [
        ("chat", MESSAGES, {"temperature": 0.5}, [("sampling", "/temperature")], "temperature"),
        ("chat", Target("responses", "openai", "gpt-5"), {"temperature": 0.5}, [("sampling", "/temperature")], "temperature"),
        ("messages", RESPONSES, {"thinking": {"type": "adaptive"}, "max_tokens": 99}, [("sampling", "/thinking")], "thinking"),
        (
            "responses",
            Target("chat", "openai", "gpt-5.4"),
            {"reasoning": {"effort": "high"}, "tools": [{"type": "function", **TOOL}]},
            [("sampling", "/reasoning/effort")],
            "reasoning_effort",
        ),
    ],
)
def test_a_setting_that_the_model_there_does_not_take(
    protocol: str, target: Target, request_: Any, left: list[Any], gone: str
) -> None:
    shown = moved(protocol, target, **request_)
    assert noted(shown) == left
    assert gone not in shown["request"]


def test_a_setting_that_the_server_there_refuses() -> None:
    """What adapters do not know of a model, the rules of its server do."""
    shown = moved("messages", Target("messages", "anthropic", "claude-opus-4-6"), output_config={"effort": "xhigh"})
    assert noted(shown) == [("sampling", "/output_config/effort")]
    assert "output_config" not in shown["request"]


def test_a_forced_choice_that_the_model_there_does_not_take() -> None:
    tools = [{"type": "function", "function": TOOL}]
    shown = moved("chat", Target("messages", "anthropic", "claude-opus-5-5"), tools=tools, tool_choice="required")
    assert noted(shown) == [("sampling", "/tool_choice")]
    assert shown["request"]["tool_choice"] == {"type": "auto"}


def test_media_with_no_form_there_become_words() -> None:
    parts = [
        {"type": "input_file", "file_url": URL},
        {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
    ]
    said = {"role": "user", "content": parts}
    asked = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": [parts[0]]}
    shown = moved("responses", Target("chat", "openai"), input=[said, asked, output])
    assert noted(shown) == [("media", "/input")] * 3
    first, _, result = shown["request"]["messages"]
    assert [part["text"] for part in first["content"]] == [
        f"[a document at {URL}: this model cannot be shown it]",
        "a.txt:\nhello",
    ]
    assert result["content"] == f"[a document at {URL}: this model cannot be shown it]"


def test_a_request_of_system_text_alone_gets_a_message() -> None:
    shown = moved("chat", MESSAGES, messages=[{"role": "system", "content": "Be a potato."}])
    assert shown["request"]["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Be a potato."}]}]
    assert noted(shown) == [("sampling", "/messages")]


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig="}
THINKING: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "so"}]},
    {"role": "user", "content": "and?"},
]


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (MESSAGES, True),
        (Target("messages", "anthropic", "another"), False),
        (RESPONSES, False),
        (Target("chat", "openai"), False),
    ],
)
def test_thinking_goes_to_its_maker_alone(target: Target, kept: bool) -> None:
    shown = moved("messages", target, max_tokens=9999, messages=THINKING)
    assert ("sig=" in json.dumps(shown["request"])) is kept
    assert noted(shown) == ([] if kept else [("opaque", "/messages/1/content/0")])


def test_what_was_written_is_an_exchange_again() -> None:
    there = moved("chat", RESPONSES, tools=[{"type": "function", "function": TOOL}], reasoning_effort="low")
    back = transcoded(read_exchange(json.dumps(there).encode()), Target("chat", "openai"))
    tool = {"type": "function", "function": TOOL}
    assert back["request"]["tools"] == [tool]
    assert (back["request"]["reasoning_effort"], back["notes"]) == ("low", [])


# ---- a history for a session ---------------------------------------------------------------------


def test_a_conversation_of_another_program() -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
    talk = geode.conversation_from("chat", [{"role": "user", "content": "go"}, asked, {"role": "user", "content": "well?"}])
    assert [str(one) for one in talk.repairs] == ["turn 1: interrupted (a)"]
    assert [type(turn).__name__ for turn in talk.turns] == ["UserTurn", "AssistantTurn", "ToolResultsTurn", "UserTurn"]


def test_thinking_belongs_to_whom_the_caller_names() -> None:
    def owner(talk: geode.Conversation) -> Owner:
        turn = talk.turns[1]
        assert isinstance(turn, AssistantTurn)
        assert isinstance(turn.items[0], Opaque)
        return turn.items[0].owner

    named = geode.conversation_from("messages", THINKING, provider="anthropic-payg", model="claude-sonnet-4-5")
    assert owner(named) == Owner("anthropic-payg", "claude-sonnet-4-5")
    assert owner(geode.conversation_from("messages", THINKING)) == Owner("", "")


UNTYPED: Any = geode


@pytest.mark.parametrize(
    ("wire", "messages", "said"),
    [
        ("message", [], "wire 'message' is unknown; did you mean messages? Accepted: messages, responses, chat [wire]"),
        (None, [], "wire None is unknown; Accepted: messages, responses, chat [wire]"),
        ("chat", {"messages": []}, "messages must be a list of JSON objects, got dict: {'messages': []} [messages-type]"),
        ("chat", ["go"], "messages must be a list of JSON objects, got list: ['go'] [messages-type]"),
        ("chat", [{"content": b""}], "messages are not JSON: /messages/0/content is of type bytes"),
    ],
)
def test_what_is_no_history(wire: Any, messages: Any, said: str) -> None:
    with pytest.raises(geode.Misuse) as caught:
        UNTYPED.conversation_from(wire, messages)
    assert said in str(caught.value)


def test_a_picture_in_a_system_message_is_noted() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}, picture]},
        {"role": "user", "content": "go"},
    ]
    shown = moved("chat", Target("messages", "anthropic", ""), messages=messages)
    assert (shown["request"]["system"], noted(shown)) == ("Be brief.", [("media", "/messages/0")])
