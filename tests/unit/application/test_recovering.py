"""Tools that keep failing, calls that repeat and money that runs out, in whole runs over a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve, Deny, Grant, Later
from geode.domain.loop.inputs import Checked
from geode.domain.loop.outcome import Exhausted, Stopped, Suspended
from geode.domain.policy import Policy
from geode.domain.script import Reply, calls, says
from geode.domain.turns import ToolResultsTurn, hints_of
from geode.domain.verdicts import Invalid, Valid
from geode.ports.events import Notice, ToolFinished, ToolStarted
from tests.unit.application.rig import (
    Asks,
    Recorder,
    answered,
    kinds,
    loop_of,
    outcome_of,
    replayed,
    results,
    tasks_left,
    texts,
    turns,
)


class Shelf:
    """Tools that fail as often as they are told, and write down what ran."""

    def __init__(self, **failing: int) -> None:
        self.failing, self.ran = failing, list[str]()

    def work(self, name: str, query: str) -> str:
        self.ran.append(f"{name} {query}")
        self.failing[name] = self.failing.get(name, 0) - 1
        if self.failing[name] >= 0:
            raise geode.ToolError(f"{name} is down")
        return f"{name} has {query}"

    @geode.tool(tier="safe", alternative="mirror", fallback="cache", blocking=False)
    def search(self, query: str) -> str:
        return self.work("search", query)

    @geode.tool(tier="safe", blocking=False)
    def mirror(self, query: str) -> str:
        return self.work("mirror", query)

    @geode.tool(tier="expensive", blocking=False)
    def cache(self, query: str, limit: int = 3) -> str:
        return self.work("cache", query)

    @geode.tool(tier="safe", fallback="short", blocking=False)
    def lone(self, query: str) -> str:
        return self.work("lone", query)

    @geode.tool(tier="safe", name="short", blocking=False)
    def short(self, query: bool) -> str:
        return self.work("short", str(query))

    @property
    def tools(self) -> list[Callable[..., Any]]:
        return [self.search, self.mirror, self.cache, self.lone, self.short]


def asking(name: str, *queries: str) -> list[Reply]:
    return [calls((name, {"query": query})) for query in queries]


def loop(shelf: Shelf, name: str = "search", rounds: int = 3, **settings: Any) -> AgenticLoop:
    """A loop whose model calls the tool once in each round, each time with other arguments."""
    steps = asking(name, *"abcdefgh"[:rounds])
    return loop_of(*steps, says("done"), tools=shelf.tools, **{"clock": ManualClock(), **settings})


async def test_the_third_call_is_tried_again_after_a_second_and_then_others_stand_in() -> None:
    shelf, clock, seen, journal = Shelf(search=9, mirror=9), ManualClock(), Recorder(), MemoryJournal()
    policy = Policy(grants=(Grant("cache"),))
    outcome = answered(await loop(shelf, clock=clock, observe=[seen], journal=journal, policy=policy).run("go"))
    assert shelf.ran == ["search a", "search b", "search c", "mirror c", "cache c"]
    assert clock.slept == [1.0]
    assert kinds(outcome) == ["failed", "failed", "ok"]
    assert texts(outcome)[2] == (
        "cache has c\nWhat was tried: search once more: failed (search is down); "
        "mirror in its place: failed (mirror is down); cache as a fallback: ok."
    )
    # Every execution starts, each call ends once, and the operator hears of each step.
    assert [event.call.name for event in seen.of(ToolStarted)] == ["search", "search", "search", "mirror", "cache"]
    ends = seen.of(ToolFinished)
    assert [(event.call.name, event.result.kind) for event in ends] == [
        *(("search", "failed"), ("search", "failed"), ("search", "ok"))
    ]
    assert [event.text for event in seen.of(Notice)] == [
        "search keeps failing; next: search once more",
        "search keeps failing; search once more: failed (search is down); next: mirror in its place",
        "search keeps failing; mirror in its place: failed (mirror is down); next: cache as a fallback",
    ]
    assert outcome_of(replayed(journal)) == outcome
    checks = [input for input in journal.inputs["run_1"] if isinstance(input, Checked)]
    assert [(one.call_id, one.verdict) for one in checks] == [(results(outcome)[2].call_id, Valid())] * 2


async def test_what_a_call_took_is_the_sum_of_its_executions() -> None:
    clock, seen = ManualClock(), Recorder()

    @geode.tool(tier="safe", fallback="other")
    async def slow(n: int) -> str:
        clock.advance(2.0)
        raise geode.ToolError("slow")

    @geode.tool(tier="safe")
    async def other(n: int) -> str:
        clock.advance(3.0)
        return "ok"

    steps = [calls(("slow", {"n": n})) for n in range(3)]
    await loop_of(*steps, says("done"), tools=[slow, other], clock=clock, observe=[seen]).run("go")
    assert [event.seconds for event in seen.of(ToolFinished)] == [2.0, 2.0, 5.0]


async def test_a_retry_that_succeeds_is_the_result() -> None:
    shelf = Shelf(search=2)
    outcome = answered(await loop(shelf, rounds=4).run("go"))
    assert texts(outcome) == ["search is down", "search is down", "search has c", "search has d"]


async def test_a_stand_in_with_other_parameters_is_checked_by_its_own_schema() -> None:
    shelf, journal = Shelf(lone=9), MemoryJournal()
    outcome = answered(await loop(shelf, "lone", journal=journal).run("go"))
    assert shelf.ran == ["lone a", "lone b", "lone c"]
    assert "short as a fallback: failed (short was not run: /query" in texts(outcome)[2]
    (check,) = [input for input in journal.inputs["run_1"] if isinstance(input, Checked)]
    assert isinstance(check.verdict, Invalid)


async def test_an_expensive_stand_in_is_asked_about() -> None:
    shelf, asks = Shelf(search=9, mirror=9), Asks()
    outcome = answered(await loop(shelf, approver=asks).run("go"))
    assert [[(one.call.name, one.reason) for one in question.calls] for question in asks.questions] == [
        [("cache", "cache is EXPENSIVE; it would stand in for a tool that keeps failing")]
    ]
    assert shelf.ran[-1] == "cache c"
    assert kinds(outcome)[2] == "ok"


async def test_without_anybody_to_ask_it_is_said_that_nothing_is_left() -> None:
    shelf = Shelf(search=9, mirror=9)
    outcome = answered(await loop(shelf).run("go"))
    assert shelf.ran[-1] == "mirror c"
    assert kinds(outcome)[2] == "failed"
    assert texts(outcome)[2].endswith("Nothing else is left to try: do without it, or say what keeps you from going on.")


async def test_at_the_end_a_person_is_asked_and_edited_arguments_run() -> None:
    shelf, asks = Shelf(search=4, mirror=9), Asks(lambda call: Approve({"query": "z"}) if call.name == "search" else Deny())
    outcome = answered(await loop(shelf, rounds=4, approver=asks).run("go"))
    # The third call: retry, alternative; the fallback is denied, and the last execution is the person's.
    assert shelf.ran[2:5] == ["search c", "mirror c", "search z"]
    assert asks.asked[:2] == [["cache"], ["search"]]
    assert texts(outcome)[2].startswith("search is down\nWhat was tried: ")
    assert texts(outcome)[3] == "search has d"


async def test_an_answer_that_comes_later_goes_on_in_another_session() -> None:
    shelf = Shelf(search=9, mirror=9)
    waiting = await loop(shelf, approver=Asks(lambda call: Later())).run("go")
    assert isinstance(waiting, Suspended)
    assert [call.name for call in waiting.asked] == ["cache"]
    ids = {call.id: Approve() for call in waiting.asked}
    other = loop_of(says("done"), tools=shelf.tools, approver=Asks(), clock=ManualClock(90_000.0))
    outcome = answered(await other.resume(waiting.snapshot, ids))
    assert shelf.ran == ["search a", "search b", "search c", "mirror c", "cache c"]
    assert kinds(outcome) == ["failed", "failed", "ok"]


async def test_a_stopped_run_does_not_wait_to_try_again() -> None:
    """Stopping ends the waiting; what has not begun does not begin."""
    shelf = Shelf(search=9)
    running = loop(shelf, clock=None, policy=Policy(recovery_seconds=60.0))
    task = asyncio.create_task(running.run("go"))
    await turns(100)
    running.stop()
    outcome = await asyncio.wait_for(task, 5)
    assert isinstance(outcome, Stopped)
    assert shelf.ran == ["search a", "search b"]
    assert texts(outcome)[2] == "the run was stopped before search was tried again"
    await turns(3)
    assert not tasks_left()


async def test_a_cancelled_run_leaves_no_waiting_behind() -> None:
    shelf = Shelf(search=9)
    running = loop(shelf, clock=None, policy=Policy(recovery_seconds=60.0))
    task = asyncio.create_task(running.run("go"))
    await turns(100)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kinds(running.conversation) == ["failed", "failed", "interrupted"]
    assert not tasks_left()


async def test_waiting_takes_no_place_of_those_that_run() -> None:
    """With one place for calls, one that waits lets others pass."""
    shelf, order = Shelf(search=2), list[str]()

    @geode.tool(tier="safe")
    async def quick() -> str:
        order.append("quick")
        return "done"

    steps = [*asking("search", "a", "b"), calls(("search", {"query": "c"}), ("quick", {})), says("done")]
    policy = Policy(max_parallel=1, recovery_seconds=0.05)
    outcome = answered(await loop_of(*steps, tools=[*shelf.tools, quick], policy=policy).run("go"))
    assert (order, shelf.ran[2]) == (["quick"], "search c")
    assert kinds(outcome)[2:] == ["ok", "ok"]


# ---- failing rounds and repeats ----------------------------------------------------------------


def hints(outcome: geode.Outcome) -> list[str]:
    return [hint.kind for hint in hints_of(outcome.conversation.turns)]


@geode.tool(tier="safe", blocking=False)
def grep(b: int, a: int) -> str:
    """Find something."""
    return "found"


@geode.tool(tier="safe", blocking=False)
def broken(n: int) -> str:
    """Fail, in a way that no trying again mends."""
    raise geode.ToolError("down", recoverable=False)


async def test_three_failed_rounds_in_a_row_are_answered_with_a_hint_that_observers_see() -> None:
    seen = Recorder()
    steps = [calls(("broken", {"n": n})) for n in range(4)]
    outcome = answered(await loop_of(*steps, says("I give up"), tools=[broken], observe=[seen]).run("go"))
    assert hints(outcome) == ["backpressure"] * 2
    assert [len(turn.hints) for turn in outcome.conversation.turns if isinstance(turn, ToolResultsTurn)] == [0, 0, 1, 1]
    assert [notice.kind for notice in seen.of(Notice)] == ["backpressure"] * 2


async def test_the_same_call_in_the_fifth_round_is_answered_with_a_hint_whatever_its_form() -> None:
    forms: list[Any] = [{"b": 2, "a": 1}, {"a": 1, "b": 2}, '{"a": 1.0, "b": 2}', '{"b":2,"a":1}', {"a": 1, "b": 2}]
    model = ScriptedModel(*[calls(("grep", form)) for form in forms], says("done"))
    outcome = answered(await loop_of(model=model, tools=[grep]).run("go"))
    assert [len(hints_of(request.conversation.turns)) for request in model.requests] == [0, 0, 0, 0, 0, 1]
    assert hints(outcome) == ["no_progress"]


async def test_the_fourth_time_ends_the_run() -> None:
    outcome = await loop_of(*[calls(("grep", {"a": 1, "b": 2}))] * 20, tools=[grep]).run("go")
    assert isinstance(outcome, Exhausted)
    assert (outcome.reason, outcome.why) == ("no_progress", "the same call of 'grep' came again, after 3 hints")
    assert hints(outcome) == ["no_progress"] * 3
    assert kinds(outcome) == ["ok"] * 20


async def test_a_poller_may_ask_again_and_again() -> None:
    @geode.tool(tier="safe", poller=True, blocking=False)
    def status() -> str:
        return "not yet"

    outcome = answered(await loop_of(*[calls(("status", {}))] * 25, says("done"), tools=[status]).run("go"))
    assert hints(outcome) == []


# ---- money, and limits of a tool ---------------------------------------------------------------


class Priced(ScriptedModel):
    """A model whose every reply costs the same, or whose provider does not say."""

    def __init__(self, *steps: Reply, cost: Decimal | None) -> None:
        super().__init__(*steps)
        self._cost = cost

    async def acomplete(self, request: Any, emit: Any) -> Any:
        answer = await super().acomplete(request, emit)
        return answer.map(lambda reply: replace(reply, usage=replace(reply.usage, cost_usd=self._cost)))


async def spending(cost: str | None, most: str) -> tuple[Exhausted, int]:
    model = Priced(
        *[says("Hm.") + calls(("grep", {"a": n, "b": n})) for n in range(9)], cost=None if cost is None else Decimal(cost)
    )
    outcome = await loop_of(model=model, tools=[grep], policy=Policy(max_cost_usd=Decimal(most))).run("go")
    assert isinstance(outcome, Exhausted)
    return outcome, len(model.requests)


async def test_money_is_checked_before_it_is_spent() -> None:
    outcome, requests = await spending("0.04", "0.10")
    assert (outcome.reason, requests, outcome.usage.cost_usd) == ("cost_budget", 2, Decimal("0.08"))
    assert outcome.text == "Hm.\nHm."


async def test_a_provider_that_names_no_price_is_asked_once() -> None:
    outcome, requests = await spending(None, "0.10")
    assert (outcome.reason, requests) == ("cost_budget", 1)
    assert outcome.why == (
        "what a call of this model costs is not known: the provider does not say it and no price is, so "
        "Policy(max_cost_usd=…) cannot be kept; a row of [prices] in routing.toml says it"
    )


async def test_a_tool_may_bound_its_calls() -> None:
    ran = list[int]()

    @geode.tool(tier="safe", max_calls=2, blocking=False)
    def dear(n: int) -> str:
        ran.append(n)
        return "ok"

    steps = [calls(("dear", {"n": 1}), ("dear", {"n": 2}), ("dear", {"n": 3})), calls(("dear", {"n": 4})), says("done")]
    outcome = answered(await loop_of(*steps, tools=[dear]).run("go"))
    assert ran == [1, 2]
    assert kinds(outcome) == ["ok", "ok", "failed", "failed"]
    assert texts(outcome)[3] == "not executed: dear may run 2 times in a run, and has"
