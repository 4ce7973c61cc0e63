"""500 tools over the wires: a few hundred tokens of tools, the same in each request; and a server that searches itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest

import geode
from geode.adapters.anthropic_messages.model import messages_model
from geode.adapters.environment import Environment
from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.binding import bound
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.models import ModelRow, row_of, rows_for
from geode.domain.negotiation import negotiate
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest
from geode.domain.script import calls
from geode.domain.script import says as geode_says
from geode.domain.targets import BUILT_IN, WireName
from geode.domain.tiers import SafetyTier
from geode.domain.tool_search import SEARCH
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn
from geode.entrypoints.emulator import Emulator, check, running
from geode.entrypoints.routes.capabilities import shipped_table
from geode.entrypoints.routes.connections import find_connection
from geode.entrypoints.routes.registry import bootstrap_builtins
from geode.ports.tools import Tool
from tests.many_tools import MOST_TOKENS, PATHS, measured
from tests.unit.application.rig import answered, loop_of
from tests.unit.cases.server import Adapter, adapter, message, says
from tests.unit.cases.turns import ME, user


@pytest.mark.parametrize("wire", PATHS)
async def test_five_hundred_tools_cost_a_few_hundred_tokens_and_the_right_one_is_found_and_called(wire: WireName) -> None:
    found = await measured(wire, 500, deferred=True)

    assert found.tools == 500
    assert found.tokens <= MOST_TOKENS
    assert (found.requests, found.same_in_all, found.violations) == (3, True, 0)
    assert found.ran == ["create_refund r-1"]


async def test_in_the_list_they_cost_a_hundred_times_that() -> None:
    assert (await measured("messages", 500, deferred=False)).tokens > 100 * MOST_TOKENS / 2


# ---- a server that searches itself -------------------------------------------------------------------

SEARCHED = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "tool_search_tool_regex",
    "input": {"pattern": "count"},
    "caller": {"type": "direct"},
}
FOUND = {
    "type": "tool_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "t07"}],
    },
}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "t07", "input": {"n": 1}}
SEARCH_TOOL = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}


def tools(count: int = 20) -> list[Tool]:
    def tool(name: str, *, deferred: bool) -> Tool:
        spec = ToolSpec(name, "A tool.", {"type": "object", "properties": {}})
        return Tool(spec, SafetyTier.SAFE, lambda arguments, _: f"{name} {arguments}", deferred=deferred)

    return [tool("now", deferred=False), *(tool(f"t{number:02}", deferred=True) for number in range(count))]


def searching(*answers: Any) -> Adapter:
    """An adapter whose server searches tools by itself."""
    made = adapter("messages", *answers)
    able = replace(made.http.capabilities, models=(ModelRow("m", tool_search=True),))
    return Adapter(replace(made.http, capabilities=able), made.server)


async def test_tools_go_out_marked_after_the_servers_search_and_its_blocks_go_back_in_their_place() -> None:
    server = searching(message({"type": "text", "text": "Let me see."}, SEARCHED, FOUND, CALL), says("messages", "done"))
    outcome = answered(await loop_of(model=server.http, tools=tools()).run("go"))

    first, second = server.asked
    assert first["tools"][0] == SEARCH_TOOL
    assert [tool["name"] for tool in first["tools"] if not tool.get("defer_loading")] == ["tool_search_tool_regex", "now"]
    assert SEARCH not in [tool["name"] for tool in first["tools"]]
    assert second["tools"] == first["tools"]
    assert second["messages"][1]["content"] == [{"type": "text", "text": "Let me see."}, SEARCHED, FOUND, CALL]
    assert [one.text for one in outcome.conversation.results()] == ["t07 {'n': 1}"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_emulator_finds_what_it_was_sent_marked_once_and_takes_its_searches_back(streamed: bool) -> None:
    script = (calls(("t07", {"n": 1}), ("t08", {}), ("now", {})), calls(("t07", {"n": 2})), geode_says("done"))
    async with running(Emulator(script)) as server:
        endpoint = Endpoint(server.base_url, "the test")
        async with httpx2.AsyncClient() as http:
            model = messages_model("lab", endpoint, http, rows=(ModelRow("m", tool_search=True),))
            loop = loop_of(model=model, tools=tools())
            events = [event async for event in loop.stream("go")] if streamed else [await loop.run("go")]
    assert len(events) > 10 or not streamed

    last = server.emulator.received[-1].request
    kinds = [[block["type"] for block in turn["content"]] for turn in last["messages"] if turn["role"] == "assistant"]
    searched = ["server_tool_use", "tool_search_tool_result", "tool_use"]
    assert kinds == [[*searched, *searched, "tool_use"], ["tool_use"]]
    assert [one.request["tools"] for one in server.emulator.received] == [last["tools"]] * 3
    assert server.emulator.violations == ()
    assert last["messages"][1]["content"][0]["input"] == {"pattern": "^t07$"}


async def test_a_turn_that_the_server_paused_in_its_search_goes_back_as_it_is() -> None:
    server = searching(message(SEARCHED, stop="pause_turn"), message(FOUND, CALL), says("messages", "done"))
    answered(await loop_of(model=server.http, tools=tools()).run("go"))

    assert server.asked[1]["messages"][1:] == [{"role": "assistant", "content": [SEARCHED]}]
    assert server.asked[2]["messages"][1] == {"role": "assistant", "content": [SEARCHED, FOUND, CALL]}


async def test_a_tool_that_the_choice_names_goes_out_unmarked_beside_the_others() -> None:
    server = searching(message(CALL), says("messages", "done"))
    answered(await loop_of(model=server.http, tools=tools()).run("go", tool_choice={"name": "t07"}))

    eager = [[tool["name"] for tool in body["tools"][1:] if not tool.get("defer_loading")] for body in server.asked]
    assert eager == [["now", "t07"], ["now"]]


def conversation() -> Conversation:
    owner = Owner(ME.adapter, "m")
    items = tuple(Opaque(owner, str(block["type"]), json.dumps(block)) for block in (SEARCHED, FOUND))
    return Conversation((user("hi"), AssistantTurn(items, owner), user("and now?")))


@pytest.mark.parametrize(
    ("there", "deferred", "goes_back"),
    [
        (("now", "t07"), {"t07"}, True),
        # It found a tool that is gone since, or nothing is searched any more.
        (("now", "t08"), {"t08"}, False),
        (("now", "t07"), set[str](), False),
        ((), set[str](), False),
    ],
)
def test_what_was_searched_goes_back_as_long_as_what_was_found_is_there(
    there: tuple[str, ...], deferred: set[str], goes_back: bool
) -> None:
    specs = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in there)
    request = AdapterCallRequest("m", conversation(), tools=specs, deferred=frozenset(deferred))
    made = searching().http
    sent = negotiate(ME.adapter, request, made.capabilities).unwrap().request
    body = json.loads(made.wire.encode(sent, Owner(ME.adapter, "m")))

    kinds = [block["type"] for turn in body["messages"] for block in turn["content"]]
    assert ("server_tool_use" in kinds, "tool_search_tool_result" in kinds) == (goes_back, goes_back)
    assert check("messages", body, "anthropic") == ()


async def test_more_tools_than_a_server_takes_are_not_searched_by_it() -> None:
    """Where the list of all of them would be refused, they stay behind and geode's own tool finds them."""
    made = adapter("responses", says("responses", "done"))
    able = replace(made.http.capabilities, tool_search=True, models=(ModelRow("m", tool_search=True),))
    answered(await loop_of(model=replace(made.http, capabilities=able), tools=tools(200)).run("go"))

    assert [tool["name"] for tool in made.asked[0]["tools"]] == ["now", SEARCH]


