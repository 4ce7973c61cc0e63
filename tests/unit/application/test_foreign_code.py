"""The code of others is handed copies, and whatever it raises or says, every call gets its answer and every run its end."""

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from returns.result import Result

import geode
from geode.adapters.scripted.model import ScriptedModel
from geode.application.foreign import text_of, trace_of
from geode.domain.approval import Approve, Decision, Deny, Question
from geode.domain.failures import CallFailure
from geode.domain.loop.inputs import Input, Interrupted, ToolFinished
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest
from geode.domain.script import calls, cut, says
from geode.domain.turns import AssistantTurn
from geode.entrypoints.tools import as_tool
from geode.ports import events
from geode.ports.events import ApprovalAsked, Event, ModelReplied, Notice, RoundClosed, ToolStarted
from geode.ports.journal import Journal
from geode.ports.model import Emit
from geode.ports.tools import Tool
from tests.unit.application.rig import Asks, Recorder, answered, assert_whole, kinds, loop_of, results, tasks_left, texts


class Wordless(Exception):
    def __str__(self) -> str:
        raise GeneratorExit


class NotesThatRaise(Exception):
    def __getattribute__(self, name: str) -> Any:
        if name == "__notes__":
            raise KeyError
        return super().__getattribute__(name)


class OutOfLine(BaseException):
    """Not an Exception, like what a test runner raises."""


def unreadable() -> SyntaxError:
    """Its traceback cannot be written: the column is no number."""
    place: Any = ("f", 1, "bad", "text")
    return SyntaxError("x", place)


def hostile() -> list[BaseException]:
    return [
        Wordless(),
        NotesThatRaise(),
        OutOfLine("x"),
        GeneratorExit(),
        SystemExit(1),
        BaseExceptionGroup("g", [OutOfLine()]),
        StopIteration(),
        StopAsyncIteration(),
        unreadable(),
        asyncio.CancelledError(),
    ]


HOSTILE = pytest.mark.parametrize("error", hostile(), ids=lambda error: type(error).__name__)


@geode.tool(tier="safe")
async def quick(n: int = 0) -> str:
    return f"quick {n}"


@geode.tool(tier="write")
async def write(n: int = 0) -> str:
    return f"wrote {n}"


def test_texts_of_what_has_none() -> None:
    assert text_of(Wordless()) == "<Wordless that has no text>"
    assert text_of(ValueError("x")) == "x"
    assert trace_of(unreadable()) == ""


# ---- whatever is raised ------------------------------------------------------------------------


@HOSTILE
@pytest.mark.parametrize("way", ["async", "plain", "thread"])
async def test_whatever_a_tool_raises_its_call_has_failed(error: BaseException, way: str) -> None:
    async def breaks_later() -> None:
        raise error

    def breaks() -> None:
        raise error

    declared = geode.tool(tier="safe", name="breaks")(breaks_later if way == "async" else breaks)
    tool = replace(as_tool(declared), blocking=way == "thread")
    outcome = await asyncio.wait_for(
        loop_of(calls(("breaks", {}), ("quick", {})), says("done"), tools=[tool, quick]).run("go"), 3
    )
    assert kinds(answered(outcome)) == ["failed", "ok"]
    if not isinstance(error, asyncio.CancelledError):
        assert texts(outcome)[0] == f"breaks failed with {type(error).__name__}"
    assert tasks_left() == set()


async def test_an_interrupt_in_a_thread_is_no_interrupt_of_the_program() -> None:
    @geode.tool(tier="safe")
    def breaks() -> None:
        raise KeyboardInterrupt

    outcome = answered(await loop_of(calls(("breaks", {})), says("done"), tools=[breaks]).run("go"))
    assert texts(outcome) == ["breaks failed with KeyboardInterrupt"]


async def test_a_thread_that_cannot_start_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    @geode.tool(tier="safe")
    def blocks() -> str:
        return "ran"

    start, failing = threading.Thread.start, [True] * 2

    def fails(thread: threading.Thread) -> None:
        if thread.name == "geode-tool" and failing:
            failing.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fails)
    policy = geode.Policy(max_parallel=1)
    loop = loop_of(calls(*[("blocks", {})] * 3), says("done"), tools=[blocks], policy=policy)
    assert texts(answered(await asyncio.wait_for(loop.run("go"), 3))) == ["blocks failed with RuntimeError"] * 2 + ["ran"]


