"""Bodies of the three wires, literally: what leaves for a small conversation, and what an answer means."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.http_json.wire import Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.choice import Auto, Named, NoTools, Required
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.reply import Stop
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.thinking import AdaptiveThinking, ThinkingBudget
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, UserTurn
from geode.entrypoints.compliance import shipped
from geode.entrypoints.compliance.histories import answer, call, model, results, user
from geode.entrypoints.compliance.playing import failure_of, nowhere
from geode.entrypoints.compliance.servers import canned, head
from tests.contract.wires import request
from tests.unit.adapters.streams import ME, decode, kinds

MESSAGES, RESPONSES = MessagesWire(), ResponsesWire()
CHAT, OPENROUTER = ChatWire(DIALECTS["openai"]), ChatWire(DIALECTS["openrouter"])
SCHEMA = {"type": "object", "properties": {"ä": {"type": "string"}}}
# The first ten digits of the SHA-256 of "ä": Messages has an alphabet for top-level properties.
SENT_KEY = "__33e6d73fee"
SENT_SCHEMA = {"type": "object", "properties": {SENT_KEY: {"type": "string"}}}
TOOL = ToolSpec("read", "Liest – alles.", SCHEMA)


def body(wire: Wire, *turns: Any, **changes: Any) -> Any:
    asked = AdapterCallRequest(ME.model, Conversation(turns or (user("hi"),)), **changes)
    return json.loads(wire.encode(asked, ME))


def opaque(value: Any, kind: str = "reasoning", owner: Owner = ME) -> Opaque:
    return Opaque(owner, kind, json.dumps(value, ensure_ascii=False))


# ---- heads ---------------------------------------------------------------------------------------


def test_the_least_that_is_sent() -> None:
    """No tools, no system text, no settings: none of their keys (TC-09)."""
    said = [{"type": "text", "text": "hi"}]
    assert body(MESSAGES) == {"model": "model-1", "max_tokens": 8192, "messages": [{"role": "user", "content": said}]}
    assert body(RESPONSES) == {
        "model": "model-1",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    }
    assert body(CHAT) == {"model": "model-1", "messages": [{"role": "user", "content": "hi"}]}


EVERYTHING: Any = {
    "system": "Be good.",
    "tools": (TOOL,),
    "tool_choice": Named("read"),
    "limits": Limits(100),
    "effort": "high",
    "temperature": 0.5,
    "streamed": True,
}


def test_all_settings_in_the_words_of_each_wire() -> None:
    assert {key: value for key, value in body(MESSAGES, **EVERYTHING).items() if key != "messages"} == {
        "model": "model-1",
        "max_tokens": 100,
        "system": "Be good.",
        "tools": [{"name": "read", "description": "Liest – alles.", "input_schema": SENT_SCHEMA}],
        "tool_choice": {"type": "tool", "name": "read"},
        "output_config": {"effort": "high"},
        "stream": True,
    }
    flat = {"type": "function", "name": "read", "description": "Liest – alles.", "parameters": SCHEMA, "strict": False}
    assert {key: value for key, value in body(RESPONSES, **EVERYTHING).items() if key != "input"} == {
        "model": "model-1",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be good.",
        "tools": [flat],
        "tool_choice": {"type": "function", "name": "read"},
        "parallel_tool_calls": True,
        "max_output_tokens": 100,
        "reasoning": {"effort": "high"},
        "temperature": 0.5,
        "stream": True,
    }
    nested = {"type": "function", "function": {"name": "read", "description": "Liest – alles.", "parameters": SCHEMA}}
    assert body(CHAT, **EVERYTHING) == {
        "model": "model-1",
        "tools": [nested],
        "tool_choice": {"type": "function", "function": {"name": "read"}},
        "max_completion_tokens": 100,
        "reasoning_effort": "high",
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize(
    ("dialect", "differs"),
    [
        ("openrouter", {"max_tokens": 100, "reasoning": {"effort": "high"}, "stream_options": {"include_usage": True}}),
        (
            "glm",
            {
                "max_tokens": 100,
                "reasoning_effort": "high",
                "thinking": {"type": "enabled", "clear_thinking": False},
                "tool_stream": True,
            },
        ),
        ("generic", {"max_tokens": 100, "reasoning_effort": "high", "stream_options": {"include_usage": True}}),
    ],
)
def test_dialects_of_chat(dialect: Any, differs: dict[str, Any]) -> None:
    found = body(ChatWire(DIALECTS[dialect]), **EVERYTHING)
    same = {"model", "tools", "tool_choice", "temperature", "stream", "messages"}
    assert {key: value for key, value in found.items() if key not in same} == differs


def test_modes_of_thinking_on_messages() -> None:
    assert body(MESSAGES, thinking=AdaptiveThinking())["thinking"] == {"type": "adaptive"}
    budget = body(MESSAGES, thinking=ThinkingBudget(4000))
    assert budget["thinking"] == {"type": "enabled", "budget_tokens": 4000}
    assert budget["max_tokens"] > 4000, "what is thought counts as output"
    assert body(MESSAGES, thinking=ThinkingBudget(4000), limits=Limits(5000))["max_tokens"] == 5000


PNG_BYTES, PDF_BYTES = b"\x89PNG\r\n\x1a\n", b"%PDF-1.4"
PNG_64, PDF_64, TEXT_64 = "iVBORw0KGgo=", "JVBERi0xLjQ=", "w6Q="
ADDRESS = "https://example.org/a"


def test_media_of_a_user_in_the_forms_that_were_recorded() -> None:
    said = UserTurn(
        (
            Image("image/png", PNG_BYTES),
            ImageUrl(ADDRESS),
            Document("application/pdf", PDF_BYTES, "a.pdf"),
            Document("text/plain", "ä".encode()),
            DocumentUrl(ADDRESS),
        )
    )
    assert body(MESSAGES, said)["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_64}},
        {"type": "image", "source": {"type": "url", "url": ADDRESS}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_64},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ä"}},
        {"type": "document", "source": {"type": "url", "url": ADDRESS}},
    ]
    assert body(RESPONSES, said)["input"][0]["content"] == [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_64}", "detail": "auto"},
        {"type": "input_image", "image_url": ADDRESS, "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF_64}"},
        {"type": "input_file", "filename": "document.txt", "file_data": f"data:text/plain;base64,{TEXT_64}"},
        {"type": "input_file", "file_url": ADDRESS},
    ]
    assert body(CHAT, UserTurn(said.items[:4]))["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG_64}"}},
        {"type": "image_url", "image_url": {"url": ADDRESS}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF_64}"}},
        {"type": "text", "text": "ä"},
    ]


def test_choices_in_the_exact_words_of_each_wire() -> None:
    """TC-02, TC-03, TC-12: strings where strings are wanted, the flat and the nested named form."""
    choices = (Auto(), NoTools(), Required(), Named("read"))
    found = [
        [body(wire, tools=(TOOL,), tool_choice=choice)["tool_choice"] for choice in choices]
        for wire in (MESSAGES, RESPONSES, CHAT)
    ]

    assert found == [
        [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "read"}],
        ["auto", "none", "required", {"type": "function", "name": "read"}],
        ["auto", "none", "required", {"type": "function", "function": {"name": "read"}}],
    ]


def test_a_choice_of_no_tools_keeps_their_list() -> None:
    """TC-14: the history holds calls, so their definitions stay."""
    turns = (user("go"), model(ME, call("a")), results("a"))
    for wire in (MESSAGES, RESPONSES, CHAT):
        assert len(body(wire, *turns, tools=(TOOL,), tool_choice=NoTools())["tools"]) == 1


def test_the_floor_of_an_output_limit() -> None:
    assert body(RESPONSES, limits=Limits(1))["max_output_tokens"] == 16


# ---- turns ---------------------------------------------------------------------------------------

ROUND = (
    user("go"),
    model(ME, "Two.", call("call_a", "read", {"ä": 1}), call("call_b", "read", {})),
    results("call_a", answer("call_b", "failed", "no"), hint="conclude"),
)


def test_a_round_on_messages() -> None:
    """RP-06: results first and side by side, then the hint, in one message."""
    assert body(MESSAGES, *ROUND)["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Two."},
                {"type": "tool_use", "id": "call_a", "name": "read", "input": {"ä": 1}},
                {"type": "tool_use", "id": "call_b", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_a", "content": "result of call_a"},
                {"type": "tool_result", "tool_use_id": "call_b", "content": "no", "is_error": True},
                {"type": "text", "text": "conclude"},
            ],
        },
    ]


def test_a_round_on_responses() -> None:
    """RP-13: the pairing key is the call id; items have no ids of their own."""
    assert body(RESPONSES, *ROUND)["input"][1:] == [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]},
        {"type": "function_call", "call_id": "call_a", "name": "read", "arguments": '{"ä":1}'},
        {"type": "function_call", "call_id": "call_b", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": "result of call_a"},
        {"type": "function_call_output", "call_id": "call_b", "output": "failed: no"},
        {"role": "user", "content": [{"type": "input_text", "text": "conclude"}]},
    ]


def test_a_round_on_chat() -> None:
    assert body(CHAT, *ROUND)["messages"][1:] == [
        {
            "role": "assistant",
            "content": "Two.",
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "read", "arguments": '{"ä":1}'}},
                {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "result of call_a"},
        {"role": "tool", "tool_call_id": "call_b", "content": "failed: no"},
        {"role": "user", "content": "conclude"},
    ]


def test_content_of_chat_is_null_beside_calls_alone() -> None:
    silent = model(ME, call("a"))
    thoughtful = AssistantTurn((opaque("hm", "reasoning_content"),), ME)
    found = body(CHAT, user("go"), silent, results("a"), thoughtful, user("and?"))["messages"]

    assert (found[1]["content"], found[3]) == (None, {"role": "assistant", "content": "", "reasoning_content": "hm"})


def test_reasoning_goes_back_before_what_it_led_to() -> None:
    """RP-11; what led to nothing, such as a reply cut while it was thinking, is not taken back."""
    first, second = {"type": "reasoning", "id": "rs_1"}, {"type": "reasoning", "id": "rs_2"}
    led = AssistantTurn((opaque(first), call("a"), opaque(second)), ME)
    blank = AssistantTurn((opaque(second), *model(ME, " ").items), ME)
    found = body(RESPONSES, user("go"), led, results("a"), blank, user("and?"))["input"]

    assert [item.get("id") or item.get("type") or item["role"] for item in found] == [
        "user", "rs_1", "function_call", "function_call_output", "user",
    ]  # fmt: skip


def test_parts_of_a_chat_model_keep_their_places() -> None:
    thought = opaque({"type": "thinking", "thinking": []}, "part:thinking")
    turn = AssistantTurn((thought, *model(ME, "said").items), ME)
    found = body(CHAT, user("go"), turn, user("and?"))["messages"][1]

    assert found == {"role": "assistant", "content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "said"}]}


# ---- answers -------------------------------------------------------------------------------------

USAGE = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500, "output_tokens": 7}


def test_what_went_into_the_cache_is_told_as_a_whole_or_by_its_lifetimes() -> None:
    by_lifetime = {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 200}
    for usage in (USAGE, {**USAGE, "cache_creation_input_tokens": None}):
        found = MESSAGES.usage({"usage": {**usage, "cache_creation": by_lifetime}})
        assert (found.input_tokens, found.cache_write_input_tokens, found.cache_write_1h_input_tokens) == (543, 500, 200)


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("tool_use", Stop.TOOL_CALLS),
        ("max_tokens", Stop.MAX_TOKENS),
        ("refusal", Stop.REFUSAL),
        ("pause_turn", Stop.PAUSE),
        ("model_context_window_exceeded", Stop.CONTEXT_EXCEEDED),
        ("something_new", Stop.UNKNOWN),
    ],
)
def test_why_messages_stopped(word: str, stop: Stop) -> None:
    details = {"type": "refusal", "category": "bio"} if stop is Stop.REFUSAL else None
    content = [{"type": "text", "text": "x"}]
    reply = decode(MESSAGES, {"content": content, "stop_reason": word, "stop_details": details, "usage": USAGE}).unwrap()

    assert (reply.stop, reply.stop_word, reply.refusal, reply.text) == (stop, word, details, "x")


def test_the_whole_input_counts() -> None:
    usage = decode(MESSAGES, {"content": [], "stop_reason": "end_turn", "usage": USAGE}).unwrap().usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (543, 40, 7)

    usage = decode(RESPONSES, {"status": "completed", "output": [], "usage": {
        "input_tokens": 50, "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5},
    }}).unwrap().usage  # fmt: skip
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usage.reasoning_tokens) == (50, 40, 7, 5)

    usage = decode(OPENROUTER, {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "provider": "P", "usage": {
        "prompt_tokens": 50, "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens": 7, "cost": 0.0145476,
    }}).unwrap().usage  # fmt: skip
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cost_usd) == (50, 40, Decimal("0.0145476"))


def test_an_empty_text_is_dropped_when_it_comes() -> None:
    content = [{"type": "text", "text": ""}, {"type": "tool_use", "id": "a", "name": "read", "input": {}}]
    assert kinds(decode(MESSAGES, {"content": content, "stop_reason": "tool_use", "usage": {}}).unwrap()) == ["call"]


def test_only_the_call_id_pairs_and_only_sealed_reasoning_is_kept() -> None:
    """RP-11, RP-13: an item's own id is never used; what has no sealed content cannot go back."""
    sealed = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "X",
        "content": [{"text": "plain"}],
        "status": None,
    }
    output = [
        sealed,
        {"type": "reasoning", "id": "rs_2", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "t"},
    ]
    reply = decode(RESPONSES, {"status": "completed", "output": output}).unwrap()

    kept, asked = reply.items
    assert isinstance(kept, Opaque)
    assert json.loads(kept.json_text) == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "X"}
    assert asked == call("call_1", "t", {})
    assert reply.stop is Stop.TOOL_CALLS