async def test_a_wire_that_cannot_mark_them_gets_the_search_tool_whatever_its_row_says() -> None:
    made = adapter("responses", says("responses", "done"))
    able = replace(made.http.capabilities, models=(ModelRow("m", tool_search=True),))
    answered(await loop_of(model=replace(made.http, capabilities=able), tools=tools()).run("go"))

    assert [tool["name"] for tool in made.asked[0]["tools"]] == ["now", SEARCH]


def test_thinking_is_bound_to_what_is_deferred_too() -> None:
    spec = ToolSpec("t", "", {"type": "object"})
    owner = Owner("a", "m")
    thought = (Opaque(owner, "thinking", "{}"),)
    requests = [
        AdapterCallRequest("m", Conversation((user("hi"),)), tools=(spec,), deferred=frozenset(d)) for d in ((), ("t",))
    ]

    (one,), (other,) = (bound(thought, request) for request in requests)

    assert isinstance(one, Opaque)
    assert isinstance(other, Opaque)
    assert one.bound_to != other.bound_to


# ---- which servers do --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "model", "searches"),
    [
        ("anthropic-payg", "claude-sonnet-4-5", True),
        ("anthropic-payg", "claude-sonnet-4-5-20250929", True),
        ("anthropic-payg", "claude-opus-4-8", True),
        ("anthropic-payg", "claude-opus-5-5", True),
        ("anthropic-oauth", "claude-haiku-4-5", True),
        ("anthropic-payg", "claude-opus-4-1", False),
        ("anthropic-payg", "claude-3-7-sonnet-20250219", False),
        ("anthropic-payg", "claude-haiku-5", False),
        ("anthropic-payg", "claude-unheard-of", False),
        ("openai-payg", "gpt-5.6", False),
        ("openrouter-payg", "anthropic/claude-sonnet-4.5", False),
        ("glm-payg", "glm-5.2", False),
    ],
)
def test_the_makers_own_server_searches_for_the_models_that_it_says(target: str, model: str, searches: bool) -> None:
    assert row_of(model, rows_for(BUILT_IN[target], shipped_table().models)).tool_search is searches


def test_another_address_does_not_and_one_that_a_row_is_declared_for_does() -> None:
    target = BUILT_IN["anthropic-payg"]
    assert target.transport is not None
    moved = replace(target, transport=replace(target.transport, base_url="https://proxy.example"))

    assert not row_of("claude-opus-4-8", rows_for(moved, shipped_table().models)).tool_search
    own = ModelRow("anthropic-payg/claude-opus-4-8", tool_search=True)
    assert row_of("claude-opus-4-8", rows_for(moved, (own, *shipped_table().models))).tool_search


def test_an_address_that_was_moved_is_not_the_makers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)

    def searches() -> bool:
        route = bootstrap_builtins().route("claude-opus-4-8")
        return row_of("claude-opus-4-8", find_connection(route, bootstrap_builtins(), Environment([])).rows).tool_search

    assert searches()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert not searches()


async def test_a_policy_without_deferral_sends_all() -> None:
    server = searching(says("messages", "done"))
    answered(await loop_of(model=server.http, tools=tools(), policy=Policy(defer_above=None)).run("go"))

    assert len(server.asked[0]["tools"]) == 21
    assert not any(tool.get("defer_loading") for tool in server.asked[0]["tools"])


def test_the_setting_is_public() -> None:
    assert geode.Policy(defer_above=3).defer_above == 3
