"""Sessions with many tools: what the model is told, how it finds a tool, and what a call through the search tool is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import geode
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve, Deny, Grant, Later
from geode.domain.content import ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Exhausted, Suspended
from geode.domain.models import ModelRow
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.script import calls, cut, says
from geode.domain.tiers import SafetyTier
from geode.domain.tool_search import SEARCH
from geode.domain.toolkits import Toolkit
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, hints_of
from geode.ports.events import ApprovalAsked, ModelReplied, Notice, ToolFinished, ToolStarted
from geode.ports.hooks import Hooks, Veto
from geode.ports.tools import Tool
from tests.unit.application.rig import Asks, Recorder, answered, kinds, loop_of, outcome_of, replayed, texts


class Office:
    """An eager tool and some deferred ones, which write down what ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def tools(self, *more: Tool, fillers: int = 20) -> list[Any]:
        filling = [self.tool(f"filler_{number:02}") for number in range(fillers)]
        return [self.look, self.mail, self.delete, self.count, *filling, *more]

    def tool(self, name: str, tier: SafetyTier = SafetyTier.SAFE, **more: Any) -> Tool:
        spec = ToolSpec(name, "", {"type": "object", "properties": {}})
        return Tool(spec, tier, lambda arguments, _: self.noted(name, **arguments), deferred=True, **more)

    def noted(self, tool: str, **arguments: Any) -> str:
        self.ran.append((tool, arguments))
        return f"{tool} done"

    @geode.tool(tier="safe", blocking=False)
    def look(self, at: str) -> str:
        """Looks at something."""
        return self.noted("look", at=at)

    @geode.tool(tier="write", deferred=True, blocking=False)
    def mail(self, to: str, subject: str = "hi") -> str:
        """Sends a letter to somebody."""
        return self.noted("mail", to=to, subject=subject)

    @geode.tool(tier="dangerous", deferred=True, blocking=False)
    def delete(self, file: str) -> str:
        """Removes a file for good."""
        return self.noted("delete", file=file)

    @geode.tool(tier="safe", deferred=True, blocking=False, max_calls=1)
    def count(self, words: str = "") -> str:
        """Counts words."""
        return self.noted("count", words=words)


def through(name: str, arguments: Any = None) -> tuple[str, dict[str, Any]]:
    """A call of the tool `name` by way of the search tool."""
    return SEARCH, {"name": name} if arguments is None else {"name": name, "arguments": arguments}


def told(request: AdapterCallRequest) -> list[str]:
    return [tool.name for tool in request.tools]


def last_calls(loop: AgenticLoop) -> list[ToolUseBlock]:
    turns = [turn for turn in loop.conversation.turns if isinstance(turn, AssistantTurn) and turn.calls]
    return list(turns[-1].calls)


# ---- what the model is told --------------------------------------------------------------------------


async def test_with_more_than_sixteen_tools_the_deferred_ones_are_not_in_the_list_and_the_search_tool_is() -> None:
    model = ScriptedModel(says("hi"))
    answered(await loop_of(model=model, tools=Office().tools(fillers=13)).run("go"))

    assert told(model.requests[0]) == ["look", SEARCH]


async def test_up_to_sixteen_tools_all_are_in_the_list_and_there_is_no_search_tool() -> None:
    model = ScriptedModel(says("hi"))
    answered(await loop_of(model=model, tools=Office().tools(fillers=12)).run("go"))

    assert len(told(model.requests[0])) == 16
    assert SEARCH not in told(model.requests[0])


@pytest.mark.parametrize(("above", "deferred"), [(None, False), (17, False), (16, True), (0, True)])
async def test_the_policy_says_from_how_many_on(above: int | None, deferred: bool) -> None:
    model = ScriptedModel(says("hi"))
    answered(await loop_of(model=model, tools=Office().tools(fillers=13), policy=Policy(defer_above=above)).run("go"))

    assert (SEARCH in told(model.requests[0])) is deferred