def test_a_refusal_on_responses_and_on_chat() -> None:
    part = {"type": "refusal", "refusal": "No."}
    responses = decode(RESPONSES, {"status": "completed", "output": [{"type": "message", "content": [part]}]}).unwrap()
    chat = decode(CHAT, {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}).unwrap()

    for reply in (responses, chat):
        assert (reply.stop, reply.text, reply.refusal) == (Stop.REFUSAL, "No.", {"type": "refusal", "explanation": "No."})


def test_an_old_call_that_is_all_empty_is_none() -> None:
    """Recorded: a server that writes every field, with nothing in it."""
    message = {"content": "hi", "function_call": {"name": "", "arguments": ""}, "tool_calls": None, "refusal": ""}
    assert kinds(decode(CHAT, {"choices": [{"message": message, "finish_reason": "stop"}]}).unwrap()) == ["text"]


@pytest.mark.parametrize("wire", [MESSAGES, RESPONSES, CHAT], ids=["messages", "responses", "chat"])
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": "text", "output": {}, "choices": {}},
        {"content": None, "output": None, "choices": None, "error": None},
        {"content": [], "output": [], "choices": []},
        {"hello": "world"},
        {"detail": "no such path"},
        {"error": {}},
    ],
)
def test_another_shape_is_a_failure(wire: Wire, answer: Any) -> None:
    failure = decode(wire, answer).swap().value_or(None)

    assert failure is not None
    assert classify_retry_error(failure) is FailureClass.UNKNOWN


