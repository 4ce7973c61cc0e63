"""What observers and streams are told, in which order, and that they never end a run."""

import asyncio
import logging
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.script import Called, Step, calls, drops, fails, says, thinks
from geode.domain.usage import Usage
from geode.ports.events import (
    CallDelta,
    Event,
    Finished,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    Notice,
    Retrying,
    RoundClosed,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from tests.unit.application.rig import Asks, Recorder, answered, loop_of, tasks_left

DELTAS = (TextDelta, ThinkingDelta, CallDelta)


@geode.tool(tier="safe")
async def look(n: int = 0) -> str:
    await asyncio.sleep(0)
    return f"seen {n}"


SCRIPT: list[Step] = [
    thinks("hm") + says("Looking.") + calls(("look", {"n": 1}), ("look", {"n": 2})),
    fails(500),
    calls(("look", {"n": 3})),
    says("done"),
]


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


async def test_the_events_of_a_run_in_their_order() -> None:
    seen = Recorder()
    await loop_of(*SCRIPT, tools=[look], observe=[seen], clock=ManualClock()).run("go")
    assert [(type(event), event.round, event.attempt) for event in seen.events] == [
        (ModelCalled, 1, 1),
        (ModelReplied, 1, 1),
        (ToolStarted, 1, 1),
        (ToolStarted, 1, 1),
        (ToolFinished, 1, 1),
        (ToolFinished, 1, 1),
        (RoundClosed, 1, 1),
        (ModelCalled, 2, 1),
        (ModelFailed, 2, 1),
        (Retrying, 2, 1),
        (ModelCalled, 2, 2),
        (ModelReplied, 2, 2),
        (ToolStarted, 2, 2),
        (ToolFinished, 2, 2),
        (RoundClosed, 2, 2),
        (ModelCalled, 3, 1),
        (ModelReplied, 3, 1),
        (Finished, 3, 1),
    ]
    assert [event.seq for event in seen.events] == list(range(1, 19))
    assert {event.run_id for event in seen.events} == {"run_1"}


async def test_a_plain_run_has_no_deltas_and_a_stream_has_them_for_observers_too() -> None:
    plain, beside = Recorder(), Recorder()
    model = ScriptedModel(*SCRIPT)
    await loop_of(model=model, tools=[look], observe=[plain], clock=ManualClock()).run("go")
    assert not any(request.streamed for request in model.requests)
    streaming = ScriptedModel(*SCRIPT)
    loop = loop_of(model=streaming, tools=[look], observe=[beside], clock=ManualClock())
    streamed = [event async for event in loop.stream("go")]
    assert all(request.streamed for request in streaming.requests)
    assert names(beside.events) == names(streamed)
    assert [event.seq for event in streamed] == list(range(1, len(streamed) + 1))
    assert names(plain.events) == [name for name in names(streamed) if "Delta" not in name]
    assert not any(isinstance(event, DELTAS) for event in plain.events)


async def test_deltas_carry_the_index_of_their_part() -> None:
    events = [event async for event in loop_of(*SCRIPT, tools=[look], clock=ManualClock()).stream("go")]
    first = [event for event in events if event.round == 1 and isinstance(event, DELTAS)]
    assert [(type(event), event.index) for event in first] == [
        (ThinkingDelta, 0),
        (TextDelta, 1),
        (CallDelta, 2),
        (CallDelta, 3),
    ]
    assert isinstance(first[2], CallDelta)
    assert (first[2].name, first[2].arguments) == ("look", '{"n":1}')


async def test_a_retry_comes_after_the_deltas_that_it_voids() -> None:
    thinking = drops("after_output", thinks("hmm"))
    events = [event async for event in loop_of(thinking, says("done"), clock=ManualClock()).stream("go")]
    assert names(events) == [
        "ModelCalled",
        "ThinkingDelta",
        "ModelFailed",
        "Retrying",
        "ModelCalled",
        "TextDelta",
        "ModelReplied",
        "Finished",
    ]
    assert [event.attempt for event in events] == [1, 1, 1, 1, 2, 2, 2, 2]


async def test_the_reply_event_tells_what_an_operator_wants_to_know() -> None:
    seen = Recorder()
    await loop_of(says("done"), observe=[seen]).run("go")
    (called,), (replied,) = seen.of(ModelCalled), seen.of(ModelReplied)
    assert (called.adapter, called.model, called.tool_choice, called.wrap_up) == ("scripted", "m", "auto", False)
    assert (replied.text, replied.calls, replied.usage, replied.route) == ("done", (), Usage(10, 5, unpriced_calls=1), "m")


async def test_a_named_choice_is_told_by_its_name() -> None:
    seen = Recorder()
    loop = loop_of(calls(("look", {})), says("done"), tools=[look], observe=[seen])
    await loop.run("go", tool_choice={"name": "look"})
    assert [event.tool_choice for event in seen.of(ModelCalled)] == ["named:look", "auto"]


async def test_calls_have_the_same_id_in_every_event() -> None:
    seen = Recorder()
    broken = calls(Called("look", {}, id=""), Called("look", {}, id="x"), Called("look", {}, id="x"))
    outcome = answered(await loop_of(broken, says("done"), tools=[look], observe=[seen]).run("go"))
    ids = [result.call_id for result in outcome.conversation.results()]
    assert len(set(ids)) == 3
    assert [event.call.id for event in seen.of(ToolStarted)] == ids
    assert [call.id for call in seen.of(ModelReplied)[0].calls] == ids
    assert [result.call_id for result in seen.of(RoundClosed)[0].results] == ids


# ---- observers ---------------------------------------------------------------------------------


async def test_observers_may_be_coroutines_and_all_see_one_order() -> None:
    slow: list[int] = []
    quick = Recorder()

    async def observe(event: Event) -> None:
        await asyncio.sleep(0.001 * (event.seq % 3))
        slow.append(event.seq)

    steps = [calls(*[("look", {"n": n}) for n in range(6)]), says("done")]
    loop = loop_of(*steps, tools=[look], observe=[observe, quick])
    streamed = [event async for event in loop.stream("go")]
    assert slow == [event.seq for event in quick.events] == [event.seq for event in streamed]
    assert slow == list(range(1, len(slow) + 1))
    assert isinstance(streamed[-1], Finished)


async def test_an_observer_that_raises_is_noticed_once_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    told = 0

    def broken(event: Event) -> None:
        nonlocal told
        told += 1
        raise ValueError("disk full")

    async def broken_too(event: Event) -> None:
        raise asyncio.CancelledError

    seen = Recorder()
    with caplog.at_level(logging.WARNING, "geode"):
        outcome = await loop_of(*SCRIPT, tools=[look], observe=[broken, seen, broken_too], clock=ManualClock()).run("go")
    assert answered(outcome).text == "done"
    notices = seen.of(Notice)
    assert [notice.kind for notice in notices] == ["observer_failed", "observer_failed"]
    assert "ValueError: disk full" in notices[0].text
    assert "CancelledError" in notices[1].text
    assert told == len(seen.events), "it is told on"
    assert len(caplog.records) == 2
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))


