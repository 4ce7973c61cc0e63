"""A run as a tool of another run: within its budgets, by its approvals, told in its events, ended with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from returns.result import Result, Success

import geode
from geode import Deny, Later, Misuse, Policy, ToolContext, ToolUseBlock, Usage
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.domain.approval import Decision, Grant, Question
from geode.domain.content import Text
from geode.domain.failures import CallFailure
from geode.domain.loop.inner import inner_run_id
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.script import Called, Reply, Said, Step
from geode.domain.turns import UserTurn
from geode.entrypoints.emulator import Emulator, running
from geode.entrypoints.tools import as_tool
from geode.events import (
    Aborted,
    ApprovalAsked,
    Event,
    Finished,
    ModelCalled,
    ModelReplied,
    Nested,
    Notice,
    RoundClosed,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from geode.ports.hooks import Hooks, Veto
from geode.ports.model import Emit
from geode.ports.tool_sources import Listing, ToolSourceError
from geode.testing import ScriptedModel, calls, fails, hangs, refuses, says
from tests.unit.application.rig import Asks, Recorder, answered, assert_whole, kinds, results, tasks_left, texts, turns

DONE: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


@geode.tool(tier="safe")
async def look(n: int) -> str:
    """Look."""
    await asyncio.sleep(0)
    DONE.append(f"look {n}")
    return f"saw {n}"


@geode.tool(tier="write")
async def put(n: int) -> str:
    """Put."""
    await turns(2)
    DONE.append(f"put {n}")
    return f"put {n}"


def scripted(*steps: Step, name: str = "inner") -> ScriptedModel:
    return ScriptedModel(*steps, name=name)


def sub(*steps: Step, name: str = "research", **settings: Any) -> Any:
    """A sub-agent whose model plays `steps`."""
    return geode.subagent(name, "Finds things out.", model=scripted(*steps, name=name), **settings)


def asks_for(*tasks: str, name: str = "research") -> Step:
    return calls(*((name, {"task": task}) for task in tasks))


async def run(subagent: Any, *steps: Step, tools: tuple[Any, ...] = (), **settings: Any) -> geode.Outcome:
    """A run that hands one task on and then says what it was told, unless it does otherwise."""
    played = steps or (asks_for("find out"), says("done"))
    return await geode.run("go", model=scripted(*played, name="outer"), tools=[subagent, *tools], **settings)


def tokens(outcome: geode.Outcome) -> tuple[int, int]:
    """In and out."""
    return outcome.usage.input_tokens, outcome.usage.output_tokens


# ---- what it is --------------------------------------------------------------------------------


async def test_its_answer_is_the_result_and_its_conversation_stays_its_own() -> None:
    inner = scripted(calls(("look", {"n": 1})), says("It is blue."))
    research = geode.subagent("research", "Finds things out.", model=inner, tools=[look], system="Be brief.")
    outcome = answered(await run(research))
    assert texts(outcome) == ["It is blue."]
    assert (outcome.text, len(outcome.conversation.turns)) == ("done", 4)
    asked = inner.requests[0]
    assert (asked.system, [tool.name for tool in asked.tools]) == ("Be brief.", ["look", "recall_tool_result"])
    assert asked.conversation.turns == (UserTurn((Text("find out"),)),), "the task, and nothing else of the conversation"


async def test_the_model_sees_a_tool_with_a_task() -> None:
    model = scripted(says("done"), name="outer")
    await geode.run("go", model=model, tools=[geode.subagent("research", "Finds things out.", model=scripted())])
    tool = model.requests[0].tools[0]
    assert (tool.name, tool.description) == ("research", "Finds things out.")
    assert list(tool.input_schema["properties"]) == tool.input_schema["required"] == ["task"]
    assert tool.input_schema["properties"]["task"]["type"] == "string"


async def test_without_a_model_of_its_own_it_asks_that_of_the_session() -> None:
    model = ScriptedModel(asks_for("find out"), says("inside"), says("done"))
    outcome = await geode.run("go", model=model, tools=[geode.subagent("research", "")], system="Outer.", temperature=0.5)
    assert texts(outcome) == ["inside"]
    assert [request.system for request in model.requests] == ["Outer.", "", "Outer."]
    assert [request.temperature for request in model.requests] == [0.5, 0.5, 0.5]


async def test_a_model_of_its_own_has_no_setting_of_the_other() -> None:
    inner = scripted(says("inside"))
    await run(geode.subagent("research", "", model=inner), temperature=0.5)
    assert inner.requests[0].temperature is None


async def test_it_has_the_dependencies_of_the_session_or_its_own() -> None:
    found: list[object] = []

    @geode.tool(tier="safe")
    async def which(context: ToolContext[Any]) -> str:
        found.append(context.deps)
        return "seen"

    script = (calls(("which", {})), says("inside"))
    await run(sub(*script, tools=[which]), deps={"db": 1})
    await run(sub(*script, tools=[which], deps="own"), deps={"db": 1})
    assert found == [{"db": 1}, "own"]


async def test_a_blank_task_is_not_begun() -> None:
    outcome = await run(geode.subagent("research", "", model=scripted(says("x"))), asks_for("  "), asks_for("it"), says("done"))
    assert kinds(outcome) == ["failed", "ok"]
    assert "say what is to be done" in texts(outcome)[0]


async def test_a_script_of_one_that_was_never_called_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="never asked for"):
        await run(sub(says("unheard")), says("done"))


@pytest.mark.parametrize("setting", ["approve", "observe"])
def test_what_is_the_sessions_is_not_given(setting: str) -> None:
    given: Any = {setting: lambda _: None}
    with pytest.raises(Misuse, match=f"{setting}= is that of the session") as caught:
        geode.subagent("research", "", **given)
    assert caught.value.id == "subagent-setting"


@pytest.mark.parametrize(
    ("given", "id"),
    [
        ({"sytem": "x"}, "unknown-name"),
        ({"tier": "harmless"}, "unknown-tier"),
        ({"timeout_seconds": 0}, "tool-timeout"),
        ({"name": " "}, "tool-name"),
        ({"description": None}, "subagent-setting"),
        ({"model": 7}, "model-type"),
    ],
)
def test_a_wrong_setting_is_said_at_once(given: Any, id: str) -> None:
    whole: dict[str, Any] = {"name": "research", "description": "", **given}
    with pytest.raises(Misuse) as caught:
        geode.subagent(**whole)
    assert caught.value.id == id


def test_a_setting_that_does_not_exist_is_told_of_the_subagent() -> None:
    wrong: Any = {"tols": []}
    with pytest.raises(Misuse, match=r'^subagent has no "tols"; did you mean tools\?'):
        geode.subagent("research", "Finds out.", **wrong)


def test_what_cannot_work_is_said_when_the_session_is_made() -> None:
    with pytest.raises(Misuse) as caught:
        geode.session(model=scripted(), tools=[geode.subagent("research", "", tools=[7])])  # pyright: ignore[reportArgumentType]
    assert caught.value.id == "not-a-tool"


async def test_a_runtime_lends_it_to_many_sessions() -> None:
    inner = scripted(*[says(f"inside {n}") for n in range(5)])
    outer = scripted(*[asks_for("it")] * 5, *[says("done")] * 5, name="outer")
    async with geode.Runtime(model=outer, tools=[geode.subagent("research", "", model=inner)]) as runtime:

        async def one() -> list[str]:
            async with runtime.session() as loop:
                return texts(await loop.run("go"))

        found = await asyncio.gather(*(one() for _ in range(5)))
    assert sorted(text for one in found for text in one) == [f"inside {n}" for n in range(5)]


# ---- how it ends -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "policy", "told", "detail"),
    [
        ([refuses()], Policy(), "the model of research declined", "model_refusal"),
        ([fails(401, "no such key")], Policy(), "could not be reached with the credentials", "auth_error: "),
        ([fails(402)], Policy(), "has no funds", "billing_error: "),
        ([fails(400, code="too_odd")], Policy(), "did not take the request", "request_error: "),
        ([calls(("look", {"n": 1}))], Policy(max_rounds=1), "it had no more rounds", "max_rounds"),
    ],
)
async def test_what_is_no_answer_is_told_in_words(steps: list[Step], policy: Policy, told: str, detail: str) -> None:
    (found,) = results(await run(sub(*steps, tools=[look], policy=policy)))
    assert found.kind == "failed"
    assert told in found.text
    assert detail in found.detail
    assert "run " in found.detail


async def test_what_it_had_said_at_its_limit_is_a_result() -> None:
    talks = says_and_calls("So far: blue.")
    (found,) = results(await run(sub(talks, tools=[look], policy=Policy(max_rounds=1))))
    assert found.kind == "ok"
    assert found.text.startswith("So far: blue.")
    assert "it had no more rounds" in found.text


def says_and_calls(text: str) -> Step:
    return Reply((Said(text), Called("look", {"n": 1})), "tool_calls")


# ---- approvals ---------------------------------------------------------------------------------


async def test_the_approver_of_the_session_is_asked_about_the_call_inside() -> None:
    asks = Asks()
    outcome = await run(sub(calls(("put", {"n": 7})), says("inside"), tools=[put]), approve=asks)
    assert DONE == ["put 7"]
    (question,) = asks.questions
    assert (question.calls[0].call.name, question.calls[0].call.input) == ("put", {"n": 7})
    assert question.calls[0].tier is geode.SafetyTier.WRITE
    assert kinds(outcome) == ["ok"]


async def test_one_question_at_a_time_whoever_asks() -> None:
    asks = Asks(seconds=0.01)
    inner = scripted(calls(("put", {"n": 1})), calls(("put", {"n": 2})), says("a"), says("b"))
    research = geode.subagent("research", "", model=inner, tools=[put])
    await run(research, calls(("research", {"task": "1"}), ("research", {"task": "2"})), says("done"), approve=asks)
    assert (len(asks.questions), asks.most_open) == (2, 1)


async def test_its_tier_is_about_starting_it() -> None:
    asks = Asks()
    await run(sub(calls(("put", {"n": 1})), says("inside"), tools=[put], tier="expensive"), approve=asks)
    assert asks.asked == [["research"], ["put"]]


async def test_what_is_denied_inside_is_told_to_the_model_inside() -> None:
    inner = scripted(calls(("put", {"n": 1})), says("not allowed"))
    research = geode.subagent("research", "", model=inner, tools=[put])
    outcome = await run(research, approve=lambda call: Deny("not today"))
    assert DONE == []
    assert texts(outcome) == ["not allowed"]
    assert "not today" in texts(inner.requests[1].conversation)[0]


async def test_an_answer_cannot_be_put_off_inside(caplog: pytest.LogCaptureFixture) -> None:
    inner = scripted(calls(("put", {"n": 1})), says("went on"))
    research = geode.subagent("research", "", model=inner, tools=[put])
    outcome = await run(research, approve=lambda call: Later())
    assert isinstance(outcome, geode.Answered), "the run around is not suspended"
    assert kinds(inner.requests[1].conversation) == ["denied"]
    assert "inside a sub-agent an answer cannot be waited for" in texts(inner.requests[1].conversation)[0]
    assert "put in the sub-agent research was denied: an answer cannot be put off there" in caplog.text
    assert "give the tool to the session itself" in caplog.text


async def test_an_answer_that_is_left_out_is_put_off_too() -> None:
    class Silent:
        async def decide(self, question: Question) -> Mapping[str, Decision]:
            return {}

    inner = scripted(calls(("put", {"n": 1})), says("went on"))
    await run(geode.subagent("research", "", model=inner, tools=[put]), approve=Silent())
    assert kinds(inner.requests[1].conversation) == ["denied"]


async def test_grants_of_the_session_do_not_hold_inside() -> None:
    grants = Policy(grants=(Grant("put"),))
    inner = (calls(("put", {"n": 1})), says("inside"))
    outcome = await run(sub(*inner, tools=[put]), policy=grants)
    assert (DONE, kinds(outcome)) == ([], ["ok"])
    await run(sub(*inner, tools=[put], policy=grants))
    assert DONE == ["put 1"]


async def test_the_session_says_which_tools_inside_will_be_denied(caplog: pytest.LogCaptureFixture) -> None:
    deep = geode.subagent("deep", "", tools=[put], model=scripted())
    research = geode.subagent("research", "", tools=[look, deep], model=scripted())
    geode.session(model=scripted(), tools=[research])
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told.startswith("in the sub-agent deep put is WRITE and the session has no approve=; every call will be denied.")


async def test_hooks_of_the_session_guard_what_is_inside_before_its_own() -> None:
    order: list[str] = []

    def outer(call: ToolUseBlock) -> Veto | None:
        order.append(f"outer {call.name}")
        return Veto("no") if call.name == "put" else None

    def own(call: ToolUseBlock) -> None:
        order.append(f"own {call.name}")

    inner = (calls(("look", {"n": 1}), ("put", {"n": 1})), says("inside"))
    research = sub(*inner, tools=[look, put], hooks=Hooks(before_tool=own))
    await run(research, hooks=Hooks(before_tool=outer), approve=Asks())
    assert order == ["outer research", "outer look", "own look", "outer put"]
    assert DONE == ["look 1"]


# ---- events ------------------------------------------------------------------------------------


def unwrapped(event: Event) -> tuple[tuple[str, ...], Event]:
    """The calls that an event is inside of, and the event."""
    inside: list[str] = []
    while isinstance(event, Nested):
        inside.append(event.call.name)
        event = event.event
    return tuple(inside), event


async def test_its_events_are_told_within_those_of_the_run() -> None:
    seen = Recorder()
    outcome = await run(sub(calls(("look", {"n": 1})), says("inside"), tools=[look]), observe=seen)
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))
    assert {event.run_id for event in seen.events} == {outcome.run_id}
    nested = seen.of(Nested)
    assert [type(event.event) for event in nested] == [
        *(ModelCalled, ModelReplied, ToolStarted, ToolFinished, RoundClosed, ModelCalled, ModelReplied, Finished)
    ]
    assert {event.call.id for event in nested} == {results(outcome)[0].call_id}
    assert [event.event.seq for event in nested] == list(range(1, len(nested) + 1)), "as the run inside numbered it"
    assert {event.event.run_id for event in nested} == {inner_run_id(outcome.run_id, results(outcome)[0].call_id)}
    places = [type(event) for event in seen.events]
    assert places.index(ToolStarted) < places.index(Nested)
    assert max(at for at, kind in enumerate(places) if kind is Nested) < places.index(ToolFinished)


async def test_deltas_inside_come_only_where_the_run_is_streamed() -> None:
    seen = Recorder()
    await run(sub(says("inside")), observe=seen)
    assert not any(isinstance(unwrapped(event)[1], TextDelta) for event in seen.events)
    model = scripted(asks_for("it"), says("done"), name="outer")
    async with geode.session(model=model, tools=[sub(says("inside"))]) as loop:
        told = [unwrapped(event) async for event in loop.stream("go")]
    assert [(inside, event.text) for inside, event in told if isinstance(event, TextDelta)] == [
        (("research",), "inside"),
        ((), "done"),
    ]
    assert isinstance(told[-1][1], Finished)


async def test_three_deep() -> None:
    deepest = geode.subagent("third", "", model=scripted(calls(("look", {"n": 3})), says("c")), tools=[look])
    second = geode.subagent("second", "", model=scripted(asks_for("c", name="third"), says("b")), tools=[deepest])
    first = geode.subagent("first", "", model=scripted(asks_for("b", name="second"), says("a")), tools=[second])
    seen = Recorder()
    outcome = await run(first, asks_for("a", name="first"), says("done"), observe=seen)
    assert DONE == ["look 3"]
    (place,) = (
        inside for inside, event in map(unwrapped, seen.events) if isinstance(event, ToolStarted) and event.call.name == "look"
    )
    assert place == ("first", "second", "third")
    assert outcome.usage.total_tokens == 8 * 15, "two calls of the model in each of four runs"
    ended = [inside for inside, event in map(unwrapped, seen.events) if isinstance(event, Finished)]
    assert ended == [("first", "second", "third"), ("first", "second"), ("first",), ()]


async def test_side_by_side_each_is_told_under_its_own_call() -> None:
    @geode.tool(tier="safe")
    async def meet() -> str:
        """Waits for the other one."""
        await barrier.wait()
        return "met"

    barrier = asyncio.Barrier(2)
    agents = [sub(calls(("meet", {})), says(name), name=name, tools=[meet]) for name in ("left", "right")]
    seen = Recorder()
    outcome = await run(
        agents[0], calls(("left", {"task": "l"}), ("right", {"task": "r"})), says("done"), tools=(agents[1],), observe=seen
    )
    assert texts(outcome) == ["left", "right"]
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))
    of = {name: [event.event for event in seen.of(Nested) if event.call.name == name] for name in ("left", "right")}
    for told in of.values():
        assert [event.seq for event in told] == list(range(1, 9))
        assert len({event.run_id for event in told}) == 1
    started = [event.call.name for event in seen.of(Nested) if isinstance(event.event, ToolStarted)]
    finished = [
        at for at, event in enumerate(seen.events) if isinstance(event, Nested) and isinstance(event.event, ToolFinished)
    ]
    assert sorted(started) == ["left", "right"]
    starts = [at for at, event in enumerate(seen.events) if isinstance(event, Nested) and isinstance(event.event, ToolStarted)]
    assert max(starts) < min(finished), "neither waits for the end of the other"


async def test_a_question_inside_is_told_inside() -> None:
    seen = Recorder()
    await run(sub(calls(("put", {"n": 1})), says("inside"), tools=[put]), approve=Asks(), observe=seen)
    assert seen.of(ApprovalAsked) == []
    assert [event.call.name for event in seen.of(Nested) if isinstance(event.event, ApprovalAsked)] == ["research"]


async def test_what_nobody_can_approve_inside_is_noticed_inside() -> None:
    seen = Recorder()
    await run(sub(says("inside"), tools=[put]), observe=seen)
    assert [event.event.kind for event in seen.of(Nested) if isinstance(event.event, Notice)] == ["tools_denied"]


# ---- budgets -----------------------------------------------------------------------------------


async def test_what_it_spends_is_spent_by_the_run() -> None:
    model = scripted(asks_for("it"), says("done"), name="outer")
    research = sub(calls(("look", {"n": 1}), ("look", {"n": 2})), says("inside"), tools=[look])
    async with geode.session(model=model, tools=[research]) as loop:
        outcome = await loop.run("go")
        assert tokens(outcome) == (40, 20)
        assert loop.spent.tool_calls == 3


async def test_one_that_fails_has_spent_as_well() -> None:
    outcome = await run(sub(calls(("look", {"n": 1})), fails(401), tools=[look]))
    assert (kinds(outcome), tokens(outcome)) == (["failed"], (30, 15))


async def test_a_tool_that_asks_a_model_itself_says_what_that_used() -> None:
    @geode.tool(tier="safe")
    def summary(context: ToolContext[Any]) -> str:
        context.spend(Usage(input_tokens=900, output_tokens=80))
        context.spend(Usage(cost_usd=Decimal("0.02")))
        return "short"

    outcome = await geode.run("go", model=ScriptedModel(calls(("summary", {})), says("done")), tools=[summary])
    assert (tokens(outcome), outcome.usage.cost_usd) == ((920, 90), Decimal("0.02"))


HALF: Any = 1.5


@pytest.mark.parametrize("odd", [7, Usage(-1, 0), Usage(cost_usd=Decimal("NaN")), Usage(HALF)])
async def test_spending_that_cannot_be_counted_fails_its_call_alone(odd: Any) -> None:
    @geode.tool(tier="safe")
    def summary(context: ToolContext[Any]) -> str:
        context.spend(odd)
        return "short"

    outcome = answered(await geode.run("go", model=ScriptedModel(calls(("summary", {})), says("done")), tools=[summary]))
    assert (kinds(outcome), tokens(outcome)) == (["failed"], (20, 10))


async def test_one_that_loops_ends_at_its_own_limit() -> None:
    rounds = [calls(("look", {"n": n})) for n in range(3)]
    outcome = await run(sub(*rounds, says("that is all"), tools=[look], policy=Policy(max_tool_calls=3)))
    assert "that is all" in texts(outcome)[0]
    assert DONE == ["look 0", "look 1", "look 2"]


async def test_one_that_loops_ends_at_what_the_run_has_left() -> None:
    """The run may use 200 tokens: 15 are used, 15 are for its conclusion: 170 are left, or eleven calls of 15."""
    inner = scripted(*[calls(("look", {"n": n})) for n in range(11)])
    outcome = await run(
        geode.subagent("research", "", model=inner, tools=[look]),
        asks_for("it"),
        says("done"),
        policy=Policy(max_total_tokens=200),
    )
    assert len(inner.requests) == 11
    assert outcome.usage.total_tokens == 15 + 165 + 15
    assert isinstance(outcome, geode.Answered)
    assert "its tokens were used up" in texts(outcome)[0]


async def test_a_run_whose_tokens_are_used_up_inside_says_so() -> None:
    inner = scripted(big_answer(500))
    outcome = await run(geode.subagent("research", "", model=inner), asks_for("it"), policy=Policy(max_total_tokens=100))
    assert isinstance(outcome, geode.Exhausted)
    assert (outcome.reason, outcome.usage.total_tokens) == ("token_budget", 515)


def big_answer(tokens: int) -> Step:
    return Reply((Said("long"),), "end", tokens, 0)


class Dear:
    """A model that says what it costs, and calls `look` for ever."""

    name = "dear"
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked = 0

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        self.asked += 1
        call = ToolUseBlock(f"look_{self.asked}", "look", {"n": self.asked})
        used = Usage(10, 5, Decimal("0.10"))
        return Success(AdapterCallResult((Text("hm "), call), Stop.TOOL_CALLS, used))


class Hands(ScriptedModel):
    """A script whose replies cost ten cents."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        answer = await super().acomplete(request, emit)
        return answer.map(lambda reply: replace(reply, usage=replace(reply.usage, cost_usd=Decimal("0.10"))))


