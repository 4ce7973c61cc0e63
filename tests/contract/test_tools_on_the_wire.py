"""Tools with any name, any property and strict, through a whole run on each wire: the handler sees its own names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

import geode
from geode.domain.loop.outcome import Answered, Failed, Outcome
from geode.domain.script import calls, says
from geode.domain.tools import ToolSpec
from geode.entrypoints.compliance import shipped
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.emulator import Emulator
from geode.events import CallDelta, Finished
from geode.ports.tools import Tool, ToolContext


class Claude(shipped.MessagesHarness):
    model = "claude-sonnet-4-5"


class Gpt(shipped.ResponsesHarness):
    model = "gpt-5.6-sol"


HARNESSES: Final[Mapping[str, shipped.ShippedHarness]] = {
    "messages": Claude(),
    "responses": Gpt(),
    "chat openai": shipped.ChatOpenaiHarness(),
    "chat openrouter": shipped.ChatOpenrouterHarness(),
    "chat glm": shipped.ChatGlmHarness(),
    "chat generic": shipped.ChatHarness(),
}
WITH_STRICT: Final = tuple(name for name in HARNESSES if name != "chat glm")

# 80 characters, as MCP servers have them; its digest is the beginning of its SHA-256.
ODD: Final = "srv.tool/with:odd chars" + "x" * 57
ODD_SENT: Final = "srv_tool_with_odd_chars" + "x" * 30 + "_f724351b42"
FILTER_SENT, TOP_SENT = "filter_name__259d8078fe", "_top_81bf98e409"


class Handler:
    """Keeps what it was called with."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []

    def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
        self.seen.append(arguments)
        return "found"


def tool(handler: Handler, name: str, schema: dict[str, Any], *, strict: bool = False) -> Tool:
    return Tool(ToolSpec(name, "Searches.", schema, strict), geode.SafetyTier.SAFE, handler, blocking=False)


async def run(harness: shipped.ShippedHarness, emulator: Emulator, *tools: Tool, **settings: Any) -> tuple[Outcome, list[str]]:
    """The outcome of a streamed run, and the names of calls that observers were told."""
    told: list[str] = []
    provider = harness.provider(serve(emulator))
    async with geode.session(model=f"lab/{harness.model}", providers=[provider], tools=tools) as loop:
        async for event in loop.stream("hi", **settings):
            if isinstance(event, CallDelta):
                told.append(event.name)
            if isinstance(event, Finished):
                return event.outcome, told
    raise AssertionError("the run did not finish")


def definition(harness: shipped.ShippedHarness, request: Mapping[str, Any], place: int = 0) -> tuple[str, Any, Any]:
    """Name, schema and strictness of a tool in a request."""
    found = request["tools"][place]
    if harness.wire == "messages":
        return found["name"], found["input_schema"], found.get("strict")
    found = found["function"] if harness.wire == "chat" else found
    return found["name"], found["parameters"], found.get("strict")


def replayed(harness: shipped.ShippedHarness, request: Mapping[str, Any]) -> tuple[str, Any]:
    """Name and arguments of the only call in the history of a request."""
    match harness.wire:
        case "messages":
            (call,) = [one for turn in request["messages"] for one in turn["content"] if one["type"] == "tool_use"]
            return call["name"], call["input"]
        case "responses":
            (call,) = [one for one in request["input"] if one.get("type") == "function_call"]
            return call["name"], json.loads(call["arguments"])
        case "chat":
            (call,) = [one for turn in request["messages"] for one in turn.get("tool_calls", ())]
            return call["function"]["name"], json.loads(call["function"]["arguments"])


@pytest.mark.parametrize("wire", HARNESSES)
async def test_a_tool_of_any_name_and_properties_is_called_under_its_own(wire: str) -> None:
    """SC-11: the kind is a name that the wire refuses; the mapping goes both ways and is the same in each request."""
    harness, handler = HARNESSES[wire], Handler()
    renamed = harness.wire == "messages"
    filter_sent, top_sent = (FILTER_SENT, TOP_SENT) if renamed else ("filter[name]", "$top")
    schema = {
        "type": "object",
        "properties": {"filter[name]": {"type": "string"}, "$top": {"type": "integer"}, "plain": {"type": "string"}},
        "required": ["filter[name]"],
    }
    sent = {filter_sent: "geode", top_sent: 3, "plain": "ü"}
    emulator = harness.emulator(calls((ODD_SENT, sent)), says("done"))

    outcome, told = await run(harness, emulator, tool(handler, ODD, schema), tool_choice={"name": ODD})

    assert isinstance(outcome, Answered), outcome
    assert emulator.violations == ()
    assert handler.seen == [{"filter[name]": "geode", "$top": 3, "plain": "ü"}]
    assert set(told) == {ODD}
    first, second = (one.request for one in emulator.received)
    assert ODD_SENT in json.dumps(first["tool_choice"])
    for request in (first, second):
        name, parameters, _ = definition(harness, request)
        assert name == ODD_SENT
        assert list(parameters["properties"]) == [filter_sent, top_sent, "plain"]
        assert parameters["required"] == [filter_sent]
    assert replayed(harness, second) == (ODD_SENT, sent)
    (call,) = [call for turn in outcome.conversation.turns for call in getattr(turn, "calls", ())]
    assert (call.name, call.input) == (ODD, handler.seen[0])


