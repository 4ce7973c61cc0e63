"""Requests that break one rule each: those that follow from request types, neighbours and recorded answers."""

from __future__ import annotations

from typing import Any

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

LONG = "x" * 65
LOOSE = {"type": "object", "properties": {"a": {"type": "string"}}}
DEEP: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
for _ in range(10):
    DEEP = {"type": "object", "properties": {"c": DEEP}, "required": ["c"], "additionalProperties": False}
CALL = assistant(tool_use("t1"))
SOUND = {"type": "input_file", "file_data": "data:audio/mpeg;base64,AA=="}
STRICT_TOOL = {"name": "read", "strict": True, "input_schema": SCHEMA}


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
    "content.kind": messages(user({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})),
    "content.role": messages(GO, assistant(tool_use("t1")), assistant(tool_result("t1"))),
    "context.too_long": messages({"role": "user", "content": "word " * 200_001}, model="claude-haiku-4-5"),
    "document.media_type": messages(
        user({"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": "AA=="}})
    ),
    "effort.level": messages(model="claude-opus-4-6", output_config={"effort": "xhigh"}),
    "messages.shape": messages(messages=["go"]),
    "model.unknown": messages(model="claude-sonet-4-5"),
    "output_format.schema": messages(output_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
    "sampling.both": messages(model="claude-haiku-4-5", temperature=0.5, top_p=0.5),
    "sampling.range": messages(model="claude-sonnet-4-6", temperature=-5.0),
    "strict.boolean_schema": messages(tools=[{**STRICT_TOOL, "input_schema": {**SCHEMA, "properties": {"path": True}}}]),
    "strict.tools_count": messages(tools=[{**STRICT_TOOL, "name": f"t{number}"} for number in range(21)]),
    "thinking.adaptive_old_models": messages(model="claude-sonnet-4-5", thinking={"type": "adaptive"}),
    "thinking.sampling": messages(
        model="claude-sonnet-4-5", max_tokens=4096, thinking={"type": "enabled", "budget_tokens": 1024}, temperature=0.5
    ),
    "tool.name_missing": messages(tools=[{"name": "", "input_schema": SCHEMA}]),
    "tool_result.content_kind": messages(GO, CALL, user(tool_result("t1", [{"type": "image_url", "image_url": {"url": "x"}}]))),
    "tool_use.name_missing": messages(GO, assistant(tool_use("t1", "")), user(tool_result("t1"))),
    "deferred.all": messages(tools=[{"name": "read", "input_schema": SCHEMA, "defer_loading": True}]),
    "deferred.search": messages(
        tools=[
            {"name": "read", "input_schema": SCHEMA},
            {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex", "defer_loading": True},
        ]
    ),
    "deferred.reference": messages(GO, CALL, user(tool_result("t1", [{"type": "tool_reference", "tool_name": "write"}]))),
}
RESPONSES = {
    "deferred.namespace": responses(
        GO,
        function_call("c1"),
        output("c1"),
        tools=[
            {"type": "tool_search"},
            {"type": "function", "name": "read", "parameters": SCHEMA, "defer_loading": True},
        ],
    ),
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
    "call.name_length": responses(GO, function_call("c1", name=LONG), output("c1")),
    "call.name_missing": responses(GO, function_call("c1", name=""), output("c1")),
    "call.name_pattern": responses(GO, function_call("c1", name="fs.read"), output("c1")),
    "effort.unsupported": responses(model="gpt-4o", reasoning={"effort": "low"}),
    "effort.value": responses(model="o4-mini", reasoning={"effort": "minimal"}),
    "output.part": responses(GO, function_call("c1"), output("c1", output=[{"type": "text", "text": "x"}])),
    "part.file_data": responses(
        {"role": "user", "content": [{"type": "input_file", "file_data": "data:audio/mpeg;base64,AA=="}]}
    ),
    "part.file_url": responses(
        GO, function_call("c1"), output("c1", output=[{"type": "input_file", "file_url": "https://example.com/a.mp3?x=1"}])
    ),
    "part.image_url": responses({"role": "user", "content": [{"type": "input_image", "image_url": {"url": "https://a"}}]}),
    "part.source": responses({"role": "user", "content": [{"type": "input_image"}]}),
    "sampling.above": responses(model="gpt-4o", temperature=99.0),
    "sampling.below": responses(model="gpt-4o", temperature=-1),
    "sampling.type": responses(model="gpt-4o", temperature="hot"),
    "text_format.name_missing": responses(text={"format": {"type": "json_schema", "name": "", "schema": SCHEMA}}),
    "tools.name_missing": responses(tools=[{"type": "function", "name": "", "parameters": SCHEMA}]),
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
    "effort.unsupported": chat(model="gpt-4o", reasoning_effort="low"),
    "effort.value": chat(model="o4-mini", reasoning_effort="minimal"),
    "messages.audio": chat(
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}]},
        model="gpt-5-mini",
    ),
    "messages.file": chat({"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf"}}]}),
    "messages.file_data": chat({"role": "user", "content": [{"type": "file", "file": {"file_data": "AA=="}}]}),
    "messages.image_url": chat({"role": "user", "content": [{"type": "image_url", "image_url": "https://example.com/a.png"}]}),
    "messages.instructions": chat({"role": "developer", "content": "x"}, GO, model="o1-mini"),
    "messages.part_type": chat({"role": "user", "content": [{"text": "x"}]}),
    "messages.shape": chat(messages=[GO, "go"]),
    "model.unknown": chat(model="gpt-nope"),
    "sampling.above": chat(temperature=99.0),
    "sampling.below": chat(top_p=-1),
    "sampling.type": chat(temperature="hot"),
    "stop": chat(model="gpt-5-mini", stop=["x"]),
    "tool_calls.name_missing": chat(GO, asking(tool_call("c1", name="")), tool("c1")),
    "tools.name_missing": chat(tools=_function(SCHEMA, name="")),
    "web_search_options": chat(model="gpt-4o", web_search_options={"search_context_size": "low"}),
}
OTHERS = {
    "chat.generic.deepseek_parts": chat(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        model="deepseek-v4-flash",
    ),
    "responses.codex.stream": responses(store=False, instructions="x"),
    "responses.generic.deepseek_adjacent": responses(
        *(GO, function_call("c1"), {"role": "assistant", "content": "x"}, function_call("c2"), output("c1"), output("c2")),
        model="deepseek-v4-flash",
    ),
}
_MARK = {"cache_control": {"type": "ephemeral"}}
OPENROUTER = {
    "provider.type": chat(GO, provider="anthropic"),
    "provider.unknown": chat(GO, provider={"ordr": ["anthropic"]}),
    "provider.names": chat(GO, provider={"order": "anthropic"}),
    "provider.switch": chat(GO, provider={"require_parameters": "true"}),
    "provider.word": chat(GO, provider={"data_collection": "never"}),
    "effort": chat(GO, reasoning={"effort": "hardest"}),
    "session_id": chat(GO, session_id="x" * 257),
    "cache_control.max4": chat(
        {"role": "user", "content": [{"type": "text", "text": str(n), **_MARK} for n in range(5)]},
        model="anthropic/claude-sonnet-4.6",
    ),
}
GLM = {
    "thinking": chat(GO, model="glm-5.2", thinking={"type": "adaptive"}),
    "effort": chat(GO, model="glm-5.3", reasoning_effort="medium"),
    "message_name": chat({**GO, "name": "ada"}, model="glm-5.2"),
    "tool_stream": chat(GO, model="glm-5.2", tool_stream="yes"),
    "reasoning_content": chat(GO, {**asking(tool_call("c1")), "reasoning_content": ["hm"]}, tool("c1"), model="glm-5.2"),
}
_SILENT = asking(tool_call("c1"))
_WITHOUT = {key: value for key, value in _SILENT.items() if key != "content"}
_PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
# What one compatible server refuses and others take.
QUIRKS = {
    "tools": chat(GO),
    "tool_messages": chat(GO, asking(tool_call("c1")), tool("c1")),
    "forced_choice": chat(GO, tool_choice="required"),
    "named_choice": chat(GO, tool_choice={"type": "function", "function": {"name": "read"}}),
    "null_content": chat(GO, {**_SILENT, "content": None}, tool("c1")),
    "empty_content": chat(GO, {**_SILENT, "content": ""}, tool("c1")),
    "absent_content": chat(GO, _WITHOUT, tool("c1")),
    "stream_options": chat(GO, stream=True, stream_options={"include_usage": True}),
    "max_tokens": chat(GO, max_tokens=64),
    "max_completion_tokens": chat(GO, max_completion_tokens=64),
    "result_parts": chat(GO, asking(tool_call("c1")), tool("c1", [{"type": "text", "text": "ok"}])),
    "pictures": chat({"role": "user", "content": [_PICTURE]}),
}
DERIVED = {
    **{f"messages.anthropic.{name}": body for name, body in MESSAGES.items()},
    **{f"responses.openai.{name}": body for name, body in RESPONSES.items()},
    **{f"chat.openai.{name}": body for name, body in CHAT.items()},
    **{f"chat.openrouter.{name}": body for name, body in OPENROUTER.items()},
    **{f"chat.glm.{name}": body for name, body in GLM.items()},
    **OTHERS,
}
