"""What servers were recorded to take, or what may be new, in small: none of it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from geode.entrypoints.emulator import Dialect, Protocol, check, verdict
from tests.unit.entrypoints.emulator.mutations import MUTATIONS, shape
from tests.unit.entrypoints.emulator.requests import (
    GO,
    SCHEMA,
    asking,
    assistant,
    chat,
    function_call,
    messages,
    output,
    reasoning,
    responses,
    text,
    tool,
    tool_call,
    tool_result,
    tool_use,
    user,
)
from tests.unit.entrypoints.emulator.test_histories import VALID

CALL = tool_use("t1")
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SPEAKS = {"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}}]}
SHORT = {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
NEW_PART = {"type": "hologram", "hologram": {}}
NONE_NEEDED = {"type": "object", "properties": {}}
ONLY_TEXT = {"type": "object", "properties": {"__arg1": {"type": "string"}}, "required": ["__arg1"]}


def _round(**function: Any) -> tuple[Any, ...]:
    return GO, asking(tool_call("c1", **function)), tool("c1")


def _function(schema: Any) -> list[Any]:
    return [{"type": "function", "function": {"name": "read", "parameters": schema}}]


TAKEN: dict[str, tuple[Protocol, Dialect, dict[str, Any]]] = {
    "new keys, tools and blocks": (
        "messages",
        "anthropic",
        messages(
            user(NEW_PART, text("x")),
            tools=[{"type": "hologram_20270101", "name": "h"}],
            hologram=True,
            betas=["new"],
        ),
    ),
    "new keys and tools of Responses": (
        "responses",
        "openai",
        responses(
            *(GO, {"type": "hologram"}, {"role": "user", "content": [NEW_PART]}),
            tools=[{"type": "hologram"}],
            tool_choice={"type": "hologram"},
            hologram=True,
        ),
    ),
    "new keys and tools of Chat": (
        "chat",
        "openai",
        chat({"role": "user", "content": [NEW_PART]}, tools=[{"type": "hologram"}], hologram=True),
    ),
    "nothing, said with null": (
        "chat",
        "openai",
        chat(tools=None, tool_choice=None, parallel_tool_calls=None, temperature=None),
    ),
    "a history without tools": (
        "messages",
        "anthropic",
        messages(GO, assistant(tool_use("t1")), user(tool_result("t1")), tools=..., model="claude-sonnet-4-6"),
    ),
    "a history without tools on OpenAI": ("chat", "openai", chat(*_round(), tools=...)),
    "a history without tools by way of OpenRouter": (
        "chat",
        "openrouter",
        chat(*_round(), tools=..., model="openai/gpt-4.1-mini"),
    ),
    "blanks of the model": (
        "messages",
        "anthropic",
        messages(GO, assistant(text(" "), tool_use("t1")), user(tool_result("t1"))),
    ),
    "a system message for another model than Opus": ("messages", "anthropic", messages(GO, SPEAKS, model="claude-fable-5")),
    "a system message behind the assistant": (
        "messages",
        "anthropic",
        messages(GO, assistant(SEARCH, FOUND), SPEAKS, assistant(text("x")), GO),
    ),
    "a server tool still running beside a call": (
        "messages",
        "anthropic",
        messages(GO, assistant(SEARCH, tool_use("t1")), user(tool_result("t1"))),
    ),
    "a server tool whose result has another id": (
        "messages",
        "anthropic",
        messages(GO, assistant(SEARCH, {**FOUND, "tool_use_id": "other"}), GO),
    ),
    "a paused turn": ("messages", "anthropic", messages(GO, assistant(text("let me look"), SEARCH))),
    "a prefill on a model that has it": (
        "messages",
        "anthropic",
        messages(GO, assistant(text("Sure")), model="claude-haiku-4-5-20251001"),
    ),
    "more thinking than answer between tools": (
        "messages",
        "anthropic",
        messages(model="claude-sonnet-4-5", max_tokens=1500, thinking={"type": "enabled", "budget_tokens": 4096}),
    ),
    "a model that is not known": (
        "messages",
        "anthropic",
        messages(
            GO,
            assistant(text("Sure")),
            model="claude-opus-9",
            thinking={"type": "disabled"},
            temperature=0.3,
            tool_choice={"type": "any"},
        ),
    ),
    "a compatible server of Messages": (
        "messages",
        "generic",
        messages(model=..., max_tokens=..., temperature=2, tools=[{"name": "a.b"}], tool_choice="auto", seed=1),
    ),
    "reasoning without an id before a message in short": (
        "responses",
        "openai",
        responses(GO, reasoning(id=...), SHORT, GO),
    ),
    "reasoning before something new": ("responses", "openai", responses(GO, reasoning(), {"type": "hologram"}, GO)),
    "sampling where nothing is thought": ("responses", "openai", responses(model="gpt-5.4-nano", temperature=0)),
    "the usual temperature": ("chat", "openai", chat(model="gpt-5-nano", temperature=1)),
    "a tool search answered as a function": (
        "responses",
        "openai",
        responses(GO, {"type": "tool_search_call", "execution": "client", "call_id": "c1"}, output("c1"), model="gpt-5.6"),
    ),
    "a tool search of the server": (
        "responses",
        "openai",
        responses(GO, {"type": "tool_search_call", "execution": "server", "call_id": "c1"}, GO, model="gpt-5.6"),
    ),
    "an output of a conversation that is stored": ("responses", "openai", responses(output("c1"), conversation="conv_1")),
    "few tokens on a compatible server": ("responses", "openai", responses(model="Qwen/Qwen3-0.6B", max_output_tokens=8)),
    "a picture by its bare address on an old model": (
        "chat",
        "openai",
        chat({"role": "user", "content": [{"type": "image_url", "image_url": "https://a"}]}, model="gpt-4-vision-preview"),
    ),
    "a picture in a result on a compatible server": (
        "chat",
        "openrouter",
        chat(GO, asking(tool_call("c1")), tool("c1", [{"type": "image_url", "image_url": {"url": "data:"}}])),
    ),
    "a call without content": ("chat", "generic", chat(*_round(), model="local")),
    "no list of what is required": ("chat", "generic", chat(tools=_function({"type": "object", "properties": {"a": {}}}))),
    "Mistral's own parts": (
        "chat",
        "generic",
        chat(
            {"role": "user", "content": [{"type": "document_url", "document_url": "https://a"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": []}, text("x")], "tool_calls": []},
            GO,
            model="mistral-medium-latest",
            tool_choice="any",
        ),
    ),
    "a number in quotes": ("chat", "generic", chat(model="gpt-neo-x", temperature="0.5")),
    "a role of a server's own": ("chat", "generic", chat({"role": "latest_reminder", "content": "x"}, GO)),
    "no arguments, said with null": ("chat", "generic", chat(*_round(arguments="null"), tools=_function(NONE_NEEDED))),
    "no arguments, said with nothing": ("chat", "openai", chat(*_round(arguments=""), tools=_function(NONE_NEEDED))),
    "no arguments, said with a list": (
        "responses",
        "openai",
        responses(
            *(GO, function_call("c1", arguments="[]"), output("c1")),
            tools=[{"type": "function", "name": "read", "parameters": NONE_NEEDED}],
        ),
    ),
    "the bare text of a tool that takes a text": (
        "chat",
        "openai",
        chat(*_round(arguments="15 * 4"), tools=_function(ONLY_TEXT)),
    ),
    "a round that Ollama has half of": (
        "chat",
        "generic",
        chat(GO, asking(tool_call("c1"), tool_call("c2")), tool("c1"), model="qwen3:latest"),
    ),
    "a tool loop that was thought about at its beginning": (
        "messages",
        "anthropic",
        messages(
            GO,
            assistant({"type": "thinking", "thinking": "Hm.", "signature": "s"}, tool_use("t1")),
            user(tool_result("t1")),
            assistant(tool_use("t2")),
            user(tool_result("t2")),
            model="claude-sonnet-4-5",
            max_tokens=4096,
            thinking={"type": "enabled", "budget_tokens": 1024},
        ),
    ),
    "strict functions with a default": (
        "responses",
        "openai",
        responses(
            tools=[
                {
                    "type": "function",
                    "name": "read",
                    "strict": True,
                    "parameters": {**SCHEMA, "properties": {"path": {"type": "string", "default": "x"}}},
                }
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_it_is_taken(name: str) -> None:
    protocol, dialect, request = TAKEN[name]

    assert verdict(protocol, request, dialect) == ()


FORCED = "messages.anthropic.tool_choice.forced_unsupported_model"


@pytest.mark.parametrize(
    ("name", "model", "dialect", "rule"),
    [
        ("relayed", "anthropic/claude-opus-5.5", "generic", FORCED),
        (
            "of a cloud",
            "us.anthropic.claude-opus-5-5-v1:0",
            "generic",
            FORCED,
        ),
        ("of a day", "claude-opus-5-5-20261101", "anthropic", FORCED),
        ("of another cloud", "claude-opus-5-5@latest", "generic", FORCED),
        ("its elder", "claude-opus-5", "anthropic", None),
        ("a later one", "claude-opus-5-6", "anthropic", None),
    ],
)
def test_a_model_is_known_by_whatever_name_it_is_relayed(name: str, model: str, dialect: Dialect, rule: str | None) -> None:
    found = check("messages", messages(model=model, tool_choice={"type": "any"}), dialect)

    assert [one.rule for one in found] == ([rule] if rule else [])


def test_a_host_with_the_wire_of_another_is_a_compatible_server() -> None:
    request = chat(GO, asking(tool_call("c1")), GO, tools=[], max_tokens=5)

    assert check("chat", request, "anthropic") == check("chat", request, "generic") != ()


DIALECTS: dict[Protocol, tuple[Dialect, ...]] = {
    "messages": ("anthropic", "glm", "generic"),
    "responses": ("openai", "codex", "openrouter", "generic"),
    "chat": ("openai", "openrouter", "glm", "generic"),
}


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("wire", VALID)
def test_a_broken_history_is_told_on_every_dialect(wire: str, mutate: Any) -> None:
    protocol, request = VALID[wire]
    broken = list(mutate(request, shape(protocol, request)))

    assert broken
    for dialect in DIALECTS[protocol]:
        assert all(verdict(protocol, one, dialect) for one in broken), dialect