async def test_tools_that_are_not_marked_stay_however_many_they_are() -> None:
    def eager(number: int) -> Tool:
        return Tool(ToolSpec(f"t{number}", "", {"type": "object"}), SafetyTier.SAFE, lambda *_: "")

    model = ScriptedModel(says("hi"))
    answered(await loop_of(model=model, tools=[eager(number) for number in range(40)]).run("go"))

    assert told(model.requests[0]) == [f"t{number}" for number in range(40)]


async def test_a_tool_that_the_choice_names_is_in_that_request_and_in_no_other() -> None:
    model = ScriptedModel(calls(("count", {})), says("one"))
    answered(await loop_of(model=model, tools=Office().tools()).run("go", tool_choice={"name": "count"}))

    assert told(model.requests[0]) == ["look", "count", SEARCH]
    assert told(model.requests[1]) == ["look", SEARCH]


async def test_where_the_server_searches_itself_all_go_out_marked_and_without_the_search_tool() -> None:
    able = Capabilities(tool_search=True, models=(ModelRow("m", tool_search=True),))
    model = ScriptedModel(calls(("count", {})), says("one"), capabilities=able)
    office = Office()
    answered(await loop_of(model=model, tools=office.tools()).run("go"))

    first, second = model.requests
    assert SEARCH not in told(first)
    assert len(first.tools) == 24
    assert first.deferred == second.deferred == frozenset(told(first)) - {"look"}
    assert office.ran == [("count", {"words": ""})]


# ---- searching and calling ---------------------------------------------------------------------------


async def test_a_search_gives_the_tool_and_a_call_runs_it_while_the_list_stays_as_it_is() -> None:
    office, seen = Office(), Recorder()
    model = ScriptedModel(
        calls((SEARCH, {"query": "send a letter"})),
        calls(through("mail", {"to": "a"})),
        calls(("look", {"at": "x"})),
        says("sent"),
    )
    loop = loop_of(model=model, tools=office.tools(), approver=Asks(), observe=[seen])
    outcome = answered(await loop.run("go"))

    found = json.loads(texts(outcome)[0].split("\n")[1])
    assert (found["name"], found["description"]) == ("mail", "Sends a letter to somebody.")
    assert found["input_schema"]["required"] == ["to"]
    assert office.ran == [("mail", {"to": "a", "subject": "hi"}), ("look", {"at": "x"})]
    assert texts(outcome)[1] == "mail done"
    assert all(request.tools == model.requests[0].tools for request in model.requests)
    # The conversation has the call as it was made; observers hear of what runs.
    calls_made = [call for turn in outcome.conversation.turns if isinstance(turn, AssistantTurn) for call in turn.calls]
    assert [call.name for call in calls_made] == [SEARCH, SEARCH, "look"]
    assert calls_made[1].input == {"name": "mail", "arguments": {"to": "a"}}
    assert [event.call.name for event in seen.of(ToolStarted)] == [SEARCH, "mail", "look"]
    assert [event.call.name for event in seen.of(ToolFinished)] == [SEARCH, "mail", "look"]
    assert [event.call.id for event in seen.of(ToolFinished)] == [call.id for call in calls_made]
    assert [[call.name for call in event.calls] for event in seen.of(ModelReplied)] == [[SEARCH], [SEARCH], ["look"], []]


async def test_a_deferred_tool_that_is_called_by_its_own_name_simply_runs() -> None:
    office = Office()
    outcome = answered(await loop_of(calls(("count", {"words": "a b"})), says("2"), tools=office.tools()).run("go"))

    assert office.ran == [("count", {"words": "a b"})]
    assert kinds(outcome) == ["ok"]


