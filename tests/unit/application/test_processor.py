"""What one call can do to its round: nothing. Results in call order, failures as results, deadlines kept."""

import asyncio
import contextvars
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

import geode
from geode.domain.policy import Policy
from geode.domain.script import calls, says
from geode.entrypoints.tools import as_tool
from geode.ports.events import Notice, RoundClosed, ToolFinished, ToolProgressed, ToolStarted
from geode.ports.tools import OutcomeUnknown, ToolContext, ToolError, ToolRetry
from tests.unit.application.rig import Asks, Recorder, answered, heartbeat, kinds, loop_of, quick, results, tasks_left, texts

SECRET: contextvars.ContextVar[str] = contextvars.ContextVar("SECRET", default="unset")


@geode.tool(tier="safe")
async def slow(n: int, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"slow {n}"


@geode.tool(tier="safe")
async def fine() -> str:
    return "fine"


@geode.tool(tier="safe", blocking=False)
def breaks(how: str) -> Any:
    match how:
        case "error":
            raise ToolError("no such file")
        case "final":
            raise ToolError("no such file, ever", recoverable=False, detail="looked in /srv")
        case "unknown":
            raise OutcomeUnknown("the line went dead", detail="after 3 bytes")
        case "wordless":
            raise ToolError("")
        case "retry":
            raise ToolRetry("give a date as YYYY-MM-DD")
        case "bug":
            raise ValueError("secret detail")
        case "exit":
            sys.exit(3)
        case "cancel":
            raise asyncio.CancelledError
        case "stop":
            raise StopIteration
        case "object":
            return {"conn": object()}
        case _:
            raise AssertionError(how)


async def run_beside_fine(tool: object, name: str, arguments: dict[str, Any], **options: Any) -> Any:
    """One call of `tool` between two that succeed."""
    loop = loop_of(calls(("fine", {}), (name, arguments), ("fine", {})), says("done"), tools=[fine, tool], **options)
    outcome = answered(await loop.run("go"))
    assert [kinds(outcome)[0], kinds(outcome)[2]] == ["ok", "ok"]
    return results(outcome)[1]


async def test_results_are_in_call_order_whatever_ends_first() -> None:
    seen = Recorder()
    wanted = [("slow", {"n": n, "seconds": 0.06 - 0.02 * n}) for n in range(3)]
    outcome = await loop_of(calls(*wanted), says("done"), tools=[slow], observe=[seen]).run("go")
    assert texts(answered(outcome)) == ["slow 0", "slow 1", "slow 2"]
    assert [event.index for event in seen.of(ToolFinished)] == [2, 1, 0]
    assert [result.text for result in seen.of(RoundClosed)[0].results] == ["slow 0", "slow 1", "slow 2"]


@pytest.mark.parametrize(
    ("how", "text", "recoverable"),
    [
        ("error", "no such file", True),
        ("final", "no such file, ever", False),
        ("wordless", "breaks failed", True),
        ("retry", "give a date as YYYY-MM-DD", True),
        ("bug", "breaks failed with ValueError", True),
        ("exit", "breaks failed with SystemExit", True),
        ("cancel", "breaks was cancelled from inside", True),
        ("stop", "breaks failed with StopIteration", True),
        ("object", "the tool's result could not be rendered", True),
    ],
)
@pytest.mark.parametrize("blocking", [False, True])
async def test_a_tool_that_breaks_is_a_failed_result(how: str, text: str, recoverable: bool, blocking: bool) -> None:
    tool = replace(as_tool(breaks), blocking=blocking)
    found = await run_beside_fine(tool, "breaks", {"how": how})
    assert (found.kind, found.text, found.recoverable) == ("failed", text, recoverable)


@pytest.mark.parametrize(
    ("how", "kind", "text", "detail"),
    [
        ("unknown", "outcome_unknown", "the line went dead", "after 3 bytes"),
        ("final", "failed", "no such file, ever", "looked in /srv"),
        ("error", "failed", "no such file", ""),
    ],
)
async def test_a_tool_says_whether_anybody_knows_what_it_did_and_more_to_the_operator(
    how: str, kind: str, text: str, detail: str
) -> None:
    found = await run_beside_fine(breaks, "breaks", {"how": how})
    assert (found.kind, found.text, found.detail) == (kind, text, detail)


async def test_the_model_is_told_the_kind_of_an_exception_and_the_operator_all_of_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "geode"):
        found = await run_beside_fine(breaks, "breaks", {"how": "bug"})
    assert "secret detail" not in found.text
    assert "ValueError: secret detail" in found.detail
    assert "Traceback" in found.detail
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "run_1" in record.getMessage()
    assert "call_1_1" in record.getMessage()


