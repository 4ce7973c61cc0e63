"""Every rule refuses the smallest request that breaks it, with the status and words of the real server.

`refused.json` holds the rules that were seen in issues, documents and traffic, with the smallest
request that breaks each; the table below those that follow from request types and from neighbours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from geode.entrypoints.emulator import RULES, Dialect, Protocol, check
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

SEEN: list[dict[str, Any]] = json.loads((Path(__file__).parent / "refused.json").read_text())
LONG = "x" * 65
LOOSE = {"type": "object", "properties": {"a": {"type": "string"}}}
DEEP: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
for _ in range(10):
    DEEP = {"type": "object", "properties": {"c": DEEP}, "required": ["c"], "additionalProperties": False}
CALL = assistant(tool_use("t1"))


def _function(schema: Any, **changes: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "read", "parameters": schema, **changes}}]


def _many(count: int) -> list[dict[str, Any]]:
    return [{"type": "function", "name": f"f{n}", "parameters": SCHEMA} for n in range(count)]


MESSAGES = {
    "image.media_type": messages(
        user({"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "AA=="}})
    ),
    "messages.required": messages(messages=[]),
    "messages.role": messages({"role": "tool", "content": "x"}),
    "model.required": messages(model=...),
    "thinking.forced_tool_choice": messages(
        model="claude-sonnet-4-5",
        max_tokens=4096,
        thinking={"type": "enabled", "budget_tokens": 1024},
        tool_choice={"type": "any"},
    ),
    "thinking.shape": messages(GO, assistant({"type": "thinking", "thinking": "hm"}, text("x")), GO),
    "tool.shape": messages(tools=[{"type": "function", "function": {"name": "read"}}]),
    "tool_choice.none_parallel": messages(tool_choice={"type": "none", "disable_parallel_tool_use": True}),
    "tool_choice.shape": messages(tool_choice="auto"),
    "tool_choice.without_tools": messages(tools=..., tool_choice={"type": "auto"}),
    "tool_result.content_type": messages(GO, CALL, user(tool_result("t1", {"ok": True}))),
    "tool_use.duplicate_id": messages(GO, assistant(tool_use("t1"), tool_use("t1")), user(tool_result("t1"))),
    "tool_use.id_pattern": messages(GO, assistant(tool_use("a|b")), user(tool_result("a|b"))),
    "tool_use.input_type": messages(GO, assistant(tool_use("t1", input='{"path": "a"}')), user(tool_result("t1"))),
    "tool_use.name_pattern": messages(GO, assistant(tool_use("t1", "fs.read")), user(tool_result("t1"))),
    "tool_use.unanswered": messages(GO, assistant(tool_use("t1"), tool_use("t2")), user(tool_result("t1"))),
}
RESPONSES = {
    "call.unanswered": responses(GO, function_call("c1"), function_call("c2"), output("c1")),
    "call_id.length": responses(GO, function_call(LONG), output(LONG)),
    "call_id.missing": responses(GO, function_call("", call_id=...), output("", call_id=...)),
    "input.required": responses(input=...),
    "input.type": responses(input={"role": "user"}),
    "max_output_tokens.floor": responses(max_output_tokens=15),
    "message.chat_shape": responses(GO, {"role": "assistant", "content": "x", "tool_calls": [tool_call("c1")]}),
    "message.content": responses({"role": "user", "content": None}),
    "message.part": responses({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    "message.role": responses(GO, {"role": "tool", "tool_call_id": "c1", "content": "ok"}),
    "model.required": responses(model=...),
    "output.orphan": responses(GO, output("c9")),
    "reasoning.summary": responses(GO, reasoning(summary=...), function_call("c1"), output("c1")),
    "reasoning.without_following": responses(GO, reasoning(), {"role": "assistant", "content": "x"}, GO),
    "sampling.top_p": responses(top_p=0.5),
    "text_format.chat_shape": responses(response_format={"type": "json_object"}),
    "text_format.name_length": responses(text={"format": {"type": "json_schema", "name": LONG, "schema": SCHEMA}}),
    "text_format.name_pattern": responses(text={"format": {"type": "json_schema", "name": "a b", "schema": SCHEMA}}),
    "tool_choice.required_without_tools": responses(tools=..., tool_choice="required"),
    "tool_choice.shape": responses(tool_choice={"type": "tool", "name": "read"}),
    "tools.count": responses(tools=_many(129)),
    "tools.name_pattern": responses(tools=[{"type": "function", "name": "fs.read", "parameters": SCHEMA}]),
    "tools.type": responses(tools=[{"name": "read", "input_schema": SCHEMA}]),
}
CHAT = {
    "messages.content_type": chat({"role": "user", "content": 1}),
    "messages.null_content": chat({"role": "user", "content": None}),
    "messages.part": chat({"role": "user", "content": [{"type": "image", "source": {}}]}),
    "messages.required": chat(messages=[]),
    "messages.role": chat({"role": "human", "content": "x"}),
    "model.required": chat(model=...),
    "response_format.name": chat(response_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
    "schema.missing_properties": chat(tools=_function({"type": "object"})),
    "schema.root_not_object": chat(tools=_function({"type": "string"})),
    "strict.additional_properties": chat(tools=_function({**LOOSE, "required": ["a"]}, strict=True)),
    "strict.nesting": chat(tools=_function(DEEP, strict=True)),
    "strict.oneof": chat(tools=_function({**SCHEMA, "properties": {"path": {"oneOf": [{"type": "string"}]}}}, strict=True)),
    "strict.required_all": chat(tools=_function({**LOOSE, "additionalProperties": False}, strict=True)),
    "tool.content_parts": chat(GO, asking(tool_call("c1")), tool("c1", [{"type": "image_url", "image_url": {"url": "data:"}}])),
    "tool.duplicate": chat(GO, asking(tool_call("c1")), tool("c1"), tool("c1")),
    "tool.id_missing": chat(GO, asking(tool_call("c1")), {"role": "tool", "content": "ok"}),
    "tool_calls.count": chat(GO, asking(*(tool_call(f"c{n}") for n in range(129))), *(tool(f"c{n}") for n in range(129))),
    "tool_calls.duplicate_id": chat(GO, asking(tool_call("c1"), tool_call("c1")), tool("c1")),
    "tool_calls.id_missing": chat(GO, asking(tool_call("")), tool("")),
    "tool_calls.name_length": chat(GO, asking(tool_call("c1", name=LONG)), tool("c1")),
    "tool_calls.name_pattern": chat(GO, asking(tool_call("c1", name="fs.read")), tool("c1")),
    "tool_choice.responses_shape": chat(tool_choice={"type": "function", "name": "read"}),
    "tool_choice.shape": chat(tool_choice="any"),
    "tool_choice.unknown": chat(tool_choice={"type": "function", "function": {"name": "nope"}}),
    "tools.count": chat(tools=[*_function(SCHEMA) * 129]),
    "tools.type": chat(tools={"read": SCHEMA}),
}
OTHERS = {
    "responses.codex.stream": responses(store=False, instructions="x"),
    "responses.generic.deepseek_adjacent": responses(
        *(GO, function_call("c1"), {"role": "assistant", "content": "x"}, function_call("c2"), output("c1"), output("c2")),
        model="deepseek-v4-flash",
    ),
}
DERIVED = {
    **{f"messages.anthropic.{name}": body for name, body in MESSAGES.items()},
    **{f"responses.openai.{name}": body for name, body in RESPONSES.items()},
    **{f"chat.openai.{name}": body for name, body in CHAT.items()},
    **OTHERS,
}
# Judged beside the body, in tests of their own.
ELSEWHERE = {"messages.anthropic.sampling.temperature", "messages.anthropic.size.413"}


@pytest.mark.parametrize("case", SEEN, ids=lambda case: case["rule"])
def test_a_rule_that_was_seen_refuses_with_the_words_of_its_server(case: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        key: value if isinstance(value, str) else frozenset(value) for key, value in case.get("given", {}).items()
    }

    found = [one for one in check(case["protocol"], case["request"], case["dialect"], **given) if one.rule == case["rule"]]

    assert found
    assert (found[0].status, found[0].error_type, found[0].error_code) == (case["status"], case["type"], case["code"])


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_rule_refuses(name: str) -> None:
    protocol, dialect = name.split(".")[:2]

    found = check(cast("Protocol", protocol), DERIVED[name], cast("Dialect", dialect))

    assert name in {one.rule for one in found}
    assert {one.status for one in found} == {400}


def test_every_rule_has_a_request_that_breaks_it() -> None:
    assert set(RULES) == {case["rule"] for case in SEEN} | set(DERIVED) | ELSEWHERE


def test_every_rule_says_what_it_is_and_where_it_is_known_from() -> None:
    assert [rule.id for rule in RULES.values() if not rule.says or not rule.source] == []


@pytest.mark.parametrize("key", ["temperature", "top_p", "top_k"])
def test_sampling_is_refused_by_the_version_that_dropped_it(key: str) -> None:
    request = messages(**{key: 1})

    assert check("messages", request, version="2023-06-01") == ()
    assert [one.rule for one in check("messages", request, version="2026-10-21")] == [f"messages.anthropic.sampling.{key}"]


def test_a_violation_points_into_the_request() -> None:
    request = messages(GO, assistant(tool_use("t1")), user(text("first"), tool_result("t1")))

    (found,) = check("messages", request)

    assert found.at == "/messages/2/content/1"


def test_only_a_known_signature_passes_where_signatures_are_known() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    request = messages(GO, assistant(thought, tool_use("t1")), user(tool_result("t1")))

    assert check("messages", request) == ()
    assert check("messages", request, signatures=frozenset({"sig"})) == ()
    assert [one.rule for one in check("messages", request, signatures=frozenset())] == [
        "messages.anthropic.thinking.signature_invalid"
    ]


def test_a_paused_turn_may_come_back_as_the_last_word() -> None:
    request = messages(GO, assistant(text("half a thought")))

    assert [one.rule for one in check("messages", request)] == ["messages.anthropic.assistant.prefill_unsupported"]
    assert check("messages", request, paused=frozenset({"half a thought"})) == ()


def test_an_item_made_with_reasoning_wants_it_back() -> None:
    call, made = function_call("c1", id="fc_1"), frozenset({"fc_1"})

    assert check("responses", responses(GO, reasoning(), call, output("c1")), reasoned=made) == ()
    assert [one.rule for one in check("responses", responses(GO, call, output("c1")), reasoned=made)] == [
        "responses.openai.item.without_reasoning"
    ]