@pytest.mark.parametrize("wire", [MESSAGES, RESPONSES, CHAT], ids=["messages", "responses", "chat"])
def test_an_error_in_a_200_is_a_failure(wire: Wire) -> None:
    failure = decode(wire, {"error": {"type": "server_error", "message": "broke"}, "content": [], "output": [], "choices": []})
    assert classify_retry_error(failure.swap().unwrap()) is FailureClass.SERVER


def test_items_of_a_wrong_type_are_passed_over() -> None:
    odd: list[Any] = [None, 5, "x", []]
    assert decode(MESSAGES, {"content": odd, "stop_reason": "end_turn", "usage": odd}).unwrap().items == ()
    assert decode(RESPONSES, {"output": odd, "status": "completed", "usage": 5}).unwrap().items == ()
    message = {"content": odd, "tool_calls": odd, "function_call": 5, "refusal": []}
    assert decode(CHAT, {"choices": [{"message": message, "finish_reason": 5}], "usage": "x"}).unwrap().items == ()


@pytest.mark.parametrize(
    ("harness", "answer"),
    [
        (shipped.MessagesHarness, b'{"stop_reason":"end_turn","content":[{"type":"new","n":1e400}]}'),
        (shipped.ResponsesHarness, b'{"status":"completed","output":[{"type":"new","n":1e400}]}'),
        (shipped.ChatOpenaiHarness, b'{"choices":[{"message":{"reasoning":{"n":1e400}},"finish_reason":"stop"}]}'),
    ],
    ids=["messages", "responses", "chat"],
)
async def test_what_could_not_be_sent_back_is_a_failure(harness: type[shipped.ShippedHarness], answer: bytes) -> None:
    """A number beyond any float can be read and not be written: never an exception, never a broken history."""
    async with canned(head("application/json"), answer) as server, new_http_client() as http:
        adapter = await harness().connect(server.base_url, http)
        failure = failure_of(await adapter.acomplete(request(harness()), nowhere))

    assert classify_retry_error(failure) is FailureClass.UNKNOWN