async def test_an_unrenderable_result_names_type_and_place_to_the_operator_alone() -> None:
    found = await run_beside_fine(breaks, "breaks", {"how": "object"})
    assert found.detail == (
        "breaks returned a value of type object at /conn; return JSON-like data, a dataclass or a pydantic model"
    )


async def test_a_tool_error_that_breaks_itself_is_still_a_result() -> None:
    class Careless(ToolError):
        def __init__(self) -> None:
            """Leaves out what its parent would have set."""

        def __str__(self) -> str:
            raise RuntimeError("no text either")

    @geode.tool(tier="safe")
    async def careless() -> None:
        raise Careless

    found = await run_beside_fine(careless, "careless", {})
    assert (found.kind, found.text) == ("failed", "<Careless that has no text>")


async def test_a_tool_that_cancels_its_own_task_is_a_failed_result() -> None:
    @geode.tool(tier="safe")
    async def suicidal(*, wait: bool) -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if wait:
            await asyncio.sleep(1)
        return "never"

    for wait in (True, False):
        seen = Recorder()
        found = await run_beside_fine(suicidal, "suicidal", {"wait": wait}, observe=[seen])
        assert (found.kind, found.text) == ("failed", "suicidal was cancelled from inside")
        assert len(seen.of(ToolFinished)) == 3


# ---- deadlines ---------------------------------------------------------------------------------


def forever(tier: Any, seconds: float | None = None) -> Any:
    @geode.tool(tier=tier, timeout_seconds=seconds)
    async def hangs() -> str:
        await asyncio.Event().wait()
        return "never"

    return hangs


@pytest.mark.parametrize(
    ("tier", "kind"),
    [
        ("safe", "failed"),
        ("mcp_trusted", "failed"),
        ("expensive", "outcome_unknown"),
        ("write", "outcome_unknown"),
        ("dangerous", "outcome_unknown"),
    ],
)
@pytest.mark.parametrize("blocking", [False, True])
async def test_a_call_past_its_deadline(tier: Any, kind: str, blocking: bool) -> None:
    over = threading.Event()

    @geode.tool(tier=tier)
    def waits() -> None:
        over.wait()

    tool, name = (waits, "waits") if blocking else (forever(tier), "hangs")
    try:
        found = await run_beside_fine(tool, name, {}, policy=quick(), approver=Asks())
    finally:
        over.set()
    assert found.kind == kind
    assert f"{name} did not finish within 0.1 s" in found.text
    assert found.text.startswith("timeout") == (kind == "failed")
    assert tasks_left() == set()


async def test_a_tool_has_its_own_deadline_before_the_policy_s() -> None:
    found = await run_beside_fine(forever("safe", 0.05), "hangs", {}, policy=quick(tool_timeout_seconds=60))
    assert found.text == "timeout: hangs did not finish within 0.05 s"


async def test_what_is_left_of_the_run_is_a_deadline_too() -> None:
    loop = loop_of(calls(("hangs", {})), tools=[forever("safe")], policy=quick(max_seconds=0.2, tool_timeout_seconds=60))
    outcome = await loop.run("go")
    assert isinstance(outcome, geode.Exhausted)
    assert outcome.reason == "time_budget"
    assert kinds(outcome) == ["failed"]


async def test_a_coroutine_that_swallows_its_cancellation_is_left_behind() -> None:
    freed = asyncio.Event()

    @geode.tool(tier="safe")
    async def stubborn() -> str:
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    before = time.monotonic()
    try:
        found = await run_beside_fine(stubborn, "stubborn", {}, policy=quick())
        assert found.text == "timeout: stubborn did not finish within 0.1 s"
        assert time.monotonic() - before < 2
    finally:
        freed.set()
        await asyncio.gather(*tasks_left())


