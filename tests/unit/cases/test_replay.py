"""Kinds of broken replays, ids and arguments, each with the id of its case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.domain.arguments import parse_arguments
from geode.domain.content import ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import Hint, ToolResultsTurn
from geode.entrypoints.emulator import Protocol
from tests.unit.application.rig import answered, loop_of
from tests.unit.application.rig import results as given
from tests.unit.cases.server import adapter, asks, called, chunks, completion, reply, response, says, sent
from tests.unit.cases.turns import T1, Counted, answer, call, model, results, user

PROTOCOLS: tuple[Protocol, ...] = ("messages", "responses", "chat")


def replayed(protocol: Protocol, *turns: Any) -> Any:
    return sent(protocol, AdapterCallRequest("m", Conversation.repaired(turns), tools=(T1,)))


# ---- replay ------------------------------------------------------------------------------------------


def test_rp_06_a_hint_stands_after_all_results_of_its_message() -> None:
    hinted = ToolResultsTurn((answer("a"), answer("b")), (Hint("wrap_up", "another way"),))
    body = replayed("messages", user("go"), model(call("a"), call("b")), hinted)

    last = body["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert last[2]["text"] == "another way"


def test_rp_07_results_spread_over_neighbouring_turns_are_found_and_none_is_made_up() -> None:
    mended = Conversation.repaired([user("go"), model(call("a"), call("b")), results("a"), results("b")])
    assert [(one.call_id, one.kind, one.text) for one in mended.results()] == [
        ("a", "ok", "result of a"),
        ("b", "ok", "result of b"),
    ]


async def test_rp_11_reasoning_goes_back_sealed_before_its_call_and_unsealed_never() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "encrypted_content": "X", "summary": [], "content": [{"text": "plain"}]}
    bare = {"type": "reasoning", "id": "rs_2", "summary": []}
    item = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "t1", "arguments": "{}"}
    items = (await reply("responses", response(sealed, bare, item))).items
    body = replayed("responses", user("go"), model(*items), results("a"))

    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["input"][1] == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "X"}
    assert [one.get("type") for one in body["input"][2:]] == ["function_call", "function_call_output"]
    assert "plain" not in json.dumps(body)
    assert "rs_2" not in json.dumps(body)


async def test_rp_13_calls_pair_by_their_call_id_and_the_id_of_the_item_stays_away() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "t1", "arguments": "{}"}
    (made,) = (await reply("responses", response(item))).calls
    assert made.id == "call_1"

    body = replayed("responses", user("go"), model(made), results("call_1"))
    assert [one.get("call_id") for one in body["input"][1:]] == ["call_1", "call_1"]
    assert "fc_1" not in json.dumps(body)


# ---- arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("nothing", ["", "   ", "\n"])
async def test_ar_01_blank_arguments_are_no_arguments(protocol: Protocol, nothing: str) -> None:
    tool, lab = Counted(), adapter(protocol, asks(protocol, nothing), says(protocol))
    answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go"))

    assert tool.inputs == [{}]
    assert _arguments(protocol, lab.asked[1]) == {}


async def test_ar_01_streamed_and_whole_agree_about_blank_arguments() -> None:
    whole = await reply("chat", completion(called("a", "t1", "")))
    streamed = await reply(
        "chat", chunks([{"index": 0, **called("a", "t1", "")}], [{"index": 0, "function": {"arguments": " "}}])
    )
    assert whole.calls == streamed.calls == (ToolUseBlock("a", "t1", {}),)


@pytest.mark.parametrize("absent", [None, ...])
async def test_ar_03_null_and_absent_arguments_are_no_arguments(absent: Any) -> None:
    assert (await reply("chat", completion(called("a", "t1", absent)))).calls == (ToolUseBlock("a", "t1", {}),)


async def test_ar_04_an_object_is_taken_for_its_text_and_goes_back_as_text() -> None:
    (made,) = (await reply("chat", completion(called("a", "t1", {"x": 1})))).calls
    assert made.input == {"x": 1}

    body = replayed("chat", user("go"), model(made), results("a"))
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"x":1}'


async def test_ar_05_text_in_text_is_read_once_more_and_written_once() -> None:
    (made,) = (await reply("chat", completion(called("a", "t1", '"{\\"x\\":1}"')))).calls
    assert made.input == {"x": 1}
    body = replayed("chat", user("go"), model(made), results("a"))
    assert json.loads(body["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {"x": 1}
    for deeper in (json.dumps('"{}"'), '"x"', '"[1]"'):
        assert parse_arguments(deeper).value_or(None) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_ar_06_broken_arguments_are_told_to_the_model_and_the_run_goes_on(protocol: Protocol) -> None:
    tool, lab = Counted(), adapter(protocol, asks(protocol, '{"path": "a'), asks(protocol, "{}", "b"), says(protocol))
    outcome = answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go"))

    broken, fine = given(outcome)
    assert (broken.call_id, broken.kind, fine.call_id, tool.inputs) == ("a", "failed", "b", [{}])
    assert "line 1, column" in broken.text
    assert len(broken.text) < 1_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_ar_07_broken_arguments_in_a_history_go_out_as_an_object_and_stay_as_they_were(protocol: Protocol) -> None:
    broken = call("a", '{"value": ')
    history = Conversation((user("go"), model(broken), results(answer("a", "sent badly", "failed"))))
    body = sent(protocol, AdapterCallRequest("m", history, tools=(T1,)))

    assert _arguments(protocol, body) == {"unparsed_arguments": '{"value": '}
    assert history.turns[1] == model(broken)
    assert broken.unparsed == '{"value": '


@pytest.mark.parametrize("value", ["[1,2]", "5", '"x"', "true"])
async def test_ar_08_json_that_is_no_object_reaches_no_tool(value: str) -> None:
    tool, lab = Counted(), adapter("chat", asks("chat", value), says("chat"))
    (told,) = given(answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go")))

    assert (tool.inputs, told.kind) == ([], "failed")
    assert "must be a JSON object" in told.text


async def test_ar_12_one_id_for_two_calls_becomes_two_always_in_the_same_way() -> None:
    twice = completion(called("x", "t1"), called("x", "t2"))

    async def ids() -> list[str]:
        tools = [Counted("t1").tool, Counted("t2").tool]
        outcome = answered(await loop_of(model=adapter("chat", twice, says("chat")).http, tools=tools).run("go"))
        return [one.call_id for one in given(outcome)]

    first = await ids()
    assert len(set(first)) == 2
    assert all(first)
    assert await ids() == first


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_ar_13_an_id_that_comes_again_in_each_round_loses_no_result(protocol: Protocol) -> None:
    tool = Counted()
    lab = adapter(protocol, *(asks(protocol, "{}", "CONST") for _ in range(4)), says(protocol))
    outcome = answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go"))

    assert [one.text for one in given(outcome)] == ["run 1", "run 2", "run 3", "run 4"]
    ids = [one.call_id for one in given(outcome)]
    assert (ids[0], len(set(ids))) == ("CONST", 4)


@pytest.mark.parametrize("id", [..., "", None])
async def test_ar_16_a_call_without_an_id_is_a_call(id: Any) -> None:
    lone = [{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **called(id, "t1", "{}")}]}}]}]
    stream = [*lone, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]
    (made,) = (await reply("chat", stream)).calls
    assert (made.name, made.input) == ("t1", {})

    tool, lab = Counted(), adapter("chat", completion(called(id)), says("chat"))
    outcome = answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go"))
    assert (tool.inputs, [bool(one.call_id) for one in given(outcome)]) == ([{}], [True])


async def test_ar_17_markup_at_the_end_of_a_name_is_an_unknown_tool_with_a_hint() -> None:
    tool, made_up = Counted("fetch_report"), 'fetch_report" />'
    lab = adapter("chat", asks("chat", "{}", "a", made_up), says("chat"))
    (told,) = given(answered(await loop_of(model=lab.http, tools=[tool.tool]).run("go")))

    assert (tool.inputs, told.kind) == ([], "failed")
    assert "fetch_report" in told.text.replace(made_up, "")
    assert len(told.text) < 1_000


async def test_ar_19_a_line_end_inside_a_string_is_kept_and_written_as_json() -> None:
    (made,) = (await reply("chat", completion(called("a", "t1", '{"text": "line1\nline2"}')))).calls
    assert made.input == {"text": "line1\nline2"}
    body = replayed("chat", user("go"), model(made), results("a"))
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"text":"line1\\nline2"}'


def _arguments(protocol: Protocol, body: Any) -> Any:
    """The arguments of the first call in a request, as its server reads them: an object, or the text of one."""
    match protocol:
        case "messages":
            (block,) = (one for said in body["messages"] for one in said["content"] if one["type"] == "tool_use")
            return block["input"]
        case "responses":
            return json.loads(next(one for one in body["input"] if one.get("type") == "function_call")["arguments"])
        case "chat":
            (said,) = (one for one in body["messages"] if one.get("tool_calls"))
            return json.loads(said["tool_calls"][0]["function"]["arguments"])