class Breaks:
    """An approver that raises, in its own task or by ending it."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        if self.error is not None:
            raise self.error
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
        return {}


@pytest.mark.parametrize("error", [*hostile(), None], ids=lambda error: type(error).__name__)
async def test_whatever_an_approver_raises_its_calls_are_denied(
    error: BaseException | None, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Recorder()
    loop = loop_of(
        calls(("write", {}), ("quick", {})), says("done"), tools=[write, quick], approver=Breaks(error), observe=[seen]
    )
    outcome = await asyncio.wait_for(loop.run("go"), 3)
    assert kinds(answered(outcome)) == ["denied", "ok"]
    assert [notice.kind for notice in seen.of(Notice)] == ["approver_failed"]
    assert len(caplog.records) == 1
    assert tasks_left() == set()


@HOSTILE
async def test_whatever_an_observer_raises_is_noticed_once(error: BaseException) -> None:
    def broken(event: Event) -> None:
        raise error

    seen = Recorder()
    loop = loop_of(calls(("quick", {})), says("done"), tools=[quick], observe=[broken, seen])
    answered(await asyncio.wait_for(loop.run("go"), 3))
    assert [notice.kind for notice in seen.of(Notice)] == ["observer_failed"]


async def test_an_unrenderable_result_is_told_to_the_operator(caplog: pytest.LogCaptureFixture) -> None:
    @geode.tool(tier="safe")
    async def strange() -> object:
        return object()

    answered(await loop_of(calls(("strange", {})), says("done"), tools=[strange]).run("go"))
    (record,) = caplog.records
    for word in ("strange returned", "type object", "return JSON-like data", "run_1", "call_1_0"):
        assert word in record.getMessage()


# ---- whatever is changed -----------------------------------------------------------------------


async def test_the_arguments_of_the_history_are_nobody_else_s() -> None:
    ran: list[Any] = []

    async def takes(arguments: Any, context: Any) -> str:
        ran.append(deepcopy(arguments))
        arguments["xs"].append("tool")
        arguments["more"] = object()
        return "done"

    spec = geode.ToolSpec("takes", "", {"type": "object", "properties": {"xs": {"type": "array"}}})
    tool = Tool(spec, geode.SafetyTier.WRITE, takes)

    class Smuggler:
        async def decide(self, question: Question) -> Mapping[str, Decision]:
            for asked in question.calls:
                asked.call.input["xs"].append("approver")
            return {asked.call.id: Approve() for asked in question.calls}

    def meddles(event: Event) -> None:
        match event:
            case ModelReplied(calls=(call,)):
                call.input["xs"].append("observer")
            case ApprovalAsked(question=question):
                question.calls[0].call.input["xs"].append("observer")
            case ToolStarted(call=call) | events.ToolFinished(call=call):
                call.input["xs"].append("observer")
            case _:
                pass

    loop = loop_of(calls(("takes", {"xs": [1]})), says("done"), tools=[tool], approver=Smuggler(), observe=[meddles])
    outcome = answered(await loop.run("go"))
    asked = outcome.conversation.turns[1]
    assert isinstance(asked, AssistantTurn)
    assert asked.calls[0].input == {"xs": [1]}
    assert ran == [{"xs": [1]}]


# ---- whatever is cancelled or full -------------------------------------------------------------


@geode.tool(tier="safe")
async def swallows() -> None:
    for _ in range(3):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.3)


async def test_cancelling_twice_keeps_what_has_finished() -> None:
    loop = loop_of(calls(("quick", {}), ("swallows", {})), tools=[quick, swallows])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.05)
    running.cancel()
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(loop.conversation) == ["ok", "interrupted"]
    await asyncio.gather(*tasks_left())


async def test_an_observer_that_waits_for_ever_does_not_block_a_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode.application.stage.GRACE_SECONDS", 0.05)

    async def waits(event: Event) -> None:
        if isinstance(event, RoundClosed):
            await asyncio.Event().wait()

    loop = loop_of(calls(("never", {})), tools=[never], observe=[waits])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 1)
    assert kinds(loop.conversation) == ["interrupted"]
    assert tasks_left() == set()


@geode.tool(tier="safe")
async def never() -> None:
    await asyncio.Event().wait()


class Full(Journal):
    """Has no room for one kind of input."""

    def __init__(self, kind: type[Input]) -> None:
        self.kind = kind

    def began(self, state: Any) -> None:
        pass

    def happened(self, before: Any, input: Input) -> None:
        if isinstance(input, self.kind):
            raise OSError("no space left")

    def left(self, state: Any) -> None:
        pass


async def test_a_journal_that_is_full_does_not_hide_a_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    loop = loop_of(calls(("never", {})), tools=[never], journal=Full(Interrupted))
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(loop.conversation) == ["interrupted"]
    assert "no space left" in caplog.text


async def test_a_journal_that_is_full_loses_no_effect() -> None:
    loop = loop_of(calls(("write", {"n": 1}), ("never", {})), tools=[write, never], journal=Full(ToolFinished), approver=Asks())
    with pytest.raises(OSError, match="no space left"):
        await loop.run("go")
    assert texts(loop.conversation)[0] == "wrote 1"
    assert kinds(loop.conversation) == ["ok", "interrupted"]
    assert_whole(loop.conversation)


async def test_a_question_is_withdrawn_when_the_run_has_no_time_left() -> None:
    asks, seen = Asks(seconds=30), Recorder()
    policy = geode.Policy(max_seconds=0.2)
    loop = loop_of(calls(("quick", {}), ("write", {})), tools=[quick, write], approver=asks, policy=policy, observe=[seen])
    outcome = await asyncio.wait_for(loop.run("go"), 3)
    assert isinstance(outcome, geode.Exhausted)
    assert outcome.reason == "time_budget"
    assert kinds(outcome) == ["ok", "failed"]
    assert "time budget" in texts(outcome)[1]
    assert asks.open == 0
    assert [event.result.kind for event in seen.of(events.ToolFinished)] == ["ok", "failed"]
    assert tasks_left() == set()


# ---- calls that never ran ----------------------------------------------------------------------


async def test_the_end_of_every_call_is_told_once_before_its_round_closes() -> None:
    seen = Recorder()
    first = calls(("quick", {"n": "x"}), ("write", {"n": 1}), ("quick", {"n": 2}), ("nope", {}))
    loop = loop_of(
        first, cut(calls(("quick", {}))), says("done"), tools=[quick, write], observe=[seen], approver=Asks(lambda call: Deny())
    )
    outcome = answered(await loop.run("go"))
    ends = seen.of(events.ToolFinished)
    assert [(end.round, end.index) for end in ends] == [(1, 0), (1, 3), (1, 1), (1, 2), (2, 0)]
    assert {end.result.call_id for end in ends} == {result.call_id for result in results(outcome)}
    assert [end.seconds for end in ends if end.result.kind != "ok"] == [0.0] * 4
    assert [event.index for event in seen.of(ToolStarted)] == [2]
    for closed in seen.of(RoundClosed):
        assert all(end.seq < closed.seq for end in ends if end.round == closed.round)


async def test_a_run_that_is_taken_up_tells_each_end_once() -> None:
    first, second = Recorder(), Recorder()
    park = Asks(lambda call: geode.Later())
    parked = await loop_of(
        calls(("quick", {}), ("write", {}), ("nope", {})), tools=[quick, write], approver=park, observe=[first]
    ).run("go")
    assert isinstance(parked, geode.Suspended)
    loop = loop_of(says("done"), tools=[quick, write], observe=[second])
    answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Deny("no")}))
    assert [end.index for end in first.of(events.ToolFinished)] == [2, 0]
    assert [(end.index, end.result.kind) for end in second.of(events.ToolFinished)] == [(1, "denied")]
    assert len(second.of(RoundClosed)) == 1


async def test_an_adapter_that_swallows_the_stop_leaves_no_cancellation_behind() -> None:
    class Stubborn(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
            return await super().acomplete(request, emit)

    loop = loop_of(model=Stubborn(says("done")))
    asyncio.get_running_loop().call_later(0.02, loop.stop)
    assert isinstance(await loop.run("go"), geode.Answered | geode.Stopped)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
