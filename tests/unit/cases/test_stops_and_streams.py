"""Kinds of stops and streams that were misread, each with the id of its case."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.content import ToolUseBlock
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Refused
from geode.domain.policy import Policy
from geode.domain.reply import Stop
from geode.entrypoints.emulator import Protocol
from tests.unit.application.rig import answered, loop_of
from tests.unit.application.rig import results as given
from tests.unit.cases.server import Json, adapter, called, chunks, completion, message, reply, response, says
from tests.unit.cases.turns import Counted

# ---- stops -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ['{"path":"x","content":"abc', '{"path":"x"}'])
async def test_lp_01_a_call_that_the_output_limit_cut_is_never_run(arguments: str) -> None:
    tool, lab = Counted(), adapter("chat", completion(called("a", "t1", arguments), finish="length"), says("chat"))
    (told,) = given(answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go")))

    assert (tool.inputs, told.call_id, told.is_error) == ([], "a", True)
    assert "output limit" in told.text
    assert "smaller" in told.text


async def test_lp_04_calls_are_run_whatever_the_word_for_the_end_says() -> None:
    tool, lab = Counted(), adapter("chat", completion(called(), finish="stop"), says("chat"))
    answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go"))

    assert (tool.inputs, len(lab.asked)) == ([{}], 2)
    assert (await reply("chat", completion(called(), finish="stop"))).stop_word == "stop"


async def test_lp_05_a_paused_turn_goes_back_unchanged_and_not_for_ever() -> None:
    used = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ü"}}
    paused = message({"type": "text", "text": "Half"}, used, stop="pause_turn")
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    lab = adapter("messages", paused, message(result, {"type": "text", "text": "Whole."}, stop="end_turn"))
    outcome = await loop_of(model=lab.http).run("go")

    assert isinstance(outcome, Answered)
    assert outcome.text == "HalfWhole."
    assert lab.asked[1]["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "Half"}, used]}

    ever = adapter("messages", *[paused] * 9)
    assert not isinstance(await loop_of(model=ever.http, policy=Policy(max_pauses=3)).run("go"), Answered)
    assert len(ever.asked) == 4


REFUSALS: dict[Protocol, Json] = {
    "messages": message(stop="refusal", stop_details={"type": "refusal", "category": "x"}),
    "chat": completion(finish="stop", refusal="no"),
    "responses": response({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}),
}


@pytest.mark.parametrize("protocol", REFUSALS)
async def test_lp_06_a_refusal_ends_the_run_at_once_with_its_details(protocol: Protocol) -> None:
    lab = adapter(protocol, REFUSALS[protocol])
    outcome = await loop_of(model=lab.http).run("go")

    assert isinstance(outcome, Refused)
    assert (outcome.reason, len(lab.asked)) == ("model_refusal", 1)
    assert outcome.details == (
        {"type": "refusal", "category": "x"} if protocol == "messages" else {"type": "refusal", "explanation": "no"}
    )
    assert outcome.text == ("" if protocol == "messages" else "no")


async def test_lp_07_only_a_known_word_is_a_clean_end() -> None:
    said = {"type": "text", "text": "half"}
    full = await loop_of(model=adapter("messages", message(said, stop="model_context_window_exceeded")).http).run("go")
    assert isinstance(full, Exhausted)
    assert full.reason == "context_exhausted"

    new = await reply("messages", message(said, stop="brand_new_reason"))
    assert (new.stop, new.stop_word) == (Stop.UNKNOWN, "brand_new_reason")
    for word in ("brand_new_reason", None):
        ended = await loop_of(model=adapter("messages", *[message(said, stop=word)] * 9).http).run("go")
        assert isinstance(ended, Failed)
        assert word is None or word in ended.why


# ---- streams -----------------------------------------------------------------------------------------

A, B = ToolUseBlock("a", "w", {"c": 1}), ToolUseBlock("b", "w", {"c": 2})
A_WHOLE, B_WHOLE = called("a", "w", '{"c":1}'), called("b", "w", '{"c":2}')


async def test_st_01_a_new_id_begins_a_new_call_though_the_index_is_the_same() -> None:
    assert (await reply("chat", chunks([{"index": 0, **A_WHOLE}], [{"index": 0, **B_WHOLE}]))).calls == (A, B)


@pytest.mark.parametrize("index", [{}, {"index": None}])
async def test_st_02_an_index_that_is_missing_is_not_the_index_zero(index: Json) -> None:
    third = {**index, "function": {"name": "t3", "arguments": "{}"}}
    made = (await reply("chat", chunks([{**index, **A_WHOLE}], [{**index, **B_WHOLE}], [third]))).calls
    assert made[:2] == (A, B)
    assert (made[2].name, made[2].input) == ("t3", {})

    tools = [Counted(name) for name in ("w", "t3")]
    lab = adapter("chat", completion(A_WHOLE, B_WHOLE, called(..., "t3")), says("chat"))
    outcome = answered(await loop_of(model=lab.http, tools=[one.tool for one in tools]).run("go"))
    ids = [one.call_id for one in given(outcome)]
    assert ids[:2] == ["a", "b"]
    assert ids[2] not in ("", "a", "b")


async def test_st_04_every_entry_of_a_chunk_is_read() -> None:
    assert (await reply("chat", chunks([{"index": 0, **A_WHOLE}, {"index": 1, **B_WHOLE}]))).calls == (A, B)


async def test_st_05_pieces_of_arguments_belong_to_the_item_whose_id_they_carry() -> None:
    def added(index: int, item: str, call: str) -> Json:
        fields = {"type": "function_call", "id": item, "call_id": call, "name": "t1", "arguments": ""}
        return {"type": "response.output_item.added", "output_index": index, "item": fields}

    def piece(item: str, text: str, **where: Any) -> Json:
        return {"type": "response.function_call_arguments.delta", "item_id": item, "delta": text, **where}

    for where in ({}, {"output_index": 1}):
        stream = [
            added(0, "fc_1", "a"),
            added(1, "fc_2", "b"),
            piece("fc_2", "{}", **where),
            piece("fc_1", '{"x":1}', **({"output_index": 0} if where else {})),
            {"type": "response.completed", "response": {"status": "completed", "output": [], "usage": {}}},
        ]
        made = (await reply("responses", stream)).calls
        assert made == (ToolUseBlock("a", "t1", {"x": 1}), ToolUseBlock("b", "t1", {}))


async def test_st_06_usage_comes_as_snapshots_which_are_not_added_up() -> None:
    def usage(**tokens: int) -> Json:
        return {f"{name}_tokens": count for name, count in tokens.items()}

    text = {"type": "text", "text": "x"}
    start = {"content": [], "usage": usage(input=30, cache_creation_input=5000, output=1)}
    stream: list[Json] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": text},
        {"type": "message_delta", "delta": {}, "usage": usage(output=8)},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": usage(input=30, cache_creation_input=5000, output=20),
        },
        {"type": "message_stop"},
    ]
    whole = message(text, stop="end_turn", usage=usage(input=30, cache_creation_input=5000, output=20))

    streamed = (await reply("messages", stream)).usage
    assert streamed == (await reply("messages", whole)).usage
    assert (streamed.input_tokens, streamed.output_tokens) == (5030, 20)
