"""Valid conversations pass on every wire; each law broken once is found."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.entrypoints.emulator import Protocol, check, laws
from tests.unit.entrypoints.emulator.requests import (
    GO,
    USER_IMAGE,
    asking,
    assistant,
    chat,
    function_call,
    messages,
    output,
    reasoning,
    responses,
    text,
    tool,
    tool_call,
    tool_result,
    tool_use,
    user,
)

HINT = {"role": "user", "content": "hint"}
VALID: dict[str, tuple[Protocol, dict[str, Any]]] = {
    "messages": (
        "messages",
        messages(
            GO,
            assistant({"type": "thinking", "thinking": "", "signature": "s"}, text("ok"), tool_use("t1"), tool_use("t2")),
            user(tool_result("t1"), tool_result("t2", [text("x"), USER_IMAGE]), text("hint")),
            assistant(tool_use("t3")),
            user(tool_result("t3", "boom", is_error=True)),
            assistant(text("done")),
            GO,
        ),
    ),
    "responses": (
        "responses",
        responses(
            *(GO, reasoning(), function_call("c1"), function_call("c2"), output("c1"), output("c2"), HINT),
            *(function_call("c3"), output("c3", output=[{"type": "input_text", "text": "x"}])),
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
            GO,
        ),
    ),
    "chat": (
        "chat",
        chat(
            *({"role": "system", "content": "x"}, GO, asking(tool_call("c1"), tool_call("c2")), tool("c1"), tool("c2"), HINT),
            *(asking(tool_call("c3")), tool("c3"), {"role": "assistant", "content": "done"}, GO),
        ),
    ),
}
# Where the results of the two calls of the first round stand.
RESULTS: dict[str, tuple[str | int, ...]] = {
    "messages": ("messages", 2, "content"),
    "responses": ("input",),
    "chat": ("messages",),
}
FIRST = {"messages": 0, "responses": 4, "chat": 3}
UNANSWERED = {
    "messages": "messages.anthropic.tool_use.unanswered",
    "responses": "responses.openai.call.unanswered",
    "chat": "chat.openai.tool.unanswered",
}


def _broken(wire: str) -> tuple[Protocol, dict[str, Any], list[Any], int]:
    protocol, request = VALID[wire]
    changed = copy.deepcopy(request)
    place: Any = changed
    for part in RESULTS[wire]:
        place = place[part]
    return protocol, changed, place, FIRST[wire]


@pytest.mark.parametrize("wire", VALID)
def test_a_valid_history_passes(wire: str) -> None:
    protocol, request = VALID[wire]

    assert check(protocol, request) == ()
    assert laws(protocol, request) == ()


@pytest.mark.parametrize("wire", VALID)
def test_every_prefix_that_ends_with_a_user_passes(wire: str) -> None:
    protocol, request = VALID[wire]
    key = "input" if wire == "responses" else "messages"
    ends = {"messages": [1, 3, 5, 7], "responses": [1, 7, 9, 11], "chat": [2, 6, 8, 10]}[wire]

    for end in ends:
        cut = {**request, key: request[key][:end]}
        assert (check(protocol, cut), laws(protocol, cut)) == ((), ())


@pytest.mark.parametrize("wire", VALID)
def test_a_dropped_result_is_refused(wire: str) -> None:
    protocol, request, place, first = _broken(wire)
    del place[first]

    assert UNANSWERED[wire] in {one.rule for one in check(protocol, request)}
    assert "geode.pairing" in {one.rule for one in laws(protocol, request)}


@pytest.mark.parametrize("wire", VALID)
def test_swapped_results_break_geodes_order_only(wire: str) -> None:
    protocol, request, place, first = _broken(wire)
    place[first], place[first + 1] = place[first + 1], place[first]

    assert check(protocol, request) == ()
    assert [one.rule for one in laws(protocol, request)] == ["geode.order"]


@pytest.mark.parametrize("wire", VALID)
def test_an_id_of_the_other_result_is_refused(wire: str) -> None:
    protocol, request, place, first = _broken(wire)
    place[first] = copy.deepcopy(place[first + 1])

    assert UNANSWERED[wire] in {one.rule for one in check(protocol, request)}


@pytest.mark.parametrize(
    ("wire", "rule"),
    [
        ("messages", "messages.anthropic.tool_result.not_first"),
        ("chat", "chat.openai.tool.interleaved_user"),
        ("responses", None),  # this server pairs by id alone
    ],
)
def test_text_before_the_results_is_refused(wire: str, rule: str | None) -> None:
    protocol, request, place, first = _broken(wire)
    place.insert(first, text("first") if wire == "messages" else dict(HINT))

    assert (rule in {one.rule for one in check(protocol, request)}) == (rule is not None)
    assert "geode.hint_last" in {one.rule for one in laws(protocol, request)}


def test_results_spread_over_two_messages_break_a_law_of_geode_only() -> None:
    request = messages(GO, assistant(tool_use("t1"), tool_use("t2")), user(tool_result("t1")), user(tool_result("t2")))

    assert check("messages", request) == ()
    assert [one.rule for one in laws("messages", request)] == ["geode.one_message"]


def test_what_recorded_traffic_shows_as_accepted_is_accepted() -> None:
    """Neighbours of one role are merged; an assistant may begin; an id may be used again in a later round."""
    apart = messages(GO, assistant(tool_use("t1")), assistant(tool_use("t2")), user(tool_result("t1"), tool_result("t2")))
    first = messages({"role": "assistant", "content": "hello"}, GO)
    again = messages(GO, *[assistant(tool_use("t1")), user(tool_result("t1"))] * 2)
    elsewhere = responses(output("c1"), previous_response_id="resp_1")
    stored = responses(model=..., prompt={"id": "pmpt_1"})

    assert [check("messages", request) for request in (apart, first, again)] == [(), (), ()]
    assert [check("responses", request) for request in (elsewhere, stored)] == [(), ()]


def test_compatible_servers_take_what_openai_refuses() -> None:
    request = chat(GO, {"role": "assistant", "content": "x", "tool_calls": []}, GO, tool_choice="any")

    assert check("chat", request, "generic") == ()
    assert {one.rule for one in check("chat", request, "openai")} == {
        "chat.openai.assistant.empty_tool_calls",
        "chat.openai.tool_choice.shape",
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(
    ["role", "type", "content", "id", "call_id", "tool_calls", "tool_use_id", "function", "name", "arguments", "input", "text"]
)
KINDS = JSON | st.sampled_from(
    ["user", "assistant", "tool", "tool_use", "tool_result", "function_call", "reasoning", "function"]
)
ITEMS = st.lists(st.dictionaries(WORDS, KINDS | st.lists(st.dictionaries(WORDS, KINDS)), max_size=5), max_size=4)
KEYS = st.sampled_from(["tools", "tool_choice", "thinking", "system", "reasoning", "text", "response_format", "model", "stop"])


@settings(max_examples=30)
@given(items=JSON | ITEMS, rest=st.dictionaries(KEYS, JSON | ITEMS, max_size=4))
@pytest.mark.parametrize("protocol", ["messages", "responses", "chat"])
@pytest.mark.parametrize("dialect", ["openai", "generic", "glm", "openrouter"])
def test_anything_can_be_judged(protocol: Protocol, dialect: Any, items: Any, rest: dict[str, Any]) -> None:
    request = {**rest, "messages": items, "input": items}

    check(protocol, request, dialect, version="", signatures=frozenset(), responses=frozenset())
    laws(protocol, request)
