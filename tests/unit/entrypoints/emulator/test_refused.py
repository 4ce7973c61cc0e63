"""Every rule refuses the smallest request that breaks it, with the status and words of the real server.

`refused.json` holds the rules that a survey of issues, documents and traffic found, with the smallest
request that breaks each; `breaking` those that follow from request types and recorded answers.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, cast

import pytest

from geode.entrypoints.emulator import RULES, Dialect, Protocol, Quirk, check
from geode.entrypoints.emulator.bound import prefixes
from tests.unit.entrypoints.emulator.breaking import DERIVED, QUIRKS
from tests.unit.entrypoints.emulator.requests import (
    GO,
    SCHEMA,
    assistant,
    chat,
    function_call,
    messages,
    output,
    reasoning,
    responses,
    text,
    tool_result,
    tool_use,
    user,
)

SEEN: list[dict[str, Any]] = json.loads((Path(__file__).parent / "refused.json").read_text())
# Judged beside the body, in tests of their own.
ELSEWHERE = {
    "http.auth",
    "http.body",
    "chat.openrouter.reasoning_details",
    "messages.anthropic.document.assistant",
    "messages.anthropic.sampling.temperature",
    "messages.anthropic.thinking.prefix_changed",
}
# What a request cannot show, or what traffic contradicts: these rows of `refused.json` are taken.
_ANSWER = "it is something that an answer does under status 200; a request cannot show it"
_STREAM = "the error comes inside an answer that began with status 200; a script plays it"
_STATE = "it is a matter of accounts, load or time, not of the request; a script plays it"
_ROUTES = "it hangs on the routes of the moment: such requests were recorded as taken"
_TAKEN = "recorded traffic contradicts it: servers of this dialect took such requests"
TAKEN: dict[str, str] = {
    **dict.fromkeys(
        (
            "messages.anthropic.stream.cut",
            "chat.openrouter.finish_error_only",
            "chat.generic.silent.stream_all_index0",
            "chat.generic.silent.stream_no_index",
            "chat.generic.silent.stream_no_id",
            "chat.generic.silent.stream_repeat_id",
            "chat.generic.silent.ids_restart",
            "chat.generic.silent.empty_args",
            "chat.generic.silent.object_args",
            "chat.generic.silent.no_done",
            "chat.generic.silent.json_for_stream",
        ),
        _ANSWER,
    ),
    **dict.fromkeys(
        (
            "messages.anthropic.stream.overloaded",
            "responses.openai.stream.context_length",
            "responses.openai.stream.incomplete",
            "responses.openai.stream.rate_limit",
            "chat.openrouter.error_in_200",
            "chat.openrouter.stream_error_chunk",
        ),
        _STREAM,
    ),
    **dict.fromkeys(
        (
            "messages.anthropic.billing.402",
            "messages.anthropic.overload.529",
            "messages.glm.arrears",
            "responses.openai.rate",
            "chat.glm.arrears",
            "chat.glm.rate_1302",
            "chat.glm.rate_1303",
            "chat.glm.rate_1305",
            "chat.glm.quota_1304",
            "chat.glm.quota_1310",
            "chat.glm.quota_1311",
            "chat.glm.quota_1313",
            "chat.openrouter.moderation",
            "chat.openrouter.timeout",
            "chat.openrouter.rate",
            "chat.openrouter.provider_down",
            "chat.openrouter.no_provider",
        ),
        _STATE,
    ),
    "chat.glm.content_filter": "what is unsafe is the server's own judgement",
    "chat.openrouter.no_tool_endpoint": _ROUTES,
    "chat.openrouter.no_tool_choice_endpoint": _ROUTES,
    "responses.openai.strict.default": _TAKEN,
    "chat.generic.null_content": _TAKEN,
    "chat.generic.required_null": _TAKEN,
}
REFUSED = [case for case in SEEN if case["rule"] not in TAKEN]
# Three more rows are too long for a table of requests; they are built above.
SURVEYED = len(SEEN) + len({"responses.openai.tools.count", "chat.openai.tools.count", "chat.openai.tool_calls.count"})
BUILT_CODES = {
    "responses.openai.tools.count": "array_above_max_length",
    "chat.openai.tools.count": "array_above_max_length",
    "chat.openai.tool_calls.count": "array_above_max_length",
}


def filled(case: dict[str, Any]) -> dict[str, Any]:
    """The request with its endless part: a text said over and over, or as many properties."""
    request: dict[str, Any] = copy.deepcopy(case["request"])
    if "fill" not in case:
        return request
    at, text, count = case["fill"]
    *path, last = [int(part) if part.isdigit() else part for part in at.split("/")[1:]]
    place: Any = request
    for part in path:
        place = place[part]
    place[last] = {f"{text}{number:05}": {"type": "string"} for number in range(count)} if place[last] == {} else text * count
    return request


def _given(case: dict[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, str) else frozenset(value) for key, value in case.get("given", {}).items()}


@pytest.mark.parametrize("case", [case for case in REFUSED if "headers" not in case], ids=lambda case: case["rule"])
def test_a_rule_that_was_seen_refuses_with_the_words_of_its_server(case: dict[str, Any]) -> None:
    found = check(case["protocol"], filled(case), case["dialect"], **_given(case))

    assert case["rule"] in {one.rule for one in found}
    assert (found[0].status, found[0].error_type, found[0].error_code) == (case["status"], case["type"], case["code"])


@pytest.mark.parametrize("case", [case for case in SEEN if case["rule"] in TAKEN], ids=lambda case: case["rule"])
def test_an_exception_is_needed(case: dict[str, Any]) -> None:
    assert check(case["protocol"], case["request"], case["dialect"]) == ()


def test_the_survey_is_whole() -> None:
    """Every rule of the survey is refused, or stands among the exceptions with a reason, and none is there for nothing."""
    assert SURVEYED == 164
    assert {case["rule"] for case in SEEN} >= set(TAKEN)
    assert {case["rule"] for case in REFUSED} <= set(RULES)
    assert not set(TAKEN) & set(RULES)
    assert {name: RULES[name].error_code for name in BUILT_CODES} == BUILT_CODES


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_rule_refuses(name: str) -> None:
    protocol, dialect = name.split(".")[:2]

    served = frozenset({"claude-sonnet-4-5"}) if name.endswith(".model.unknown") else None

    found = check(cast("Protocol", protocol), DERIVED[name], cast("Dialect", dialect), models=served)

    assert name in {one.rule for one in found}
    assert {one.status for one in found} == {RULES[name].status}


def test_every_rule_has_a_request_that_breaks_it() -> None:
    quirks = {f"chat.quirk.{name}" for name in QUIRKS}
    assert set(RULES) == {case["rule"] for case in REFUSED} | set(DERIVED) | quirks | ELSEWHERE


@pytest.mark.parametrize("name", QUIRKS)
def test_a_quirk_is_refused_by_the_server_that_has_it_and_by_no_other(name: str) -> None:
    others = frozenset(QUIRKS) - {name}
    one, rest = cast("frozenset[Quirk]", frozenset({name})), cast("frozenset[Quirk]", others)

    assert {found.rule for found in check("chat", QUIRKS[name], "generic", quirks=one)} == {f"chat.quirk.{name}"}
    assert check("chat", QUIRKS[name], "generic") == ()
    assert f"chat.quirk.{name}" not in {found.rule for found in check("chat", QUIRKS[name], "generic", quirks=rest)}


def test_every_rule_says_what_it_is_and_where_it_is_known_from() -> None:
    assert [rule.id for rule in RULES.values() if not rule.says or not rule.source] == []


@pytest.mark.parametrize("key", ["temperature", "top_p", "top_k"])
def test_sampling_is_refused_by_the_version_that_dropped_it(key: str) -> None:
    request = messages(model="claude-sonnet-4-5", **{key: 1})

    assert check("messages", request, version="2023-06-01") == ()
    assert [one.rule for one in check("messages", request, version="2026-10-21")] == [f"messages.anthropic.sampling.{key}"]


def test_new_models_sample_as_they_like_under_any_version() -> None:
    cold, usual = messages(temperature=0), messages(temperature=1)

    assert [one.rule for one in check("messages", cold, version="2023-06-01")] == ["messages.anthropic.sampling.temperature"]
    assert check("messages", usual, version="2023-06-01") == ()


def test_documents_left_the_assistants_messages_with_a_version() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    request = messages(GO, assistant(document), GO)

    assert check("messages", request, version="2023-06-01") == ()
    assert [one.rule for one in check("messages", request, version="2026-10-21")] == ["messages.anthropic.document.assistant"]


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, False),
        ({"system": "other"}, True),
        ({"tools": [{"name": "write", "input_schema": SCHEMA}]}, True),
        ({"model": "claude-opus-5"}, False),  # does not bind
        ({"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}}, False),
    ],
)
def test_thinking_that_is_bound_goes_back_behind_what_it_was_made_after(changes: dict[str, Any], refused: bool) -> None:
    asked = messages(GO, model="claude-opus-5-5", system="be brief")
    *_, behind = prefixes(asked)
    turns = [GO, assistant(THOUGHT, tool_use("t1")), user(tool_result("t1"))]
    request = {**asked, "messages": turns, **changes}

    found = check("messages", request, prefixes={"sig": frozenset({behind})})

    assert [one.rule for one in found] == ["messages.anthropic.thinking.prefix_changed"] * refused
    assert check("messages", request) == ()


def test_a_mark_for_the_cache_and_another_spelling_are_no_change_of_the_prefix() -> None:
    asked = messages(GO, model="claude-opus-5-5", system="be brief")
    marked = {"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}
    again = messages(user(text("go")), model="claude-opus-5-5", system=[marked])

    assert list(prefixes(asked)) == list(prefixes(again))


def test_a_violation_points_into_the_request() -> None:
    request = messages(GO, assistant(tool_use("t1")), user(text("first"), tool_result("t1")))

    (found,) = check("messages", request)

    assert found.at == "/messages/2/content/1"


def test_only_a_known_signature_passes_where_signatures_are_known() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    request = messages(GO, assistant(thought, tool_use("t1")), user(tool_result("t1")))

    assert check("messages", request) == ()
    assert check("messages", request, signatures=frozenset({"sig"})) == ()
    assert [one.rule for one in check("messages", request, signatures=frozenset())] == [
        "messages.anthropic.thinking.signature_invalid"
    ]


def test_openrouter_takes_reasoning_back_as_it_went_out() -> None:
    detail = {"type": "reasoning.text", "text": "hm", "signature": "sig", "format": "anthropic-claude-v1", "index": 0}
    turn = {"role": "assistant", "content": "x", "reasoning_details": [detail]}
    request = chat(GO, turn, GO, model="anthropic/claude-sonnet-4.6")

    assert check("chat", request, "openrouter") == ()
    assert check("chat", request, "openrouter", signatures=frozenset({"sig"})) == ()
    assert [one.rule for one in check("chat", request, "openrouter", signatures=frozenset())] == [
        "chat.openrouter.reasoning_details"
    ]


def test_a_paused_turn_may_come_back_as_the_last_word() -> None:
    request = messages(GO, assistant(text("half a thought")))

    assert [one.rule for one in check("messages", request)] == ["messages.anthropic.assistant.prefill_unsupported"]
    assert check("messages", request, paused=frozenset({"half a thought"})) == ()


def test_an_item_made_with_reasoning_wants_it_back() -> None:
    call, made = function_call("c1", id="fc_1"), frozenset({"fc_1"})

    assert check("responses", responses(GO, reasoning(), call, output("c1")), reasoned=made) == ()
    assert [one.rule for one in check("responses", responses(GO, call, output("c1")), reasoned=made)] == [
        "responses.openai.item.without_reasoning"
    ]
