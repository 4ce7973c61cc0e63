"""pydantic-ai over its three models, as its documentation uses them, against `geode emulate`."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterable, Callable
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from emulated import Emulated
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
)
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition
from scripts import AGAIN, COUNTED, FINAL, FLAKY, LOOP, MISTAKEN, PNG, SHOWN, THOUGHTFUL, fahrenheit, weather

Emulate = Callable[[str, list[dict[str, Any]]], Emulated]
WIRES = ("messages", "responses", "chat")
every_wire = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def model_on(wire: str, server: Emulated) -> Model:
    if wire == "messages":
        claude = AsyncAnthropic(base_url=server.base, api_key="none", http_client=server.http())
        # With a limit of its own: without one pydantic-ai streams even where nobody asked it to.
        limit = AnthropicModelSettings(max_tokens=4096)
        return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(anthropic_client=claude), settings=limit)
    openai = AsyncOpenAI(base_url=f"{server.base}/v1", api_key="none", http_client=server.http())
    provider = OpenAIProvider(openai_client=openai)
    return (
        OpenAIChatModel("gpt-4.1", provider=provider) if wire == "chat" else OpenAIResponsesModel("gpt-5.2", provider=provider)
    )


async def consume(_: object, events: AsyncIterable[object]) -> None:
    async for _ in events:
        pass


async def converse(agent: Agent[object, Any], streamed: bool, *prompts: str) -> list[Any]:
    """The outputs of runs, each of which continues the history of the one before."""
    outputs, history = [], list[ModelMessage]()
    for prompt in prompts:
        handler = consume if streamed else None
        result = await agent.run(prompt, message_history=history, event_stream_handler=handler)
        outputs.append(result.output)
        history = result.all_messages()
    return outputs


@every_wire
@both_ways
def test_tool_loop_and_replayed_history(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, LOOP)
    agent = Agent(model_on(wire, server), instructions="Be brief.", tools=[weather, fahrenheit])
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)
    assert server.count("streamed") == 4 * streamed


@pytest.mark.parametrize("wire", ["messages", "responses"])
@both_ways
def test_thinking_comes_back(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, THOUGHTFUL)
    settings: Any = {
        "messages": AnthropicModelSettings(anthropic_thinking={"type": "adaptive"}),
        "responses": OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto"),
    }[wire]
    agent = Agent(model_on(wire, server), tools=[weather, fahrenheit], model_settings=settings)
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)
    assert [signatures(one["request"]) for one in server.sent] == [[], ["sig"], ["sig"], ["sig"]]


def signatures(request: dict[str, Any]) -> list[str]:
    """What proves the thinking that a request brings back."""
    blocks = [block for message in request.get("messages", ()) for block in message["content"]]
    found = [block.get("signature") or block.get("encrypted_content") for block in blocks or request["input"]]
    return [one for one in found if one]


@both_ways
def test_history_kept_by_the_server(emulate: Emulate, streamed: bool) -> None:
    server = emulate("responses", LOOP)
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    agent = Agent(model_on("responses", server), tools=[weather, fahrenheit], model_settings=settings)
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)
    assert [bool(one["request"].get("previous_response_id")) for one in server.sent] == [False, True, True, True]


@every_wire
@both_ways
def test_tokens_are_counted(emulate: Emulate, wire: str, streamed: bool) -> None:
    agent = Agent(model_on(wire, emulate(wire, COUNTED)), tools=[weather])
    usage = asyncio.run(agent.run("The weather?", event_stream_handler=consume if streamed else None)).usage
    assert (usage.input_tokens, usage.output_tokens) == (400, 60)


SETTINGS: dict[str, Any] = {
    "messages": AnthropicModelSettings(
        max_tokens=4096,
        stop_sequences=["STOP"],
        parallel_tool_calls=True,
        anthropic_metadata={"user_id": "u1"},
        anthropic_cache_instructions=True,
        anthropic_cache_tool_definitions=True,
        anthropic_cache_messages=True,
        anthropic_effort="high",
        extra_headers={"x-of-mine": "1", "anthropic-beta": "context-1m-2025-08-07"},
    ),
    "responses": OpenAIResponsesModelSettings(
        max_tokens=4096,
        parallel_tool_calls=True,
        openai_user="u1",
        openai_service_tier="default",
        openai_text_verbosity="low",
        openai_truncation="auto",
        openai_prompt_cache_key="k",
        openai_reasoning_effort="none",
        temperature=0.5,
        extra_headers={"x-of-mine": "1", "openai-organization": "org"},
    ),
    "chat": OpenAIChatModelSettings(
        max_tokens=4096,
        temperature=0.5,
        top_p=0.9,
        seed=1,
        presence_penalty=0.1,
        frequency_penalty=0.1,
        logit_bias={"50256": -100},
        stop_sequences=["STOP"],
        parallel_tool_calls=True,
        openai_user="u1",
        openai_service_tier="default",
        openai_logprobs=True,
        openai_prompt_cache_key="k",
        extra_headers={"x-of-mine": "1", "openai-organization": "org"},
    ),
}


@every_wire
@both_ways
def test_every_setting(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, LOOP)
    agent = Agent(model_on(wire, server), instructions="Be brief.", tools=[weather, fahrenheit], model_settings=SETTINGS[wire])
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)


@every_wire
@both_ways
def test_mistakes_of_the_model(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, MISTAKEN)
    agent = Agent(model_on(wire, server), tools=[weather])
    assert asyncio.run(converse(agent, streamed, "The weather?")) == [FINAL]
    assert (server.count("accepted"), server.count("refused")) == (3, 0)


@every_wire
def test_failures_of_the_server(emulate: Emulate, wire: str) -> None:
    server = emulate(wire, FLAKY)
    agent = Agent(model_on(wire, server), tools=[weather, fahrenheit])
    assert asyncio.run(converse(agent, False, "The weather?")) == [FINAL]
    assert (server.count("accepted"), server.count("refused")) == (5, 0)


def photo(city: str) -> BinaryContent:
    """A photo of a city."""
    return BinaryContent(base64.b64decode(PNG), media_type="image/png", identifier=city)


@every_wire
@both_ways
def test_images(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, SHOWN)
    agent = Agent(model_on(wire, server), tools=[photo])
    prompt = ["The same place?", BinaryContent(base64.b64decode(PNG), media_type="image/png")]
    assert asyncio.run(agent.run(prompt, event_stream_handler=consume if streamed else None)).output == FINAL
    assert (server.count("accepted"), server.count("refused")) == (2, 0)
    assert [str(one["request"]).count(PNG) for one in server.sent] == [1, 2]


@every_wire
def test_ten_at_once(emulate: Emulate, wire: str) -> None:
    server = emulate(wire, LOOP)
    agent = Agent(model_on(wire, server), tools=[weather, fahrenheit])

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(converse(agent, one % 2 == 0, "The weather?", "Again?") for one in range(10)))

    assert asyncio.run(all_of_them()) == [[FINAL, AGAIN]] * 10
    assert (server.count("accepted"), server.count("refused")) == (40, 0)


class Weather(BaseModel):
    city: str
    celsius: float
    note: str | None = None


@every_wire
@both_ways
def test_typed_answer(emulate: Emulate, wire: str, streamed: bool) -> None:
    answer = {"city": "Paris", "celsius": 21.0, "note": None}
    server = emulate(wire, [LOOP[0], {"calls": [["final_result", answer]]}, LOOP[1], {"calls": [["final_result", answer]]}])
    agent = Agent(model_on(wire, server), tools=[weather, fahrenheit], output_type=Weather)
    assert asyncio.run(converse(agent, streamed, "The weather?", "Again?")) == [Weather(**answer)] * 2
    assert (server.count("accepted"), server.count("refused")) == (4, 0)


# ---- broken on purpose ---------------------------------------------------------------------------

ASKED = ModelRequest(parts=[UserPromptPart("The weather?")])
CALLS = [ToolCallPart("weather", {"city": "Paris"}, "call_a"), ToolCallPart("weather", {"city": "Rome"}, "call_b")]
RESULTS = [ToolReturnPart("weather", "21 °C", "call_a"), ToolReturnPart("weather", "30 °C", "call_b")]
DROPPED: list[ModelMessage] = [ASKED, ModelResponse(parts=CALLS), ModelRequest(parts=RESULTS[:1])]
ORPHAN: list[ModelMessage] = [ASKED, ModelResponse(parts=[TextPart("Well.")]), ModelRequest(parts=RESULTS[:1])]
NAMELESS: list[ModelMessage] = [
    ASKED,
    ModelResponse(parts=[ToolCallPart("", {"city": "Paris"}, "call_a")]),
    ModelRequest(parts=[ToolReturnPart("", "21 °C", "call_a")]),
]
TOOL = ToolDefinition(name="weather", parameters_json_schema={"type": "object", "properties": {"city": {"type": "string"}}})
EMPTY = ToolDefinition(name="", parameters_json_schema=TOOL.parameters_json_schema)
MISSING, NAME = re.compile("call_b"), re.compile("name")
# Chat names no id here: the real server does not either.
ORPHANED = re.compile("call_a|role tool must be a response to")


CASES = {
    "dropped result": (WIRES, DROPPED, TOOL, MISSING),
    "orphan result": (WIRES, ORPHAN, TOOL, ORPHANED),
    "call without a name": (WIRES, NAMELESS, TOOL, NAME),
    "tool without a name": (WIRES, [ASKED], EMPTY, NAME),
}


@pytest.mark.parametrize(("wire", "broken"), [(wire, broken) for broken, (wires, *_) in CASES.items() for wire in wires])
def test_broken_on_purpose(emulate: Emulate, wire: str, broken: str) -> None:
    server = emulate(wire, LOOP)
    _, history, tool, named = CASES[broken]
    parameters = ModelRequestParameters(function_tools=[tool])
    with pytest.raises(ModelHTTPError) as caught:
        asyncio.run(model_request(model_on(wire, server), history, model_request_parameters=parameters))
    assert (server.count("accepted"), server.count("refused")) == (0, 1)
    body: Any = caught.value.body
    error = body.get("error", body)
    assert (caught.value.status_code, error["type"]) == (400, "invalid_request_error")
    assert named.search(error["message"])