async def test_its_money_is_that_of_the_run() -> None:
    """A dollar: ten cents are paid, ten are for the conclusion, so that eight calls may be made inside."""
    dear = Dear()
    research = geode.subagent("research", "", model=dear, tools=[look])
    model = Hands(asks_for("it"), says("done"), name="outer")
    outcome = await geode.run("go", model=model, tools=[research], policy=Policy(max_cost_usd=Decimal(1)))
    assert dear.asked == 8
    assert isinstance(outcome, geode.Answered)
    assert outcome.usage.cost_usd == Decimal("1.00")
    assert "its budget of money was used up" in texts(outcome)[0]


async def test_those_that_run_side_by_side_share_what_is_left() -> None:
    """1030 tokens, less 15 that are used and 15 for the conclusion: a thousand, so that 500 are for each, or 33 calls of 15."""
    models = [scripted(*[calls(("look", {"n": n})) for n in range(33)], name=name) for name in ("left", "right")]
    agents = [geode.subagent(model.name, "", model=model, tools=[look]) for model in models]
    both = calls(("left", {"task": "l"}), ("right", {"task": "r"}))
    outcome = await run(agents[0], both, says("done"), tools=(agents[1],), policy=Policy(max_total_tokens=1030))
    assert isinstance(outcome, geode.Answered)
    assert [len(model.requests) for model in models] == [33, 33]
    assert outcome.usage.total_tokens <= 1030