@pytest.mark.parametrize("wire", HARNESSES)
async def test_keys_that_the_schema_does_not_name_stay_as_they_are(wire: str) -> None:
    harness, handler = HARNESSES[wire], Handler()
    emulator = harness.emulator(calls(("store", {"日本": 1, "a b": 2})), says("done"))

    await run(harness, emulator, tool(handler, "store", {"type": "object", "additionalProperties": True}))

    assert handler.seen == [{"日本": 1, "a b": 2}]
    assert replayed(harness, emulator.received[1].request) == ("store", {"日本": 1, "a b": 2})


@pytest.mark.parametrize("wire", HARNESSES)
async def test_markup_glued_to_a_name_is_an_unknown_tool_and_goes_back_in_the_alphabet(wire: str) -> None:
    """AR-17: the kind is a name that the model made up, which is untrusted text."""
    harness, handler = HARNESSES[wire], Handler()
    emulator = harness.emulator(calls(('fetch_report" />', {})), says("sorry"))

    outcome, _ = await run(harness, emulator, tool(handler, "fetch_report", {"type": "object", "properties": {}}))

    assert isinstance(outcome, Answered)
    assert handler.seen == []
    assert emulator.violations == ()
    second = emulator.received[1].request
    assert replayed(harness, second)[0] == "fetch_report_____2a7dc3fee3"
    assert "Did you mean: fetch_report?" in json.dumps(second)


STRICT: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "nickname": {"type": "string"},
        "home": {"type": "object", "properties": {"zip": {"type": "string"}}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize("wire", WITH_STRICT)
async def test_what_strict_made_required_is_absent_again_when_the_model_gives_null(wire: str) -> None:
    """SC-06: the kind is a contract that strict changes on the wire; the handler never sees the change."""
    harness, handler = HARNESSES[wire], Handler()
    nulls = harness.wire != "messages"
    given = {"name": "Ada", "nickname": None, "home": {"zip": None}} if nulls else {"name": "Ada", "home": {}}
    emulator = harness.emulator(calls(("greet", given)), says("done"))

    outcome, _ = await run(harness, emulator, tool(handler, "greet", STRICT, strict=True))

    assert isinstance(outcome, Answered), outcome
    assert emulator.violations == ()
    assert handler.seen == [{"name": "Ada", "home": {}}]
    _, parameters, strict = definition(harness, emulator.received[0].request)
    assert strict is True
    assert parameters["additionalProperties"] is False
    assert parameters["required"] == (["name", "nickname", "home"] if nulls else ["name"])


@pytest.mark.parametrize("wire", HARNESSES)
async def test_what_cannot_be_strict_is_refused_here_by_tool_and_place(wire: str) -> None:
    """SC-04, SC-07: the kind is strict said of a schema outside the subset: one wrong flag would break every tool."""
    harness, handler = HARNESSES[wire], Handler()
    emulator = harness.emulator(says("never"))
    free = {"type": "object", "properties": {"arguments": {"type": "object", "additionalProperties": True}}}

    outcome, _ = await run(harness, emulator, tool(handler, "call_any", free, strict=True))

    assert isinstance(outcome, Failed)
    assert emulator.received == []
    said = str(outcome.error)
    assert "lab: tool call_any: " in said
    assert "Leave strict off for this tool" in said
    assert ("/properties/arguments/additionalProperties" in said) == (wire in WITH_STRICT)


@pytest.mark.parametrize("wire", HARNESSES)
async def test_two_tools_that_would_share_a_name_are_refused_here(wire: str) -> None:
    """SC-13: the kind is two names that become one: never the wrong handler."""
    harness, handler = HARNESSES[wire], Handler()
    emulator = harness.emulator(says("never"))
    schema: dict[str, Any] = {"type": "object", "properties": {}}

    outcome, _ = await run(harness, emulator, tool(handler, ODD, schema), tool(handler, ODD_SENT, schema))

    assert isinstance(outcome, Failed)
    assert all(name in str(outcome.error) for name in (ODD, ODD_SENT, "Rename one of them"))
    assert emulator.received == []
