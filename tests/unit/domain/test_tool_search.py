"""Finding a tool among many, and the call that is meant by a call of the search tool (spec section 12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.domain.content import ToolUseBlock
from geode.domain.tiers import SafetyTier
from geode.domain.tool_search import (
    ANSWER_CHARACTERS,
    DESCRIPTION_CHARACTERS,
    MOST_MATCHES,
    SEARCH,
    answer,
    as_run,
    found,
    search_problem,
    search_spec,
)
from geode.domain.tools import ToolFacts, ToolSpec

TOOLS = {SEARCH: ToolFacts(SafetyTier.SAFE, "", forwards=True), "send_mail": ToolFacts(SafetyTier.WRITE, "")}


def spec(name: str, description: str = "", *properties: str) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": {key: {"type": "string"} for key in properties}})


def call(**arguments: Any) -> ToolUseBlock:
    return ToolUseBlock("c1", SEARCH, arguments)


def names(query: str, *tools: ToolSpec) -> list[str]:
    return [tool.name for tool in found(query, tools)]


MAIL = spec("send_mail", "Sends a message to somebody.", "to", "subject")
READ = spec("read_mailbox", "Lists the newest letters.")
WEATHER = spec("forecast", "The weather of tomorrow at a place.", "city")
ISSUE = spec("createIssue", "Opens a ticket.", "title", "repository")
ALL = (MAIL, READ, WEATHER, ISSUE)


# ---- calls -------------------------------------------------------------------------------------------


def test_a_call_that_names_a_tool_is_a_call_of_that_tool_under_its_own_id() -> None:
    made = call(name="send_mail", arguments={"to": "a"})

    assert as_run(made, TOOLS) == ToolUseBlock("c1", "send_mail", {"to": "a"})


@pytest.mark.parametrize("arguments", [None, {}, "", "{}", "null"])
def test_arguments_that_are_not_there_are_none(arguments: Any) -> None:
    assert as_run(call(name="send_mail", arguments=arguments), TOOLS) == ToolUseBlock("c1", "send_mail", {})
    assert as_run(call(name="send_mail"), TOOLS) == ToolUseBlock("c1", "send_mail", {})


def test_arguments_in_a_text_are_read_like_any() -> None:
    assert as_run(call(name="send_mail", arguments='{"to": "a"}'), TOOLS).input == {"to": "a"}
    broken = as_run(call(name="send_mail", arguments='{"to": '), TOOLS)
    assert (broken.name, broken.input, broken.unparsed) == ("send_mail", {}, '{"to": ')
    listed = as_run(call(name="send_mail", arguments=[1]), TOOLS)
    assert (listed.input, listed.unparsed) == ({}, "[1]")


def test_a_tool_that_nobody_knows_is_called_too_so_that_its_call_is_refused_under_its_name() -> None:
    assert as_run(call(name="sendmail"), TOOLS).name == "sendmail"


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "mail"},
        {"query": "mail", "name": "send_mail"},
        {"name": " "},
        {"name": 5},
        {},
        {"name": SEARCH, "arguments": {"query": "mail"}},
        {"name": "recall_tool_result", "arguments": {"ref_id": "r"}},
    ],
)
def test_what_names_no_tool_to_call_stays_as_it_is(arguments: dict[str, Any]) -> None:
    made = call(**arguments)

    assert as_run(made, TOOLS) is made


def test_only_geodes_own_search_tool_forwards() -> None:
    made, own = call(name="send_mail"), {SEARCH: ToolFacts(SafetyTier.SAFE, "")}

    assert as_run(made, own) is made
    assert as_run(made, {}) is made
    other = ToolUseBlock("c1", "send_mail", {"name": "send_mail"})
    assert as_run(other, TOOLS) is other


def test_a_name_beside_a_blank_query_is_a_call() -> None:
    assert as_run(call(query="", name="send_mail"), TOOLS).name == "send_mail"


def test_what_can_be_searched_and_why_the_rest_cannot() -> None:
    assert search_problem({"query": "mail"}) == ""
    assert search_problem({"query": "mail", "name": ""}) == ""
    assert "not both" in search_problem({"query": "mail", "name": "send_mail"})
    assert "give query" in search_problem({})
    assert "give query" in search_problem({"query": " ", "arguments": {}})
    assert (
        search_problem({"name": SEARCH})
        == "/name: search_tools is not called through search_tools; it is in your list of tools"
    )
    assert search_problem({"name": "recall_tool_result"}).startswith("/name: recall_tool_result is not called through")
    # By a hook or a person: what was let through as a search must not run as something else.
    assert search_problem({"name": "send_mail"}) == "/name: a search does not become a call"


# ---- finding -----------------------------------------------------------------------------------------


def test_the_very_name_stands_alone() -> None:
    assert names("send_mail", *ALL) == ["send_mail"]
    assert names(" send_mail ", *ALL, spec("send_mail_later")) == ["send_mail"]


def test_names_count_most_then_properties_then_descriptions() -> None:
    tools = (spec("a", "weather"), spec("b", "", "weather"), spec("weather_now"), spec("c", "nothing"))

    assert names("weather", *tools) == ["weather_now", "b", "a"]


def test_rare_words_count_more_than_frequent_ones() -> None:
    tools = (*(spec(f"list_{word}", "Lists the files.") for word in ("x", "y", "z")), spec("print_invoice", "Prints it."))

    assert names("list invoice", *tools)[0] == "print_invoice"


def test_case_humps_and_underscores_make_no_difference() -> None:
    for query in ("create issue", "CREATE_ISSUE", "create-issue", "createissue createIssue"):
        assert names(query, *ALL)[0] == "createIssue"


def test_the_beginning_of_a_word_finds_it_and_counts_less_than_the_word() -> None:
    assert names("mails", *ALL) == ["send_mail"]
    assert names("letter", *ALL) == ["read_mailbox"]
    assert names("mail", spec("mailbox"), spec("mail")) == ["mail"], "the very name"
    assert names("mail please", spec("mailbox"), spec("mail")) == ["mail", "mailbox"]
    assert names("ma", spec("mail")) == [], "too short to begin anything"


def test_scripts_without_blanks_and_other_forms_of_a_letter_are_found() -> None:
    weather = spec("tenki", "東京の天気予報を調べる")

    assert names("天気", weather, MAIL) == ["tenki"]
    assert names("ＦＯＲＥＣＡＳＴ", *ALL) == ["forecast"]
    assert names("STRASSE", spec("street", "Findet die Straße.")) == ["street"]


def test_equal_ones_come_by_name_and_what_does_not_fit_does_not_come() -> None:
    tools = (spec("b_mail"), spec("a_mail"), WEATHER)

    assert names("mail", *tools) == names("mail", *reversed(tools)) == ["a_mail", "b_mail"]
    assert names("", *ALL) == names("…", *ALL) == []


# ---- what the model reads ----------------------------------------------------------------------------


def lines(query: str, *tools: ToolSpec) -> list[dict[str, Any]]:
    head, *rest = answer(query, tools).split("\n")
    assert "search_tools" in head
    return [json.loads(line) for line in rest]


def test_a_match_has_its_name_its_description_and_its_schema() -> None:
    (match,) = lines("weather", *ALL)

    assert match == {"name": "forecast", "description": WEATHER.description, "input_schema": dict(WEATHER.input_schema)}


def test_not_more_than_a_few_matches_are_shown_and_it_is_said_that_there_are_more() -> None:
    tools = [spec(f"mail_{number}") for number in range(9)]

    assert [line["name"] for line in lines("mail", *tools)] == [f"mail_{number}" for number in range(MOST_MATCHES)]
    assert "4 more fit less well" in answer("mail", tools)
    assert "more fit" not in answer("mail", tools[:MOST_MATCHES])


def test_descriptions_are_bounded_and_so_are_all_matches_together_but_the_best_is_whole() -> None:
    long = "mail " * 1000
    big = {f"property_{number}": {"type": "string", "description": "x" * 100} for number in range(ANSWER_CHARACTERS // 100)}
    tools = [ToolSpec(name, long, {"type": "object", "properties": big}) for name in ("mail_a", "mail_b")]

    best, other = lines("mail", *tools)

    assert len(best["description"]) == DESCRIPTION_CHARACTERS + 1
    assert len(best["input_schema"]["properties"]) == len(big)
    assert other["input_schema"] == "too long to show here; search for the tool by its name"


def test_nothing_found_says_so_with_the_closest_names() -> None:
    assert answer("sned_mial", ALL) == "No tool fits 'sned_mial'. The closest names are: send_mail. Search with other words."
    assert answer("zzz", ALL) == "No tool fits 'zzz'. Search with other words."
    assert len(answer("z" * 10**6, ALL)) < 200


# ---- how the model is told ---------------------------------------------------------------------------


def test_the_tool_names_the_sources_and_nothing_that_changes_with_the_tools() -> None:
    told = search_spec(['MCP server "b"', "", 'MCP server "a"', 'MCP server "b"'])

    assert told.name == SEARCH
    assert 'They come from MCP server "a", MCP server "b".' in told.description
    assert "come from" not in search_spec([]).description
    assert set(told.input_schema["properties"]) == {"query", "name", "arguments"}


def test_many_sources_and_long_names_stay_short() -> None:
    told = search_spec([f"{'x' * 1000} {number}" for number in range(50)] + [f"server {number:02}" for number in range(50)])

    assert "and 31 more" in told.description
    assert len(told.description) < 1500