async def test_tool_calls_inside_are_within_those_of_the_run() -> None:
    inner = scripted(calls(*[("look", {"n": n}) for n in range(5)]), says("inside"))
    outcome = await run(geode.subagent("research", "", model=inner, tools=[look]), policy=Policy(max_tool_calls=4))
    assert len(DONE) == 3, "one of the four is the sub-agent itself"
    assert kinds(outcome) == ["ok"]


async def test_without_room_it_is_not_begun() -> None:
    inner = scripted()
    outcome = await run(geode.subagent("research", "", model=inner), asks_for("it"), policy=Policy(max_total_tokens=30))
    assert inner.requests == []
    assert texts(outcome) == ["research was not begun: the run has no token budget left for it"]


async def test_it_winds_up_before_its_call_is_cut_off() -> None:
    """A call of half a second: what hangs inside is given up a little before."""
    outcome = await run(sub(hangs(), policy=Policy(), timeout_seconds=0.5), asks_for("it"), says("done"))
    (found,) = results(outcome)
    assert found.kind == "failed"
    assert "its time was used up" in found.text
    assert "timeout" not in found.text


async def test_one_that_is_cut_off_has_spent_what_it_had() -> None:
    @geode.tool(tier="safe", blocking=False, timeout_seconds=60)
    async def stubborn() -> str:
        """Does not let itself be cancelled at once."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)
        return "late"

    outcome = await run(
        sub(calls(("stubborn", {})), tools=[stubborn], policy=Policy(max_rounds=2), timeout_seconds=0.2),
        asks_for("it"),
        says("done"),
    )
    assert kinds(outcome) == ["failed"]
    assert tokens(outcome) == (30, 15)


# ---- ending it from outside --------------------------------------------------------------------


def busy(*, observe: Any = (), journal: MemoryJournal | None = None) -> tuple[ScriptedModel, Any]:
    inner = scripted(calls(("look", {"n": 0}), ("put", {"n": 1})), fails(500), calls(("put", {"n": 2})), says("inside"))
    outer = scripted(calls(("research", {"task": "it"}), ("look", {"n": 9})), says("done"), name="outer")
    settings: dict[str, Any] = {
        "model": outer,
        "tools": [geode.subagent("research", "", model=inner, tools=[look, put]), look],
        "approve": Asks(),
        "clock": ManualClock(),
        "observe": observe,
    }
    if journal is not None:
        settings["journal"] = journal
    return inner, geode.session(**settings)


async def slow_observer(event: Event) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("count", range(0, 90, 1))
async def test_cancelled_after_so_many_turns_of_the_event_loop(count: int, slow: bool) -> None:
    journal, seen = MemoryJournal(), Recorder()
    _, opening = busy(observe=[slow_observer, seen] if slow else [seen], journal=journal)
    before = tasks_left()
    loop = await opening.__aenter__()
    running = asyncio.create_task(loop.run("go"))
    await turns(count)
    if running.done():
        answered(running.result())
        await opening.__aexit__(None, None, None)
        return
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    done = list(DONE)
    assert_whole(loop.conversation)
    assert tasks_left() <= before, "nothing of it runs on"
    for state in journal.states.values():
        assert_whole(state.closed)
    for run_id in journal.run_ids():
        assert run_id not in journal._running, "every run was let go of"
    await turns(20)
    assert done == DONE
    error = asyncio.CancelledError()
    await opening.__aexit__(type(error), error, None)


async def test_a_script_that_is_too_short_inside_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="called 2 times, the script has 1"):
        await run(sub(calls(("look", {"n": 1})), tools=[look]))


async def test_cancelled_while_a_tool_inside_runs_its_conversation_is_whole() -> None:
    journal, seen = MemoryJournal(), Recorder()
    model = scripted(asks_for("it"), name="outer")
    begun = asyncio.Event()

    @geode.tool(tier="safe")
    async def never() -> str:
        """Never ends."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    research = sub(calls(("never", {})), tools=[never])
    async with geode.session(model=model, tools=[research], journal=journal, observe=seen) as loop:
        running = asyncio.create_task(loop.run("go"))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert kinds(loop.conversation) == ["interrupted"]
        assert loop.spent.usage.total_tokens == 30, "what was spent inside is known"
        assert_whole(journal.states[journal.run_ids()[1]].closed)
        ended = [type(event.event) for event in seen.of(Nested)][-3:]
        assert ended == [ToolFinished, RoundClosed, Aborted]


