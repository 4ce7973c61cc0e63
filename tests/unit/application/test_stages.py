"""Who runs beside whom, who is asked when, and what an answer does."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

import geode
from geode.domain.approval import Approve, Decision, Deny, Grant, Later, Question
from geode.domain.loop.outcome import Answered
from geode.domain.policy import Policy
from geode.domain.script import calls, says
from geode.domain.turns import AssistantTurn
from geode.ports.events import ApprovalAsked, Notice, RoundClosed, ToolFinished, ToolStarted
from tests.unit.application.rig import Asks, Recorder, answered, kinds, loop_of, results, tasks_left, texts, turns


class Diary:
    """Tools of every tier that write down when they start and end."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tools = [self._tool(tier) for tier in geode.SafetyTier]

    def _tool(self, tier: geode.SafetyTier) -> Any:
        async def work(n: int = 0, seconds: float = 0.0) -> str:
            self.lines.append(f"+{tier.value}{n}")
            await asyncio.sleep(seconds)
            self.lines.append(f"-{tier.value}{n}")
            return f"{tier.value} {n}"

        work.__name__ = tier.value
        return geode.tool(tier=tier)(work)

    def index(self, line: str) -> int:
        return self.lines.index(line)


def wanted(text: str, seconds: float = 0.0) -> Any:
    """`"safe write"` as calls with running numbers."""
    return calls(*((name, {"n": n, "seconds": seconds}) for n, name in enumerate(text.split())))


# ---- barriers ----------------------------------------------------------------------------------


async def test_tools_that_change_nothing_run_side_by_side() -> None:
    diary = Diary()
    outcome = await loop_of(wanted("safe mcp_trusted safe", 0.02), says("done"), tools=diary.tools).run("go")
    assert kinds(answered(outcome)) == ["ok"] * 3
    assert [line[0] for line in diary.lines] == ["+", "+", "+", "-", "-", "-"]


@pytest.mark.parametrize("tier", ["write", "dangerous"])
async def test_a_write_is_a_barrier(tier: str) -> None:
    diary = Diary()
    steps = wanted(f"safe mcp_trusted {tier} safe {tier} safe safe", 0.01)
    outcome = await loop_of(steps, says("done"), tools=diary.tools, approver=Asks()).run("go")
    assert kinds(answered(outcome)) == ["ok"] * 7
    before, after = diary.lines.index(f"+{tier}2"), diary.lines.index(f"-{tier}2")
    assert set(diary.lines[:before]) == {"+safe0", "-safe0", "+mcp_trusted1", "-mcp_trusted1"}
    assert after == before + 1
    assert diary.lines[after + 1 : after + 5] == ["+safe3", "-safe3", f"+{tier}4", f"-{tier}4"]
    assert diary.lines[-4:] == ["+safe5", "+safe6", "-safe5", "-safe6"]


async def test_writes_run_one_at_a_time_in_their_order() -> None:
    diary = Diary()
    outcome = await loop_of(wanted("write dangerous write", 0.01), says("done"), tools=diary.tools, approver=Asks()).run("go")
    assert kinds(answered(outcome)) == ["ok"] * 3
    assert diary.lines == ["+write0", "-write0", "+dangerous1", "-dangerous1", "+write2", "-write2"]


async def test_one_call_alone_is_validated_and_approved_like_any() -> None:
    asks = Asks(lambda call: Deny("no"))
    diary = Diary()
    steps = [calls(("write", {"n": "x"})), calls(("write", {"n": 1}))]
    outcome = await loop_of(*steps, says("done"), tools=diary.tools, approver=asks).run("go")
    assert kinds(answered(outcome)) == ["failed", "denied"]
    assert asks.asked == [["write"]]
    assert diary.lines == []


# ---- questions ---------------------------------------------------------------------------------


