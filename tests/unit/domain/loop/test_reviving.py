"""Going on with a run whose process ended: what is done again, and what nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from geode.domain.approval import Approve, Grant, Later
from geode.domain.content import ResultKind, ToolResult
from geode.domain.errors import CodecError
from geode.domain.loop.actions import CallModel, Suspend, Wait
from geode.domain.loop.inputs import ModelFailed, StopRequested, TimePassed
from geode.domain.loop.resuming import Doubt, in_doubt, revived, to_check_again
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.recovery import Recovery, RecoveryStep
from geode.domain.tools import ToolFacts
from geode.domain.usage import Usage
from geode.domain.verdicts import Invalid, Valid, Verdict
from tests.unit.domain.builders import (
    OTHER,
    OWNER,
    TOOLS,
    begun,
    call,
    decided,
    ending,
    expect,
    failed,
    failure,
    finished,
    kinds,
    last_results,
    model_call,
    ok,
    replied,
    stage,
)


def with_flags(name: str, *, idempotent: bool = False, reconciles: bool = False) -> dict[str, ToolFacts]:
    return {**TOOLS, name: replace(TOOLS[name], idempotent=idempotent, reconciles=reconciles)}


def again(
    state: State,
    tools: Mapping[str, ToolFacts] = TOOLS,
    now: float = 1000.0,
    reconciled: Mapping[str, ToolResult | None] | None = None,
) -> State:
    return revived(state, OWNER, tools, now, reconciled=reconciled)


def running(name: str) -> State:
    """A call of the tool runs, after whatever approval it needs."""
    state = replied(begun(), call("a", name))
    return decided(state, "a") if TOOLS[name].tier.needs_approval else state


# ---- the model ---------------------------------------------------------------------------------


def test_a_pending_call_is_made_again_and_counts_as_one_more() -> None:
    state = again(begun())
    assert (model_call(state).round, model_call(state).attempt) == (1, 2)


def test_what_a_call_that_may_have_left_has_cost_is_unknown_and_not_held_against_the_model() -> None:
    state = again(begun(Policy(max_cost_usd=Decimal(1))))
    assert (model_call(state).attempt, state.counters.usage) == (2, Usage(unpriced_calls=1))
    waiting = step(begun(), ModelFailed(1.0, failure(503), 0.0))
    assert again(waiting).counters.usage == Usage()


def test_calls_that_may_have_left_use_up_the_attempts_of_the_policy() -> None:
    state = again(again(begun()))
    assert model_call(state).attempt == 3
    assert ending(failed(state, failure(503))).reason == "model_error"


def test_what_is_left_of_a_wait_is_waited() -> None:
    state = failed(begun(), failure(503), jitter=0.999, at=10.0)
    whole = expect(Wait, state.pending)
    assert expect(Wait, again(state, now=11.0).pending) == Wait(whole.seconds - 1.0, whole.call)
    assert expect(Wait, again(state, now=99.0).pending).seconds == 0.0
    assert expect(Wait, again(state, now=3.0).pending).seconds == whole.seconds


def test_the_time_in_which_nothing_ran_does_not_count() -> None:
    state = replied(begun(Policy(max_seconds=100.0)), call("a"), at=20.0)
    assert again(state, now=5000.0).remaining_seconds == 80.0
    assert model_call(again(finished(state, "a", at=30.0), now=5000.0)).timeout_seconds == 70.0


@pytest.mark.parametrize(
    "state",
    [
        begun(),
        failed(begun(), failure(503)),
        replied(begun(), call("a")),
        decided(replied(begun(), call("a", "write")), "a", Later()),
    ],
    ids=["CallModel", "Wait", "RunStage", "Suspend"],
)
def test_another_model_may_go_on(state: State) -> None:
    assert revived(state, OTHER, TOOLS, 1.0).terms.owner == OTHER


# ---- calls -------------------------------------------------------------------------------------

DOUBTS: list[tuple[str, Mapping[str, ToolFacts], Doubt]] = [
    ("read", TOOLS, "run_again"),
    ("read", with_flags("read", reconciles=True), "run_again"),
    *((name, TOOLS, "unknown") for name in ("fetch", "render", "write", "erase")),
    *((name, with_flags(name, idempotent=True), "run_again") for name in ("fetch", "render", "write", "erase")),
    *((name, with_flags(name, reconciles=True), "reconcile") for name in ("fetch", "render", "write", "erase")),
    ("write", with_flags("write", idempotent=True, reconciles=True), "reconcile"),
    ("write", {}, "unknown"),
    ("read", {}, "run_again"),
]


@pytest.mark.parametrize(("name", "tools", "doubt"), DOUBTS)
def test_what_is_done_about_a_call_without_a_result(name: str, tools: Mapping[str, ToolFacts], doubt: Doubt) -> None:
    assert in_doubt(running(name), tools) == {"a": doubt}


@pytest.mark.parametrize("name", ["fetch", "render", "write", "erase"])
def test_what_may_have_had_an_effect_is_unknown_and_the_model_sees_it(name: str) -> None:
    state = again(running(name))
    (found,) = last_results(state)
    assert found.kind == "outcome_unknown"
    assert f"{name} had been started when its process ended" in found.text
    assert model_call(state).round == 2
    assert state.counters.tool_calls == 1, "it may have run, so it counts"


def test_a_safe_call_runs_again() -> None:
    state = again(running("read"))
    assert stage(state) == (("a",), ())
    assert finished(state, "a").counters.tool_calls == 1


def test_an_idempotent_call_runs_again_without_being_asked_again() -> None:
    assert stage(again(running("write"), with_flags("write", idempotent=True))) == (("a",), ())


def test_a_tool_that_changed_and_runs_again_is_asked_about_again() -> None:
    tools = {**TOOLS, "write": replace(TOOLS["write"], schema_digest="d-new", idempotent=True)}
    assert stage(again(running("write"), tools)) == ((), ("a",))


def test_a_finished_result_stays() -> None:
    state = replied(begun(), call("a"), call("b", "fetch"), call("c"))
    state = finished(finished(state, "b", text="got it"), "c", kind="failed")
    state = again(state)
    assert stage(state) == (("a",), ())
    state = finished(state, "a")
    assert [(one.kind, one.text) for one in last_results(state)] == [("ok", "done"), ("ok", "got it"), ("failed", "done")]


def test_calls_that_never_started_start_now() -> None:
    state = decided(replied(begun(), call("a", "write"), call("b"), call("c", "write")), "a")
    state = again(state)
    assert state.round.results["a"].kind == "outcome_unknown"
    assert stage(state) == (("b",), ())
    state = finished(state, "b")
    assert stage(state) == ((), ("c",))


def test_an_open_question_is_asked_again() -> None:
    assert stage(again(replied(begun(), call("a", "write")))) == ((), ("a",))


def test_what_the_reconciler_found_is_the_result() -> None:
    tools = with_flags("write", reconciles=True)
    state = again(running("write"), tools, reconciled={"a": ok("a", "written by then")})
    assert [(one.kind, one.text) for one in last_results(state)] == [("ok", "written by then")]
    assert state.counters.tool_calls == 1


def test_what_the_reconciler_says_did_not_run_runs() -> None:
    state = again(running("write"), with_flags("write", reconciles=True), reconciled={"a": None})
    assert stage(state) == (("a",), ())
    assert finished(state, "a").counters.tool_calls == 1


@pytest.mark.parametrize("kind", ["ok", "failed", "denied"])
def test_what_was_found_stands_whatever_it_is(kind: ResultKind) -> None:
    found = ToolResult("a", kind, ok("a", "as it was").content)
    state = again(running("write"), with_flags("write", reconciles=True), reconciled={"a": found})
    assert last_results(state) == (found,)


@pytest.mark.parametrize("kind", ["outcome_unknown", "missing"])
def test_a_reconciler_that_does_not_know_leaves_it_unknown(kind: str) -> None:
    broken = ToolResult("a", "outcome_unknown", ok("a", "no connection").content)
    state = again(running("write"), with_flags("write", reconciles=True), reconciled={} if kind == "missing" else {"a": broken})
    (found,) = last_results(state)
    assert found.kind == "outcome_unknown"
    assert found.detail == ("" if kind == "missing" else "its reconciler said: no connection")


def test_an_answer_that_was_put_off_is_asked_again() -> None:
    state = decided(replied(begun(), call("a"), call("b", "render")), "b", Later())
    assert stage(again(state)) == (("a",), ("b",))


def test_a_run_that_was_being_stopped_starts_nothing() -> None:
    state = step(replied(begun(), call("a"), call("b", "fetch"), call("c", "write")), StopRequested(1.0))
    state = again(state)
    assert ending(state).reason == "stopped"
    assert kinds(state) == {"a": "interrupted", "b": "outcome_unknown", "c": "interrupted"}


def test_grants_of_a_tool_that_changed_are_void() -> None:
    state = replied(begun(), call("a", "write"), call("b", "write"))
    state = finished(decided(state, "a", Approve(always="tool")), "a")
    changed = {**TOOLS, "write": replace(TOOLS["write"], schema_digest="d-new")}
    after = again(finished(state, "b"), changed)
    assert (state.grants, after.grants) == ((Grant("write", of="d-write WRITE"),), ())


def test_a_snapshot_with_results_of_other_calls_is_damaged() -> None:
    state = running("read")
    broken = replace(state, open=replace(state.round, results={"z": ok("z")}))
    text = "the snapshot is damaged: its open round has results, answers or changes for calls that are not in it"
    with pytest.raises(CodecError, match=f"^{text}$"):
        again(broken)


# ---- the rest ----------------------------------------------------------------------------------


def test_a_suspended_run_is_taken_up_with_its_answers() -> None:
    state = decided(replied(begun(), call("a", "write")), "a", Later())
    assert state.pending == Suspend(("a",))
    assert stage(again(state)) == ((), ("a",))
    assert revived(state, OWNER, TOOLS, 1.0, answered=("a",)).pending == Suspend(("a",))
    assert in_doubt(state, TOOLS) == {}


def test_a_run_that_is_over_stays_as_it_is() -> None:
    state = replied(begun(), "done")
    assert again(state) is state


def test_nothing_is_in_doubt_while_the_model_is_asked() -> None:
    assert in_doubt(begun(), TOOLS) == {}
    assert expect(CallModel, begun().pending).attempt == 1


def test_what_may_run_again_does_not_where_the_time_is_up() -> None:
    """Its first execution kept its deadline; a second one would be new, and nothing new starts."""
    state = replied(begun(Policy(max_seconds=60.0)), call("a", "read"))
    late = step(state, TimePassed(60.0))
    assert stage(late) == (("a",), ())
    (told,) = last_results(again(late))
    assert (told.kind, told.text) == ("failed", "not executed: the run's time budget is used up")


def test_what_suits_a_changed_tool_no_more_has_failed_in_a_suspended_run_too() -> None:
    waiting = decided(replied(begun(), call("a", "write")), "a", Later())
    tools = {**TOOLS, "write": replace(TOOLS["write"], schema_digest="another")}
    invalid: dict[str, Verdict] = {"a": Invalid(("/n: a text is wanted",))}
    (told,) = last_results(revived(waiting, OWNER, tools, 1000.0, verdicts=invalid))
    assert (told.kind, told.text) == ("failed", "write was not run: /n: a text is wanted")


def test_of_a_call_for_which_another_tool_stands_in_its_own_is_not_checked_again() -> None:
    """That is for the stage of what stands in; a step that runs the tool itself is checked like any call."""
    state = replied(begun(), call("a", "read"))
    tools = {**TOOLS, "read": replace(TOOLS["read"], schema_digest="another")}
    steps: tuple[tuple[RecoveryStep, list[str]], ...] = (("retry", ["a"]), ("alternative", []))
    for name, checked in steps:
        recovery = Recovery(name, call("a", "fetch"), Valid(), last=ok("a"))
        standing_in = replace(state, open=replace(state.round, recovering={"a": recovery}))
        assert [one.id for one in to_check_again(standing_in, tools)] == checked
