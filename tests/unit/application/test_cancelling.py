"""Ending a run from outside: cancelled, stopped or its stream left, anywhere; the conversation is whole afterwards."""

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from returns.result import Result

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve, Decision, Later, Question
from geode.domain.errors import Misuse
from geode.domain.failures import CallFailure
from geode.domain.loop.inputs import Input, Interrupted, StopRequested
from geode.domain.loop.outcome import Outcome
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest
from geode.domain.script import Reply, Said, Step, calls, fails, hangs, says
from geode.domain.turns import AssistantTurn, UserTurn
from geode.domain.usage import Usage
from geode.events import Spending
from geode.ports.events import Event, Finished, ModelCalled, ModelReplied, RoundClosed, TextDelta, ToolFinished, ToolStarted
from geode.ports.model import Emit, TextPart
from tests.unit.application.rig import (
    Asks,
    answered,
    assert_whole,
    kinds,
    loop_of,
    outcome_of,
    replayed,
    tasks_left,
    texts,
    turns,
)

DONE: list[str] = []
OVER = threading.Event()


@pytest.fixture(autouse=True)
def _nothing_done() -> Any:
    DONE.clear()
    OVER.clear()
    yield
    OVER.set()


@geode.tool(tier="safe")
async def quick(n: int) -> str:
    await asyncio.sleep(0)
    DONE.append(f"quick {n}")
    return f"quick {n}"


@geode.tool(tier="write")
async def write(n: int) -> str:
    await turns(2)
    DONE.append(f"write {n}")
    return f"wrote {n}"


@geode.tool(tier="safe")
async def never() -> str:
    await asyncio.Event().wait()
    return "never"


@geode.tool(tier="safe")
def blocks() -> str:
    OVER.wait()
    return "never"


