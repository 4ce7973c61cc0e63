"""The application changes a call, or forbids it, before it is asked about or started."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.approval import Approve, Grant, Later
from geode.domain.codec import dumps, loads
from geode.domain.errors import CodecError, IllegalInput
from geode.domain.loop.actions import Suspend
from geode.domain.loop.inputs import CallChanged, CallVetoed, Checked, StopRequested
from geode.domain.loop.resuming import taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.rounds import as_decided
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn
from geode.domain.verdicts import Valid
from tests.unit.domain.builders import (
    OWNER,
    TOOLS,
    begun,
    call,
    decided,
    expect,
    finished,
    kinds,
    last_results,
    model_call,
    replied,
    stage,
)


def opened(*names: str, can_ask: bool = True, policy: Policy = Policy()) -> State:
    """A round of one call for each name, each with {"p": 1}; their ids are a, b, c, …"""
    calls = (call(id, name, {"p": 1}) for id, name in zip("abc", names, strict=False))
    return replied(begun(policy, can_ask=can_ask), *calls)


def changed(state: State, id: str, p: int = 2) -> State:
    return step(state, CallChanged(state.now, id, {"p": p}))


def vetoed(state: State, id: str) -> State:
    return step(state, CallVetoed(state.now, id, "not here"))


def runs_with(state: State, id: str) -> object:
    return as_decided(state.round.call(id), state.round).input


def test_a_changed_call_is_the_one_that_is_asked_about_and_runs() -> None:
    state = changed(opened("write", "read"), "a")
    assert stage(state) == ((), ("a",))
    assert state.round.call("a").input == {"p": 2}
    assert [one.input for one in state.round.waiting] == [{"p": 2}, {"p": 1}]
    state = decided(state, "a")
    assert (stage(state), runs_with(state, "a")) == ((("a",), ()), {"p": 2})


def test_the_history_keeps_what_the_model_said() -> None:
    state = finished(changed(opened("read"), "a"), "a")
    assert expect(AssistantTurn, state.closed.turns[-2]).calls == (call("a", "read", {"p": 1}),)
    assert model_call(state).round == 2


def test_a_change_stays_when_a_sibling_finishes() -> None:
    state = finished(changed(opened("read", "read"), "b"), "a")
    assert runs_with(state, "b") == {"p": 2}


def test_a_person_edits_what_was_changed() -> None:
    state = decided(changed(opened("write"), "a"), "a", Approve({"p": 3}), verdict=Valid())
    assert runs_with(state, "a") == {"p": 3}


def test_a_grant_for_this_call_is_for_what_would_run() -> None:
    state = decided(changed(opened("write"), "a"), "a", Approve(always="arguments"))
    assert state.grants == (Grant("write", {"p": 2}, "d-write WRITE"),)


def test_what_was_granted_for_other_arguments_is_asked_about() -> None:
    granted = Policy(grants=(Grant("write", {"p": 1}), Grant("write", {"p": 5})))
    state = opened("write", policy=granted)
    assert stage(state) == (("a",), ())
    assert stage(changed(state, "a")) == ((), ("a",))
    assert stage(changed(state, "a", 5)) == (("a",), ())


def test_where_nobody_can_be_asked_it_is_denied() -> None:
    granted = Policy(grants=(Grant("write", {"p": 1}), Grant("write", {"p": 5})))
    state = opened("write", can_ask=False, policy=granted)
    closed = changed(state, "a")
    assert kinds(closed) == {"a": "denied"}
    assert last_results(closed)[0].text == "write needs a person's approval and nobody can give it here; the call was not run"
    assert stage(changed(state, "a", 5)) == (("a",), ())
    assert stage(changed(opened("read", can_ask=False), "a")) == (("a",), ())


@pytest.mark.parametrize("name", ["read", "render", "write"])
def test_a_veto_is_a_denial_and_counts_as_no_execution(name: str) -> None:
    closed = vetoed(opened(name), "a")
    assert [(one.kind, one.text) for one in last_results(closed)] == [("denied", "denied: not here")]
    assert (closed.counters.tool_calls, model_call(closed).round) == (0, 2)


def test_a_veto_lets_the_others_go_on() -> None:
    state = vetoed(opened("read", "write", "read"), "a")
    assert stage(state) == ((), ("b",))
    state = vetoed(state, "b")
    assert stage(state) == (("c",), ())
    assert kinds(finished(state, "c")) == {"a": "denied", "b": "denied", "c": "ok"}


@pytest.mark.parametrize("input", [CallChanged(0.0, "x", {}), CallVetoed(0.0, "x", "no")], ids=["changed", "vetoed"])
def test_only_a_call_that_is_about_to_run(input: CallChanged | CallVetoed) -> None:
    for state in (opened("read"), opened("write"), begun()):
        with pytest.raises(IllegalInput):
            step(state, input)


def test_a_call_that_waits_for_its_turn_or_has_its_result_is_not_about_to_run() -> None:
    state = opened("read", "write", "read")
    for id in "bc":
        with pytest.raises(IllegalInput, match=rf"^call '{id}' is not about to run$"):
            vetoed(state, id)
    both = opened("read", "read")
    with pytest.raises(IllegalInput, match=r"^call 'a' is not about to run$"):
        changed(finished(both, "a"), "a")


def test_what_a_person_has_decided_about_is_not_changed_any_more() -> None:
    state = decided(opened("write"), "a")
    with pytest.raises(IllegalInput, match=r"^call 'a' is not about to run$"):
        step(state, CallChanged(0.0, "a", {}))


def test_what_a_person_has_allowed_may_still_be_forbidden() -> None:
    """Spec section 12: a tool that left the set between call and run is answered, not run."""
    after = vetoed(decided(opened("write"), "a"), "a")
    assert kinds(after) == {"a": "denied"}


def test_what_a_person_put_in_counts_for_the_steps_that_follow_a_veto() -> None:
    tools = {"read": ToolFacts(SafetyTier.EXPENSIVE, "d", alternative="fetch"), "fetch": TOOLS["fetch"]}
    state = begun(tools=tools)
    for id in "xy":
        state = finished(decided(replied(state, call(id, "read")), id), id, "failed")
    state = decided(replied(state, call("a", "read", {"p": 1})), "a", Approve({"p": 2}), Valid())
    state = finished(state, "a", "failed")
    assert state.round.call("a") == call("a", "fetch", {"p": 2})
    state = vetoed(step(state, Checked(0.0, "a", Valid())), "a")
    assert state.round.call("a") == call("a", "read", {"p": 2})


def test_what_a_grant_does_not_cover_is_never_started_without_an_answer() -> None:
    """Not in a run that is being stopped, nor in one whose time is up."""
    granted = Policy(grants=(Grant("write", {"p": 1}),), max_seconds=10.0)
    state = opened("write", policy=granted)
    assert stage(state) == (("a",), ())
    stopped = changed(step(state, StopRequested(0.0)), "a")
    assert kinds(stopped) == {"a": "interrupted"}
    late = step(state, CallChanged(20.0, "a", {"p": 2}))
    assert kinds(late) == {"a": "failed"}
    assert last_results(late)[0].text == "not executed: the run's time budget is used up"


def test_a_veto_of_a_step_of_a_recovery_leaves_the_next_one() -> None:
    tools = {"read": ToolFacts(SafetyTier.SAFE, "d", alternative="fetch"), "fetch": TOOLS["fetch"]}
    state = begun(tools=tools)
    for id in "xy":
        state = finished(replied(state, call(id, "read")), id, "failed")
    state = finished(replied(state, call("a", "read", {"p": 1})), "a", "failed")
    state = step(state, Checked(state.now, "a", Valid()))
    assert (state.round.call("a").name, stage(state)) == ("fetch", (("a",), ()))
    moved = changed(state, "a")
    assert moved.round.call("a") == call("a", "fetch", {"p": 2})
    assert moved.round.called("a") == call("a", "read", {"p": 1})
    state = vetoed(state, "a")
    assert state.round.step_of("a") == 2
    assert state.round.results == {}


def test_a_run_that_is_being_stopped_may_still_be_forbidden_a_call() -> None:
    state = vetoed(step(opened("read"), StopRequested(0.0)), "a")
    assert kinds(state) == {"a": "denied"}


def test_a_change_survives_a_suspension_unless_its_tool_changed() -> None:
    parked = decided(changed(opened("write"), "a"), "a", Later())
    expect(Suspend, parked.pending)
    stored = loads(State, dumps(parked))
    assert stored == parked
    state = taken_up(stored, OWNER, TOOLS, 5.0, ())
    assert state.round.call("a").input == {"p": 2}
    other = {**TOOLS, "write": ToolFacts(SafetyTier.WRITE, "another schema")}
    assert taken_up(stored, OWNER, other, 5.0, ()).round.call("a").input == {"p": 1}


def failing_twice() -> State:
    """The third call of a tool with an alternative, which keeps failing; its arguments are {"p": 1}."""
    tools = {"read": ToolFacts(SafetyTier.SAFE, "d", alternative="fetch"), "fetch": TOOLS["fetch"]}
    state = begun(tools=tools)
    for id in "xy":
        state = finished(replied(state, call(id, "read")), id, "failed")
    return replied(state, call("a", "read", {"p": 1}))


def test_a_change_is_of_one_step_of_a_recovery() -> None:
    state = changed(failing_twice(), "a")
    assert state.round.call("a") == call("a", "read", {"p": 2})
    state = finished(state, "a", "failed")
    assert state.round.call("a") == call("a", "fetch", {"p": 1}), "as the model gave it, for the hooks to see it anew"
    assert state.round.changed == {}


def test_a_snapshot_with_a_change_for_no_call_is_damaged() -> None:
    parked = decided(changed(opened("write"), "a"), "a", Later())
    damaged = replace(parked, open=replace(parked.round, changed={"z": {"p": 2}}))
    with pytest.raises(CodecError, match=r"results, answers or changes for calls that are not in it$"):
        taken_up(damaged, OWNER, TOOLS, 5.0, ())


def test_a_snapshot_with_a_forwarded_call_of_no_call_or_of_another_id_is_damaged() -> None:
    parked = decided(changed(opened("write"), "a"), "a", Later())
    for forwarded, words in (
        ({"z": call("z", "write")}, "for calls that are not in it"),
        ({"a": call("b", "write")}, "a call of its open round runs under another id"),
    ):
        damaged = replace(parked, open=replace(parked.round, forwarded=forwarded))
        with pytest.raises(CodecError, match=words):
            taken_up(damaged, OWNER, TOOLS, 5.0, ())


def test_what_a_person_put_in_holds_for_the_steps_that_follow() -> None:
    tools = {"render": ToolFacts(SafetyTier.EXPENSIVE, "d", alternative="fetch"), "fetch": TOOLS["fetch"]}
    state = begun(tools=tools, can_ask=True)
    for id in "xy":
        state = finished(decided(replied(state, call(id, "render")), id), id, "failed")
    state = changed(replied(state, call("a", "render", {"p": 1})), "a")
    state = finished(decided(state, "a", Approve(input={"p": 3}), Valid()), "a", "failed")
    assert state.round.call("a") == call("a", "fetch", {"p": 3})


def test_what_runs_beside_a_vetoed_call_goes_on_in_a_run_that_is_being_stopped() -> None:
    state = step(opened("read", "fetch"), StopRequested(1.0))
    assert stage(state) == (("a", "b"), ())
    after = vetoed(state, "b")
    assert stage(after) == (("a",), ())
    assert [(one.call_id, one.kind) for one in finished(after, "a").closed.results()] == [("a", "ok"), ("b", "denied")]
