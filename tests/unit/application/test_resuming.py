"""Suspended runs: resumed here or elsewhere, from nothing but the text of the snapshot."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve, Decision, Deny, Grant, Later
from geode.domain.errors import CodecError, Misuse
from geode.domain.loop.outcome import Suspended
from geode.domain.policy import Policy
from geode.domain.script import Step, calls, says
from geode.ports.events import ApprovalAsked, Event, Finished, RoundClosed, TextDelta, ToolStarted
from tests.unit.application.rig import Asks, Recorder, answered, assert_whole, kinds, loop_of, outcome_of, replayed, texts

LATER = Asks(lambda call: Later())
RAN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@geode.tool(tier="safe")
async def read(n: int) -> str:
    RAN.append(f"read {n}")
    return f"read {n}"


@geode.tool(tier="write")
async def write(n: int) -> str:
    RAN.append(f"write {n}")
    return f"wrote {n}"


@geode.tool(tier="expensive")
async def pay(n: int) -> str:
    RAN.append(f"pay {n}")
    return f"paid {n}"


TOOLS = (read, write, pay)


def session(*steps: Step, tools: Iterable[object] = TOOLS, **more: Any) -> AgenticLoop:
    return loop_of(*steps, tools=tools, **{"approver": LATER, **more})


async def suspended(*wanted: tuple[str, dict[str, Any]], **more: Any) -> Suspended:
    """A run whose first round waits for a person."""
    loop = session(calls(*wanted), **more)
    outcome = await loop.run("go")
    assert isinstance(outcome, Suspended), outcome
    assert_whole(outcome.conversation)
    assert loop.conversation == outcome.conversation
    return outcome


async def test_the_rest_of_the_stage_finishes_before_the_run_is_suspended() -> None:
    outcome = await suspended(("read", {"n": 0}), ("pay", {"n": 1}), ("read", {"n": 2}), ("write", {"n": 3}))
    assert RAN == ["read 0", "read 2"]
    assert [(call.name, call.input) for call in outcome.asked] == [("pay", {"n": 1})]
    assert len(outcome.conversation.turns) == 1, "the open round is in the snapshot alone"
    assert outcome.reason == "suspended"


async def test_resumed_in_the_same_session() -> None:
    loop = session(calls(("read", {"n": 0}), ("write", {"n": 1})), says("done"))
    parked = await loop.run("go")
    assert isinstance(parked, Suspended)
    outcome = answered(await loop.resume(parked.snapshot, {call.id: Approve() for call in parked.asked}))
    assert (outcome.text, texts(outcome)) == ("done", ["read 0", "wrote 1"])
    assert RAN == ["read 0", "write 1"]
    assert outcome.run_id == parked.run_id
    assert outcome.usage.input_tokens == 20
    assert loop.conversation == outcome.conversation


async def test_resumed_as_a_stream() -> None:
    parked = await suspended(("write", {"n": 1}))
    loop = session(says("done"))
    events = [event async for event in loop.stream_resume(parked.snapshot, {call.id: Approve() for call in parked.asked})]
    assert [type(event).__name__ for event in events if not isinstance(event, TextDelta)] == [
        "ToolStarted",
        "ToolFinished",
        "RoundClosed",
        "ModelCalled",
        "ModelReplied",
        "Finished",
    ]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["done"]


@pytest.mark.parametrize(
    ("answer", "kind", "ran"),
    [
        (Approve(), "ok", ["write 1"]),
        (Approve(input={"n": 9}), "ok", ["write 9"]),
        (Approve(input={"n": "nine"}), "failed", []),
        (Deny("no"), "denied", []),
    ],
)
async def test_resumed_in_another_session_from_the_text_alone(answer: Decision, kind: str, ran: list[str]) -> None:
    parked = await suspended(("write", {"n": 1}))
    outcome = answered(await session(says("done")).resume(parked.snapshot, {parked.asked[0].id: answer}))
    assert kinds(outcome) == [kind]
    assert ran == RAN


async def test_a_finished_result_survives_and_is_not_made_again() -> None:
    parked = await suspended(("read", {"n": 0}), ("pay", {"n": 1}))
    outcome = answered(await session(says("done")).resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert texts(outcome) == ["read 0", "paid 1"]
    assert RAN == ["read 0", "pay 1"]


async def test_later_again_suspends_again() -> None:
    parked = await suspended(("pay", {"n": 0}), ("pay", {"n": 1}))
    first, second = parked.asked
    again = await session().resume(parked.snapshot, {first.id: Approve(), second.id: Later()})
    assert isinstance(again, Suspended)
    assert [call.id for call in again.asked] == [second.id]
    assert RAN == ["pay 0"]
    outcome = answered(await session(says("done")).resume(again.snapshot, {second.id: Approve()}))
    assert texts(outcome) == ["paid 0", "paid 1"]


async def test_a_call_without_an_answer_is_asked_of_this_sessions_approver() -> None:
    parked = await suspended(("pay", {"n": 0}), ("pay", {"n": 1}))
    asks = Asks()
    outcome = answered(await session(says("done"), approver=asks).resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert asks.asked == [["pay"]]
    assert texts(outcome) == ["paid 0", "paid 1"]


async def test_no_answers_at_all_suspend_again_with_the_same_calls() -> None:
    parked = await suspended(("write", {"n": 0}))
    again = await session().resume(parked.snapshot, {})
    assert isinstance(again, Suspended)
    assert again.asked == parked.asked


async def test_a_barrier_behind_a_call_that_waits_is_asked_after_it() -> None:
    parked = await suspended(("pay", {"n": 0}), ("write", {"n": 1}))
    asks = Asks()
    outcome = answered(await session(says("done"), approver=asks).resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert RAN == ["pay 0", "write 1"]
    assert asks.asked == [["write"]]
    assert kinds(outcome) == ["ok", "ok"]


async def test_without_an_approver_the_next_question_is_put_off_too() -> None:
    parked = await suspended(("pay", {"n": 0}), ("write", {"n": 1}))
    again = await session(approver=None).resume(parked.snapshot, {parked.asked[0].id: Approve()})
    assert isinstance(again, Suspended)
    assert [call.name for call in again.asked] == ["write"]


@pytest.mark.parametrize("call_id", ["call_9_9", "", "call_1_1"])
async def test_an_answer_for_a_call_that_does_not_wait_is_misuse(call_id: str) -> None:
    parked = await suspended(("pay", {"n": 0}), ("write", {"n": 1}))
    with pytest.raises(Misuse, match="waits for an answer; waiting: call_1_0") as caught:
        await session().resume(parked.snapshot, {call_id: Approve()})
    assert caught.value.id == "unknown-call"


@pytest.mark.parametrize("answers", [{"call_1_0": True}, {"call_1_0": "yes"}, [Approve()], None])
async def test_what_is_no_answer_is_misuse(answers: Any) -> None:
    parked = await suspended(("pay", {"n": 0}))
    with pytest.raises(Misuse) as caught:
        await session().resume(parked.snapshot, answers)
    assert caught.value.id == "answer-type"
    assert RAN == []


async def test_text_that_is_no_snapshot_is_refused() -> None:
    outcome = answered(await session(says("done")).run("go"))
    for text in ("", "{}", "[]", outcome.conversation.dumps()):
        with pytest.raises(CodecError):
            await session().resume(text, {})


@pytest.mark.parametrize("snapshot", [None, 5, b"{}"])
async def test_what_is_no_text_is_no_snapshot(snapshot: Any) -> None:
    with pytest.raises(Misuse, match="a snapshot is the text of a Suspended outcome, got ") as caught:
        await session().resume(snapshot, {})
    assert caught.value.id == "snapshot-type"


async def test_a_tool_that_vanished_has_failed_and_the_run_goes_on() -> None:
    parked = await suspended(("pay", {"n": 0}), ("write", {"n": 1}))
    loop = session(says("done"), tools=[read, write], approver=Asks())
    outcome = answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert kinds(outcome) == ["failed", "ok"]
    assert texts(outcome)[0] == "the tool pay is no longer there"


def changed(how: str) -> Any:
    async def other(n: int, twice: bool = False) -> str:
        RAN.append(f"other {n}")
        return "other"

    async def same(n: int) -> str:
        RAN.append(f"same {n}")
        return "same"

    function = other if how == "schema" else same
    function.__name__ = "write"
    return geode.tool(tier="dangerous" if how == "tier" else "write")(function)


@pytest.mark.parametrize("how", ["schema", "tier"])
async def test_a_tool_that_changed_is_asked_about_again(how: str) -> None:
    parked = await suspended(("write", {"n": 1}))
    asks = Asks(lambda call: Deny("not this one"))
    loop = session(says("done"), tools=[read, pay, changed(how)], approver=asks)
    outcome = answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert asks.asked == [["write"]], "the answer was for another tool"
    assert kinds(outcome) == ["denied"]
    assert RAN == []


async def test_arguments_that_a_changed_tool_takes_no_more_are_never_asked_about_nor_run() -> None:
    parked = await suspended(("write", {"n": 1}), ("write", {"n": 2}))

    @geode.tool(tier="write", name="write")
    async def words(n: str) -> str:
        RAN.append(f"words {n}")
        return "words"

    asks = Asks(lambda call: Approve())
    loop = session(says("done"), tools=[read, pay, words], approver=asks)
    outcome = answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert (asks.asked, RAN) == ([], [])
    assert kinds(outcome) == ["failed", "failed"]
    assert texts(outcome) == [f"write was not run: /n: {n} is not of type 'string'" for n in (1, 2)]


async def test_a_tool_that_is_the_same_is_not_asked_about_again() -> None:
    parked = await suspended(("write", {"n": 1}))
    asks = Asks()
    loop = session(says("done"), tools=[changed("nothing"), read, pay], approver=asks)
    outcome = answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()}))
    assert asks.questions == []
    assert texts(outcome) == ["same"]


@pytest.mark.parametrize("how", ["nothing", "tier"])
async def test_grants_outlive_the_suspension_unless_their_tool_changed(how: str) -> None:
    parked = await suspended(("write", {"n": 0}), policy=Policy(grants=(Grant("pay"),)))
    asks = Asks()
    loop = session(calls(("write", {"n": 1}), ("pay", {"n": 2})), says("done"), tools=[read, pay, changed(how)], approver=asks)
    outcome = answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve(always="tool")}))
    assert kinds(outcome) == ["ok"] * 3
    assert asks.asked == ([] if how == "nothing" else [["write"], ["write"]])


async def test_the_time_of_waiting_does_not_count() -> None:
    parked = await suspended(("write", {"n": 0}), clock=ManualClock(1000.0), policy=Policy(max_seconds=60))
    loop = session(says("done"), clock=ManualClock(1_000_000.0))
    assert answered(await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()})).text == "done"


async def test_the_limits_of_a_resumed_run_are_its_own() -> None:
    parked = await suspended(("write", {"n": 0}), policy=Policy(max_rounds=1))
    outcome = await session(policy=Policy(max_rounds=50)).resume(parked.snapshot, {parked.asked[0].id: Approve()})
    assert isinstance(outcome, geode.Exhausted)
    assert outcome.reason == "max_rounds"


async def test_events_of_a_resumed_run_belong_to_its_round() -> None:
    first = session(calls(("read", {"n": 0})), calls(("pay", {"n": 1}), ("write", {"n": 2})))
    parked = await first.run("go")
    assert isinstance(parked, Suspended)
    seen = Recorder()
    loop = session(says("done"), observe=[seen], approver=Asks())
    await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()})
    of_round: list[type[Event]] = [ToolStarted, ApprovalAsked, RoundClosed]
    for kind in of_round:
        assert {event.round for event in seen.events if isinstance(event, kind)} == {2}
    assert {event.run_id for event in seen.events} == {parked.run_id}
    last = seen.events[-1]
    assert isinstance(last, Finished)
    assert last.round == 3


async def test_the_journal_of_a_resumed_run_replays_from_where_it_was_taken_up() -> None:
    parked = await suspended(("pay", {"n": 0}), ("write", {"n": 1}))
    journal = MemoryJournal()
    loop = session(says("done"), approver=Asks(), journal=journal)
    outcome = await loop.resume(parked.snapshot, {parked.asked[0].id: Approve()})
    assert outcome_of(replayed(journal)) == outcome


async def test_resuming_shows_the_model_a_whole_conversation() -> None:
    parked = await suspended(("read", {"n": 0}), ("write", {"n": 1}))
    model = ScriptedModel(says("done"))
    answers: Mapping[str, Decision] = {parked.asked[0].id: Deny("no")}
    answered(await session(model=model).resume(parked.snapshot, answers))
    assert_whole(model.requests[0].conversation)
    assert kinds(model.requests[0].conversation) == ["ok", "denied"]