@pytest.mark.parametrize("count", range(0, 90, 3))
async def test_stopped_after_so_many_turns_of_the_event_loop(count: int) -> None:
    _, opening = busy()
    loop = await opening.__aenter__()
    running = asyncio.create_task(loop.run("go"))
    await turns(count)
    loop.stop()
    outcome = await asyncio.wait_for(running, 20)
    assert_whole(outcome.conversation)
    stopped = AssertionError()
    await opening.__aexit__(type(stopped), stopped, None)


async def test_a_run_that_is_stopped_stops_what_is_inside() -> None:
    """What runs inside may finish; nothing new starts, there or here."""
    inner = scripted(calls(("slow", {})))
    started, go_on = asyncio.Event(), asyncio.Event()

    @geode.tool(tier="safe")
    async def slow() -> str:
        """Slow."""
        started.set()
        await go_on.wait()
        DONE.append("slow")
        return "slow"

    model = scripted(asks_for("it"), name="outer")
    async with geode.session(model=model, tools=[geode.subagent("research", "", model=inner, tools=[slow])]) as loop:
        running = asyncio.create_task(loop.run("go"))
        await started.wait()
        loop.stop()
        await turns(5)
        assert not running.done()
        go_on.set()
        outcome = await running
    assert isinstance(outcome, geode.Stopped)
    assert DONE == ["slow"]
    assert len(inner.requests) == 1
    assert "research was stopped before it was done" in texts(outcome)[0]


