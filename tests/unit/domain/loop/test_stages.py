"""One round of calls: what starts, what is asked, and in which order (stages, tiers, answers)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from geode.domain.approval import Approve, Deny, Grant, Later
from geode.domain.content import Text, ToolResult, ToolUseBlock
from geode.domain.errors import IllegalInput, Misuse
from geode.domain.loop.actions import RunStage, Suspend
from geode.domain.loop.state import OpenRound, State
from geode.domain.policy import Policy
from geode.domain.rounds import as_decided
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.verdicts import Invalid, Unknown, Valid
from tests.unit.domain.builders import (
    assistant,
    begun,
    call,
    decided,
    expect,
    finished,
    kinds,
    last_results,
    model_call,
    replied,
    results,
    stage,
    user,
)

FACTS = ToolFacts(SafetyTier.WRITE, "digest")


def opened(*names: str, can_ask: bool = True, policy: Policy = Policy()) -> State:
    """A round of one call for each name; their ids are a, b, c, …"""
    return replied(begun(policy, can_ask=can_ask), *(call(id, name) for id, name in zip("abcdefgh", names, strict=False)))


def asked(state: State) -> tuple[str, ...]:
    return expect(Suspend, state.pending).asked


def told(state: State) -> list[str]:
    return [one.text for one in last_results(state)]


# ---- what runs together ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["read", "fetch"])
def test_one_call_that_needs_nobody(name: str) -> None:
    state = opened(name)
    assert stage(state) == (("a",), ())
    closed = finished(state, "a", text="22 degrees")
    assert closed.closed.turns == (user(), assistant(call("a", name)), results(ToolResult("a", "ok", (Text("22 degrees"),))))
    assert (closed.open, model_call(closed).round, closed.counters.tool_calls) == (None, 2, 1)


def test_calls_that_change_nothing_run_side_by_side() -> None:
    state = opened("read", "fetch", "read")
    assert stage(state) == (("a", "b", "c"), ())
    state = finished(state, "b")
    assert stage(state) == (("a", "c"), ())
    state = finished(finished(state, "c"), "a")
    assert [one.call_id for one in last_results(state)] == ["a", "b", "c"]


def test_many_calls_are_all_in_one_stage() -> None:
    assert stage(opened(*["read"] * 8)) == (tuple("abcdefgh"), ())


@pytest.mark.parametrize("order", list(itertools.permutations("abc")), ids="".join)
def test_results_are_in_call_order_whatever_ends_first(order: tuple[str, ...]) -> None:
    state = opened("read", "fetch", "read")
    for id in order:
        state = finished(state, id, text=f"of {id}")
    assert [(one.call_id, one.text) for one in last_results(state)] == [(id, f"of {id}") for id in "abc"]


def test_one_failing_call_loses_no_result_of_its_siblings() -> None:
    state = finished(finished(finished(opened("read", "read", "read"), "b", "failed"), "a"), "c")
    assert kinds(state) == {"a": "ok", "b": "failed", "c": "ok"}
    assert model_call(state).round == 2


# ---- barriers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("barrier", ["write", "erase"])
def test_a_change_waits_for_what_came_before_and_holds_what_comes_after(barrier: str) -> None:
    state = opened("read", barrier, "fetch")
    assert stage(state) == (("a",), ())
    state = finished(state, "a")
    assert stage(state) == ((), ("b",))
    state = decided(state, "b")
    assert stage(state) == (("b",), ())
    state = finished(state, "b")
    assert stage(state) == (("c",), ())
    assert kinds(finished(state, "c")) == {"a": "ok", "b": "ok", "c": "ok"}


def test_a_change_comes_first_if_it_was_called_first() -> None:
    state = opened("write", "read", "read")
    assert stage(state) == ((), ("a",))
    state = decided(state, "a")
    assert stage(state) == (("a",), ())
    assert stage(finished(state, "a")) == (("b", "c"), ())


def test_two_changes_run_one_after_the_other_each_after_its_own_answer() -> None:
    state = opened("write", "erase")
    assert stage(state) == ((), ("a",))
    state = finished(decided(state, "a"), "a")
    assert stage(state) == ((), ("b",))
    state = finished(decided(state, "b"), "b")
    assert kinds(state) == {"a": "ok", "b": "ok"}


def test_a_denied_change_holds_nothing_up() -> None:
    state = decided(opened("write", "read"), "a", Deny("not today"))
    assert stage(state) == (("b",), ())
    state = finished(state, "b")
    assert kinds(state) == {"a": "denied", "b": "ok"}
    assert told(state)[0] == "denied: not today"


# ---- expensive calls ---------------------------------------------------------------------------


def test_expensive_calls_are_asked_in_one_question_while_the_rest_runs() -> None:
    state = opened("read", "render", "fetch", "train")
    assert stage(state) == (("a", "c"), ("b", "d"))
    state = decided(state, "d")
    assert stage(state) == (("a", "c", "d"), ("b",))
    state = finished(state, "a")
    assert stage(state) == (("c", "d"), ("b",))
    state = decided(state, "b")
    assert stage(state) == (("b", "c", "d"), ())


def test_expensive_calls_behind_a_change_are_asked_with_the_first_stage() -> None:
    state = opened("read", "write", "render")
    assert stage(state) == (("a",), ("c",))
    state = decided(state, "c")
    assert stage(state) == (("a",), ())
    state = finished(state, "a")
    assert stage(state) == ((), ("b",))
    state = finished(decided(state, "b"), "b")
    assert stage(state) == (("c",), ())


def test_the_question_about_expensive_calls_stays_while_stages_pass() -> None:
    state = opened("read", "write", "render", policy=Policy(grants=(Grant("write"),)))
    assert stage(state) == (("a",), ("c",))
    state = finished(state, "a")
    assert stage(state) == (("b",), ("c",))
    state = finished(state, "b")
    assert stage(state) == ((), ("c",))
    assert stage(decided(state, "c")) == (("c",), ())


def test_expensive_calls_are_asked_before_the_change_that_comes_first() -> None:
    state = opened("write", "render")
    assert stage(state) == ((), ("b",))
    state = decided(state, "b")
    assert stage(state) == ((), ("a",))
    state = decided(state, "a")
    assert stage(state) == (("a",), ())


def test_a_change_that_needs_no_answer_does_not_wait_for_the_question() -> None:
    state = opened("write", "render", policy=Policy(grants=(Grant("write"),)))
    assert stage(state) == (("a",), ("b",))
    state = decided(state, "b")
    assert stage(state) == (("a",), ())
    assert stage(finished(state, "a")) == (("b",), ())


# ---- answers -----------------------------------------------------------------------------------


def test_a_denial_without_a_reason() -> None:
    state = decided(opened("render"), "a", Deny())
    assert last_results(state) == (ToolResult("a", "denied", (Text("denied: the operator denied this call"),)),)
    assert state.counters.tool_calls == 0


def test_edited_arguments_are_what_runs_and_not_what_is_stored() -> None:
    state = replied(begun(), call("a", "write", {"path": "/etc"}), call("b"))
    state = decided(state, "a", Approve({"path": "/tmp"}), Valid())
    assert stage(state) == (("a",), ())
    assert as_decided(state.round.call("a"), state.round) == call("a", "write", {"path": "/tmp"})
    assert as_decided(state.round.call("b"), state.round) == call("b")
    state = finished(finished(state, "a"), "b")
    assert state.closed.turns[1] == assistant(call("a", "write", {"path": "/etc"}), call("b"))


def test_an_approval_without_an_edit_runs_what_was_called() -> None:
    state = decided(replied(begun(), call("a", "write", {"path": "x"})), "a", Approve())
    assert as_decided(state.round.call("a"), state.round) == call("a", "write", {"path": "x"})


def test_edited_arguments_take_the_place_of_broken_text() -> None:
    broken = ToolUseBlock("a", "write", {}, '{"p":')
    round = OpenRound(assistant(broken), {}, {"a": Approve({"p": 1})})
    assert as_decided(broken, round) == ToolUseBlock("a", "write", {"p": 1}, None)


def test_edited_arguments_that_do_not_fit_are_not_run() -> None:
    state = decided(opened("write"), "a", Approve({"p": 1}, "tool"), Invalid(("/p: not a string", "/q: is missing")))
    assert kinds(state) == {"a": "failed"}
    assert told(state) == ["write was not run: /p: not a string; /q: is missing"]
    assert state.grants == ()


def test_edited_arguments_need_a_verdict() -> None:
    state = opened("write")
    with pytest.raises(IllegalInput) as caught:
        decided(state, "a", Approve({"p": 1}))
    assert str(caught.value) == "the edited arguments of call 'a' have no verdict"


# ---- grants ------------------------------------------------------------------------------------


def test_always_is_a_grant_for_the_tool_in_this_run() -> None:
    state = finished(decided(opened("write"), "a", Approve(always="tool")), "a")
    assert state.grants == (Grant("write", of="d-write WRITE"),)
    later = replied(state, call("x", "write", {"any": 1}), call("y", "erase"))
    assert stage(later) == (("x",), ())
    assert stage(finished(later, "x")) == ((), ("y",))


def test_always_may_hold_for_equal_arguments_only() -> None:
    state = replied(begun(), call("a", "write", {"p": 1, "q": 2}))
    state = finished(decided(state, "a", Approve(always="arguments")), "a")
    assert state.grants == (Grant("write", {"p": 1, "q": 2}, "d-write WRITE"),)
    later = replied(state, call("x", "write", {"q": 2, "p": 1}), call("y", "write", {"p": 1}))
    assert stage(later) == (("x",), ())
    assert stage(finished(later, "x")) == ((), ("y",))


def test_always_with_an_edit_holds_for_the_edited_arguments() -> None:
    state = replied(begun(), call("a", "write", {"p": 1}))
    state = decided(state, "a", Approve({"p": 2}, "arguments"), Valid())
    assert state.grants == (Grant("write", {"p": 2}, "d-write WRITE"),)


def test_a_plain_answer_grants_nothing() -> None:
    assert decided(opened("write"), "a", Approve()).grants == ()
    assert decided(opened("write"), "a", Deny()).grants == ()
    assert decided(opened("write"), "a", Later()).grants == ()


def test_a_grant_covers_the_next_change_of_the_same_round() -> None:
    state = finished(decided(opened("write", "write"), "a", Approve(always="tool")), "a")
    assert stage(state) == (("b",), ())


def test_a_grant_does_not_take_back_a_question() -> None:
    """Both were asked in one question: that the first is allowed for good says nothing about the second yet."""
    state = decided(opened("render", "render"), "a", Approve(always="tool"))
    assert stage(state) == (("a",), ("b",))
    denied = decided(state, "b", Deny())
    assert stage(denied) == (("a",), ())
    assert kinds(finished(denied, "a")) == {"a": "ok", "b": "denied"}
    assert stage(decided(state, "b")) == (("a", "b"), ())


def test_a_grant_does_not_take_back_a_later() -> None:
    state = decided(decided(opened("render", "render"), "a", Later()), "b", Approve(always="tool"))
    assert stage(state) == (("b",), ())
    state = finished(state, "b")
    assert asked(state) == ("a",)
    assert kinds(decided(state, "a", Deny())) == {"a": "denied", "b": "ok"}


def test_grants_of_the_policy_are_there_from_the_start() -> None:
    state = opened("erase", "write", policy=Policy(grants=(Grant("erase"), Grant("write", {"p": 1}))))
    assert stage(state) == (("a",), ())
    assert stage(finished(state, "a")) == ((), ("b",))


@pytest.mark.parametrize(
    ("grant", "name", "input", "covered"),
    [
        (Grant("w"), "w", {"a": 1}, True),
        (Grant("w"), "v", {"a": 1}, False),
        (Grant("w", {}), "w", {}, True),
        (Grant("w", {}), "w", {"a": 1}, False),
        (Grant("w", {"a": 1, "b": [2]}), "w", {"b": [2], "a": 1.0}, True),
        (Grant("w", {"a": 1}), "v", {"a": 1}, False),
    ],
)
def test_what_a_grant_covers(grant: Grant, name: str, input: dict[str, object], covered: bool) -> None:
    assert grant.covers(call("x", name, input), FACTS) is covered


# ---- nobody to ask -----------------------------------------------------------------------------


def test_without_anybody_to_ask_everything_above_trusted_is_denied() -> None:
    state = opened("read", "fetch", "render", "write", "erase", can_ask=False)
    assert stage(state) == (("a", "b"), ())
    state = finished(finished(state, "b"), "a")
    assert kinds(state) == {"a": "ok", "b": "ok", "c": "denied", "d": "denied", "e": "denied"}
    erased = last_results(state)[4]
    assert erased.text == "erase needs a person's approval and nobody can give it here; the call was not run"
    assert erased.detail == "erase is DANGEROUS and the session has no approve=; the call was denied"


def test_a_grant_needs_nobody() -> None:
    state = opened("write", "erase", can_ask=False, policy=Policy(grants=(Grant("write"),)))
    assert stage(state) == (("a",), ())
    assert kinds(finished(state, "a")) == {"a": "ok", "b": "denied"}


def test_a_round_that_is_denied_as_a_whole_goes_on() -> None:
    state = opened("write", can_ask=False)
    assert kinds(state) == {"a": "denied"}
    assert model_call(state).round == 2


# ---- calls that cannot run ---------------------------------------------------------------------


def test_an_unknown_tool_is_answered_with_the_closest_names_and_the_run_goes_on() -> None:
    state = replied(begun(), call("a", "raed"), verdicts=(Unknown(("read", "render")),))
    assert last_results(state) == (
        ToolResult("a", "failed", (Text("there is no tool named 'raed'. Did you mean: read, render?"),)),
    )
    assert model_call(state).round == 2


def test_a_name_made_up_by_the_model_is_escaped_and_bounded() -> None:
    long = "x" * 64
    names = (call("a", "no"), call("b", 'fetch" />\n'), call("c", long), call("d", long + "y"))
    state = replied(begun(), *names, verdicts=(Unknown(()),) * 4)
    assert told(state) == [
        "there is no tool named 'no'.",
        "there is no tool named 'fetch\" />\\n'.",
        f"there is no tool named '{long}'.",
        f"there is no tool named '{long}…'.",
    ]


def test_arguments_that_do_not_fit_are_answered_with_all_errors() -> None:
    wrong = Invalid(("arguments are not valid JSON (line 1, column 13); send the whole object again",))
    state = replied(begun(), call("a", "write"), call("b"), verdicts=(wrong, Valid()))
    assert stage(state) == (("b",), ())
    state = finished(state, "b")
    assert kinds(state) == {"a": "failed", "b": "ok"}
    assert told(state)[0] == (
        "write was not run: arguments are not valid JSON (line 1, column 13); send the whole object again"
    )


def test_arguments_are_judged_before_anybody_is_asked() -> None:
    state = replied(begun(can_ask=False), call("a", "write"), verdicts=(Invalid(("/: bad",)),))
    assert kinds(state) == {"a": "failed"}


# ---- the budget of calls -----------------------------------------------------------------------


def test_calls_over_the_budget_are_answered_and_not_run() -> None:
    state = opened("read", "fetch", "read", "read", "read", policy=Policy(max_tool_calls=2))
    assert stage(state) == (("a", "b"), ())
    state = finished(finished(state, "a"), "b")
    assert kinds(state) == {"a": "ok", "b": "ok", "c": "failed", "d": "failed", "e": "failed"}
    assert told(state)[2] == "not executed: the run's limit of tool calls is reached (read)"
    assert model_call(state).wrap_up == "tool_budget"


def test_calls_of_all_rounds_count_together() -> None:
    """A budget of 5, two rounds of 4: five are run, three are answered, then the model concludes."""
    state = begun(Policy(max_rounds=3, max_tool_calls=5))
    for round in (1, 2):
        state = replied(state, *(call(f"{id}{round}") for id in "abcd"))
        for id in stage(state)[0]:
            state = finished(state, id)
    found = [one.kind for one in state.closed.results()]
    assert found == ["ok"] * 5 + ["failed"] * 3
    assert (model_call(state).round, model_call(state).wrap_up) == (3, "tool_budget")


def test_calls_that_cannot_run_use_up_no_budget() -> None:
    state = replied(
        begun(Policy(max_tool_calls=1), can_ask=False),
        *(call("a", "nope"), call("b", "write"), call("c"), call("d"), call("e")),
        verdicts=(Unknown(()), Valid(), Invalid(("/: bad",)), Valid(), Valid()),
    )
    assert stage(state) == (("d",), ())
    assert kinds(finished(state, "d")) == {"a": "failed", "b": "denied", "c": "failed", "d": "ok", "e": "failed"}


def test_no_calls_at_all_may_be_the_budget() -> None:
    state = opened("read", policy=Policy(max_tool_calls=0))
    assert kinds(state) == {"a": "failed"}
    assert model_call(state).wrap_up == "tool_budget"


# ---- later -------------------------------------------------------------------------------------


def test_later_suspends_the_run_at_once_when_nothing_else_runs() -> None:
    state = decided(opened("write"), "a", Later())
    assert asked(state) == ("a",)
    assert state.closed.turns == (user(),)


def test_with_a_later_the_rest_of_the_stage_finishes_first() -> None:
    state = decided(opened("read", "render", "train"), "b", Later())
    assert stage(state) == (("a",), ("c",))
    state = decided(state, "c")
    assert stage(state) == (("a", "c"), ())
    state = finished(state, "c")
    assert stage(state) == (("a",), ())
    state = finished(state, "a")
    assert asked(state) == ("b",)
    assert set(state.round.results) == {"a", "c"}


def test_with_a_later_the_next_stage_does_not_begin() -> None:
    granted = Policy(grants=(Grant("write"),))
    state = decided(opened("read", "write", "render", policy=granted), "c", Later())
    assert stage(state) == (("a",), ())
    assert asked(finished(state, "a")) == ("c",)
    # Nor is the change asked about that comes first.
    assert asked(decided(opened("write", "render"), "b", Later())) == ("b",)


def test_with_a_later_a_change_that_runs_already_finishes() -> None:
    state = decided(opened("write", "render", policy=Policy(grants=(Grant("write"),))), "b", Later())
    assert stage(state) == (("a",), ())
    assert asked(finished(state, "a")) == ("b",)


def test_several_laters_are_asked_together() -> None:
    state = decided(decided(opened("render", "train", "render"), "c", Later()), "a", Later())
    assert stage(state) == ((), ("b",))
    state = decided(state, "b", Deny())
    assert asked(state) == ("a", "c")
    state = decided(state, "c")
    assert stage(state) == (("c",), ())
    state = decided(state, "a", Deny())
    assert stage(state) == (("c",), ())
    assert kinds(finished(state, "c")) == {"a": "denied", "b": "denied", "c": "ok"}


def test_an_answer_that_comes_after_all_goes_on() -> None:
    state = decided(decided(opened("write", "read"), "a", Later()), "a", Approve())
    assert stage(state) == (("a",), ())
    assert stage(finished(state, "a")) == (("b",), ())


def test_later_again_stays_suspended() -> None:
    state = decided(decided(opened("write"), "a", Later()), "a", Later())
    assert asked(state) == ("a",)


# ---- time --------------------------------------------------------------------------------------


def test_a_stage_has_what_is_left_of_the_run() -> None:
    assert expect(RunStage, opened("read").pending).timeout_seconds is None
    state = replied(begun(Policy(max_seconds=100.0)), call("a"), call("b", "render"), call("c", "write"), at=30.0)
    assert expect(RunStage, state.pending).timeout_seconds == 70.0
    state = decided(state, "b", Deny(), at=45.0)
    assert expect(RunStage, state.pending).timeout_seconds == 55.0
    assert expect(RunStage, finished(state, "a", at=60.0).pending).timeout_seconds == 40.0


NO_TIME = "not executed: the run's time budget is used up"


def test_nothing_starts_when_the_time_is_used_up() -> None:
    state = replied(begun(Policy(max_seconds=100.0)), call("a"), call("b", "write"), call("c", "render"), at=30.0)
    assert stage(state) == (("a",), ("c",))
    state = finished(state, "a", at=100.0)
    assert kinds(state) == {"a": "ok", "b": "failed", "c": "failed"}
    assert told(state)[1:] == [NO_TIME, NO_TIME]


def test_what_runs_when_the_time_is_used_up_may_finish() -> None:
    state = replied(begun(Policy(max_seconds=100.0)), call("a"), call("b"), call("c", "write"))
    state = finished(state, "a", at=100.0)
    assert stage(state) == (("b",), ())
    state = finished(state, "b", at=101.0)
    assert kinds(state) == {"a": "ok", "b": "ok", "c": "failed"}
    assert state.pending != RunStage(("b",), ())


def test_an_answer_that_comes_when_the_time_is_used_up_is_too_late() -> None:
    for decision in (Approve(), Later()):
        state = replied(begun(Policy(max_seconds=100.0)), call("a"), call("b", "render"), call("c", "write"))
        state = decided(state, "b", decision, at=100.0)
        assert stage(state) == (("a",), ())
        assert kinds(finished(state, "a", at=100.0)) == {"a": "ok", "b": "failed", "c": "failed"}


def test_what_runs_keeps_the_deadline_that_it_was_started_with() -> None:
    state = replied(begun(Policy(max_seconds=100.0)), call("a"), call("b"), at=30.0)
    assert finished(state, "a", at=40.0).pending == RunStage(("b",), (), 70.0)


def test_just_before_the_time_is_used_up_calls_still_start() -> None:
    state = replied(begun(Policy(max_seconds=100.0)), call("a"), call("b", "fetch"), at=99.9)
    assert stage(state) == (("a", "b"), ())


# ---- illegal answers and results ---------------------------------------------------------------


@pytest.mark.parametrize("id", ["z", "", "a", "c"])
def test_only_what_was_asked_is_answered(id: str) -> None:
    state = opened("read", "render", "write")
    with pytest.raises(IllegalInput) as caught:
        decided(state, id)
    assert str(caught.value) == f"call {id!r} is not asked about"


def test_an_answer_is_given_once() -> None:
    state = decided(opened("read", "render"), "b")
    with pytest.raises(IllegalInput, match=r"^call 'b' is not asked about$"):
        decided(state, "b", Deny())


@pytest.mark.parametrize("id", ["z", "b", "c"])
def test_only_what_was_started_finishes(id: str) -> None:
    state = opened("read", "render", "write")
    with pytest.raises(IllegalInput) as caught:
        finished(state, id)
    assert str(caught.value) == f"call {id!r} was not started"


def test_a_call_finishes_once() -> None:
    state = finished(opened("read", "fetch"), "a")
    with pytest.raises(IllegalInput, match=r"^call 'a' was not started$"):
        finished(state, "a", "failed")


@pytest.mark.parametrize("granted", [1, 0, [1], {"deep": 1}])
def test_a_grant_for_a_number_is_none_for_a_truth_value(granted: object) -> None:
    """In Python 1 equals True; in JSON it does not (spec section 4: a grant is for what was asked)."""
    truth = json.loads(json.dumps(granted).replace("1", "true").replace("0", "false"))
    assert Grant("w", {"x": granted}).covers(ToolUseBlock("a", "w", {"x": granted}), FACTS)
    assert not Grant("w", {"x": granted}).covers(ToolUseBlock("a", "w", {"x": truth}), FACTS)


@pytest.mark.parametrize(
    "answer",
    [
        lambda: Approve(always=cast("Any", True)),
        lambda: Approve(cast("Any", '{"x":1}')),
        lambda: Approve({"x": float("nan")}),
        lambda: Deny(cast("Any", None)),
    ],
)
def test_what_is_no_answer_is_misuse_where_it_is_made(answer: Callable[[], object]) -> None:
    with pytest.raises(Misuse, match=r"\[answer-type\]$"):
        answer()


def test_edited_arguments_are_a_copy_so_that_what_is_checked_is_what_runs() -> None:
    put_in = {"x": [1], "text": "\ud800"}
    approved = Approve(put_in)
    put_in["x"] = []
    assert approved.input == {"x": [1], "text": "\ufffd"}
