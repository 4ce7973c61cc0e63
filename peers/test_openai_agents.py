"""openai-agents over its two models, as its documentation uses them, against `geode emulate`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    ToolOutputImage,
    function_tool,
)
from agents.tool_context import ToolContext
from emulated import Emulated
from openai import AsyncOpenAI, BadRequestError
from openai.types.shared import Reasoning
from pydantic import BaseModel
from scripts import AGAIN, COUNTED, FINAL, FLAKY, LOOP, MISTAKEN, PNG, SHOWN, THOUGHTFUL, fahrenheit, weather

Emulate = Callable[[str, list[dict[str, Any]]], Emulated]
WIRES = ("responses", "chat")
every_wire = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
TOOLS = [function_tool(weather), function_tool(fahrenheit)]


def model_on(wire: str, server: Emulated) -> Model:
    openai = AsyncOpenAI(base_url=f"{server.base}/v1", api_key="none", http_client=server.http())
    return OpenAIChatCompletionsModel("gpt-4.1", openai) if wire == "chat" else OpenAIResponsesModel("gpt-5.2", openai)


async def run(agent: Agent[Any], streamed: bool, asked: Any, **options: Any) -> Any:
    if not streamed:
        return await Runner.run(agent, asked, **options)
    result = Runner.run_streamed(agent, asked, **options)
    async for _ in result.stream_events():
        pass
    return result


async def converse(agent: Agent[Any], streamed: bool, *prompts: str) -> list[Any]:
    """The outputs of runs, each of which continues the history of the one before."""
    outputs, history = [], list[Any]()
    for prompt in prompts:
        result = await run(agent, streamed, [*history, {"role": "user", "content": prompt}])
        outputs.append(result.final_output)
        history = result.to_input_list()
    return outputs


@every_wire
@both_ways
def test_tool_loop_and_replayed_history(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, LOOP)
    agent = Agent("Weather", instructions="Be brief.", model=model_on(wire, server), tools=TOOLS)
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)
    assert server.count("streamed") == 4 * streamed


@both_ways
def test_thinking_comes_back(emulate: Emulate, streamed: bool) -> None:
    server = emulate("responses", THOUGHTFUL)
    settings = ModelSettings(reasoning=Reasoning(effort="low"), store=False, response_include=["reasoning.encrypted_content"])
    agent = Agent("Weather", model=model_on("responses", server), tools=TOOLS, model_settings=settings)
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)
    brought = [
        [item["encrypted_content"] for item in one["request"]["input"] if "encrypted_content" in item] for one in server.sent
    ]
    assert brought == [[], ["sig"], ["sig"], ["sig"]]


@both_ways
def test_history_kept_by_the_server(emulate: Emulate, streamed: bool) -> None:
    server = emulate("responses", LOOP)
    agent = Agent("Weather", model=model_on("responses", server), tools=TOOLS)

    async def twice() -> list[str]:
        first = await run(agent, streamed, "The weather?", auto_previous_response_id=True)
        second = await run(agent, streamed, "In Fahrenheit, again?", previous_response_id=first.last_response_id)
        return [first.final_output, second.final_output]

    assert asyncio.run(twice()) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)
    assert [bool(one["request"].get("previous_response_id")) for one in server.sent] == [False, True, True, True]


@every_wire
@both_ways
def test_tokens_are_counted(emulate: Emulate, wire: str, streamed: bool) -> None:
    settings = ModelSettings(include_usage=True)
    agent = Agent("Weather", model=model_on(wire, emulate(wire, COUNTED)), tools=TOOLS, model_settings=settings)
    usage = asyncio.run(run(agent, streamed, "The weather?")).context_wrapper.usage
    assert (usage.input_tokens, usage.output_tokens) == (400, 60)


SETTINGS = {
    "responses": ModelSettings(
        max_tokens=4096,
        parallel_tool_calls=True,
        truncation="auto",
        verbosity="low",
        metadata={"run": "1"},
        top_logprobs=2,
        reasoning=Reasoning(effort="none"),
        temperature=0.5,
        extra_headers={"x-of-mine": "1", "openai-organization": "org"},
    ),
    "chat": ModelSettings(
        max_tokens=4096,
        temperature=0.5,
        top_p=0.9,
        presence_penalty=0.1,
        frequency_penalty=0.1,
        parallel_tool_calls=True,
        store=True,
        metadata={"run": "1"},
        extra_headers={"x-of-mine": "1", "openai-organization": "org"},
    ),
}


@every_wire
@both_ways
def test_every_setting(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, LOOP)
    agent = Agent("Weather", instructions="Be brief.", model=model_on(wire, server), tools=TOOLS, model_settings=SETTINGS[wire])
    assert asyncio.run(converse(agent, streamed, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (4, 0)


@every_wire
@both_ways
def test_mistakes_of_the_model(emulate: Emulate, wire: str, streamed: bool) -> None:
    server = emulate(wire, MISTAKEN)
    agent = Agent("Weather", model=model_on(wire, server), tools=TOOLS)
    assert asyncio.run(converse(agent, streamed, "The weather?")) == [FINAL]
    assert (server.count("accepted"), server.count("refused")) == (3, 0)


@every_wire
def test_failures_of_the_server(emulate: Emulate, wire: str) -> None:
    server = emulate(wire, FLAKY)
    agent = Agent("Weather", model=model_on(wire, server), tools=TOOLS)
    assert asyncio.run(converse(agent, False, "The weather?")) == [FINAL]
    assert (server.count("accepted"), server.count("refused")) == (5, 0)


@function_tool
def photo(city: str) -> ToolOutputImage:
    """A photo of a city."""
    return ToolOutputImage(image_url=f"data:image/png;base64,{PNG}")


@both_ways
def test_images(emulate: Emulate, streamed: bool) -> None:
    server = emulate("responses", SHOWN)
    agent = Agent("Weather", model=model_on("responses", server), tools=[photo])
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
    prompt = [{"role": "user", "content": [{"type": "input_text", "text": "The same place?"}, image]}]
    assert asyncio.run(run(agent, streamed, prompt)).final_output == FINAL
    assert (server.count("accepted"), server.count("refused")) == (2, 0)
    assert [str(one["request"]).count(PNG) for one in server.sent] == [1, 2]


@every_wire
def test_ten_at_once(emulate: Emulate, wire: str) -> None:
    server = emulate(wire, LOOP)
    agent = Agent("Weather", model=model_on(wire, server), tools=TOOLS)

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(converse(agent, one % 2 == 0, "The weather?", "Again?") for one in range(10)))

    assert asyncio.run(all_of_them()) == [[FINAL, AGAIN]] * 10
    assert (server.count("accepted"), server.count("refused")) == (40, 0)


class Weather(BaseModel):
    city: str
    celsius: float
    note: str | None


@every_wire
@both_ways
def test_typed_answer(emulate: Emulate, wire: str, streamed: bool) -> None:
    answer = Weather(city="Paris", celsius=21.0, note=None)
    server = emulate(wire, [LOOP[0], {"says": answer.model_dump_json()}] * 2)
    agent = Agent("Weather", model=model_on(wire, server), tools=TOOLS, output_type=Weather)
    assert asyncio.run(converse(agent, streamed, "The weather?", "Again?")) == [answer] * 2
    assert (server.count("accepted"), server.count("refused")) == (4, 0)


@every_wire
def test_hand_over_to_another_agent(emulate: Emulate, wire: str) -> None:
    server = emulate(wire, [{"calls": [["transfer_to_weather", {}]]}, *LOOP[:3], LOOP[3]])
    expert = Agent("Weather", model=model_on(wire, server), tools=TOOLS)
    front = Agent("Front", model=model_on(wire, server), handoffs=[expert])
    assert asyncio.run(converse(front, False, "The weather?", "In Fahrenheit, again?")) == [FINAL, AGAIN]
    assert (server.count("accepted"), server.count("refused")) == (5, 0)


# ---- broken on purpose ---------------------------------------------------------------------------


def call(name: str, call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "call_id": call_id, "arguments": '{"city": "Paris"}'}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "21 °C"}


async def never(context: ToolContext[Any], arguments: str) -> str:
    raise AssertionError(arguments)


ASKED = {"role": "user", "content": "The weather?"}
EMPTY = FunctionTool("", "Nothing.", {"type": "object", "properties": {}, "required": [], "additionalProperties": False}, never)
CASES: dict[str, tuple[tuple[str, ...], list[Any], list[Any], str]] = {
    "dropped result": (WIRES, [ASKED, call("weather", "call_a"), call("weather", "call_b"), output("call_a")], TOOLS, "call_b"),
    "orphan result": (WIRES, [ASKED, output("call_a")], TOOLS, "call_a|role tool must be a response to"),
    "call without a name": (WIRES, [ASKED, call("", "call_a"), output("call_a")], TOOLS, "name"),
    "tool without a name": (WIRES, [ASKED], [EMPTY], "name"),
}


@pytest.mark.parametrize(("wire", "broken"), [(wire, broken) for broken, (wires, *_) in CASES.items() for wire in wires])
def test_broken_on_purpose(emulate: Emulate, wire: str, broken: str) -> None:
    server = emulate(wire, LOOP)
    _, history, tools, named = CASES[broken]
    agent = Agent("Weather", model=model_on(wire, server), tools=tools)
    with pytest.raises(BadRequestError) as caught:
        asyncio.run(Runner.run(agent, history))
    assert (server.count("accepted"), server.count("refused")) == (0, 1)
    assert (caught.value.status_code, caught.value.type) == (400, "invalid_request_error")
    assert re.search(named, caught.value.message)
