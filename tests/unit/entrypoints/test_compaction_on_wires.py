"""What goes over each wire begins as the request before did, as long as nothing has to change; and after a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pytest

import geode
from geode import Policy, Provider
from geode.domain.compaction import INSTRUCTION
from geode.domain.loop.outcome import Answered
from geode.domain.script import Step, calls, fails, says
from geode.entrypoints.emulator import Emulator, running

# With the model that is asked: OpenRouter has what it has read marked for its cache where that is Anthropic's.
WIRES: Final = (
    *(("messages", "generic", "m"), ("responses", "openai", "m"), ("chat", "openai", "m"), ("chat", "generic", "m")),
    *(("chat", "openrouter", "anthropic/claude-sonnet-4.6"), ("chat", "openrouter", "openai/gpt-5.5")),
)
TOO_LONG = fails(400, code="context_length_exceeded", message="prompt is too long: 9 tokens > 8 maximum")
LISTS: Final = {"messages": "messages", "responses": "input", "chat": "messages"}
ROUNDS: Final = 5


@geode.tool(tier="safe", blocking=False)
def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


async def sent(wire: Any, dialect: Any, model: str, *steps: Step, **settings: Any) -> list[Mapping[str, Any]]:
    """The bodies that a run sent, none of which the server refused."""
    emulator = Emulator(steps, dialect="openrouter" if dialect == "openrouter" else None)
    async with running(emulator) as server:
        base = server.base_url if wire == "messages" else f"{server.base_url}/v1"
        lab = Provider("lab", wire=wire, base_url=base, dialect=dialect)
        outcome = await geode.run("Go", model=f"lab/{model}", providers=[lab], tools=[look], system="Be brief.", **settings)
    assert isinstance(outcome, Answered), outcome
    assert emulator.violations == ()
    return [received.request for received in emulator.received]


def unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [unmarked(one) for one in value]
    if isinstance(value, dict):
        return {name: unmarked(one) for name, one in value.items() if name != "cache_control"}
    return value


def plain(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of Chat whose text is a part only to bear a mark has the text."""
    match message.get("content"):
        case [{"type": "text", "text": text, "cache_control": _}]:
            return {**message, "content": text}
        case _:
            return message


def parts(wire: str, body: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The head and the turns as they were sent, without marks. Parts of messages stand for themselves: neighbours of one
    role are one message, and a mark may be in any of them."""
    beside = (LISTS[wire], "tool_choice")
    head = {name: value for name, value in unmarked(dict(body)).items() if name not in beside}
    turns: list[str] = []
    for message in unmarked(body[LISTS[wire]] if wire != "chat" else list(map(plain, body["messages"]))):
        content = message.get("content") if wire == "messages" else None
        turns += [json.dumps([message["role"], part]) for part in content] if content else [json.dumps(message)]
    return json.dumps(head), turns


@pytest.mark.parametrize(("wire", "dialect", "model"), WIRES)
@pytest.mark.parametrize("cache", ["auto", "off"])
async def test_each_round_begins_with_all_of_the_round_before(wire: str, dialect: str, model: str, cache: str) -> None:
    bodies = await sent(wire, dialect, model, *(calls(("look", {"n": n})) for n in range(ROUNDS)), says("Done."), cache=cache)
    assert len(bodies) == ROUNDS + 1
    for before, after in pairwise(bodies):
        (head, turns), (head_after, turns_after) = parts(wire, before), parts(wire, after)
        assert head_after == head
        assert turns_after[: len(turns)] == turns
        assert len(turns_after) > len(turns)
    written = json.dumps(bodies)
    asked = cache == "auto" and dialect == "openai"
    assert ("prompt_cache_key" in written) is asked
    assert ("cache_control" in written) is (cache == "auto" and (wire == "messages" or "anthropic" in model))
    if asked:
        assert len({body["prompt_cache_key"] for body in bodies}) == 1
    assert sessions(bodies) == (1 if dialect == "openrouter" else 0)


def sessions(bodies: Sequence[Mapping[str, Any]]) -> int:
    """How many the relay is told of."""
    return len({body["session_id"] for body in bodies if "session_id" in body})


def marked(body: Mapping[str, Any]) -> list[int]:
    """The places of the messages that bear a mark, from the last one."""
    return [place - len(body["messages"]) for place, one in enumerate(body["messages"]) if "cache_control" in json.dumps(one)]


@pytest.mark.parametrize(("wire", "dialect", "model"), WIRES)
async def test_a_summary_is_asked_for_behind_what_was_sent_and_the_run_goes_on_from_it(
    wire: str, dialect: str, model: str
) -> None:
    looked = [calls(("look", {"n": n})) for n in range(3)]
    policy = Policy(compact_above=1.0, compact_keep_rounds=1)
    bodies = await sent(wire, dialect, model, *looked, TOO_LONG, says("Looked twice."), says("Done."), policy=policy)
    refused, summary, again = bodies[3:]
    (head, turns), (head_of_summary, asked), (_, left) = (parts(wire, body) for body in (refused, summary, again))
    assert head_of_summary == head
    assert (
        parts(wire, {**again, "prompt_cache_key": refused.get("prompt_cache_key")})[0]
        == (parts(wire, {**refused, "prompt_cache_key": refused.get("prompt_cache_key")})[0])
    )
    assert summary["tool_choice"] in ("none", {"type": "none"})
    assert turns[: len(asked) - 1] == asked[:-1], "the cache of what was sent before holds"
    assert json.dumps(INSTRUCTION)[1:-1] in asked[-1]
    kept = turns[len(asked) - 1 :]
    assert left[-len(kept) :] == kept, "nothing after the cut is lost"
    told = next(place for place, turn in enumerate(left) if "Looked twice." in turn)
    assert left[:told] == turns[:told], "the system text, where it is a message"
    assert "Go" in left[told + 1]
    if dialect == "openrouter":
        assert sessions(bodies) == 1
        assert all("session_id" in body for body in bodies)
        wanted = [-len(summary["messages"]), -1] if "anthropic" in model else []
        assert (marked(summary), summary["messages"][0]["role"]) == (wanted, "system")


async def test_an_auxiliary_question_is_asked_as_before() -> None:
    emulator = Emulator([says("A pebble.")])
    async with running(emulator) as server:
        lab = Provider("lab", wire="messages", base_url=server.base_url)
        async with geode.Runtime(model="lab/m", providers=[lab], tools=[look]) as runtime:
            await runtime.ask("Name one.")
    assert "cache_control" not in json.dumps(emulator.received[0].request)
