"""What goes to GLM, literally: thinking, streaming of calls, and what it does not have."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import Opaque, Owner, Text
from geode.domain.conversation import Conversation
from geode.domain.models import ModelRow
from geode.domain.negotiation import negotiate
from geode.domain.reply import Stop
from geode.domain.request import AdapterCallRequest, Limits
from geode.entrypoints.emulator import check
from geode.entrypoints.routes.capabilities import capabilities_of
from tests.unit.adapters.streams import decode
from tests.unit.cases.turns import T1, call, model, results, user

ABLE = capabilities_of("chat", "glm")


def body(*turns: Any, to: str = "glm-5.2", **changes: Any) -> Any:
    asked = AdapterCallRequest(to, Conversation(turns or (user("hi"),)), **changes)
    agreed = negotiate("glm-payg", asked, ABLE).unwrap().request
    made = json.loads(ChatWire(DIALECTS["glm"]).encode(agreed, Owner("glm-payg", to)))
    assert check("chat", made, "glm") == ()
    return made


def refused(to: str = "glm-5.2", **changes: Any) -> str:
    return negotiate("glm-payg", AdapterCallRequest(to, Conversation((user("hi"),)), **changes), ABLE).failure()


@pytest.mark.parametrize(
    ("to", "effort", "thinking"),
    [
        ("glm-5.2", None, {"clear_thinking": False}),
        ("glm-5.2", "none", {"type": "disabled", "clear_thinking": False}),
        ("glm-5.2", "minimal", {"type": "disabled", "clear_thinking": False}),
        ("glm-5.2", "low", {"type": "enabled", "clear_thinking": False}),
        ("glm-5.2", "max", {"type": "enabled", "clear_thinking": False}),
        ("glm-5.3", "high", {"type": "enabled", "clear_thinking": False}),
        ("glm-4.7", None, {"clear_thinking": False}),
    ],
)
def test_thinking_follows_the_effort_and_what_was_thought_is_kept(to: str, effort: str | None, thinking: Any) -> None:
    made = body(to=to, effort=effort)
    assert made["thinking"] == thinking
    assert made.get("reasoning_effort") == effort


def test_an_effort_that_a_model_does_not_have_is_refused() -> None:
    assert 'takes no effort "medium"; it takes low, high, max' in refused("glm-5.3", effort="medium")
    assert 'takes no effort "none"' in refused("glm-5.3-flash", effort="none")
    assert "takes no effort; leave it out" in refused("glm-4.7", effort="low")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("tools", [(), (T1,)])
def test_calls_of_a_stream_are_asked_for_as_they_grow(streamed: bool, tools: tuple[Any, ...]) -> None:
    made = body(streamed=streamed, tools=tools)
    assert made.get("tool_stream") == (True if streamed and tools else None)
    assert "stream_options" not in made
    assert "parallel_tool_calls" not in made


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        (Auto(), "auto"),
        (NoTools(), "none"),
        (Required(), "required"),
        (Named("t1"), {"type": "function", "function": {"name": "t1"}}),
    ],
)
def test_a_choice_is_said_as_on_its_wire_and_the_tools_stay(choice: ToolChoice, word: Any) -> None:
    made = body(tools=(T1,), tool_choice=choice)
    assert (made["tool_choice"], len(made["tools"])) == (word, 1)


@pytest.mark.parametrize(("choice", "shown"), [(Required(), "required"), (Named("t1"), '"t1"')])
def test_a_model_that_is_known_to_choose_by_itself_is_a_row_and_refused_here(choice: ToolChoice, shown: str) -> None:
    able = replace(ABLE, models=(ModelRow("glm-5.3", forced_choice=False), *ABLE.models))
    asked = AdapterCallRequest("glm-5.3", Conversation((user("hi"),)), tools=(T1,), tool_choice=choice)
    assert negotiate("glm-payg", asked, able).failure() == f"glm-payg: model glm-5.3 cannot be given tool_choice {shown}"


@pytest.mark.parametrize("most", [1, 131_072])
def test_as_much_output_as_it_takes(most: int) -> None:
    assert body(limits=Limits(most))["max_tokens"] == most


@pytest.mark.parametrize("most", [0, 131_073])
def test_more_output_than_it_takes_is_refused_here(most: int) -> None:
    assert f"takes from 1 to 131072 output tokens here, not {most}" in refused(limits=Limits(most))


def test_a_schema_is_refused_here_for_its_json_mode_knows_none() -> None:
    assert "cannot be given a response_schema here" in refused(response_schema={"type": "object"})


def test_what_it_thought_goes_back_to_it_with_its_calls() -> None:
    owner = Owner("glm-payg", "glm-5.2")
    turn = model(Opaque(owner, "reasoning_content", '"hm – ü"'), Text("I look."), call("a"), owner=owner)
    made = body(user("go"), turn, results("a"), tools=(T1,))
    assert made["messages"][1]["reasoning_content"] == "hm – ü"
    assert all("name" not in message for message in made["messages"])

    other = body(user("go"), turn, results("a"), to="glm-5.3", tools=(T1,))
    assert "reasoning_content" not in other["messages"][1]


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("stop", Stop.END),
        ("sensitive", Stop.CONTENT_FILTER),
        ("model_context_window_exceeded", Stop.CONTEXT_EXCEEDED),
        ("length", Stop.MAX_TOKENS),
    ],
)
def test_its_own_words_for_why_it_stopped(word: str, stop: Stop) -> None:
    answer = {"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": word}]}
    assert decode(ChatWire(DIALECTS["glm"]), answer).unwrap().stop is stop
