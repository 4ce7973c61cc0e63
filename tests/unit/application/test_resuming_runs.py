"""Runs of a journal, gone on with by their id: after a suspension, and after their process ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import geode
from geode import NotRun, ToolContext
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import MemoryJournal, NoJournal
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve, Deny, Later
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.loop.inputs import Input
from geode.domain.loop.outcome import Answered, Stopped, Suspended
from geode.domain.loop.recording import Happened, Recording, replay
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.script import Step, calls, fails, says
from geode.ports.events import Finished, Hooked, ModelCalled, ToolFinished, ToolStarted
from geode.ports.hooks import Hooks, Veto
from geode.ports.journal import JournalError, JournalStore
from tests.unit.application.rig import Asks, Recorder, answered, assert_whole, kinds, loop_of, tasks_left, texts

RAN: list[str] = []
KEYS: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()
    KEYS.clear()


@geode.tool(tier="safe")
async def read(n: int) -> str:
    RAN.append(f"read {n}")
    return f"read {n}"


@geode.tool(tier="write")
async def write(n: int) -> str:
    RAN.append(f"write {n}")
    return f"wrote {n}"


@geode.tool(tier="write", idempotent=True)
async def put(n: int, context: ToolContext[Any]) -> str:
    RAN.append(f"put {n}")
    KEYS.append(context.idempotency_key)
    return f"put {n}"


TOOLS = (read, write, put)


class Killed(BaseException):
    """The process ends here."""


class Dies:
    """A journal over a folder whose process ends after so many inputs were written."""

    def __init__(self, folder: Path, after: int) -> None:
        self.journal, self.left_to_write = FileJournal(folder, fsync="never"), after

    def began(self, state: State) -> None:
        self.journal.began(state)

    def happened(self, before: State, input: Input) -> None:
        if self.left_to_write < 0:
            return
        if self.left_to_write == 0:
            self.left_to_write = -1
            self.journal.let_go(before.terms.run_id)
            raise Killed
        self.left_to_write -= 1
        self.journal.happened(before, input)

    def left(self, state: State) -> None:
        """It has no time to say so."""


def again(folder: Path, *steps: Step, tools: Iterable[object] = TOOLS, **more: Any) -> AgenticLoop:
    return loop_of(*steps, tools=tools, **{"journal": FileJournal(folder, fsync="never"), "approver": Asks(), **more})


async def killed(folder: Path, after: int, *steps: Step, tools: Iterable[object] = TOOLS, **more: Any) -> None:
    """A run whose process ends when `after` inputs were written and the next one was about to be."""
    loop = again(folder, *steps, tools=tools, **{"journal": Dies(folder, after), **more})
    with pytest.raises(Killed):
        await loop.run("go")


# ---- after a kill ------------------------------------------------------------------------------


async def test_the_model_is_asked_again(tmp_path: Path) -> None:
    await killed(tmp_path, 0, says("lost"))
    seen = Recorder()
    outcome = answered(await again(tmp_path, says("done"), observe=[seen]).resume_run("run_1"))
    assert (outcome.text, outcome.run_id) == ("done", "run_1")
    assert [event.attempt for event in seen.of(ModelCalled)] == [2], "the one before may have reached the provider"


async def test_the_attempts_of_both_processes_are_those_of_the_policy(tmp_path: Path) -> None:
    await killed(tmp_path, 2, fails(503), says("lost"), clock=ManualClock())
    outcome = await again(tmp_path, fails(503), clock=ManualClock()).resume_run("run_1")
    assert isinstance(outcome, geode.Failed)
    assert "3 attempts" in outcome.why


async def test_finished_results_are_kept_and_safe_calls_run_again(tmp_path: Path) -> None:
    await killed(tmp_path, 2, calls(("read", {"n": 0}), ("read", {"n": 1})))
    assert sorted(RAN) == ["read 0", "read 1"]
    RAN.clear()
    outcome = answered(await again(tmp_path, says("done")).resume_run("run_1"))
    assert texts(outcome) == ["read 0", "read 1"]
    assert len(RAN) == 1, "the one whose result was written does not run again"


async def test_a_write_without_a_result_is_unknown_and_the_model_is_told(tmp_path: Path) -> None:
    await killed(tmp_path, 2, calls(("write", {"n": 1})))
    assert RAN == ["write 1"]
    seen = Recorder()
    loop = again(tmp_path, says("I will check"), observe=[seen])
    outcome = answered(await loop.resume_run("run_1"))
    assert RAN == ["write 1"], "never twice"
    assert kinds(outcome) == ["outcome_unknown"]
    assert [(event.result.kind, event.seconds) for event in seen.of(ToolFinished)] == [("outcome_unknown", 0.0)]
    assert seen.of(ToolStarted) == []
    assert isinstance(seen.events[-1], Finished)


async def test_an_idempotent_write_runs_again_with_the_same_key_and_no_new_question(tmp_path: Path) -> None:
    await killed(tmp_path, 2, calls(("put", {"n": 1})))
    asks = Asks()
    outcome = answered(await again(tmp_path, says("done"), approver=asks).resume_run("run_1"))
    assert texts(outcome) == ["put 1"]
    assert KEYS == ["run_1/call_1_0"] * 2
    assert asks.questions == []


async def test_an_approval_that_was_written_holds(tmp_path: Path) -> None:
    await killed(tmp_path, 3, calls(("put", {"n": 1}), ("write", {"n": 2})))
    asks = Asks()
    outcome = answered(await again(tmp_path, says("done"), approver=asks).resume_run("run_1"))
    assert asks.asked == [["write"]], "for the first one the answer was written"
    assert kinds(outcome) == ["ok", "ok"]


async def test_a_question_without_an_answer_is_asked_again_or_answered_by_the_caller(tmp_path: Path) -> None:
    await killed(tmp_path, 1, calls(("write", {"n": 1})))
    outcome = await again(tmp_path, says("done"), approver=None).resume_run("run_1", {"call_1_0": Approve(input={"n": 7})})
    assert texts(answered(outcome)) == ["wrote 7"]


async def test_killed_again_and_again(tmp_path: Path) -> None:
    await killed(tmp_path, 0, says("lost"))
    for _ in range(3):
        with pytest.raises(Killed):
            await again(tmp_path, says("lost"), journal=Resuming(tmp_path)).resume_run("run_1")
    journal = FileJournal(tmp_path)
    outcome = answered(await again(tmp_path, says("done"), journal=journal).resume_run("run_1"))
    assert outcome.text == "done"
    found = replay(journal.recorded("run_1"))
    assert found.divergence is None
    assert found.inputs == 1


class Resuming(FileJournal):
    """Its process ends with the first input."""

    def happened(self, before: State, input: Input) -> None:
        self.let_go(before.terms.run_id)
        raise Killed


async def test_a_tool_that_is_gone(tmp_path: Path) -> None:
    await killed(tmp_path, 3, calls(("read", {"n": 0}), ("write", {"n": 1})))
    outcome = answered(await again(tmp_path, says("done"), tools=[read]).resume_run("run_1"))
    assert kinds(outcome) == ["ok", "outcome_unknown"]


class Camera:
    """A tool that is always down, and another that stands in for it and can be asked what it did."""

    def __init__(self) -> None:
        self.asked: list[tuple[Mapping[str, Any], str]] = []

    @geode.tool(tier="safe", fallback="draw")
    async def snap(self, n: int) -> str:
        raise geode.ToolError("the lens is shut")

    async def drawn(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
        self.asked.append((arguments, context.call_id))
        return f"drawn {arguments['n']} by then"

    @geode.tool(tier="expensive", reconcile=drawn)
    async def draw(self, n: int) -> str:
        RAN.append(f"draw {n}")
        return f"drew {n}"


async def test_a_stand_in_that_was_started_is_asked_what_became_of_it(tmp_path: Path) -> None:
    camera, asks = Camera(), Asks()
    tools = [camera.snap, camera.draw]
    snaps = [calls(("snap", {"n": n})) for n in range(3)]
    # Three replies, three results, and of the stand-in the check and the answer.
    await killed(tmp_path, 8, *snaps, tools=tools, clock=ManualClock())
    assert RAN == ["draw 2"]
    outcome = answered(await again(tmp_path, says("done"), tools=tools, approver=asks, clock=ManualClock()).resume_run("run_1"))
    assert camera.asked == [({"n": 2}, "call_3_0")]
    assert kinds(outcome) == ["failed", "failed", "ok"]
    assert texts(outcome)[2] == (
        "drawn 2 by then\nWhat was tried: snap once more: failed (the lens is shut); draw as a fallback: ok."
    )
    assert (RAN, asks.questions) == (["draw 2"], [])


# ---- reconcilers -------------------------------------------------------------------------------


class Ledger:
    """Writes that can be looked up by their key."""

    def __init__(self, breaks: str = "") -> None:
        self.rows: dict[str, int] = {}
        self.breaks = breaks
        self.asked: list[tuple[Mapping[str, Any], str]] = []

    async def look(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        self.asked.append((arguments, context.idempotency_key))
        if self.breaks == "error":
            raise ValueError("no connection")
        if self.breaks == "hangs":
            await asyncio.Event().wait()
        return f"added {self.rows[context.idempotency_key]}" if context.idempotency_key in self.rows else NotRun()

    def look_slowly(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        return f"added {self.rows[context.idempotency_key]}" if context.idempotency_key in self.rows else NotRun()

    @geode.tool(tier="write", reconcile=look, timeout_seconds=0.2)
    async def add(self, n: int, context: ToolContext[Any]) -> str:
        """Add a number."""
        RAN.append(f"add {n}")
        self.rows[context.idempotency_key] = n
        return f"added {n}"

    @geode.tool(tier="write", reconcile=look_slowly)
    def add_slowly(self, n: int, context: ToolContext[Any]) -> str:
        """Add a number in a thread."""
        RAN.append(f"add {n}")
        self.rows[context.idempotency_key] = n
        return f"added {n}"


@pytest.mark.parametrize("name", ["add", "add_slowly"])
@pytest.mark.parametrize("done", [True, False])
async def test_a_reconciler_says_what_became_of_a_call(tmp_path: Path, name: str, done: bool) -> None:
    ledger = Ledger()
    await killed(tmp_path, 2, calls((name, {"n": 1})), tools=[getattr(ledger, name)])
    if not done:
        ledger.rows.clear()
    RAN.clear()
    outcome = answered(await again(tmp_path, says("done"), tools=[getattr(ledger, name)]).resume_run("run_1"))
    assert texts(outcome) == ["added 1"]
    assert kinds(outcome) == ["ok"]
    assert ([] if done else ["add 1"]) == RAN
    assert ledger.rows == {"run_1/call_1_0": 1}
    assert ledger.asked == ([({"n": 1}, "run_1/call_1_0")] if name == "add" else [])


@pytest.mark.parametrize("breaks", ["error", "hangs"])
async def test_a_reconciler_that_breaks_leaves_it_unknown(tmp_path: Path, breaks: str) -> None:
    await killed(tmp_path, 2, calls(("add", {"n": 1})), tools=[Ledger().add])
    outcome = answered(await again(tmp_path, says("done"), tools=[Ledger(breaks).add]).resume_run("run_1"))
    assert kinds(outcome) == ["outcome_unknown"]
    assert RAN == ["add 1"]
    assert tasks_left() == set()


async def test_a_reconciler_is_given_the_arguments_that_a_person_put_in(tmp_path: Path) -> None:
    ledger = Ledger()
    edits = Asks(lambda call: Approve(input={"n": 9}))
    await killed(tmp_path, 2, calls(("add", {"n": 1})), tools=[ledger.add], approver=edits)
    answered(await again(tmp_path, says("done"), tools=[ledger.add]).resume_run("run_1"))
    assert ledger.asked == [({"n": 9}, "run_1/call_1_0")]


async def test_what_a_reconciler_found_is_shown_to_the_hooks(tmp_path: Path) -> None:
    ledger, seen = Ledger(), Recorder()
    await killed(tmp_path, 2, calls(("add", {"n": 1})), tools=[ledger.add])

    def withheld(call: ToolUseBlock, result: ToolResult) -> Veto:
        return Veto(f"{call.name} said {result.text}")

    loop = again(tmp_path, says("done"), tools=[ledger.add], hooks=[Hooks(after_result=withheld)], observe=[seen])
    outcome = answered(await loop.resume_run("run_1"))
    assert kinds(outcome) == ["denied"]
    assert texts(outcome) == ["denied: add ran, and its result is withheld: add said added 1"]
    assert [hooked.point for hooked in seen.of(Hooked)] == ["after_result"]
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1)), "one order, from the beginning"


@pytest.mark.parametrize("breaks", ["error", ""])
async def test_what_is_no_result_is_not_shown_to_the_hooks(tmp_path: Path, breaks: str) -> None:
    ledger = Ledger()
    await killed(tmp_path, 2, calls(("add", {"n": 1})), tools=[ledger.add])
    shown: list[str] = []
    hooks = [Hooks(after_result=lambda call, result: shown.append(result.text))]
    loop = again(tmp_path, says("done"), tools=[Ledger(breaks).add], hooks=hooks)
    outcome = answered(await loop.resume_run("run_1"))
    # Without the row the call did not run, so it runs now, and that is what is shown.
    assert (kinds(outcome), shown) == ((["outcome_unknown"], []) if breaks else (["ok"], ["added 1"]))


async def test_a_call_that_was_changed_before_a_kill_runs_as_changed_and_is_not_shown_again(tmp_path: Path) -> None:
    seen: list[int] = []

    def doubled(call: ToolUseBlock) -> ToolUseBlock:
        seen.append(call.input["n"])
        return replace(call, input={"n": 2 * call.input["n"]})

    hooks = [Hooks(before_tool=doubled)]
    await killed(tmp_path, 2, calls(("read", {"n": 1})), hooks=hooks)
    outcome = answered(await again(tmp_path, says("done"), hooks=hooks).resume_run("run_1"))
    assert (RAN, seen, texts(outcome)) == (["read 2", "read 2"], [1], ["read 2"])


async def test_cancelled_while_a_reconciler_is_asked_the_run_can_be_taken_again(tmp_path: Path) -> None:
    await killed(tmp_path, 2, calls(("add", {"n": 1})), tools=[Ledger().add])
    running = asyncio.create_task(again(tmp_path, tools=[Ledger("hangs").add]).resume_run("run_1"))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert tasks_left() == set()
    assert kinds(answered(await again(tmp_path, says("done")).resume_run("run_1"))) == ["outcome_unknown"]


def test_what_is_no_reconciler_is_misuse() -> None:
    with pytest.raises(Misuse) as caught:
        geode.tool(reconcile=cast("Any", "look"))
    assert caught.value.id == "tool-reconcile"


# ---- suspended ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["snapshot", "journal"])
async def test_suspended_in_one_process_and_approved_a_day_later_in_another(tmp_path: Path, way: str) -> None:
    script = (calls(("read", {"n": 0}), ("write", {"n": 1})), says("done"))
    at_once = answered(await again(tmp_path / "other", *script, clock=ManualClock(1000.0)).run("go"))

    policy = Policy(max_seconds=60)
    parked = await again(
        tmp_path, script[0], approver=Asks(lambda call: Later()), clock=ManualClock(1000.0), policy=policy
    ).run("go")
    assert isinstance(parked, Suspended)
    loop = again(tmp_path, script[1], clock=ManualClock(1000.0 + 86_400), approver=None)
    yes = {call.id: Approve() for call in parked.asked}
    outcome = answered(await (loop.resume(parked.snapshot, yes) if way == "snapshot" else loop.resume_run(parked.run_id, yes)))
    assert outcome.conversation == at_once.conversation
    assert (outcome.text, outcome.usage) == (at_once.text, at_once.usage)
    found = replay(FileJournal(tmp_path).recorded(parked.run_id))
    assert (found.divergence, found.inputs) == (None, 5)


async def test_a_snapshot_is_taken_up_once(tmp_path: Path) -> None:
    parked = await again(tmp_path, calls(("write", {"n": 1})), approver=Asks(lambda call: Later())).run("go")
    assert isinstance(parked, Suspended)
    yes = {call.id: Approve() for call in parked.asked}
    answered(await again(tmp_path, says("done")).resume(parked.snapshot, yes))
    with pytest.raises(Misuse, match="has gone on since this snapshot was made") as caught:
        await again(tmp_path).resume(parked.snapshot, yes)
    assert caught.value.id == "stale-snapshot"
    assert RAN == ["write 1"]


async def test_no_answers_suspend_again(tmp_path: Path) -> None:
    await again(tmp_path, calls(("write", {"n": 1})), approver=Asks(lambda call: Later())).run("go")
    outcome = await again(tmp_path, approver=None).resume_run("run_1")
    assert isinstance(outcome, Suspended)
    answer = {"call_1_0": Deny("no")}
    assert kinds(answered(await again(tmp_path, says("done")).resume_run("run_1", answer))) == ["denied"]


# ---- what cannot be resumed --------------------------------------------------------------------


@pytest.mark.parametrize("make", [MemoryJournal, FileJournal])
async def test_a_run_that_is_over_gives_its_outcome_again(tmp_path: Path, make: Callable[..., JournalStore]) -> None:
    journal = make() if make is MemoryJournal else make(tmp_path)
    loop = loop_of(says("one"), journal=journal)
    outcome = await loop.run("go")
    loop = loop_of(journal=journal)
    assert await loop.resume_run(outcome.run_id) == outcome
    assert loop.conversation == outcome.conversation


async def test_a_cancelled_run_is_over(tmp_path: Path) -> None:
    @geode.tool(tier="safe")
    async def never() -> None:
        await asyncio.Event().wait()

    loop = again(tmp_path, calls(("never", {})), tools=[never])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    outcome = await again(tmp_path).resume_run("run_1")
    assert isinstance(outcome, Stopped)
    assert_whole(outcome.conversation)
    assert kinds(outcome) == ["interrupted"]


async def test_a_journal_that_cannot_be_read_is_misuse() -> None:
    with pytest.raises(Misuse, match=r'session\(journal="FOLDER"\)') as caught:
        await loop_of(journal=NoJournal()).resume_run("run_1")
    assert caught.value.id == "journal-reads"


async def test_an_unknown_run(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="has no run 'nope'"):
        await again(tmp_path).resume_run("nope")


async def test_an_answer_for_nothing_is_misuse_and_the_run_is_let_go(tmp_path: Path) -> None:
    await killed(tmp_path, 0, says("lost"))
    with pytest.raises(Misuse, match="no call 'x' waits for an answer; waiting: none"):
        await again(tmp_path).resume_run("run_1", {"x": Approve()})
    answered(await again(tmp_path, says("done")).resume_run("run_1"))


async def test_a_run_under_way_cannot_be_taken(tmp_path: Path) -> None:
    @geode.tool(tier="safe")
    async def meanwhile() -> str:
        for loop in (again(tmp_path), mine):
            with pytest.raises((JournalError, Misuse)) as caught:
                await loop.resume_run("run_1")
            said.append(str(caught.value))
        return "ok"

    said: list[str] = []
    mine = again(tmp_path, calls(("meanwhile", {})), says("done"), tools=[meanwhile])
    answered(await mine.run("go"))
    assert "run run_1 is being run already, by this process" in said[0]
    assert "one-run" in said[1]


async def test_a_run_that_this_geode_decides_otherwise_is_refused(tmp_path: Path) -> None:
    class Older(MemoryJournal):
        def taken(self, run_id: str) -> Recording:
            first, second, *rest = super().taken(run_id).records
            assert isinstance(second, Happened)
            return Recording(run_id, (first, Happened("other", second.input), *rest))

    journal = Older()
    await loop_of(says("one"), journal=journal).run("go")
    with pytest.raises(JournalError, match=r"this geode decides otherwise than .*\. record 2: recorded other, replayed "):
        await loop_of(journal=journal).resume_run("run_1")


async def test_a_run_that_never_began(tmp_path: Path) -> None:
    (tmp_path / "run_1.jsonl").touch()
    with pytest.raises(JournalError, match="was cut off before it began; run its prompt again"):
        await again(tmp_path).resume_run("run_1")


async def test_a_journal_that_fails_at_the_end_fails_no_run(caplog: pytest.LogCaptureFixture) -> None:
    class Full(MemoryJournal):
        def left(self, state: State) -> None:
            raise OSError("no space left")

    with caplog.at_level(logging.WARNING, logger="geode"):
        outcome = await loop_of(says("done"), journal=Full()).run("go")
    assert isinstance(outcome, Answered)
    assert "no space left" in caplog.text
