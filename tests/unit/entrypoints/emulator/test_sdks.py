"""The real SDKs read what the emulator writes, whole and streamed, over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from geode.domain.script import Called, Reply, calls, cut, refuses, says, thinks
from geode.entrypoints.emulator import Dialect, Emulator, running

ROUND = (
    thinks("two files", "SIG")
    + says("Ich lese beide – jetzt.")
    + calls(("read", {"path": "ä"}), Called("read", '{"path": "b"}', id="mine"))
)
ASK: Any = [{"role": "user", "content": "go"}]


@asynccontextmanager
async def _anthropic(*script: Reply) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with (
        running(Emulator(script)) as server,
        httpx2.AsyncClient() as http,
    ):
        yield anthropic.AsyncAnthropic(api_key="k", base_url=server.base_url, max_retries=0, http_client=http)


@asynccontextmanager
async def _openai(*script: Reply, dialect: Dialect | None = None) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        running(Emulator(script, dialect=dialect)) as server,
        httpx2.AsyncClient() as http,
    ):
        yield openai.AsyncOpenAI(api_key="k", base_url=f"{server.base_url}/v1", max_retries=0, http_client=http)


@pytest.mark.parametrize("streamed", [False, True])
async def test_messages(streamed: bool) -> None:
    async with _anthropic(ROUND) as client:
        request: Any = {"model": "claude-opus-5", "max_tokens": 64, "messages": ASK}
        if streamed:
            async with client.messages.stream(**request) as stream:
                message: Any = await stream.get_final_message()
        else:
            message = await client.messages.create(**request)

    thought, text, first, second = message.content
    assert (thought.type, thought.thinking, thought.signature) == ("thinking", "two files", "SIG")
    assert text.text == "Ich lese beide – jetzt."
    assert (first.id, first.name, first.input) == ("toolu_r0c0", "read", {"path": "ä"})
    assert (second.id, second.input) == ("mine", {"path": "b"})
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("tool_use", 10, 5)


@pytest.mark.parametrize("streamed", [False, True])
async def test_messages_refusal(streamed: bool) -> None:
    async with _anthropic(refuses("No.", "cyber")) as client:
        request: Any = {"model": "claude-opus-5", "max_tokens": 64, "messages": ASK}
        if streamed:
            async with client.messages.stream(**request) as stream:
                message: Any = await stream.get_final_message()
        else:
            message = await client.messages.create(**request)

    assert message.stop_reason == "refusal"
    assert (message.stop_details.type, message.stop_details.category) == ("refusal", "cyber")


@pytest.mark.parametrize("streamed", [False, True])
async def test_responses(streamed: bool) -> None:
    async with _openai(ROUND) as client:
        if streamed:
            async with client.responses.stream(model="gpt-5.6-sol", input=ASK) as stream:
                response: Any = await stream.get_final_response()
        else:
            response = await client.responses.create(model="gpt-5.6-sol", input=ASK)

    thought, message, first, second = response.output
    assert (thought.id[:3], thought.summary[0].text, thought.encrypted_content) == ("rs_", "two files", "SIG")
    assert message.content[0].text == response.output_text == "Ich lese beide – jetzt."
    assert (first.id[:3], first.call_id, first.arguments) == ("fc_", "call_r0c0", '{"path": "ä"}')
    assert (second.call_id, second.arguments) == ("mine", '{"path": "b"}')
    assert (response.status, response.usage.input_tokens, response.usage.total_tokens) == ("completed", 10, 15)


@pytest.mark.parametrize("streamed", [False, True])
async def test_responses_refusal(streamed: bool) -> None:
    async with _openai(refuses("No.")) as client:
        if streamed:
            async with client.responses.stream(model="gpt-5.6-sol", input=ASK) as stream:
                response: Any = await stream.get_final_response()
        else:
            response = await client.responses.create(model="gpt-5.6-sol", input=ASK)

    assert (response.output[0].content[0].type, response.output[0].content[0].refusal) == ("refusal", "No.")


async def test_responses_end_their_stream_incomplete_when_cut() -> None:
    async with _openai(cut(says("half"))) as client:
        stream: Any = await client.responses.create(model="gpt-5.6-sol", input=ASK, stream=True)
        events = [event async for event in stream]

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created"
    assert (events[-1].type, events[-1].response.incomplete_details.reason) == ("response.incomplete", "max_output_tokens")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dialect", ["openai", "glm", "openrouter", "generic"])
async def test_chat(dialect: Dialect, streamed: bool) -> None:
    async with _openai(ROUND, dialect=dialect) as client:
        if streamed:
            options: Any = {"stream_options": {"include_usage": True}}
            async with client.chat.completions.stream(model="glm-5.2", messages=ASK, **options) as stream:
                completion: Any = await stream.get_final_completion()
        else:
            completion = await client.chat.completions.create(model="glm-5.2", messages=ASK)

    message = completion.choices[0].message
    assert message.content == "Ich lese beide – jetzt."
    thought = message.reasoning if dialect == "openrouter" else message.reasoning_content
    assert thought == "two files"
    assert [(call.id, call.function.arguments) for call in message.tool_calls] == [
        ("call_r0c0", '{"path": "ä"}'),
        ("mine", '{"path": "b"}'),
    ]
    assert completion.choices[0].finish_reason == "tool_calls"
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (10, 5)


async def test_chat_streams_usage_only_when_asked() -> None:
    async with _openai(says("hi"), says("hi")) as client:
        plain: Any = await client.chat.completions.create(model="gpt-4.1", messages=ASK, stream=True)
        without = [chunk.usage async for chunk in plain]
        options: Any = {"include_usage": True}
        asked: Any = await client.chat.completions.create(model="gpt-4.1", messages=ASK, stream=True, stream_options=options)
        chunks = [chunk async for chunk in asked]

    assert set(without) == {None}
    assert [bool(chunk.usage) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1].choices == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_chat_refusal(streamed: bool) -> None:
    async with _openai(refuses("No.")) as client:
        if streamed:
            async with client.chat.completions.stream(model="gpt-4.1", messages=ASK) as stream:
                completion: Any = await stream.get_final_completion()
        else:
            completion = await client.chat.completions.create(model="gpt-4.1", messages=ASK)

    message = completion.choices[0].message
    assert (message.refusal, message.content or None, completion.choices[0].finish_reason) == ("No.", None, "stop")


async def test_errors_become_the_sdks_own_classes() -> None:
    request: Any = {"model": "claude-opus-5", "max_tokens": 64, "messages": [{"role": "user", "content": []}]}
    async with _anthropic(says("unused")) as client:
        with pytest.raises(anthropic.BadRequestError) as refused:
            await client.messages.create(**request)
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
            await client.messages.create(model="claude-opus-5", max_tokens=64, messages=ASK, extra_body={"temperature": 1})
    async with _openai(says("unused")) as client:
        with pytest.raises(openai.BadRequestError) as missing:
            await client.responses.create(
                model="gpt-5.6-sol", input=[{"type": "function_call_output", "call_id": "c", "output": ""}]
            )

    assert refused.value.type == "invalid_request_error"
    assert refused.value.request_id == "req_000000"
    assert (missing.value.param, missing.value.type) == ("input[0]", "invalid_request_error")
