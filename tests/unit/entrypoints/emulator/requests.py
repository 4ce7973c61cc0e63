"""Small valid requests of each wire, for tests to break."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

SCHEMA: Json = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
USER_IMAGE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def messages(*turns: Json, **changes: Any) -> Json:
    """A Messages request with one tool."""
    body: Json = {
        "model": "claude-opus-5",
        "max_tokens": 64,
        "messages": list(turns) or [{"role": "user", "content": "go"}],
        "tools": [{"name": "read", "input_schema": SCHEMA}],
    }
    return _changed(body, changes)


def responses(*items: Json, **changes: Any) -> Json:
    """A Responses request with one tool."""
    body: Json = {
        "model": "gpt-5.6-sol",
        "input": list(items) or [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}],
    }
    return _changed(body, changes)


def chat(*turns: Json, **changes: Any) -> Json:
    """A Chat Completions request with one tool."""
    body: Json = {
        "model": "gpt-4.1",
        "messages": list(turns) or [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}],
    }
    return _changed(body, changes)


def _changed(body: Json, changes: Json) -> Json:
    """`...` as a value takes the key out."""
    return {key: value for key, value in {**body, **changes}.items() if value is not ...}


def tool_use(name: str, tool: str = "read", **changes: Any) -> Json:
    return {"type": "tool_use", "id": name, "name": tool, "input": {"path": "a"}, **changes}


def tool_result(name: str, content: Any = "ok", **changes: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **changes}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def function_call(call: str, **changes: Any) -> Json:
    return _changed({"type": "function_call", "call_id": call, "name": "read", "arguments": "{}"}, changes)


def output(call: str, **changes: Any) -> Json:
    return _changed({"type": "function_call_output", "call_id": call, "output": "ok"}, changes)


def reasoning(**changes: Any) -> Json:
    return _changed({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}, changes)


def tool_call(call_id: str, **function: Any) -> Json:
    return {"id": call_id, "type": "function", "function": _changed({"name": "read", "arguments": "{}"}, function)}


def asking(*calls: Json) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def tool(name: str, content: Any = "ok") -> Json:
    return {"role": "tool", "tool_call_id": name, "content": content}


GO: Json = {"role": "user", "content": "go"}
