"""Which stored results a run still speaks of: in closed rounds, in the open one, and in a recovery under way."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.content import Text, ToolResult
from geode.domain.loop.inputs import ToolFinished
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.loop.storing import refs_of
from geode.domain.offload import new_ref
from geode.domain.policy import Policy
from geode.domain.recovery import Recovery
from tests.unit.domain.builders import begun, call, replied

ONE, TWO = new_ref(bytes(16)), new_ref(b"\1" * 16)


def ended(state: State, call_id: str, ref_id: str) -> State:
    return step(state, ToolFinished(state.now, ToolResult(call_id, "ok", (Text("long"),), ref_id=ref_id)))


def test_a_run_that_has_stored_nothing_names_nothing() -> None:
    assert refs_of(begun()) == frozenset()
    assert refs_of(ended(replied(begun(), call("a")), "a", "")) == frozenset()


def test_closed_rounds_and_the_open_one_are_named() -> None:
    state = ended(replied(begun(), call("a")), "a", ONE)
    assert state.open is None
    assert refs_of(state) == {ONE}
    state = ended(replied(state, call("b"), call("c")), "b", TWO)
    assert state.open is not None
    assert refs_of(state) == {ONE, TWO}


def test_what_the_last_step_of_a_recovery_gave_is_named() -> None:
    state = replied(begun(Policy()), call("a"), call("b"))
    last = ToolResult("a", "failed", (Text("long"),), ref_id=ONE)
    recovering = {"a": Recovery("retry", call("a"), last=last), "b": Recovery("retry", call("b"))}
    assert refs_of(replace(state, open=replace(state.round, recovering=recovering))) == {ONE}