async def test_a_run_that_is_stopped_waits_for_no_model_inside() -> None:
    model, asked = scripted(asks_for("it"), name="outer"), asyncio.Event()

    def observe(event: Event) -> None:
        if isinstance(event, Nested):
            asked.set()

    async with geode.session(model=model, tools=[sub(hangs())], observe=observe) as loop:
        running = asyncio.create_task(loop.run("go"))
        await asked.wait()
        loop.stop()
        assert isinstance(await asyncio.wait_for(running, 20), geode.Stopped)


async def test_a_stream_that_is_left_ends_what_is_inside() -> None:
    model = scripted(asks_for("it"), name="outer")
    before = tasks_left()
    async with geode.session(model=model, tools=[sub(hangs())]) as loop:
        async with aclosing(loop.stream("go")) as events:
            async for event in events:
                if isinstance(event, Nested):
                    break
        await turns(5)
        assert tasks_left() <= before


# ---- what it shares with the session -----------------------------------------------------------


async def test_it_speaks_through_the_client_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    from geode.adapters.http_json import clients

    made: list[httpx2.AsyncClient] = []
    original = clients.new_http_client

    def counted() -> httpx2.AsyncClient:
        made.append(original())
        return made[-1]

    monkeypatch.setattr(clients, "new_http_client", counted)
    async with running(Emulator([asks_for("it"), says("inside"), says("done")])) as server:
        lab = geode.Provider("lab", wire="chat", base_url=f"{server.base_url}/v1")
        outcome = await geode.run("go", model="lab/m", providers=[lab], tools=[geode.subagent("research", "", tools=[look])])
        assert server.emulator.violations == ()
    assert texts(outcome) == ["inside"]
    assert len(made) == 1
    assert made[0].is_closed