async def test_expensive_calls_are_asked_for_at_once_while_free_calls_run_already() -> None:
    diary, asks = Diary(), Asks(seconds=0.05)
    steps = wanted("expensive safe write expensive safe")
    outcome = await loop_of(steps, says("done"), tools=diary.tools, approver=asks).run("go")
    assert kinds(answered(outcome)) == ["ok"] * 5
    assert asks.asked == [["expensive", "expensive"], ["write"]]
    assert diary.lines[:2] == ["+safe1", "-safe1"], "the free call did not wait for the answer"
    assert diary.lines[2:4] == ["+expensive0", "-expensive0"]
    assert diary.lines[4:6] == ["+write2", "-write2"], "the barrier holds for the expensive call behind it"
    assert asks.most_open == 1


async def test_a_question_names_the_tier_the_reason_and_the_run() -> None:
    asks, seen = Asks(), Recorder()
    await loop_of(wanted("write"), says("done"), tools=Diary().tools, approver=asks, observe=[seen]).run("go")
    (question,) = asks.questions
    assert question.run_id == "run_1"
    assert [(asked.call.name, asked.tier, asked.reason) for asked in question.calls] == [
        ("write", geode.SafetyTier.WRITE, "write is WRITE")
    ]
    assert [event.question for event in seen.of(ApprovalAsked)] == [question]


async def test_a_write_is_asked_about_when_its_turn_comes() -> None:
    diary = Diary()

    def answer(call: geode.ToolUseBlock) -> Decision:
        diary.lines.append(f"?{call.name}{call.input['n']}")
        return Approve()

    await loop_of(wanted("safe write write", 0.01), says("done"), tools=diary.tools, approver=Asks(answer)).run("go")
    assert diary.lines == ["+safe0", "-safe0", "?write1", "+write1", "-write1", "?write2", "+write2", "-write2"]


async def test_a_broken_call_is_never_asked_about() -> None:
    asks = Asks()
    steps = calls(("write", {"n": "x"}), ("writes", {}), ("write", "{"), ("write", {"n": 3}))
    outcome = await loop_of(steps, says("done"), tools=Diary().tools, approver=asks).run("go")
    assert kinds(answered(outcome)) == ["failed", "failed", "failed", "ok"]
    assert [asked.call.input for question in asks.questions for asked in question.calls] == [{"n": 3}]
    assert "Did you mean: write" in texts(outcome)[1]


# ---- answers -----------------------------------------------------------------------------------


async def test_edited_arguments_run_and_are_shown() -> None:
    seen = Recorder()
    asks = Asks(lambda call: Approve(input={"n": 7}))
    outcome = await loop_of(wanted("write"), says("done"), tools=Diary().tools, approver=asks, observe=[seen]).run("go")
    assert texts(answered(outcome)) == ["write 7"]
    assert seen.of(ToolStarted)[0].call.input == {"n": 7}
    asked = outcome.conversation.turns[1]
    assert isinstance(asked, AssistantTurn)
    assert asked.calls[0].input == {"n": 0, "seconds": 0.0}


@pytest.mark.parametrize(("edited", "place"), [({"n": "seven"}, "/n"), ({"n": 1, "more": 2}, "more")])
async def test_edited_arguments_are_validated_again(edited: dict[str, Any], place: str) -> None:
    diary = Diary()
    outcome = await loop_of(
        wanted("write"), says("done"), tools=diary.tools, approver=Asks(lambda call: Approve(input=edited))
    ).run("go")
    (result,) = results(answered(outcome))
    assert result.kind == "failed"
    assert place in result.text
    assert diary.lines == []


async def test_a_denial_is_its_own_kind_of_result_and_no_failure() -> None:
    outcome = await loop_of(
        wanted("safe write"), says("done"), tools=Diary().tools, approver=Asks(lambda call: Deny("not on a Friday"))
    ).run("go")
    assert kinds(answered(outcome)) == ["ok", "denied"]
    assert "not on a Friday" in texts(outcome)[1]
    assert results(outcome)[1].is_error