async def test_an_observer_that_only_breaks_on_notices_is_noticed() -> None:
    def broken(event: Event) -> None:
        raise ValueError("first")

    def picky(event: Event) -> None:
        if isinstance(event, Notice):
            raise KeyError("second")

    seen = Recorder()
    answered(await loop_of(says("done"), observe=[broken, picky, seen]).run("go"))
    assert [notice.text.partition(" raised ")[2] for notice in seen.of(Notice)] == ["ValueError: first", "KeyError: 'second'"]


async def test_events_are_not_made_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("an event was made")

    for kind in (ModelCalled, ToolStarted, RoundClosed, Finished):
        monkeypatch.setattr(kind, "__init__", refuse)
    answered(await loop_of(*SCRIPT, tools=[look], clock=ManualClock()).run("go"))


async def test_the_last_event_of_a_stream_is_its_end_whatever_it_is() -> None:
    @geode.tool
    async def danger() -> str:
        return "boom"

    for steps, kind in (
        ([fails(400)], geode.Failed),
        ([calls(("danger", {}))], geode.Suspended),
        ([says("done")], geode.Answered),
    ):
        approver = Asks(lambda call: geode.Later())
        events = [event async for event in loop_of(*steps, tools=[danger], approver=approver).stream("go")]
        last = events[-1]
        assert isinstance(last, Finished)
        assert isinstance(last.outcome, kind)
    assert tasks_left() == set()