async def test_a_coroutine_that_blocks_the_event_loop_past_its_deadline_is_noticed() -> None:
    clock = ManualTime()
    seen = Recorder()

    @geode.tool(tier="safe")
    async def greedy() -> str:
        clock.at += 150
        return "done"

    found = await run_beside_fine(greedy, "greedy", {}, clock=clock, observe=[seen])
    assert found.kind == "ok"
    (notice,) = [event for event in seen.of(Notice) if event.kind == "loop_blocked"]
    assert notice.text == "the event loop was blocked: greedy took 150.0 s, past its deadline of 120 s"


class ManualTime:
    """A clock that only tools move."""

    at = 0.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds

    def jitter(self) -> float:
        return 0.5


# ---- tools that block their thread -------------------------------------------------------------


async def test_a_blocking_tool_never_stops_the_event_loop() -> None:
    @geode.tool(tier="safe")
    def blocks() -> str:
        time.sleep(0.3)
        return "slept"

    loop = loop_of(calls(*[("blocks", {})] * 4), says("done"), tools=[blocks])
    outcome, pause = await heartbeat(loop.run("go"))
    assert texts(answered(outcome)) == ["slept"] * 4
    assert pause < 0.1


async def test_at_most_eight_threads_are_alive_at_once_and_they_are_daemons() -> None:
    alive, most, lock = 0, 0, threading.Lock()

    @geode.tool(tier="safe")
    def counts() -> bool:
        nonlocal alive, most
        with lock:
            alive += 1
            most = max(most, alive)
        time.sleep(0.002)
        with lock:
            alive -= 1
        return threading.current_thread().daemon

    outcome = await loop_of(calls(*[("counts", {})] * 800), says("done"), tools=[counts]).run("go")
    assert texts(answered(outcome)) == ["true"] * 800
    assert 1 < most <= 8


@pytest.mark.parametrize("limit", [1, 8])
async def test_at_most_so_many_coroutines_run_at_once(limit: int) -> None:
    alive = most = 0

    @geode.tool(tier="safe")
    async def counts(n: int) -> int:
        nonlocal alive, most
        alive += 1
        most = max(most, alive)
        await asyncio.sleep(0)
        alive -= 1
        return n

    wanted = [("counts", {"n": n}) for n in range(50)]
    outcome = await loop_of(calls(*wanted), says("done"), tools=[counts], policy=Policy(max_parallel=limit)).run("go")
    assert texts(answered(outcome)) == [str(n) for n in range(50)]
    assert most == limit


async def test_a_synchronous_function_that_returns_an_awaitable_is_awaited() -> None:
    @geode.tool(tier="safe")
    def deferred() -> Awaitable[str]:
        return asyncio.wait_for(fine(), 1)

    assert (await run_beside_fine(deferred, "deferred", {})).text == "fine"


async def test_an_awaitable_that_comes_past_the_deadline_is_not_awaited() -> None:
    over, ran = threading.Event(), False

    async def work() -> None:
        nonlocal ran
        ran = True

    @geode.tool(tier="safe")
    def late() -> Awaitable[None]:
        over.wait()
        return work()

    found = await run_beside_fine(late, "late", {}, policy=quick())
    assert found.kind == "failed"
    over.set()
    await asyncio.sleep(0.05)
    assert not ran


async def test_context_variables_are_seen_and_do_not_leak() -> None:
    @geode.tool(tier="safe")
    def in_thread() -> str:
        seen = SECRET.get()
        SECRET.set("leaked from a thread")
        return seen

    @geode.tool(tier="safe")
    async def in_loop() -> str:
        seen = SECRET.get()
        SECRET.set("leaked from a coroutine")
        return seen

    SECRET.set("host")
    loop = loop_of(calls(*[("in_thread", {}), ("in_loop", {})] * 3), says("done"), tools=[in_thread, in_loop])
    assert texts(answered(await loop.run("go"))) == ["host"] * 6
    assert SECRET.get() == "host"