async def test_one_answer_does_not_stand_for_another() -> None:
    diary = Diary()
    asks = Asks(lambda call: Approve() if call.input["n"] == 1 else Deny("no"))
    outcome = await loop_of(wanted("expensive expensive expensive"), says("done"), tools=diary.tools, approver=asks).run("go")
    assert kinds(answered(outcome)) == ["denied", "ok", "denied"]
    assert asks.asked == [["expensive"] * 3]


@pytest.mark.parametrize(
    ("always", "asked"), [(None, [1, 1, 2, 1]), ("tool", [1]), ("arguments", [1, 2])], ids=["once", "tool", "arguments"]
)
async def test_always_is_a_grant_for_the_rest_of_the_run(always: Any, asked: list[int]) -> None:
    asks = Asks(lambda call: Approve(always=always))
    numbers = [1, 1, 2, 1]
    steps = [calls(("write", {"n": n})) for n in numbers]
    loop = loop_of(*steps, says("done"), calls(("write", {"n": 1})), says("done"), tools=Diary().tools, approver=asks)
    outcome = await loop.run("go")
    assert kinds(answered(outcome)) == ["ok"] * 4
    assert [question.calls[0].call.input["n"] for question in asks.questions] == asked
    await loop.run("go again")
    assert len(asks.questions) == len(asked) + 1, "grants live in the run"


async def test_a_grant_for_arguments_is_for_those_that_ran() -> None:
    asks = Asks(lambda call: Approve(input={"n": 5}, always="arguments"))
    steps = [calls(("write", {"n": n})) for n in (1, 5, 1)]
    outcome = await loop_of(*steps, says("done"), tools=Diary().tools, approver=asks).run("go")
    assert texts(answered(outcome)) == ["write 5"] * 3
    assert [question.calls[0].call.input["n"] for question in asks.questions] == [1, 1]


async def test_always_for_a_tool_covers_calls_of_the_same_round() -> None:
    asks = Asks(lambda call: Approve(always="tool"))
    outcome = await loop_of(wanted("write write dangerous"), says("done"), tools=Diary().tools, approver=asks).run("go")
    assert kinds(answered(outcome)) == ["ok"] * 3
    assert asks.asked == [["write"], ["dangerous"]]


async def test_grants_of_the_policy_need_no_approver() -> None:
    policy = Policy(grants=(Grant("write"), Grant("expensive", {"n": 1})))
    steps = calls(("write", {"n": 0}), ("expensive", {"n": 1}), ("expensive", {"n": 2}), ("dangerous", {}))
    outcome = await loop_of(steps, says("done"), tools=Diary().tools, policy=policy).run("go")
    assert kinds(answered(outcome)) == ["ok", "ok", "denied", "denied"]


async def test_without_an_approver_everything_above_mcp_trusted_is_denied() -> None:
    diary, seen = Diary(), Recorder()
    steps = wanted("safe mcp_trusted expensive write dangerous")
    outcome = await loop_of(steps, says("done"), tools=diary.tools, observe=[seen]).run("go")
    assert kinds(answered(outcome)) == ["ok", "ok", "denied", "denied", "denied"]
    for result in results(outcome)[2:]:
        assert "approval" in result.text
        assert "approve=" in result.detail
    assert seen.of(ApprovalAsked) == []


async def test_a_run_in_which_nobody_can_approve_says_so_at_its_start() -> None:
    seen = Recorder()
    policy = Policy(grants=(Grant("expensive"),))
    await loop_of(says("done"), tools=Diary().tools, observe=[seen], policy=policy).run("go")
    first = seen.events[0]
    assert isinstance(first, Notice)
    assert (first.kind, first.seq, first.round) == ("tools_denied", 1, 0)
    assert first.text == (
        "write is WRITE, dangerous is DANGEROUS and the session has no approve=; every call will be denied. "
        'Add approve=, or @tool(tier="safe")'
    )


