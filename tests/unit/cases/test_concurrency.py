"""Kinds of faults of batches, cancellation and event loops, as a user would meet them, each with the id of its case."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.events import ToolFinished
from geode.testing import ScriptedModel, calls, says
from tests.unit.application.rig import answered, assert_whole, heartbeat, kinds, tasks_left, texts
from tests.unit.entrypoints.cli.commands import environment


async def run(*steps: Any, tools: list[Any], **settings: Any) -> geode.Outcome:
    return await geode.run("go", model=ScriptedModel(*steps, says("done")), tools=tools, **settings)


# ---- batches -----------------------------------------------------------------------------------


@geode.tool(tier="safe")
async def ok(n: int) -> str:
    """Work."""
    return f"ok {n}"


@geode.tool(tier="safe")
async def raises(n: int) -> str:
    """Break."""
    raise RuntimeError("broken")


async def test_px_01_one_raising_call_discards_no_sibling() -> None:
    outcome = await run(calls(("ok", {"n": 1}), ("raises", {"n": 2}), ("ok", {"n": 3})), tools=[ok, raises])
    assert kinds(answered(outcome)) == ["ok", "failed", "ok"]
    assert texts(outcome)[::2] == ["ok 1", "ok 3"]


async def test_px_05_results_stand_in_call_order_whatever_ends_first() -> None:
    @geode.tool(tier="safe")
    async def sleep(seconds: float) -> float:
        """Sleep."""
        await asyncio.sleep(seconds)
        return seconds

    ends: list[int] = []
    outcome = await run(
        calls(*(("sleep", {"seconds": seconds}) for seconds in (0.1, 0.0, 0.05))),
        tools=[sleep],
        observe=lambda event: ends.append(event.index) if isinstance(event, ToolFinished) else None,
    )
    assert texts(answered(outcome)) == ["0.1", "0.0", "0.05"]
    assert ends == [1, 2, 0]


async def test_px_06_two_edits_of_one_file_are_both_there(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("\n".join(f"line {n}" for n in range(100)))

    @geode.tool(tier="write")
    def edit(line: int, text: str) -> str:
        """Change a line, slowly: read all, write all."""
        lines = file.read_text().split("\n")
        time.sleep(0.02)
        lines[line] = text
        file.write_text("\n".join(lines))
        return "edited"

    wanted = calls(("edit", {"line": 10, "text": "X"}), ("edit", {"line": 90, "text": "Y"}))
    outcome = await run(wanted, tools=[edit], approve=lambda call: geode.Approve())
    assert kinds(answered(outcome)) == ["ok", "ok"]
    lines = file.read_text().split("\n")
    assert (lines[10], lines[90], len(lines)) == ("X", "Y", 100)


async def test_px_07_a_read_that_follows_a_write_sees_the_new_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")

    @geode.tool(tier="write")
    async def write(text: str) -> str:
        """Write, slowly."""
        await asyncio.sleep(0.02)
        file.write_text(text)
        return "written"

    @geode.tool(tier="safe")
    async def read() -> str:
        """Read."""
        return file.read_text()

    wanted = calls(("read", {}), ("write", {"text": "new"}), ("read", {}), ("read", {}))
    outcome = await run(wanted, tools=[write, read], approve=lambda call: geode.Approve())
    assert texts(answered(outcome)) == ["old", "written", "new", "new"]


async def test_px_09_eight_hundred_calls_of_one_turn_run_eight_at_a_time() -> None:
    alive = most = 0

    @geode.tool(tier="safe")
    async def count(n: int) -> int:
        """Count."""
        nonlocal alive, most
        alive += 1
        most = max(most, alive)
        await asyncio.sleep(0)
        alive -= 1
        return n

    outcome = await run(calls(*(("count", {"n": n}) for n in range(800))), tools=[count])
    assert texts(answered(outcome)) == [str(n) for n in range(800)]
    assert most == 8


async def test_px_08_a_blocking_tool_stands_in_nobody_s_way() -> None:
    @geode.tool(tier="safe")
    def sleep() -> str:
        """Block."""
        time.sleep(0.3)
        return "slept"

    began = time.monotonic()
    outcome, pause = await heartbeat(run(calls(("sleep", {}), ("sleep", {})), tools=[sleep]))
    assert kinds(answered(outcome)) == ["ok", "ok"]
    assert time.monotonic() - began < 0.55
    assert pause < 0.2


async def test_px_15_a_library_that_is_bound_to_its_thread_stays_there() -> None:
    @geode.tool(tier="safe", blocking=False)
    def here() -> bool:
        """Where am I?"""
        return threading.current_thread() is threading.main_thread()

    @geode.tool(tier="safe")
    def elsewhere() -> bool:
        """Where am I?"""
        return threading.current_thread() is threading.main_thread()

    outcome = await run(calls(("here", {}), ("elsewhere", {})), tools=[here, elsewhere])
    assert texts(answered(outcome)) == ["true", "false"]


async def test_px_13_one_call_that_hangs_takes_no_sibling_down() -> None:
    @geode.tool(tier="safe", timeout_seconds=0.1)
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(9)
        return "never"

    @geode.tool(tier="safe")
    async def brief() -> str:
        """Work."""
        await asyncio.sleep(0.05)
        return "fine"

    outcome = await run(calls(("hang", {}), ("brief", {})), tools=[hang, brief])
    assert kinds(answered(outcome)) == ["failed", "ok"]
    assert "timeout" in texts(outcome)[0]


async def test_px_16_calls_beyond_the_budget_have_a_result_each() -> None:
    wanted = calls(*(("ok", {"n": n}) for n in range(5)))
    outcome = await run(wanted, tools=[ok], policy=geode.Policy(max_tool_calls=2))
    assert kinds(outcome) == ["ok", "ok", "failed", "failed", "failed"]
    assert all("limit of tool calls" in text for text in texts(outcome)[2:])
    assert_whole(outcome.conversation)


# ---- cancellation ------------------------------------------------------------------------------


async def test_px_10_a_library_s_own_cancellation_is_a_failed_call() -> None:
    @geode.tool(tier="safe")
    async def cancels() -> str:
        """Be cancelled by something inside."""
        inner = asyncio.create_task(asyncio.sleep(9))
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner
        return "never"

    outcome = await run(calls(("cancels", {}), ("ok", {"n": 1})), tools=[cancels, ok])
    assert kinds(answered(outcome)) == ["failed", "ok"]


async def test_rp_01_rp_03_px_10_an_interrupted_batch_has_a_result_for_each_call_and_goes_on() -> None:
    entered = asyncio.Event()

    @geode.tool(tier="safe")
    async def hang() -> None:
        """Hang."""
        entered.set()
        await asyncio.sleep(9)

    @geode.tool(tier="write")
    async def write() -> None:
        """Write."""

    model = ScriptedModel(calls(("ok", {"n": 1}), ("hang", {}), ("write", {})), says("As you were."))
    async with geode.session(model=model, tools=[ok, hang, write], approve=lambda call: geode.Approve()) as loop:
        running = asyncio.create_task(loop.run("go"))
        await entered.wait()
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert kinds(loop.conversation) == ["ok", "interrupted", "interrupted"]
        assert "may or may not" in texts(loop.conversation)[1]
        assert "before this call was started" in texts(loop.conversation)[2]
        outcome = answered(await loop.run("continue", conversation=loop.conversation))
    stored = geode.Conversation.loads(outcome.conversation.dumps())
    assert stored.repairs == ()
    assert stored == outcome.conversation
    assert tasks_left() == set()


# ---- contexts and event loops ------------------------------------------------------------------


REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST", default="none")


@pytest.mark.parametrize("count", [1, 3])
async def test_as_04_as_05_context_variables_reach_every_call_and_leak_nowhere(count: int) -> None:
    @geode.tool(tier="safe")
    def in_a_thread(n: int) -> str:
        """Read, then write."""
        seen = REQUEST.get()
        REQUEST.set(f"thread {n}")
        return seen

    @geode.tool(tier="safe")
    async def here(n: int) -> str:
        """Read, then write."""
        seen = REQUEST.get()
        REQUEST.set(f"here {n}")
        await asyncio.sleep(0)
        return seen

    REQUEST.set("r1")
    for name in ("in_a_thread", "here"):
        outcome = await run(calls(*((name, {"n": n}) for n in range(count))), tools=[in_a_thread, here])
        assert texts(answered(outcome)) == ["r1"] * count
    assert REQUEST.get() == "r1"


PROGRAM = """
import asyncio, gc
import geode
from geode.entrypoints.emulator import Emulator, running_in_thread
from geode.testing import calls, says

