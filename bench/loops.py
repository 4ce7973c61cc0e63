"""The same work twice: by hand on the official SDKs, as their documentation shows it, and by geode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from provider import FILLER, FINAL

import geode

SCHEMA = {
    "type": "object",
    "properties": {"key": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["key", "count"],
    "additionalProperties": False,
}
ADDRESS = "http://provider.invalid"
MODELS = {"messages": "claude-sonnet-4-5", "responses": "gpt-4o", "chat": "gpt-4o"}

Run = Callable[[], Awaitable[str]]


class Tool:
    """Counts how often it ran; long results are two kilobytes."""

    def __init__(self, long: bool) -> None:
        self.ran, self.long = 0, long

    async def look_up(self, key: str, count: int) -> str:
        """Look a key up."""
        self.ran += 1
        return f"{key}: {FILLER}" if self.long else f"{key}: found {count}"


def geode_run(wire: str, tool: Tool, http: httpx2.AsyncClient) -> Run:
    base = ADDRESS if wire == "messages" else f"{ADDRESS}/v1"
    provider = geode.Provider("bench", wire, base, "key", "openai")  # type: ignore[arg-type]
    look_up = geode.tool(tier="safe")(Tool.look_up).__get__(tool)

    policy = geode.Policy(max_rounds=1_000, max_output_tokens=1024)
    runtime = geode.Runtime(model=f"bench/{MODELS[wire]}", providers=[provider], tools=[look_up], http=http, policy=policy)
    opened: list[geode.Runtime] = []

    async def run() -> str:
        # Like the loops by hand, which have one SDK client for all their runs.
        if not opened:
            opened.append(await runtime.__aenter__())
        async with runtime.session() as loop:
            outcome = await loop.run("go")
        assert isinstance(outcome, geode.Answered), outcome
        return outcome.text

    return run


def raw_run(wire: str, tool: Tool, http: httpx2.AsyncClient) -> Run:
    return {"messages": _raw_messages, "responses": _raw_responses, "chat": _raw_chat}[wire](tool, http)


def _raw_messages(tool: Tool, http: httpx2.AsyncClient) -> Run:
    import anthropic

    client: Any = anthropic.AsyncAnthropic(api_key="key", base_url=ADDRESS, http_client=http, max_retries=0)
    tools = [{"name": "look_up", "description": "Look a key up.", "input_schema": SCHEMA}]

    async def run() -> str:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            reply = await client.messages.create(model=MODELS["messages"], max_tokens=1024, messages=messages, tools=tools)
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return str(reply.content[0].text)
            messages.append(
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in calls],
                }
            )
            results = await asyncio.gather(*(tool.look_up(**call.input) for call in calls))
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": call.id, "content": result}
                        for call, result in zip(calls, results, strict=True)
                    ],
                }
            )

    return run


def _raw_responses(tool: Tool, http: httpx2.AsyncClient) -> Run:
    import openai

    client: Any = openai.AsyncOpenAI(api_key="key", base_url=f"{ADDRESS}/v1", http_client=http, max_retries=0)
    tools = [{"type": "function", "name": "look_up", "description": "Look a key up.", "parameters": SCHEMA, "strict": False}]

    async def run() -> str:
        items: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            reply = await client.responses.create(model=MODELS["responses"], input=items, tools=tools)
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                return str(reply.output_text)
            items += [
                {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
                for call in calls
            ]
            results = await asyncio.gather(*(tool.look_up(**json.loads(call.arguments)) for call in calls))
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": result}
                for call, result in zip(calls, results, strict=True)
            ]

    return run


def _raw_chat(tool: Tool, http: httpx2.AsyncClient) -> Run:
    import openai

    client: Any = openai.AsyncOpenAI(api_key="key", base_url=f"{ADDRESS}/v1", http_client=http, max_retries=0)
    tools = [{"type": "function", "function": {"name": "look_up", "description": "Look a key up.", "parameters": SCHEMA}}]

    async def run() -> str:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            reply = await client.chat.completions.create(model=MODELS["chat"], messages=messages, tools=tools)
            said = reply.choices[0].message
            if not said.tool_calls:
                return str(said.content)
            messages.append(
                {
                    "role": "assistant",
                    "content": said.content,
                    "tool_calls": [
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {"name": call.function.name, "arguments": call.function.arguments},
                        }
                        for call in said.tool_calls
                    ],
                }
            )
            results = await asyncio.gather(*(tool.look_up(**json.loads(call.function.arguments)) for call in said.tool_calls))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": result}
                for call, result in zip(said.tool_calls, results, strict=True)
            ]

    return run


__all__ = ["ADDRESS", "FINAL", "MODELS", "Run", "Tool", "geode_run", "raw_run"]
