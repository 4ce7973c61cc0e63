"""What goes to OpenRouter and what comes back, literally."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.model import chat_model
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.content import Image, Opaque, Owner, Text
from geode.domain.conversation import Conversation
from geode.domain.negotiation import negotiate
from geode.domain.relay import NO_OPTIONS, RelayOptions
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import UserTurn
from geode.entrypoints.emulator import check
from geode.entrypoints.routes.capabilities import capabilities_of
from tests.unit.adapters.streams import decode
from tests.unit.cases.turns import T1, call, model, results, user

CLAUDE, GPT = "anthropic/claude-sonnet-4.6", "openai/gpt-5.5"
ANSWER: dict[str, Any] = {
    "title": "Ans",
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
MARK = {"cache_control": {"type": "ephemeral"}}


def body(*turns: Any, to: str = GPT, options: RelayOptions = NO_OPTIONS, **changes: Any) -> Any:
    asked = AdapterCallRequest(to, Conversation(turns or (user("hi"),)), **changes)
    agreed = negotiate("or", asked, capabilities_of("chat", "openrouter")).unwrap().request
    made = json.loads(ChatWire(DIALECTS["openrouter"], options).encode(agreed, Owner("or", to)))
    assert check("chat", made, "openrouter") == ()
    return made


def refused(to: str = GPT, **changes: Any) -> str:
    asked = AdapterCallRequest(to, Conversation((user("hi"),)), **changes)
    return negotiate("or", asked, capabilities_of("chat", "openrouter")).failure()


# ---- requests ------------------------------------------------------------------------------------


def test_nothing_goes_out_that_nobody_asked_for() -> None:
    assert body() == {"model": GPT, "messages": [{"role": "user", "content": "hi"}]}


def test_the_options_of_the_route_go_out_as_given() -> None:
    options = RelayOptions(order=("openai",), allow_fallbacks=False, data_collection="deny", app_title="P")
    assert body(options=options)["provider"] == {"order": ["openai"], "allow_fallbacks": False, "data_collection": "deny"}


@pytest.mark.parametrize("options", [NO_OPTIONS, RelayOptions(order=("x",), require_parameters=True)])
def test_a_schema_goes_only_to_endpoints_that_take_it_and_keeps_the_other_options_and_the_effort(options: RelayOptions) -> None:
    made = body(options=options, response_schema=ANSWER, effort="high")
    assert made["provider"] == {**options.routing, "require_parameters": True}
    assert made["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Ans", "strict": True, "schema": ANSWER},
    }
    assert made["reasoning"] == {"effort": "high"}


async def test_an_explicit_false_and_a_schema_are_refused_before_anything_leaves() -> None:
    async with httpx2.AsyncClient() as http:
        endpoint = Endpoint("http://lab.test", "the test")
        adapter = chat_model("or", endpoint, http, dialect="openrouter", options=RelayOptions(require_parameters=False))
    asked = AdapterCallRequest(GPT, Conversation((user("hi"),)), response_schema=ANSWER)
    why = negotiate("or", asked, adapter.capabilities).failure()
    assert "the option require_parameters is false, and a schema needs it true" in why
    plain = AdapterCallRequest(GPT, Conversation((user("hi"),)))
    assert negotiate("or", plain, adapter.capabilities).unwrap().request == plain


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "object", "anyOf": []}])
def test_a_schema_that_is_no_object_at_its_root_is_refused_here(schema: Any) -> None:
    assert "cannot be given a response_schema" in refused(response_schema=schema)


@pytest.mark.parametrize("effort", ["none", "low", "medium", "high", "xhigh"])
def test_known_models_of_openai_get_the_effort_that_was_chosen(effort: str) -> None:
    assert body(effort=effort)["reasoning"] == {"effort": effort}


def test_an_effort_that_such_a_model_does_not_have_is_refused() -> None:
    assert 'takes no effort "minimal"; it takes none, low, medium, high, xhigh' in refused(effort="minimal")
    assert "openai/gpt-4.1 takes no effort; leave it out" in refused("openai/gpt-4.1", effort="high")


@pytest.mark.parametrize("effort", [None, "none", "high"])
def test_their_default_temperature_is_left_out_and_no_other_is_taken_at_any_effort(effort: str | None) -> None:
    assert "temperature" not in body(temperature=1.0, effort=effort)
    assert "takes no temperature but its default" in refused(temperature=0.2, effort=effort)


def test_others_take_the_temperature_that_was_given() -> None:
    assert body(to=CLAUDE, temperature=0.2)["temperature"] == 0.2
    assert body(to="openai/gpt-4.1", temperature=0.2)["temperature"] == 0.2


def test_calls_that_belong_together_say_so_without_saying_what_they_belong_to() -> None:
    wanted = "geode-" + hashlib.sha256(b"run_1").hexdigest()
    assert [body(user(text), affinity="run_1")["session_id"] for text in ("a", "b")] == [wanted, wanted]
    assert body(affinity="run_2")["session_id"] != wanted
    for dialect in ("openai", "glm", "generic"):
        asked = AdapterCallRequest("m", Conversation((user("hi"),)), affinity="run_1")
        assert b"session_id" not in ChatWire(DIALECTS[dialect]).encode(asked, Owner("or", "m"))


# ---- marks for the cache -------------------------------------------------------------------------


def test_claude_behind_it_gets_marks_on_the_system_text_and_on_the_last_message() -> None:
    made = body(user("one"), model(Text("two")), user("three"), to=CLAUDE, system="Be brief.", cache_key="k")
    assert made["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **MARK}]},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": [{"type": "text", "text": "three", **MARK}]},
    ]


def test_the_last_of_several_results_is_marked() -> None:
    asked = model(call("a"), call("b"), owner=Owner("or", CLAUDE))
    made = body(user("go"), asked, results("a", "b"), to=CLAUDE, tools=(T1,), cache_key="k")
    assert made["messages"][-2:] == [
        {"role": "tool", "tool_call_id": "a", "content": "result of a"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "result of b", **MARK}]},
    ]


def test_the_last_text_of_parts_is_marked() -> None:
    picture = Image("image/png", b"\x89PNG\r\n\x1a\n")
    made = body(UserTurn((Text("a"), Text("b"), picture)), to=CLAUDE, cache_key="k")
    assert [part.get("cache_control") for part in made["messages"][-1]["content"]] == [None, MARK["cache_control"], None]


def test_what_has_no_text_has_no_mark() -> None:
    picture = Image("image/png", b"\x89PNG\r\n\x1a\n")
    assert "cache_control" not in json.dumps(body(UserTurn((picture,)), to=CLAUDE, cache_key="k"))


def test_the_history_before_stays_byte_for_byte_when_the_mark_moves_on() -> None:
    """What was marked last time is not marked again, and everything else is as it was."""
    first = Conversation((user("one"),))
    grown = first.grown(model(Text("two")), user("three"))
    wire, owner = ChatWire(DIALECTS["openrouter"]), Owner("or", CLAUDE)
    wire.encode(AdapterCallRequest(CLAUDE, first, cache_key="k"), owner)
    messages = json.loads(wire.encode(AdapterCallRequest(CLAUDE, grown, cache_key="k"), owner))["messages"]
    assert messages[0] == {"role": "user", "content": "one"}
    assert messages[-1]["content"] == [{"type": "text", "text": "three", **MARK}]


@pytest.mark.parametrize("to", [GPT, "google/gemini-2.5-flash", "mistralai/mistral-large"])
def test_nobody_else_gets_marks(to: str) -> None:
    assert "cache_control" not in json.dumps(body(user("go"), to=to, system="Be brief.", cache_key="k"))


def test_marks_are_there_where_they_were_asked_for_and_the_key_itself_is_not_sent() -> None:
    assert "cache_control" not in json.dumps(body(user("go"), to=CLAUDE, system="Be brief."))
    assert "prompt_cache_key" not in body(user("go"), to=GPT, cache_key="k")


# ---- reasoning -----------------------------------------------------------------------------------

DETAILS = [
    {"type": "reasoning.summary", "summary": "ü", "format": "openai-responses-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "QUJD", "id": "rs_1", "format": "openai-responses-v1", "index": 1},
    {"type": "reasoning.text", "text": "hm", "signature": "SIG", "unknown": 1.50, "index": 2},
]


def details(owner: Owner) -> Opaque:
    return Opaque(owner, "reasoning_details", json.dumps(DETAILS, ensure_ascii=False))


@pytest.mark.parametrize(
    ("owner", "asked", "goes"),
    [
        (Owner("or", CLAUDE), CLAUDE, True),
        (Owner("or", GPT), CLAUDE, False),
        (Owner("anthropic-payg", CLAUDE), CLAUDE, False),
        # Behind these another model may answer each time.
        (Owner("or", "openrouter/auto"), "openrouter/auto", False),
        (Owner("or", "openrouter/free"), "openrouter/free", False),
    ],
)
def test_reasoning_goes_back_as_it_came_to_the_route_that_made_it_and_to_no_other(owner: Owner, asked: str, goes: bool) -> None:
    asks = Conversation((user("go"), model(details(owner), Text("x"), owner=owner), user("on")))
    made = ChatWire(DIALECTS["openrouter"]).encode(AdapterCallRequest(asked, asks), Owner("or", asked))
    exact = json.dumps(DETAILS, ensure_ascii=False).encode()
    assert (exact in made) == goes
    assert (b"reasoning" in made) == goes


def test_reasoning_details_are_kept_in_their_order_byte_for_byte() -> None:
    answer = completion(content="x", reasoning_details=DETAILS, reasoning="hm")
    found = decode(ChatWire(DIALECTS["openrouter"]), answer).unwrap()
    (kept,) = [item for item in found.items if isinstance(item, Opaque)]
    assert (kept.kind, json.loads(kept.json_text)) == ("reasoning_details", DETAILS)


# ---- answers -------------------------------------------------------------------------------------


def completion(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


def read(**beside: Any) -> AdapterCallResult:
    return decode(ChatWire(DIALECTS["openrouter"]), {**completion(content="hi"), **beside}).unwrap()


def test_what_it_charged_is_the_cost_whatever_the_endpoint_was_paid() -> None:
    usage = {"cost": 0.0160614, "cost_details": {"upstream_inference_cost": 0.0001764}, "is_byok": False}
    assert read(usage=usage).usage.cost_usd == Decimal("0.0160614")
    assert read(usage={**usage, "cost": 0}).usage.cost_usd == Decimal(0)
    assert read(usage={"prompt_tokens": 1}).usage.cost_usd is None


@pytest.mark.parametrize(
    ("beside", "route"),
    [
        ({"provider": "Amazon Bedrock", "model": "anthropic/claude-4.6"}, "Amazon Bedrock: anthropic/claude-4.6"),
        ({"provider": "Google", "model": "g", "usage": {"is_byok": True}}, "Google: g (your own key)"),
        ({"model": "g"}, "g"),
        ({"provider": "X"}, "X"),
        ({}, ""),
        (
            {
                "model": "g",
                "openrouter_metadata": {"endpoints": {"available": [{"provider": "A"}, {"provider": "B", "selected": True}]}},
            },
            "B: g",
        ),
    ],
)
def test_the_route_is_the_endpoint_and_the_model_that_it_asked_there(beside: dict[str, Any], route: str) -> None:
    assert read(**beside).route == route


def test_why_it_stopped_is_told_in_the_word_of_the_model_s_own_server() -> None:
    answer = completion(content="hi")
    answer["choices"][0]["native_finish_reason"] = "end_turn"
    found = decode(ChatWire(DIALECTS["openrouter"]), answer).unwrap()
    assert (found.stop.value, found.stop_word) == ("end", "end_turn")


# ---- who asks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        (NO_OPTIONS, {}),
        (RelayOptions(app_title="P", app_url="https://p.example"), {"x-title": "P", "http-referer": "https://p.example"}),
    ],
)
async def test_a_program_is_named_only_as_it_names_itself(options: RelayOptions, headers: dict[str, str]) -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=completion(content="hi"))

    async def nobody(_: object) -> None:
        """Deltas that are not looked at."""

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        adapter = chat_model("or", Endpoint("http://lab.test", "the test"), http, dialect="openrouter", options=options)
        (await adapter.acomplete(AdapterCallRequest(GPT, Conversation((user("hi"),))), nobody)).unwrap()
    names = ("x-title", "http-referer", "x-openrouter-title", "x-openrouter-metadata", "originator")
    assert {name: seen[0].headers[name] for name in names if name in seen[0].headers} == headers
    assert b"app_title" not in seen[0].content