@geode.tool(tier="safe")
def look() -> str:
    return "seen"

with running_in_thread(Emulator((calls(("look", {})), says("done")), by_conversation=True)) as at:
    lab = geode.Provider("lab", wire=WIRE, base_url=at.base_url + PATH)
    for _ in range(2):
        print(asyncio.run(geode.run("go", model="lab/m", providers=[lab], tools=[look])).text)
        gc.collect()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.close()
    print(asyncio.run(geode.run("go", model="lab/m", providers=[lab], tools=[look])).text)
"""


@pytest.mark.parametrize(("wire", "path"), [("messages", ""), ("chat", "/v1")])
def test_as_01_as_02_as_03_a_second_event_loop_is_no_trouble_and_the_end_is_quiet(wire: str, path: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("WIRE", repr(wire)).replace("PATH", repr(path)))
    command = [sys.executable, "-W", "error::ResourceWarning", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment())
    assert (done.returncode, done.stdout) == (0, "done\n" * 3), done.stderr
    assert "Warning" not in done.stderr
    assert "never retrieved" not in done.stderr


async def test_as_06_what_one_run_counts_no_other_feels() -> None:
    tools, policy = [ok, raises], geode.Policy(max_tool_calls=2)
    async with geode.Runtime(
        model=ScriptedModel(
            *(calls(("raises", {"n": 1}), ("ok", {"n": 2})) for _ in range(6)), *(says("done") for _ in range(6))
        ),
        tools=tools,
        policy=policy,
    ) as runtime:

        async def one() -> geode.Outcome:
            async with runtime.session() as loop:
                return await loop.run("go")

        outcomes = await asyncio.gather(*(one() for _ in range(6)))
    assert [kinds(outcome) for outcome in outcomes] == [["failed", "ok"]] * 6
    assert policy == geode.Policy(max_tool_calls=2)
