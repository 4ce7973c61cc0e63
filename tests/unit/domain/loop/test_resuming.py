"""Taking up a stored run: with the tools of today, at the time of today."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from geode.domain.approval import Approve, Grant, Later
from geode.domain.codec import dumps, loads
from geode.domain.content import Text, ToolResult
from geode.domain.errors import CodecError, Misuse
from geode.domain.loop.actions import Suspend
from geode.domain.loop.resuming import taken_up, to_check_again
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.verdicts import Invalid, Valid, Verdict
from tests.unit.domain.builders import (
    OTHER,
    OWNER,
    TOOLS,
    begun,
    call,
    decided,
    expect,
    failed,
    failure,
    finished,
    kinds,
    last_results,
    model_call,
    replied,
    stage,
)


def suspended(policy: Policy = Policy()) -> State:
    """One call has finished, one expensive call is allowed, another is put off, a change comes after them."""
    state = replied(begun(policy), call("a"), call("b", "render"), call("c", "train"), call("d", "write"), at=10.0)
    state = decided(decided(finished(state, "a"), "c", Later()), "b")
    state = finished(state, "b", at=20.0)
    assert state.pending == Suspend(("c",))
    return state


def again(
    state: State, tools: Mapping[str, ToolFacts] = TOOLS, now: float = 1000.0, answered: Collection[str] = ("c",)
) -> State:
    return taken_up(loads(State, dumps(state)), OWNER, tools, now, answered)


def without(name: str) -> dict[str, ToolFacts]:
    return {other: facts for other, facts in TOOLS.items() if other != name}


def test_a_call_without_an_answer_is_asked_again() -> None:
    assert stage(again(suspended(), answered=())) == ((), ("c",))


def test_an_answer_later_goes_on_where_it_was() -> None:
    state = again(suspended())
    assert state.pending == Suspend(("c",))
    state = decided(state, "c")
    assert stage(state) == (("c",), ())
    state = finished(state, "c")
    assert stage(state) == ((), ("d",))
    state = finished(decided(state, "d"), "d")
    assert kinds(state) == dict.fromkeys("abcd", "ok")
    assert model_call(state).round == 2


def test_the_time_of_waiting_does_not_count() -> None:
    state = again(suspended(Policy(max_seconds=100.0)))
    assert (state.now, state.remaining_seconds) == (1000.0, 80.0)
    state = decided(state, "c", at=1000.0)
    assert stage(state) == (("c",), ())


def test_a_clock_that_went_back_takes_nothing_away() -> None:
    state = again(suspended(Policy(max_seconds=100.0)), now=5.0)
    assert (state.now, state.remaining_seconds) == (20.0, 80.0)


@pytest.mark.parametrize(
    "changed",
    [replace(TOOLS["train"], schema_digest="d-new"), ToolFacts(SafetyTier.EXPENSIVE, "d-train", 5.0)],
    ids=["schema", "deadline"],
)
def test_a_tool_that_changed_is_asked_about_again(changed: ToolFacts) -> None:
    state = again(suspended(), {**TOOLS, "train": changed})
    assert stage(state) == ((), ("c",))


CHANGED = {**TOOLS, **{name: replace(TOOLS[name], schema_digest="another") for name in ("read", "train", "write")}}


def test_the_calls_of_changed_tools_that_may_run_yet_are_checked_again() -> None:
    assert [call.id for call in to_check_again(suspended(), CHANGED)] == ["c", "d"], "a has its result"
    assert to_check_again(suspended(), TOOLS) == ()
    assert [call.id for call in to_check_again(suspended(), {**CHANGED, "new": TOOLS["read"]})] == ["c", "d"]
    gone = {name: facts for name, facts in CHANGED.items() if name != "train"}
    assert [call.id for call in to_check_again(suspended(), gone)] == ["d"]
    assert to_check_again(begun(), CHANGED) == ()


def test_a_call_whose_arguments_a_changed_tool_takes_no_more_has_failed() -> None:
    verdicts: dict[str, Verdict] = {"c": Invalid(("/n: a text is wanted",)), "d": Valid()}
    state = taken_up(suspended(), OWNER, CHANGED, 1000.0, ("c",), verdicts=verdicts)
    assert state.round.results["c"].text == "train was not run: /n: a text is wanted"
    assert state.round.results["c"].kind == "failed"
    assert stage(state) == ((), ("d",))


def test_a_run_that_is_being_stopped_waits_for_nobody() -> None:
    with pytest.raises(CodecError, match=r"^the snapshot is damaged: a run that is being stopped waits for nobody$"):
        again(replace(suspended(), stopping=True))


def test_a_tool_whose_tier_changed_is_asked_in_its_new_place() -> None:
    state = again(suspended(), {**TOOLS, "train": ToolFacts(SafetyTier.DANGEROUS, "d-train")})
    assert stage(state) == ((), ("c",))
    state = decided(state, "c")
    assert stage(state) == (("c",), ())
    assert state.terms.tools["train"].tier is SafetyTier.DANGEROUS


def test_what_has_a_result_is_not_asked_again() -> None:
    state = again(suspended(), {**TOOLS, "render": replace(TOOLS["render"], schema_digest="d-new")})
    assert state.pending == Suspend(("c",))


def test_a_call_whose_tool_is_gone_is_answered() -> None:
    state = again(suspended(), without("train"))
    assert stage(state) == ((), ("d",))
    state = finished(decided(state, "d"), "d")
    assert last_results(state)[2] == ToolResult("c", "failed", (Text("the tool train is no longer there"),))
    assert kinds(state) == {"a": "ok", "b": "ok", "c": "failed", "d": "ok"}


def test_a_result_is_kept_although_its_tool_is_gone() -> None:
    state = again(suspended(), without("render"))
    assert state.round.results["b"].kind == "ok"


def test_when_no_tool_is_left_the_round_closes() -> None:
    state = again(decided(replied(begun(), call("a", "write")), "a", Later()), {})
    assert kinds(state) == {"a": "failed"}
    assert model_call(state).round == 2


def test_grants_of_tools_that_changed_or_went_are_void() -> None:
    policy = Policy(grants=(Grant("write"), Grant("erase"), Grant("render", {"p": 1})))
    changed = {**without("erase"), "write": replace(TOOLS["write"], schema_digest="d-new")}
    assert again(suspended(policy), changed).grants == (Grant("render", {"p": 1}),)
    assert again(suspended(policy)).grants == policy.grants


def test_a_run_may_go_on_with_another_model() -> None:
    assert taken_up(suspended(), OTHER, TOOLS, 1000.0, ("c",)).terms.owner == OTHER


def test_an_answer_given_before_still_holds() -> None:
    state = replied(begun(), call("a", "render"), call("b", "train"))
    state = decided(state, "a", Approve(always="tool"))
    state = finished(decided(state, "b", Later()), "a")
    state = again(state, answered=("b",))
    assert state.grants == (Grant("render", of="d-render EXPENSIVE"),)
    assert state.pending == Suspend(("b",))


@pytest.mark.parametrize(
    ("state", "pending"),
    [
        (begun(), "CallModel"),
        (failed(begun(), failure(503)), "Wait"),
        (replied(begun(), call("a")), "RunStage"),
        (replied(begun(), "done"), "Finish"),
    ],
    ids=["CallModel", "Wait", "RunStage", "Finish"],
)
def test_only_a_suspended_run_is_taken_up(state: State, pending: str) -> None:
    with pytest.raises(Misuse) as caught:
        taken_up(state, OWNER, TOOLS, 1.0, ())
    assert str(caught.value) == f"run run-1 is not suspended; {pending} is pending [not-suspended]"
    assert caught.value.id == "not-suspended"


def test_a_suspended_run_is_a_pending_action_like_any_other() -> None:
    assert expect(Suspend, suspended().pending).asked == ("c",)
