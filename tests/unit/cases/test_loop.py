"""Kinds of runs that go round in circles or over their limits, each with the id of its case."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.choice import Named, NoTools
from geode.domain.loop.outcome import Exhausted, Failed
from geode.domain.policy import Policy
from geode.domain.script import Reply, calls, says
from geode.domain.turns import AssistantTurn, hints_of
from tests.unit.application.rig import answered, assert_whole, kinds, loop_of, texts


class Counted:
    """Tools that write down each execution."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []

    @geode.tool(tier="safe", blocking=False)
    def grep(self, a: int = 0, b: int = 0) -> str:
        """Find something; the answer is another each time."""
        self.ran.append(("grep", (a, b)))
        return f"found at {len(self.ran)}"

    @geode.tool(tier="safe", blocking=False)
    def find(self, a: int = 0) -> str:
        self.ran.append(("find", a))
        return "here"

    @property
    def tools(self) -> list[Any]:
        return [self.grep, self.find]


def hinted(model: ScriptedModel) -> list[int]:
    """How many hints each request had in it."""
    return [len(hints_of(request.conversation.turns)) for request in model.requests]


# ---- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("forced", [{"type": "tool", "name": "grep"}, "required"])
async def test_tc_08_where_no_call_is_left_nothing_is_forced_and_the_model_concludes(forced: Any) -> None:
    tool, model = Counted(), ScriptedModel(*[calls(("grep", {"a": n})) for n in range(3)], says("as far as I got"))
    outcome = await loop_of(model=model, tools=tool.tools, policy=Policy(max_tool_calls=3)).run("go", tool_choice=forced)
    assert isinstance(outcome, Exhausted)
    assert (outcome.reason, outcome.text) == ("tool_budget", "as far as I got")
    assert len(tool.ran) == 3
    assert (len(model.requests), model.requests[-1].tool_choice) == (4, NoTools())


async def test_tc_08_a_limit_that_is_there_from_the_start_beats_a_forced_choice_from_the_second_round_on() -> None:
    tool, model = Counted(), ScriptedModel(calls(("grep", {})), says("I may not"))
    await loop_of(model=model, tools=tool.tools, policy=Policy(max_tool_calls=0)).run("go", tool_choice={"name": "grep"})
    assert [request.tool_choice for request in model.requests] == [Named("grep"), NoTools()]
    assert tool.ran == []


async def test_px_16_calls_over_the_limit_are_answered_and_not_run() -> None:
    tool = Counted()
    steps = [calls(*[("grep", {"a": n}) for n in range(5)]), says("done")]
    outcome = await loop_of(*steps, tools=tool.tools, policy=Policy(max_tool_calls=2)).run("go")
    assert [arguments for _, arguments in tool.ran] == [(0, 0), (1, 0)]
    assert kinds(outcome) == ["ok", "ok", "failed", "failed", "failed"]
    assert all("not executed" in text and "limit" in text for text in texts(outcome)[2:])
    assert_whole(outcome.conversation)


async def test_lp_13_rounds_and_calls_are_two_budgets() -> None:
    tool = Counted()
    four = [calls(*[("grep", {"a": n, "b": round}) for n in range(4)]) for round in range(2)]
    model = ScriptedModel(*four, says("enough"))
    outcome = await loop_of(model=model, tools=tool.tools, policy=Policy(max_rounds=3, max_tool_calls=5)).run("go")
    assert isinstance(outcome, Exhausted)
    assert (len(tool.ran), kinds(outcome)) == (5, ["ok"] * 5 + ["failed"] * 3)
    assert model.requests[-1].tool_choice == NoTools()


async def test_lp_13_one_round_of_hundreds_of_calls_is_bounded_too() -> None:
    tool = Counted()
    steps = [calls(*[("grep", {"a": n}) for n in range(300)]), says("enough")]
    outcome = await loop_of(*steps, tools=tool.tools, policy=Policy(max_tool_calls=5)).run("go")
    assert (len(tool.ran), kinds(outcome)) == (5, ["ok"] * 5 + ["failed"] * 295)


# ---- no progress -------------------------------------------------------------------------------

SAME: list[Any] = [{"b": 2, "a": 1}, {"a": 1, "b": 2}, '{"b":2.0,"a":1}', '{ "a": 1e0, "b": 2 }', {"b": 2, "a": 1}]


async def test_lp_08_the_same_call_is_one_whatever_the_order_of_its_keys_and_the_fifth_round_is_told() -> None:
    model = ScriptedModel(*[calls(("grep", form)) for form in SAME], says("done"))
    outcome = answered(await loop_of(model=model, tools=Counted().tools).run("go"))
    assert hinted(model) == [0, 0, 0, 0, 0, 1]
    assert [hint.kind for hint in hints_of(outcome.conversation.turns)] == ["no_progress"]


