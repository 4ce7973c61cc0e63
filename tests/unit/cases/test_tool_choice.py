"""Kinds of wrong tool choices, each with the id of its case."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice, parse_choice
from geode.domain.conversation import Conversation
from geode.domain.request import AdapterCallRequest
from geode.domain.thinking import AdaptiveThinking, ThinkingBudget
from geode.entrypoints.emulator import Protocol
from tests.unit.cases.server import refused, sent
from tests.unit.cases.turns import T1, T2, call, model, results, user

PROTOCOLS: tuple[Protocol, ...] = ("messages", "responses", "chat")
HI = Conversation((user("hi"),))
ROUND = HI.grown(model(call("a")), results("a"))
EVERY: tuple[ToolChoice, ...] = (Auto(), NoTools(), Required(), Named("t1"))
WORDS: dict[Protocol, list[Any]] = {
    "messages": [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "t1"}],
    "responses": ["auto", "none", "required", {"type": "function", "name": "t1"}],
    "chat": ["auto", "none", "required", {"type": "function", "function": {"name": "t1"}}],
}


def asking(conversation: Conversation = HI, model: str = "m", **changes: Any) -> AdapterCallRequest:
    return AdapterCallRequest(model, conversation, **changes)


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
        ({"type": "tool", "name": "t1"}, {"type": "function", "name": "t1"}),
    ],
)
def test_tc_02_responses_has_words_where_others_have_objects_and_a_flat_name(said: Any, word: Any) -> None:
    chosen = parse_choice(said).unwrap()
    assert sent("responses", asking(tools=(T1,), tool_choice=chosen))["tool_choice"] == word


def test_tc_03_a_named_choice_on_chat_says_its_type_and_nests_its_name() -> None:
    chosen = parse_choice({"type": "tool", "name": "t1"}).unwrap()
    wanted = {"type": "function", "function": {"name": "t1"}}
    assert sent("chat", asking(tools=(T1,), tool_choice=chosen))["tool_choice"] == wanted


CLAUDE = "claude-sonnet-4-5"


@pytest.mark.parametrize("forced", [Required(), Named("t1")])
def test_tc_04_a_forced_choice_beside_a_thinking_budget_is_refused_here_and_neither_is_weakened(forced: ToolChoice) -> None:
    budget = ThinkingBudget(1024)
    why = refused("messages", asking(model=CLAUDE, tools=(T1,), tool_choice=forced, thinking=budget))
    assert "thinking budget" in why
    assert CLAUDE in why

    free = sent("messages", asking(model=CLAUDE, tools=(T1,), thinking=budget))
    assert (free["tool_choice"], free["thinking"]) == ({"type": "auto"}, {"type": "enabled", "budget_tokens": 1024})
    last = sent("messages", asking(model=CLAUDE, tools=(T1,), tool_choice=NoTools(), thinking=budget))
    assert (last["tool_choice"], last["thinking"]["type"]) == ({"type": "none"}, "enabled")


def test_tc_05_thinking_that_the_model_doses_itself_goes_with_a_forced_choice() -> None:
    adaptive = asking(model="claude-opus-4-8", tools=(T1,), tool_choice=Named("t1"), thinking=AdaptiveThinking())
    body = sent("messages", adaptive)
    assert (body["tool_choice"], body["thinking"]) == ({"type": "tool", "name": "t1"}, {"type": "adaptive"})


def test_tc_06_a_relay_that_would_drop_the_reasoning_never_gets_effort_and_force_together() -> None:
    relayed: dict[str, Any] = {"model": "anthropic/claude-opus-4.5", "tools": (T1,)}
    why = refused("chat", asking(**relayed, tool_choice=Required(), effort="high"), "openrouter")
    assert "tool_choice" in why
    assert "effort" in why

    assert sent("chat", asking(**relayed, tool_choice=Required()), "openrouter")["tool_choice"] == "required"
    assert sent("chat", asking(**relayed, effort="high"), "openrouter")["reasoning"] == {"effort": "high"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tc_09_without_tools_there_is_nothing_about_tools(protocol: Protocol) -> None:
    for choice in (Auto(), NoTools()):
        body = sent(protocol, asking(tool_choice=choice))
        assert body.keys().isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})
    assert "needs tools" in refused(protocol, asking(tool_choice=Required()))
    assert '"t1"' in refused(protocol, asking(tool_choice=Named("t1")))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tc_12_every_choice_is_said_on_every_wire(protocol: Protocol) -> None:
    said = [sent(protocol, asking(tools=(T1, T2), tool_choice=choice))["tool_choice"] for choice in EVERY]
    assert said == WORDS[protocol]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tc_13_a_choice_of_a_tool_that_is_not_there_names_it_and_those_that_are(protocol: Protocol) -> None:
    why = refused(protocol, asking(tools=(T1,), tool_choice=Named("t2")))
    assert '"t2"' in why
    assert "t1" in why.partition('"t2"')[2]


def test_tc_14_forbidding_tools_keeps_their_definitions_beside_a_history_of_calls() -> None:
    for protocol in PROTOCOLS:
        body = sent(protocol, asking(ROUND, tools=(T1,), tool_choice=NoTools()))
        assert (len(body["tools"]), body["tool_choice"]) == (1, WORDS[protocol][1])
    summary = sent("messages", asking(ROUND.grown(user("sum it up"))))
    assert ([tool["name"] for tool in summary["tools"]], summary["tool_choice"]) == (["t1"], {"type": "none"})