# ---- what a server made and would refuse ---------------------------------------------------------


def own_items(wire: Wire, answer: Any) -> list[str]:
    return kinds(decode(wire, answer).unwrap())


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "t"},
        {"type": "thinking", "thinking": None, "signature": "s"},
        {"type": "tool_result", "tool_use_id": "a"},
        {"type": "output_text", "text": "of another wire"},
        {"type": 5},
        {},
    ],
)
def test_blocks_that_messages_would_refuse_are_not_kept(block: Any) -> None:
    kept = {"type": "thinking", "thinking": "", "signature": ""}, {"type": "new"}
    assert own_items(MESSAGES, {"content": [block, *kept], "stop_reason": "end_turn"}) == ["thinking", "new"]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call_output", "call_id": "a", "output": ""},
        {"type": "custom_tool_call", "call_id": "a", "name": "x", "input": ""},
        {"type": "item_reference", "id": "x"},
        {"type": "tool_search_call", "call_id": "a", "execution": "client"},
        {"type": "web_search_call", "id": "no id"},
        {"type": None},
        {},
    ],
)
def test_items_that_responses_would_refuse_are_not_kept(item: Any) -> None:
    kept = {"type": "web_search_call", "id": "ws_1"}, {"type": "new"}
    assert own_items(RESPONSES, {"output": [item, *kept], "status": "completed"}) == ["web_search_call", "new"]
    sealed = {"type": "reasoning", "id": "no id", "summary": 5, "encrypted_content": "E"}
    (item,) = decode(RESPONSES, {"output": [sealed], "status": "completed"}).unwrap().items
    assert isinstance(item, Opaque)
    assert json.loads(item.json_text) == {"type": "reasoning", "summary": [], "encrypted_content": "E"}


