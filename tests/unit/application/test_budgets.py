"""Every budget ends a run at its right end, with the model's conclusion where it was asked for one."""

from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.choice import Auto, NoTools
from geode.domain.policy import Policy
from geode.domain.script import Reply, Said, calls, cut, says
from geode.domain.turns import ToolResultsTurn
from geode.ports.events import ModelCalled, Notice
from tests.unit.application.rig import Recorder, answered, assert_whole, kinds, loop_of, texts

CLOCK = ManualClock()


@geode.tool(tier="safe", poller=True)
async def work(seconds: float = 0.0) -> str:
    CLOCK.advance(seconds)
    return "worked"


CALL = calls(("work", {}))


@pytest.fixture(autouse=True)
def _new_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.CLOCK", ManualClock())


async def exhausted(*steps: Any, **limits: Any) -> tuple[geode.Exhausted, ScriptedModel, Recorder]:
    model, seen = ScriptedModel(*steps), Recorder()
    outcome = await loop_of(model=model, tools=[work], clock=CLOCK, observe=[seen], policy=Policy(**limits)).run("go")
    assert isinstance(outcome, geode.Exhausted), outcome
    assert_whole(outcome.conversation)
    model.finish()
    return outcome, model, seen


def hints(conversation: geode.Conversation) -> list[str]:
    return [hint.kind for turn in conversation.turns if isinstance(turn, ToolResultsTurn) for hint in turn.hints]


@pytest.mark.parametrize(("budget", "window"), [(2, 1), (3, 1), (4, 1), (7, 1), (8, 2), (20, 2)])
async def test_rounds(budget: int, window: int) -> None:
    outcome, model, seen = await exhausted(*[CALL] * (budget - window), says("as far as I got"), max_rounds=budget)
    assert (outcome.reason, outcome.text) == ("max_rounds", "as far as I got")
    choices = [request.tool_choice for request in model.requests]
    assert choices == [Auto()] * (budget - window) + [NoTools()]
    assert hints(outcome.conversation) == ["wrap_up"]
    assert [event.wrap_up for event in seen.of(ModelCalled)] == [False] * (budget - window) + [True]
    assert [notice.kind for notice in seen.of(Notice)] == ["wrap_up"]
    assert model.requests[-1].limits.max_output_tokens == 2048
    assert model.requests[-1].tools == model.requests[0].tools, "the tool list stays as it is"


async def test_one_round_has_no_wrap_up() -> None:
    outcome, model, _ = await exhausted(says("Let me see.") + CALL, max_rounds=1)
    assert (outcome.reason, outcome.text) == ("max_rounds", "Let me see.")
    assert model.requests[0].tool_choice == Auto()
    assert kinds(outcome) == ["ok"]


async def test_a_model_that_calls_in_the_wrap_up_is_denied_and_given_one_more_round() -> None:
    outcome, model, _ = await exhausted(
        *[CALL] * 3, CALL, says("sorry"), max_rounds=8, wrap_up_rounds=5, wrap_up_share_of_rounds=1
    )
    assert (outcome.reason, outcome.text) == ("max_rounds", "sorry")
    assert kinds(outcome) == ["ok", "ok", "ok", "denied"]
    assert [request.tool_choice for request in model.requests[3:]] == [NoTools(), NoTools()]


async def test_a_model_that_never_concludes_ends_with_what_was_said() -> None:
    outcome, _, _ = await exhausted(
        says("Looking.") + CALL, CALL, CALL, max_rounds=8, wrap_up_rounds=7, wrap_up_share_of_rounds=1
    )
    assert (outcome.reason, outcome.text) == ("max_rounds", "Looking.")
    assert kinds(outcome) == ["ok", "denied", "denied"]


async def test_an_early_answer_is_an_answer() -> None:
    outcome = await loop_of(CALL, says("done"), tools=[work], policy=Policy(max_rounds=9)).run("go")
    assert answered(outcome).reason == "natural"
    assert hints(outcome.conversation) == []


@pytest.mark.parametrize(("budget", "worked"), [(100, 89.0), (100, 91.0), (1000, 971.0), (10_000, 9_971.0)])
async def test_seconds_wrap_up_in_the_last_thirty_and_at_most_a_tenth(budget: float, worked: float) -> None:
    window = min(30, budget / 10)
    steps = [calls(("work", {"seconds": worked})), says("enough")]
    model = ScriptedModel(*steps)
    outcome = await loop_of(model=model, tools=[work], clock=CLOCK, policy=Policy(max_seconds=budget)).run("go")
    if budget - worked > window:
        assert answered(outcome).text == "enough"
        return
    assert isinstance(outcome, geode.Exhausted)
    assert (outcome.reason, outcome.text) == ("time_budget", "enough")
    assert model.requests[1].tool_choice == NoTools()


async def test_seconds_that_are_over_leave_no_room_for_another_call() -> None:
    outcome, _, _ = await exhausted(says("Working.") + calls(("work", {"seconds": 61}), ("work", {})), max_seconds=60)
    assert (outcome.reason, outcome.text) == ("time_budget", "Working.")


async def test_tool_calls() -> None:
    steps = [calls(*[("work", {})] * 2), calls(*[("work", {})] * 3), says("that was all")]
    outcome, model, _ = await exhausted(*steps, max_tool_calls=4)
    assert (outcome.reason, outcome.text) == ("tool_budget", "that was all")
    assert kinds(outcome) == ["ok", "ok", "ok", "ok", "failed"]
    assert texts(outcome)[-1] == "not executed: the run's limit of tool calls is reached (work)"
    assert model.requests[-1].tool_choice == NoTools()


async def test_no_tool_calls_at_all() -> None:
    outcome = await loop_of(CALL, says("I may not"), tools=[work], policy=Policy(max_tool_calls=0)).run("go")
    assert isinstance(outcome, geode.Exhausted)
    assert kinds(outcome) == ["failed"]


async def test_tokens_are_checked_before_they_are_spent() -> None:
    # Each scripted reply reads 10 and writes 5; the next one reads at least what the last one read and wrote.
    outcome, model, _ = await exhausted(says("Thinking.") + CALL, CALL, max_total_tokens=45)
    assert (outcome.reason, outcome.text) == ("token_budget", "Thinking.")
    assert len(model.requests) == 2
    assert model.requests[1].limits.max_output_tokens == 45 - 15 - 15
    assert outcome.usage.total_tokens == 30


async def test_what_tokens_are_left_bounds_the_output() -> None:
    model = ScriptedModel(Reply((Said("short"),), input_tokens=10, output_tokens=5))
    await loop_of(model=model, policy=Policy(max_total_tokens=100, max_output_tokens=1000)).run("go")
    assert model.requests[0].limits.max_output_tokens == 100


async def test_an_answer_that_was_cut_off_is_no_answer() -> None:
    outcome, _, _ = await exhausted(cut(says("Once upon a ti")))
    assert (outcome.reason, outcome.text) == ("answer_truncated", "Once upon a ti")


async def test_calls_that_were_cut_off_are_not_run() -> None:
    outcome = answered(await loop_of(cut(CALL), says("done"), tools=[work]).run("go"))
    assert kinds(outcome) == ["failed"]
    assert "cut off" in texts(outcome)[0]