class SlowModel(ScriptedModel):
    """Thinks for two turns of the event loop."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        await turns(2)
        return await super().acomplete(request, emit)


async def slow_observer(event: Event) -> None:
    await asyncio.sleep(0)


def busy(*, slow: bool = False, journal: MemoryJournal | None = None) -> AgenticLoop:
    """Three rounds: parallel calls, a barrier with a question, a failure that is waited for, text."""
    steps: list[Step] = [
        calls(("quick", {"n": 0}), ("quick", {"n": 1}), ("write", {"n": 2}), ("quick", {"n": 3})),
        fails(500),
        calls(("write", {"n": 4}), ("nope", {}), ("quick", {"n": 5})),
        says("done"),
    ]
    return loop_of(
        model=(SlowModel if slow else ScriptedModel)(*steps),
        tools=[quick, write],
        approver=Asks(),
        clock=ManualClock(),
        observe=[slow_observer] if slow else [],
        journal=journal,
    )


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("count", range(61))
async def test_cancelled_after_so_many_turns_of_the_event_loop(count: int, slow: bool) -> None:
    journal = MemoryJournal()
    loop = busy(slow=slow, journal=journal)
    running = asyncio.create_task(loop.run("go"))
    await turns(count)
    if running.done():
        answered(running.result())
        return
    finished = list(DONE)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert tasks_left() == set()
    assert_whole(loop.conversation)
    if journal.states:
        assert isinstance(loop.conversation.turns[0], UserTurn)
        assert loop.conversation == replayed(journal).closed, "the journal and the loop tell the same"
    # A call whose tool came to its end has its result; of the others it is known that they were cut off.
    found = [text for text in texts(loop.conversation) if not text.startswith(("interrupted", "there is no tool"))]
    assert {text.replace("wrote", "write") for text in found} >= set(finished)
    assert set(kinds(loop.conversation)) <= {"ok", "failed", "interrupted"}
    # And the session can be used on.
    assert list(loop.conversation.grown(UserTurn(())).turns[:-1]) == list(loop.conversation.turns)


async def test_finished_results_are_kept_and_the_rest_is_interrupted() -> None:
    loop = loop_of(calls(("quick", {"n": 0}), ("never", {}), ("blocks", {}), ("quick", {"n": 3})), tools=[quick, never, blocks])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(loop.conversation) == ["ok", "interrupted", "interrupted", "ok"]
    assert_whole(loop.conversation)
    assert tasks_left() == set()


async def test_a_tool_that_ends_because_it_was_cancelled_has_not_finished() -> None:
    @geode.tool(tier="safe")
    async def polite() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "I gave up"

    loop = loop_of(calls(("polite", {}), ("polite", {})), tools=[polite])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(loop.conversation) == ["interrupted", "interrupted"]


async def test_a_timeout_around_the_run_is_a_cancellation() -> None:
    loop = loop_of(calls(("never", {})), tools=[never])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await loop.run("go")
    assert kinds(loop.conversation) == ["interrupted"]


async def test_cancelling_withdraws_a_question() -> None:
    asks = Asks(seconds=30)
    loop = loop_of(calls(("quick", {"n": 0}), ("write", {"n": 1})), tools=[quick, write], approver=asks)
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    assert asks.open == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asks.open == 0
    assert kinds(loop.conversation) == ["ok", "interrupted"]
    assert tasks_left() == set()


async def test_a_question_that_is_withdrawn_is_waited_for() -> None:
    withdrawn: list[str] = []

    class Tidy(Asks):
        async def decide(self, question: Question) -> Mapping[str, Decision]:
            try:
                return await super().decide(question)
            finally:
                await turns(5)
                withdrawn.append(question.run_id)

    loop = loop_of(calls(("write", {"n": 1})), tools=[write], approver=Tidy(seconds=30))
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert withdrawn == ["run_1"]
    assert tasks_left() == set()


async def test_cancelling_twice_still_leaves_a_whole_conversation() -> None:
    @geode.tool(tier="safe")
    async def stubborn() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.sleep(0.1)

    loop = loop_of(calls(("stubborn", {}), ("quick", {"n": 1})), tools=[quick, stubborn])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    running.cancel()
    await turns(3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert_whole(loop.conversation)
    await asyncio.gather(*tasks_left())


async def test_after_a_cancellation_the_session_runs_again() -> None:
    loop = loop_of(calls(("never", {})), says("welcome back"), tools=[never])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    outcome = answered(await loop.run("again", conversation=loop.conversation))
    assert outcome.text == "welcome back"
    assert kinds(outcome) == ["interrupted"]


async def test_what_a_broken_journal_ends_leaves_nothing_running() -> None:
    class Full(MemoryJournal):
        def happened(self, before: Any, input: Input) -> None:
            if len(self.inputs[before.terms.run_id]) == 1:
                raise OSError("no space left on device")
            super().happened(before, input)

    loop = loop_of(calls(("quick", {"n": 0}), ("never", {})), tools=[quick, never], journal=Full())
    with pytest.raises(OSError, match="no space left"):
        await loop.run("go")
    assert tasks_left() == set()
    assert_whole(loop.conversation)
    assert kinds(loop.conversation) == ["ok", "interrupted"], "what happened, happened, written or not"


# ---- one run at a time -------------------------------------------------------------------------


async def test_a_second_run_is_misuse_and_does_not_touch_the_first() -> None:
    loop = loop_of(calls(("quick", {"n": 0})), says("done"), tools=[quick])
    running = asyncio.create_task(loop.run("go"))
    await turns(2)
    with pytest.raises(Misuse, match="Runtime") as caught:
        await loop.run("me too")
    assert caught.value.id == "one-run"
    with pytest.raises(Misuse):
        async for _ in loop.stream("me too"):
            pass
    assert answered(await running).text == "done"


# ---- stopping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("count", range(61))
async def test_stopped_after_so_many_turns_of_the_event_loop(count: int, slow: bool) -> None:
    journal = MemoryJournal()
    loop = busy(slow=slow, journal=journal)
    running = asyncio.create_task(loop.run("go"))
    await turns(count)
    started = len(journal.states) == 1
    loop.stop()
    loop.stop()
    outcome = await running
    assert_whole(outcome.conversation)
    assert tasks_left() == set()
    if not started:
        return
    assert isinstance(outcome, geode.Stopped | geode.Answered)
    assert outcome == outcome_of(replayed(journal))
    # What ran was allowed to finish: nothing that finished is missing, nothing is there that did not run.
    found = [text for text in texts(outcome) if not text.startswith(("interrupted", "there is no tool"))]
    assert sorted(text.replace("wrote", "write") for text in found) == sorted(DONE)


async def test_stopping_a_model_call_ends_it() -> None:
    loop = loop_of(hangs())
    running = asyncio.create_task(loop.run("go"))
    await turns(5)
    loop.stop()
    outcome = await asyncio.wait_for(running, 1)
    assert isinstance(outcome, geode.Stopped)
    assert (outcome.reason, outcome.text) == ("stopped", "")


async def test_what_was_shown_when_a_model_call_was_stopped_is_in_the_text_and_its_cost_is_unknown() -> None:
    """Spec section 6: every outcome carries the text so far, usage and cost."""

    class Slow(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            await emit(TextPart(0, "It is"))
            await asyncio.Event().wait()
            raise AssertionError

    journal = MemoryJournal()
    loop = loop_of(model=Slow(), journal=journal)
    outcomes: list[Outcome] = []
    async for event in loop.stream("go"):
        if isinstance(event, TextDelta):
            loop.stop()
        if isinstance(event, Finished):
            outcomes.append(event.outcome)
    (outcome,) = outcomes
    assert isinstance(outcome, geode.Stopped)
    assert (outcome.text, outcome.usage) == ("It is", Usage(unpriced_calls=1))
    assert [turn for turn in outcome.conversation.turns if isinstance(turn, AssistantTurn)] == []
    assert outcome == outcome_of(replayed(journal))


@pytest.mark.parametrize("way", ["stop", "slow stop", "cancel"])
async def test_a_reply_that_has_come_counts_whatever_is_done_while_it_is_told(way: str) -> None:
    """Spec section 6: every outcome carries the text so far, usage and cost; section 3: nothing that came is lost."""
    running: list[asyncio.Task[Outcome]] = []

    async def watch(event: Event) -> None:
        if isinstance(event, ModelReplied):
            running[0].cancel() if way == "cancel" else loop.stop()
            await turns(3 if way == "slow stop" else 0)

    journal, spending = MemoryJournal(), Spending()
    loop = loop_of(says("The answer is 42."), observe=[spending, watch], journal=journal)
    running.append(asyncio.create_task(loop.run("go")))
    if way == "cancel":
        with pytest.raises(asyncio.CancelledError):
            await running[0]
    else:
        outcome = await running[0]
        assert (outcome.text, outcome.usage.total_tokens) == ("The answer is 42.", 15)
        assert outcome == outcome_of(replayed(journal))
    assert [turn.text for turn in loop.conversation.turns if isinstance(turn, AssistantTurn)] == ["The answer is 42."]
    assert loop.spent.usage.total_tokens == spending.spent.usage.total_tokens == 15


async def test_a_stop_at_the_last_word_keeps_the_reply() -> None:
    loop = loop_of(says("42."))
    outcome: Outcome | None = None
    async for event in loop.stream("go"):
        if isinstance(event, TextDelta):
            loop.stop()
        outcome = event.outcome if isinstance(event, Finished) else outcome
    assert outcome is not None
    assert (outcome.text, outcome.usage.total_tokens) == ("42.", 15)


async def test_stopping_ends_the_wait_for_a_retry() -> None:
    loop = loop_of(fails(500, retry_after=30))
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    loop.stop()
    assert isinstance(await asyncio.wait_for(running, 1), geode.Stopped)


async def test_stopping_a_stage_lets_what_runs_finish_and_starts_nothing() -> None:
    release = asyncio.Event()

    @geode.tool(tier="safe")
    async def waits() -> str:
        await release.wait()
        return "finished"

    journal = MemoryJournal()
    loop = loop_of(
        says("On it.") + calls(("waits", {}), ("write", {"n": 1}), ("quick", {"n": 2})),
        tools=[waits, write, quick],
        approver=Asks(),
        journal=journal,
    )
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    loop.stop()
    await asyncio.sleep(0.02)
    assert not running.done()
    release.set()
    outcome = await running
    assert isinstance(outcome, geode.Stopped)
    assert kinds(outcome) == ["ok", "interrupted", "interrupted"]
    assert outcome.text == "On it."
    assert [type(input) for input in journal.inputs["run_1"]].count(StopRequested) == 1


async def test_a_cancellation_after_a_stop_is_a_cancellation() -> None:
    loop = loop_of(calls(("never", {})), tools=[never])
    running = asyncio.create_task(loop.run("go"))
    await asyncio.sleep(0.02)
    loop.stop()
    await turns(3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(loop.conversation) == ["interrupted"]


@pytest.mark.parametrize("kind", [ModelCalled, TextDelta, ToolFinished])
async def test_stopping_from_within_an_observer(kind: type[Event]) -> None:
    def observe(event: Event) -> None:
        if isinstance(event, kind):
            loop.stop()

    model = ScriptedModel(says("hm") + calls(("quick", {"n": 0})), says("done"))
    loop = loop_of(model=model, tools=[quick], observe=[observe])
    events = [event async for event in loop.stream("go")]
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.outcome, geode.Stopped)
    assert len(model.requests) <= 1


@pytest.mark.parametrize("script", [[says("done")], [calls(("quick", {"n": 0})), says("done")]], ids=["text", "call"])
@pytest.mark.parametrize("kind", [ModelCalled, ModelReplied, ToolStarted, ToolFinished, RoundClosed, Finished])
async def test_stopping_is_no_cancellation_of_whoever_runs(kind: type[Event], script: list[Step]) -> None:
    def observe(event: Event) -> None:
        if isinstance(event, kind):
            loop.stop()

    loop = loop_of(*script, tools=[quick], observe=[observe])
    outcome = await loop.run("go")
    assert isinstance(outcome, geode.Stopped | geode.Answered)
    await turns(3)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_stopping_what_does_not_run_does_nothing() -> None:
    loop = loop_of(says("one"), says("two"))
    loop.stop()
    assert answered(await loop.run("go")).text == "one"
    loop.stop()
    assert answered(await loop.run("go")).text == "two"


async def test_a_suspended_run_is_not_a_running_one() -> None:
    loop = loop_of(calls(("write", {"n": 0})), says("done"), tools=[write], approver=Asks(lambda call: Later()))
    parked = await loop.run("go")
    assert isinstance(parked, geode.Suspended)
    loop.stop()
    assert answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()})).text == "done"


# ---- streams -----------------------------------------------------------------------------------


async def test_closing_the_iterator_cancels_the_run() -> None:
    journal = MemoryJournal()
    loop = loop_of(calls(("quick", {"n": 0}), ("never", {})), tools=[quick, never], journal=journal)
    events = loop.stream("go")
    async for event in events:
        if isinstance(event, ToolFinished):
            break
    await events.aclose()
    assert tasks_left() == set()
    assert kinds(loop.conversation) == ["ok", "interrupted"]
    assert isinstance(journal.inputs["run_1"][-1], Interrupted)
    assert_whole(loop.conversation)


@pytest.mark.parametrize("count", range(25))
async def test_leaving_the_stream_after_so_many_events(count: int) -> None:
    loop = busy()
    events = loop.stream("go")
    for _ in range(count):
        await anext(events, None)
    await events.aclose()
    assert tasks_left() == set()
    assert_whole(loop.conversation)


async def test_cancelling_the_reader_cancels_the_run() -> None:
    loop = loop_of(calls(("never", {})), tools=[never])

    async def read() -> None:
        async for _ in loop.stream("go"):
            pass

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.02)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert tasks_left() == set()
    assert kinds(loop.conversation) == ["interrupted"]


async def test_a_slow_reader_slows_the_model_and_bounds_what_waits() -> None:
    told = 0

    def count(event: Event) -> None:
        nonlocal told
        told += 1

    loop = loop_of(Reply(tuple(Said("x") for _ in range(500))), observe=[count])
    events = loop.stream("go")
    await anext(events)
    await turns(2000)
    assert told <= 64 + 2, "64 events wait, one was read, one is on its way"
    rest = [event async for event in events]
    assert len(rest) == 500 + 2
    assert isinstance(rest[-1], Finished)


async def test_leaving_a_full_stream_does_not_hang() -> None:
    loop = loop_of(Reply(tuple(Said("x") for _ in range(500))))
    events = loop.stream("go")
    await anext(events)
    await turns(200)
    await asyncio.wait_for(events.aclose(), 2)
    assert tasks_left() == set()


async def test_an_exception_of_the_run_reaches_the_reader() -> None:
    loop = loop_of()
    with pytest.raises(AssertionError, match="the script has 0 steps"):
        async for _ in loop.stream("go"):
            pass
    assert tasks_left() == set()


async def test_stopping_from_a_reader_ends_the_stream_with_its_outcome() -> None:
    loop = loop_of(says("part") + calls(("quick", {"n": 1})), hangs(), tools=[quick])
    seen: list[Event] = []
    async for event in loop.stream("go"):
        seen.append(event)
        if isinstance(event, RoundClosed):
            loop.stop()
    last = seen[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.outcome, geode.Stopped)
    assert last.outcome.text == "part"


async def test_a_cancellation_asked_for_before_the_run_and_not_yet_delivered_is_one_of_the_run() -> None:
    """Ctrl-C while the program imports something: the task is told only at its next wait, which is inside the run."""

    async def application() -> geode.Outcome:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return await geode.run("go", model=ScriptedModel(hangs()))

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.create_task(application()), 5)