async def test_no_write_starts_while_one_that_was_left_behind_is_alive() -> None:
    over, started = threading.Event(), list[str]()

    @geode.tool(tier="write")
    def stuck() -> None:
        started.append("stuck")
        over.wait()

    @geode.tool(tier="dangerous")
    async def later() -> str:
        started.append("later")
        return "changed"

    seen = Recorder()
    steps = [calls(("stuck", {}), ("later", {}), ("fine", {})), calls(("later", {})), calls(("free", {})), calls(("later", {}))]

    @geode.tool(tier="safe")
    async def free() -> None:
        over.set()
        await asyncio.sleep(0.05)

    loop = loop_of(*steps, says("done"), tools=[stuck, later, fine, free], approver=Asks(), policy=quick(), observe=[seen])
    outcome = answered(await loop.run("go"))
    assert kinds(outcome) == ["outcome_unknown", "failed", "ok", "failed", "ok", "ok"]
    assert texts(outcome)[1] == "later was not started: stuck (call_1_0) is past its deadline and still running"
    assert started == ["stuck", "later"]
    assert [event.call.name for event in seen.of(ToolStarted)] == ["stuck", "fine", "free", "later"]


async def test_a_write_that_never_got_a_thread_has_failed_for_certain() -> None:
    over, ran = threading.Event(), list[str]()

    @geode.tool(tier="safe")
    def stuck() -> None:
        over.wait()

    @geode.tool(tier="write")
    def write() -> None:
        ran.append("write")

    loop = loop_of(
        calls(*[("stuck", {})] * 2, ("write", {})),
        calls(("release", {})),
        calls(("write", {})),
        says("done"),
        tools=[stuck, write, geode.tool(tier="safe", blocking=False)(named("release", over.set))],
        approver=Asks(),
        policy=quick(max_parallel=2),
    )
    outcome = answered(await loop.run("go"))
    assert kinds(outcome) == ["failed", "failed", "failed", "ok", "ok"]
    assert texts(outcome)[2] == (
        "timeout: write was not started within 0.1 s: calls that are past their deadline hold every thread"
    )
    assert ran == ["write"]


def named(name: str, work: Any) -> Any:
    def function() -> None:
        work()

    function.__name__ = name
    return function


def test_the_process_ends_although_a_tool_never_returns() -> None:
    program = """
import asyncio, threading, time, geode
from geode.testing import ScriptedModel, calls, says

@geode.tool(tier="safe", timeout_seconds=0.1)
def stuck() -> None:
    threading.Event().wait()

model = ScriptedModel(calls(("stuck", {}), ("stuck", {})), says("done"))
print(asyncio.run(geode.run("go", model=model, tools=[stuck])).text)
print(time.time(), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    exited = time.time()
    text, ended = done.stdout.split()
    assert text == "done"
    assert exited - float(ended) < 1


# ---- what a tool is told, and what it tells ----------------------------------------------------


async def test_a_tool_knows_its_call_and_reports_progress_from_any_thread() -> None:
    seen = Recorder()
    contexts: list[ToolContext[Any]] = []

    @geode.tool(tier="safe")
    def threaded(ctx: ToolContext[Any]) -> None:
        contexts.append(ctx)
        ctx.progress("half")

    @geode.tool(tier="safe")
    async def looped(ctx: ToolContext[Any]) -> None:
        ctx.progress("whole")

    loop = loop_of(
        calls(("threaded", {}), ("looped", {})), says("done"), tools=[threaded, looped], observe=[seen], deps={"k": 1}
    )
    outcome = answered(await loop.run("go"))
    (context,) = contexts
    assert (context.deps, context.call_id, context.run_id) == ({"k": 1}, "call_1_0", "run_1")
    assert context.idempotency_key == "run_1/call_1_0"
    assert context.deadline_seconds == 120
    told = {event.call.name: event for event in seen.of(ToolProgressed)}
    assert {name: event.message for name, event in told.items()} == {"threaded": "half", "looped": "whole"}
    ended = {event.call.name: event.seq for event in seen.of(ToolFinished)}
    assert all(told[name].seq < ended[name] for name in told)
    assert "half" not in outcome.conversation.dumps()


async def test_what_a_thread_reports_after_the_end_is_not_heard() -> None:
    over, seen = threading.Event(), Recorder()
    finished = threading.Event()

    @geode.tool(tier="safe")
    def late(ctx: ToolContext[Any]) -> None:
        over.wait()
        ctx.progress("anybody there?")
        finished.set()

    await loop_of(calls(("late", {})), says("done"), tools=[late], policy=quick(), observe=[seen]).run("go")
    told = len(seen.events)
    over.set()
    assert await asyncio.to_thread(finished.wait, 5)
    await asyncio.sleep(0.02)
    assert len(seen.events) == told