async def test_lp_08_other_arguments_are_another_call() -> None:
    forms = [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}, {"a": 2}]
    model = ScriptedModel(*[calls(("grep", form)) for form in forms], says("done"))
    await loop_of(model=model, tools=Counted().tools).run("go")
    assert set(hinted(model)) == {0}


async def test_lp_09_repeats_are_told_though_they_succeed_and_the_answers_differ() -> None:
    tool, model = Counted(), ScriptedModel(*[calls(("grep", {"a": 1}))] * 6, says("done"))
    outcome = answered(await loop_of(model=model, tools=tool.tools).run("go"))
    assert kinds(outcome) == ["ok"] * 6
    assert len(set(texts(outcome))) == 6
    assert hinted(model) == [0, 0, 0, 0, 0, 1, 1]


async def test_lp_12_equal_calls_of_one_round_are_one() -> None:
    model = ScriptedModel(calls(*[("grep", {"a": 1})] * 5), says("done"))
    await loop_of(model=model, tools=Counted().tools).run("go")
    assert hinted(model) == [0, 0]


async def test_lp_12_the_order_within_a_round_does_not_matter() -> None:
    a, b = ("grep", {"a": 1}), ("find", {"a": 2})
    rounds = itertools.islice(itertools.cycle([calls(a, b), calls(b, a)]), 5)
    model = ScriptedModel(*rounds, says("done"))
    outcome = answered(await loop_of(model=model, tools=Counted().tools).run("go"))
    assert hinted(model) == [0, 0, 0, 0, 0, 1]
    (hint,) = hints_of(outcome.conversation.turns)
    assert "'grep'" in hint.text
    assert "'find'" in hint.text


# ---- replies that are nothing ------------------------------------------------------------------


async def test_ar_10_a_call_of_no_tool_is_a_call_all_the_same() -> None:
    model = ScriptedModel(calls(("search_files", {})), says("I see"))
    outcome = answered(await loop_of(model=model, tools=Counted().tools).run("go"))
    assert (len(model.requests), kinds(outcome)) == (2, ["failed"])


async def test_ar_11_what_is_told_of_a_wrong_name_has_the_close_ones_and_is_bounded() -> None:
    ran: list[str] = []

    def tool(name: str) -> Any:
        return geode.tool(tier="safe", name=name, blocking=False)(lambda: ran.append(name))

    names = ["net_get_hosts", "net_list_ports", *(f"net_list_host_{n}" for n in range(50)), "weather"]
    steps = [calls(("net_list_hosts", {})), calls(("x" * 100_000, {})), says("I see")]
    outcome = answered(await loop_of(*steps, tools=[tool(name) for name in names]).run("go"))
    close, nothing = texts(outcome)
    assert "net_list_host" in close
    assert "weather" not in close
    assert max(len(close), len(nothing)) < 300
    assert ran == [], "nothing is run under a guessed name"


@pytest.mark.parametrize("text", ["", " \n"])
async def test_lp_14_a_reply_of_nothing_is_not_kept_and_is_asked_for_once_more(text: str) -> None:
    empty = Reply((*says(text).items,), output_tokens=12)
    model = ScriptedModel(empty, says("hello"))
    outcome = answered(await loop_of(model=model).run("go"))
    assert [turn.text for turn in outcome.conversation.turns if isinstance(turn, AssistantTurn)] == ["hello"]
    model = ScriptedModel(empty, empty)
    failed = await loop_of(model=model).run("go")
    assert isinstance(failed, Failed)
    assert (len(model.requests), failed.why) == (2, "scripted: the model answered with nothing")
    assert_whole(failed.conversation)


# ---- runs side by side -------------------------------------------------------------------------


async def test_as_06_what_one_run_met_says_nothing_in_another() -> None:
    """Two runs at once over the same tools and the same policy: one fails twice and recovers, one fails once."""
    policy, clocks = Policy(), [ManualClock(), ManualClock()]

    @geode.tool(tier="safe", blocking=False)
    def shaky(run: int, n: int) -> str:
        if (run, n) in {(0, 0), (0, 1), (1, 0)}:
            raise geode.ToolError("shaky")
        return "fine"

    def script(run: int) -> list[Reply]:
        return [*[calls(("shaky", {"run": run, "n": n})) for n in range(3)], says("done")]

    loops = [loop_of(*script(run), tools=[shaky], policy=policy, clock=clock) for run, clock in enumerate(clocks)]
    first, second = await asyncio.gather(*(loop.run("go") for loop in loops))
    assert (kinds(first), kinds(second)) == (["failed", "failed", "ok"], ["failed", "ok", "ok"])
    assert [clock.slept for clock in clocks] == [[1.0], []]
    assert policy == Policy()