async def test_an_eager_tool_may_be_found_and_called_that_way_too() -> None:
    office = Office()
    script = (calls((SEARCH, {"query": "look"})), calls(through("look", {"at": "x"})), says("done"))
    outcome = answered(await loop_of(*script, tools=office.tools()).run("go"))

    assert '"name":"look"' in texts(outcome)[0]
    assert office.ran == [("look", {"at": "x"})]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "mial"}, "there is no tool named 'mial'. Did you mean: mail?"),
        ({"name": "mail"}, "mail was not run: /: 'to' is a required property"),
        ({"name": "mail", "arguments": {"to": 5}}, "mail was not run: /to: "),
        ({"name": "mail", "arguments": '{"to": '}, "mail was not run: arguments are not valid JSON"),
        ({"name": "mail", "arguments": [1]}, "mail was not run: arguments must be a JSON object, got an array"),
        ({"name": SEARCH, "arguments": {"query": "x"}}, "search_tools was not run: /name: search_tools is not called through"),
        ({"name": "recall_tool_result"}, "search_tools was not run: /name: recall_tool_result is not called through"),
        ({"query": "letter", "name": "mail"}, "search_tools was not run: /: give query, to search, or name"),
        ({}, "search_tools was not run: /: give query, to search, or name"),
        ({"name": 5}, "search_tools was not run: /name: "),
        ("{broken", "search_tools was not run: arguments are not valid JSON"),
    ],
)
async def test_what_is_wrong_is_told_of_the_tool_that_was_meant(arguments: Any, words: str) -> None:
    office = Office()
    outcome = answered(await loop_of(calls((SEARCH, arguments)), says("hm"), tools=office.tools(), approver=Asks()).run("go"))

    assert office.ran == []
    assert kinds(outcome) == ["failed"]
    assert texts(outcome)[0].startswith(words)


async def test_arguments_as_a_text_run_like_an_object() -> None:
    office = Office()
    answered(await loop_of(calls(through("count", '{"words": "a"}')), says("1"), tools=office.tools()).run("go"))

    assert office.ran == [("count", {"words": "a"})]


async def test_an_own_tool_of_that_name_is_an_ordinary_tool_where_nothing_is_deferred() -> None:
    @geode.tool(tier="safe", name=SEARCH, blocking=False)
    def own(name: str) -> str:
        return f"own {name}"

    outcome = answered(await loop_of(calls((SEARCH, {"name": "own"})), says("x"), tools=[own]).run("go"))

    assert texts(outcome) == ["own own"]


# ---- a call of that tool in every respect ------------------------------------------------------------


async def test_a_person_is_asked_about_the_tool_and_its_arguments() -> None:
    office, asks, seen = Office(), Asks(lambda call: Approve({"to": "b"})), Recorder()
    script = (calls(through("mail", {"to": "a"})), says("sent"))
    answered(await loop_of(*script, tools=office.tools(), approver=asks, observe=[seen]).run("go"))

    (asked,) = asks.questions[0].calls
    assert (asked.call.name, asked.call.input, asked.tier) == ("mail", {"to": "a"}, SafetyTier.WRITE)
    assert [one.call.name for one in seen.of(ApprovalAsked)[0].question.calls] == ["mail"]
    assert office.ran == [("mail", {"to": "b", "subject": "hi"})]


async def test_without_anybody_to_ask_it_is_denied_and_a_grant_lets_it_run() -> None:
    office = Office()
    script = (calls(through("mail", {"to": "a"})), says("x"))
    denied = answered(await loop_of(*script, tools=office.tools()).run("go"))
    assert kinds(denied) == ["denied"]
    assert "mail needs a person's approval" in texts(denied)[0]

    granted = loop_of(*script, tools=office.tools(), policy=Policy(grants=(Grant("mail", {"to": "a"}),)))
    assert kinds(answered(await granted.run("go"))) == ["ok"]

    # To be allowed to search is not to be allowed to call.
    searching = loop_of(*script, tools=office.tools(), policy=Policy(grants=(Grant(SEARCH),)))
    assert kinds(answered(await searching.run("go"))) == ["denied"]


async def test_always_is_a_grant_for_the_tool_and_for_no_other() -> None:
    office, asks = Office(), Asks(lambda call: Approve(always="tool"))
    script = (
        calls(through("mail", {"to": "a"})),
        calls(("mail", {"to": "b"})),
        calls(through("delete", {"file": "f"})),
        says("x"),
    )
    answered(await loop_of(*script, tools=office.tools(), approver=asks).run("go"))

    assert asks.asked == [["mail"], ["delete"]]