class Shelf:
    """A source with one tool; counts how often it was opened and closed."""

    name, origin, required = "shelf", "test", True

    def __init__(self, broken: str = "") -> None:
        self.opens = self.closes = 0
        self._broken = broken

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Shelf]:
        self.opens += 1
        if self._broken:
            raise ToolSourceError(self._broken)
        try:
            yield self
        finally:
            self.closes += 1

    async def listing(self) -> Listing:
        return Listing((as_tool(look),))

    def changed(self) -> bool:
        return False


async def test_a_source_of_its_tools_is_opened_once_and_closed_with_the_session() -> None:
    shelf = Shelf()
    research = sub(calls(("look", {"n": 1})), says("a"), calls(("look", {"n": 2})), says("b"), tools=[shelf])
    outcome = await run(research, asks_for("1"), asks_for("2"), says("done"))
    assert (texts(outcome), DONE) == (["a", "b"], ["look 1", "look 2"])
    assert (shelf.opens, shelf.closes) == (1, 1)


async def test_a_source_that_cannot_be_had_fails_the_call() -> None:
    (found,) = results(await run(geode.subagent("research", "", tools=[Shelf("no such server")])))
    assert (found.kind, found.text) == ("failed", "research was not begun: its tools cannot be had")
    assert "no such server" in found.detail


async def test_one_that_is_tried_again_begins_anew() -> None:
    """By a person's word, after it failed twice: the run that failed is over, and its answer is not given again."""
    journal, asks = MemoryJournal(), Asks()
    wordless = calls(("look", {"n": 1}))
    research = sub(wordless, wordless, says("third time"), tools=[look], policy=Policy(max_rounds=1))
    policy = Policy(recovery_failures=1, recovery_seconds=0.0)
    outcome = await run(research, asks_for("1"), asks_for("2"), says("done"), approve=asks, journal=journal, policy=policy)
    assert kinds(outcome) == ["failed", "ok"]
    assert texts(outcome)[1].startswith("third time")
    assert asks.asked == [["research"]]
    assert len(journal.run_ids()) == 1 + 3