async def test_a_run_with_an_approver_or_with_harmless_tools_has_nothing_to_say() -> None:
    seen = Recorder()
    await loop_of(says("done"), tools=Diary().tools, observe=[seen], approver=Asks()).run("go")
    await loop_of(says("done"), tools=Diary().tools[:2], observe=[seen]).run("go")
    assert seen.of(Notice) == []


# ---- approvers that break ----------------------------------------------------------------------


class Broken:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        answers: Mapping[str, Decision] = self.answer
        return answers


@pytest.mark.parametrize(
    "answer",
    [
        ConnectionError("the chat is down"),
        asyncio.CancelledError(),
        None,
        True,
        {"call_1_1": True},
        {"call_1_1": "yes"},
        {"call_1_1": Approve},
    ],
    ids=repr,
)
async def test_an_approver_that_breaks_denies_and_is_noticed(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    diary, seen = Diary(), Recorder()
    loop = loop_of(wanted("safe write safe"), says("done"), tools=diary.tools, approver=Broken(answer), observe=[seen])
    with caplog.at_level(logging.WARNING, "geode"):
        outcome = await asyncio.wait_for(loop.run("go"), 5)
    assert kinds(answered(outcome)) == ["ok", "denied", "ok"]
    (notice,) = seen.of(Notice)
    assert notice.kind == "approver_failed"
    assert len(caplog.records) == 1
    assert "+write1" not in diary.lines


async def test_events_tell_calls_as_they_happen_and_results_in_call_order() -> None:
    seen = Recorder()
    diary = Diary()
    steps = calls(("safe", {"n": 0, "seconds": 0.03}), ("safe", {"n": 1}), ("nope", {}), ("write", {"n": 3}))
    await loop_of(steps, says("done"), tools=diary.tools, approver=Asks(), observe=[seen]).run("go")
    assert [event.index for event in seen.of(ToolStarted)] == [0, 1, 3]
    assert [event.index for event in seen.of(ToolFinished)] == [2, 1, 0, 3], "what cannot run is settled at once"
    (closed,) = seen.of(RoundClosed)
    assert [result.kind for result in closed.results] == ["ok", "ok", "failed", "ok"]
    assert closed.seq > max(event.seq for event in seen.of(ToolFinished))


async def test_a_run_that_is_stopped_withdraws_its_question() -> None:
    loop = loop_of(wanted("write"), tools=Diary().tools, approver=Asks(seconds=30))
    running = asyncio.create_task(loop.run("go"))
    await turns(20)
    loop.stop()
    outcome = await running
    assert isinstance(outcome, geode.Stopped)
    assert kinds(outcome) == ["interrupted"]
    assert tasks_left() == set()


async def test_a_text_only_adapter_gets_no_tools_and_that_is_noticed_once() -> None:
    from geode.adapters.scripted.model import ScriptedModel
    from geode.domain.request import Capabilities

    seen = Recorder()
    model = ScriptedModel(says(""), says("hello"), capabilities=Capabilities(supports_tools=False))
    outcome = await loop_of(model=model, tools=Diary().tools[:1], observe=[seen]).run("go")
    assert isinstance(outcome, Answered)
    assert [request.tools for request in model.requests] == [(), ()]
    assert [notice.kind for notice in seen.of(Notice)] == ["text_only"]


async def test_later_is_no_answer_for_the_others() -> None:
    asks = Asks(lambda call: Later() if call.input["n"] == 0 else Approve())
    diary = Diary()
    outcome = await loop_of(wanted("expensive expensive safe"), tools=diary.tools, approver=asks).run("go")
    assert isinstance(outcome, geode.Suspended)
    assert sorted(diary.lines) == ["+expensive1", "+safe2", "-expensive1", "-safe2"]
    assert [call.input["n"] for call in outcome.asked] == [0]