def test_parts_of_chat_that_are_no_text_are_kept_where_they_may_go_back() -> None:
    content = [{"type": "thinking", "thinking": []}, {"no": "type"}, {"type": "text", "text": "t"}]
    answer = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    assert own_items(ChatWire(DIALECTS["generic"]), answer) == ["part:thinking", "text"]
    assert own_items(CHAT, answer) == ["text"]


def test_a_call_of_the_server_s_own_goes_back_with_its_result_or_where_the_server_goes_on() -> None:
    def block(kind: str, **fields: Any) -> Opaque:
        return opaque({"type": kind, **fields}, kind)

    called, other = (block("server_tool_use", id=id, name="search", input={}) for id in ("s1", "s2"))
    found = block("web_search_tool_result", tool_use_id="s1", content=[])

    def replayed(*turns: Any) -> list[tuple[str, list[str]]]:
        messages = body(MESSAGES, user("hi"), *turns)["messages"]
        return [(one["role"], [part["type"] for part in one["content"]]) for one in messages[1:]]

    text = model(ME, "So.")
    assert replayed(model(ME, called, found, "So."), user("and?"))[0][1] == [called.kind, found.kind, "text"]
    assert replayed(model(ME, called)) == [("assistant", [called.kind])]
    assert replayed(model(ME, called), model(ME, found, "So."), user("and?"))[0][1] == [called.kind, found.kind, "text"]
    assert replayed(model(ME, called), text, user("and?")) == [("assistant", ["text"]), ("user", ["text"])]
    assert replayed(model(ME, called, found, other, "So."), user("and?"))[0][1] == [called.kind, found.kind, "text"]
    # Beside a call of ours the server's may still be running, and results come under other ids too.
    beside = [model(ME, called, call("a")), results("a")]
    assert replayed(*beside)[0][1] == [called.kind, "tool_use"]
    elsewhere = block("web_search_tool_result", tool_use_id="another", content=[])
    assert replayed(model(ME, called, elsewhere, "So."), user("and?"))[0][1] == [called.kind, found.kind, "text"]
    assert body(MESSAGES, user("hi"), model(ME, called), user("and?"))["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "and?"}]}
    ]


def test_words_of_a_server_are_text_that_anybody_can_write() -> None:
    half = "\ud83d"
    whole = decode(
        CHAT, {"choices": [{"message": {"content": half, "refusal": half}, "finish_reason": half}], "model": half}
    ).unwrap()
    assert (whole.stop_word, whole.route, whole.refusal) == ("\ufffd", "\ufffd", {"type": "refusal", "explanation": "\ufffd"})
    details = decode(MESSAGES, {"content": [], "stop_reason": "refusal", "stop_details": {"category": half}}).unwrap().refusal
    assert details == {"category": "\ufffd"}


def test_an_error_that_is_a_text_beside_its_code_keeps_both() -> None:
    failure = decode(CHAT, {"error": "no credit left", "code": 402}).failure()
    assert (failure.error_code, failure.message) == ("402", "no credit left (402)")
    assert classify_retry_error(failure) is FailureClass.BILLING