async def test_it_is_a_barrier_by_the_tier_of_the_tool() -> None:
    order: list[str] = []

    def tool(name: str, tier: SafetyTier) -> Tool:
        spec = ToolSpec(name, "", {"type": "object"})
        return Tool(spec, tier, lambda *_: order.append(name), deferred=True)

    tools = [tool("first", SafetyTier.SAFE), tool("change", SafetyTier.WRITE), tool("last", SafetyTier.SAFE)]
    script = (calls(through("first"), through("change"), through("last")), says("x"))
    seen = Recorder()
    loop = loop_of(*script, tools=Office().tools(*tools), approver=Asks(), observe=[seen])
    outcome = answered(await loop.run("go"))

    assert order == ["first", "change", "last"]
    told = [(type(event).__name__, event.call.name) for event in seen.events if isinstance(event, ToolStarted | ToolFinished)]
    assert told == [(kind, name) for name in order for kind in ("ToolStarted", "ToolFinished")]
    assert kinds(outcome) == ["ok"] * 3


async def test_the_limit_of_its_calls_and_the_budget_of_the_run_count_it() -> None:
    script = (calls(through("count"), ("count", {})), calls(through("count")), says("x"))
    outcome = answered(await loop_of(*script, tools=Office().tools()).run("go"))

    assert kinds(outcome) == ["ok", "failed", "failed"]
    assert "count may run 1 times" in texts(outcome)[1]

    budget = loop_of(
        calls(through("count"), through("look", {"at": "x"})),
        says("x"),
        tools=Office().tools(),
        policy=Policy(max_tool_calls=1),
    )
    assert kinds(await budget.run("go")) == ["ok", "failed"]


async def test_its_deadline_is_the_tools_own() -> None:
    async def slow(*_: Any) -> None:
        import asyncio

        await asyncio.sleep(60)

    tool = Tool(ToolSpec("slow", "", {"type": "object"}), SafetyTier.SAFE, slow, timeout_seconds=0.05, deferred=True)
    outcome = answered(await loop_of(calls(through("slow")), says("x"), tools=Office().tools(tool)).run("go"))

    assert texts(outcome) == ["timeout: slow did not finish within 0.05 s"]


async def test_the_same_call_again_is_no_progress_however_it_is_made() -> None:
    made = [calls(through("count", {"words": "a"})), calls(("count", {"words": "a"})), calls(through("count", '{"words":"a"}'))]
    policy = Policy(no_progress_rounds=3, max_no_progress_hints=None)
    outcome = answered(await loop_of(*made, says("x"), tools=Office().tools(), policy=policy).run("go"))

    (hint,) = hints_of(outcome.conversation.turns)
    assert hint.kind == "no_progress"
    assert "you called 'count' with" in hint.text

    others = [calls(through("look", {"at": f"{number}"})) for number in range(3)]
    different = answered(await loop_of(*others, says("x"), tools=Office().tools(), policy=policy).run("go"))
    assert hints_of(different.conversation.turns) == ()


async def test_a_tool_that_keeps_failing_goes_through_its_recovery() -> None:
    def fails(*_: Any) -> None:
        raise geode.ToolError("down")

    spec = {"type": "object", "properties": {"q": {"type": "string"}}}
    shaky = Tool(ToolSpec("shaky", "", spec), SafetyTier.SAFE, fails, alternative="steady", deferred=True)
    steady = Tool(ToolSpec("steady", "", spec), SafetyTier.SAFE, lambda arguments, _: f"steady {arguments['q']}", deferred=True)
    policy = Policy(recovery_seconds=0.0)
    script = (*(calls(through("shaky", {"q": f"{number}"})) for number in range(3)), says("x"))
    seen = Recorder()
    loop = loop_of(*script, tools=Office().tools(shaky, steady), policy=policy, observe=[seen])
    outcome = answered(await loop.run("go"))

    assert kinds(outcome) == ["failed", "failed", "ok"]
    assert texts(outcome)[2].startswith("steady 2")
    assert any(one.text.startswith("shaky keeps failing") for one in seen.of(Notice))
    # A call that ran in several steps is told once, as the tool that the model meant.
    assert [event.call.name for event in seen.of(ToolFinished)] == ["shaky", "shaky", "shaky"]


async def test_hooks_see_the_tool_and_may_change_its_arguments_or_forbid_it() -> None:
    office, met = Office(), list[tuple[str, str]]()

    def before(call: ToolUseBlock) -> ToolUseBlock | Veto | None:
        met.append(("before", call.name))
        return Veto("not that") if call.name == "delete" else ToolUseBlock(call.id, call.name, {"to": "b"})

    def after(call: ToolUseBlock, _: Any) -> None:
        met.append(("after", call.name))

    script = (calls(through("mail", {"to": "a"})), calls(through("delete", {"file": "f"})), says("x"))
    hooks = [Hooks(before_tool=before, after_result=after)]
    outcome = answered(await loop_of(*script, tools=office.tools(), approver=Asks(), hooks=hooks).run("go"))

    assert met == [("before", "mail"), ("after", "mail"), ("before", "delete")]
    assert office.ran == [("mail", {"to": "b", "subject": "hi"})]
    assert kinds(outcome) == ["ok", "denied"]


async def test_a_hook_cannot_make_a_call_of_a_search() -> None:
    office = Office()
    hooks = [Hooks(before_tool=lambda call: ToolUseBlock(call.id, call.name, {"name": "count"}))]
    outcome = answered(await loop_of(calls((SEARCH, {"query": "x"})), says("x"), tools=office.tools(), hooks=hooks).run("go"))

    assert kinds(outcome) == ["denied"]
    assert office.ran == []


async def test_a_tool_that_a_hook_leaves_out_is_not_reached_through_the_search_tool() -> None:
    office = Office()

    def without(request: AdapterCallRequest) -> AdapterCallRequest:
        from dataclasses import replace

        return replace(request, tools=tuple(tool for tool in request.tools if tool.name != "count"))

    hooks = [Hooks(before_model=without)]
    outcome = answered(await loop_of(calls(through("count")), says("x"), tools=office.tools(), hooks=hooks).run("go"))

    assert texts(outcome) == ["there is no tool named 'count'."]


async def test_a_reply_that_was_cut_off_runs_nothing_and_counts_as_the_tool() -> None:
    outcome = answered(await loop_of(cut(calls(through("count"))), says("x"), tools=Office().tools()).run("go"))

    assert kinds(outcome) == ["failed"]
    assert "cut off" in texts(outcome)[0]


# ---- toolkits and changes ----------------------------------------------------------------------------


async def test_a_toolkit_takes_tools_away_from_the_search_too_and_not_the_search() -> None:
    office = Office()
    kit = Toolkit("few", deny=("mail",))
    script = (calls((SEARCH, {"query": "letter mail"})), calls(through("mail", {"to": "a"})), says("x"))
    outcome = answered(await loop_of(*script, tools=office.tools(), kits=[(kit,)], approver=Asks()).run("go"))

    assert texts(outcome)[0].startswith("No tool fits")
    assert texts(outcome)[1].startswith("there is no tool named 'mail'.")


async def test_toolkits_of_each_round_leave_the_search_tool_to_run() -> None:
    office = Office()
    script = (calls((SEARCH, {"query": "letter"})), calls(through("count")), says("x"))
    kits = [lambda _: Toolkit("all", deny=("mail",))]
    outcome = answered(await loop_of(*script, tools=office.tools(), kits=kits, approver=Asks()).run("go"))

    assert kinds(outcome) == ["ok", "ok"]


async def test_what_a_toolkit_leaves_decides_whether_any_are_deferred() -> None:
    model = ScriptedModel(says("hi"))
    kit = Toolkit("few", allow=("look", "mail", "filler_0*"))
    answered(await loop_of(model=model, tools=Office().tools(), kits=[(kit,)]).run("go"))

    assert told(model.requests[0]) == ["look", "mail", *(f"filler_0{number}" for number in range(10))]


# ---- kept, suspended and taken up --------------------------------------------------------------------


async def test_a_journal_of_it_comes_to_the_same_again() -> None:
    journal = MemoryJournal()
    script = (calls((SEARCH, {"query": "letter"})), calls(through("mail", {"to": "a"}), through("count")), says("sent"))
    outcome = answered(await loop_of(*script, tools=Office().tools(), approver=Asks(), journal=journal).run("go"))

    assert outcome_of(replayed(journal)) == outcome


async def test_a_suspended_call_is_answered_as_the_tool_in_another_process() -> None:
    office = Office()
    first = loop_of(calls(through("mail", {"to": "a"})), tools=office.tools(), approver=Asks(lambda _: Later()))
    suspended = await first.run("go")
    assert isinstance(suspended, Suspended)
    (waiting,) = suspended.asked
    assert (waiting.name, waiting.input) == ("mail", {"to": "a"})

    second = loop_of(says("sent"), tools=office.tools(), approver=Asks())
    outcome = answered(await second.resume(suspended.snapshot, {waiting.id: Approve()}))

    assert office.ran == [("mail", {"to": "a", "subject": "hi"})]
    assert [call.name for call in last_calls(second)] == [SEARCH]
    assert kinds(outcome) == ["ok"]


async def test_it_goes_on_where_nothing_is_deferred_any_more() -> None:
    office = Office()
    first = loop_of(calls(through("mail", {"to": "a"})), tools=office.tools(), approver=Asks(lambda _: Later()))
    suspended = await first.run("go")
    assert isinstance(suspended, Suspended)

    second = loop_of(says("sent"), tools=office.tools(), policy=Policy(defer_above=None))
    seen = Recorder()
    third = loop_of(says("sent"), tools=office.tools(), policy=Policy(defer_above=None), observe=[seen])
    answered(await second.resume(suspended.snapshot, {suspended.asked[0].id: Deny("no")}))
    answered(await third.resume(suspended.snapshot, {suspended.asked[0].id: Approve()}))

    assert office.ran == [("mail", {"to": "a", "subject": "hi"})]
    assert [event.call.name for event in seen.of(ToolFinished)] == ["mail"]


async def test_a_tool_that_is_gone_meanwhile_is_told_by_its_name() -> None:
    office = Office()
    first = loop_of(calls(through("mail", {"to": "a"})), tools=office.tools(), approver=Asks(lambda _: Later()))
    suspended = await first.run("go")
    assert isinstance(suspended, Suspended)

    without = [tool for tool in office.tools() if tool != office.mail]
    outcome = answered(await loop_of(says("x"), tools=without).resume(suspended.snapshot, {}))

    assert texts(outcome) == ["the tool mail is no longer there"]


# ---- names -------------------------------------------------------------------------------------------


def many() -> Sequence[Tool]:
    return [Office().tool(f"t{number}") for number in range(20)]


def test_two_tools_of_that_name_are_misuse_with_the_way_out() -> None:
    @geode.tool(tier="safe", name=SEARCH)
    def own() -> str:
        return ""

    with pytest.raises(
        Misuse, match=r'two tools are called "search_tools".*test_many_tools.*Policy\(defer_above=None\)'
    ) as caught:
        geode.session(model=ScriptedModel(), tools=[own, *many()])
    assert caught.value.id == "tool-twice"
    geode.session(model=ScriptedModel(), tools=[own, *many()], policy=Policy(defer_above=None))
    geode.session(model=ScriptedModel(), tools=[own])


async def test_its_results_have_limits_of_their_own_by_its_name() -> None:
    limits = {SEARCH: geode.ResultLimits(remedy="keep")}
    async with geode.session(model=ScriptedModel(says("x")), tools=many(), policy=Policy(result_limits_of=limits)) as loop:
        answered(await loop.run("go"))


def test_deferred_is_a_setting_of_tool() -> None:
    wrong: Any = "yes"
    with pytest.raises(Misuse, match="deferred is True or False"):
        geode.tool(deferred=wrong)


def test_above_how_many_is_a_whole_number_or_none() -> None:
    with pytest.raises(Misuse, match=r"Policy\.defer_above must be a whole number of 0 or more, got -1"):
        Policy(defer_above=-1)
    assert Policy().defer_above == 16


async def test_the_run_ends_as_any_when_it_only_searches() -> None:
    """A model that searches the same again and again gets nowhere, like with any tool."""
    script = [calls((SEARCH, {"query": "x"})) for _ in range(4)]
    policy = Policy(no_progress_rounds=2, max_no_progress_hints=1)
    outcome = await loop_of(*script, tools=Office().tools(), policy=policy).run("go")

    assert isinstance(outcome, Exhausted)
    assert outcome.reason == "no_progress"
