"""The recovery chain in a run: which step follows, what it passes, and what the model is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from geode.domain.approval import Approve, Asked, Deny, Grant, Later
from geode.domain.codec import dumps, loads
from geode.domain.content import ResultKind, Text, ToolResult
from geode.domain.errors import CodecError, IllegalInput
from geode.domain.loop.actions import RunStage, Suspend
from geode.domain.loop.inputs import Checked, Interrupted, StopRequested, ToolFinished
from geode.domain.loop.resuming import Doubt, in_doubt, revived, taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.recovery import EXHAUSTED, Recovery, Tried, concluded, noticed
from geode.domain.rounds import Execution, asked_about, executions
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.verdicts import Invalid, Unknown, Valid, Verdict
from tests.unit.domain.builders import (
    OWNER,
    begun,
    call,
    decided,
    ending,
    expect,
    finished,
    kinds,
    last_results,
    model_call,
    ok,
    replied,
    stage,
)

SAFE, EXPENSIVE = SafetyTier.SAFE, SafetyTier.EXPENSIVE
# Each tool by what stands in for it.
TOOLS: Mapping[str, ToolFacts] = {
    "lone": ToolFacts(SAFE, "d"),
    "search": ToolFacts(SAFE, "d", alternative="mirror", fallback="cache"),
    "mirror": ToolFacts(SAFE, "d"),
    "cache": ToolFacts(SafetyTier.MCP_TRUSTED, "d-cache"),
    "render": ToolFacts(EXPENSIVE, "d", fallback="sketch"),
    "sketch": ToolFacts(EXPENSIVE, "d"),
    "write": ToolFacts(SafetyTier.WRITE, "d", alternative="mirror"),
    "erase": ToolFacts(SafetyTier.DANGEROUS, "d", fallback="cache"),
    "odd": ToolFacts(SAFE, "d", alternative="write", fallback="gone"),
}


def failing(
    name: str, times: int = 2, *, can_ask: bool = False, policy: Policy = Policy(), tools: Mapping[str, ToolFacts] = TOOLS
) -> State:
    """A run in which the tool has failed so often in a row, each time in a round of its own."""
    state = begun(policy, can_ask=can_ask, tools=tools)
    for number in range(times):
        state = replied(state, call(f"f{number}", name, {"n": number}))
        if tools[name].tier.needs_approval and stage(state)[1]:
            state = decided(state, f"f{number}")
        state = finished(state, f"f{number}", "failed")
    return state


def recovering(name: str = "search", **settings: Any) -> State:
    """The next call of that tool, `a`, is at the beginning of its chain."""
    return replied(failing(name, **settings), call("a", name, {"q": "x"}))


def checked(state: State, id: str = "a", verdict: Verdict = Valid()) -> State:
    return step(state, Checked(state.now, id, verdict))


def check(state: State) -> tuple[str, ...]:
    return expect(RunStage, state.pending).check


def runs(state: State) -> list[tuple[str, str, float]]:
    """What is executed now: the id of the call, the tool, and the seconds to wait before."""
    return [(one.call.id, one.call.name, one.delay_seconds) for one in executions(state)]


def told(state: State) -> list[str]:
    """The texts of the one result of the round that closed last."""
    (found,) = last_results(state)
    return [part.text for part in found.content if isinstance(part, Text)]


def hopeless(state: State, id: str = "a") -> State:
    return step(state, ToolFinished(state.now, ToolResult(id, "failed", (Text("no"),), recoverable=False)))


# ---- when it begins ----------------------------------------------------------------------------


def test_after_two_failures_in_a_row_the_next_call_waits_a_second() -> None:
    assert runs(replied(failing("search", 1), call("a", "search"))) == [("a", "search", 0.0)]
    assert runs(recovering()) == [("a", "search", 1.0)]


def test_both_numbers_are_policy() -> None:
    policy = Policy(recovery_failures=1, recovery_seconds=7.5)
    assert runs(replied(failing("search", 1, policy=policy), call("a", "search"))) == [("a", "search", 7.5)]


def test_it_can_be_off() -> None:
    state = recovering(policy=Policy(max_recovery_executions=0))
    assert runs(state) == [("a", "search", 0.0)]
    assert told(finished(state, "a", "failed", "down")) == ["down"]


@pytest.mark.parametrize("name", ["write", "erase"])
def test_what_changes_something_is_never_recovered(name: str) -> None:
    state = decided(recovering(name, can_ask=True), "a")
    assert state.round.recovering == {}
    assert told(finished(state, "a", "failed", "down")) == ["down"]


def test_a_success_resets() -> None:
    state = finished(recovering(), "a")
    assert runs(replied(state, call("b", "search"))) == [("b", "search", 0.0)]
    state = finished(replied(state, call("b", "search", {"q": 1})), "b", "failed")
    assert runs(replied(state, call("c", "search"))) == [("c", "search", 0.0)]


def test_a_denial_is_no_failure_and_resets_nothing() -> None:
    state = decided(replied(failing("render", 1, can_ask=True), call("d", "render")), "d", Deny())
    assert state.habits.failures == {"render": 1}
    state = finished(decided(replied(state, call("e", "render", {"n": 7})), "e"), "e", "failed")
    assert replied(state, call("a", "render")).round.recovering.keys() == {"a"}


def test_arguments_that_do_not_fit_are_failures_and_are_not_tried_again() -> None:
    bad = Invalid(("/q: missing",))
    state = begun(tools=TOOLS)
    for id in "xyz":
        state = replied(state, call(id, "search"), verdicts=(bad,))
    assert told(state) == ["search was not run: /q: missing"]
    assert runs(replied(state, call("a", "search"))) == [("a", "search", 1.0)]


def test_an_error_marked_not_recoverable_starts_none() -> None:
    state = hopeless(replied(failing("search", 1), call("a", "search")))
    assert runs(replied(state, call("b", "search"))) == [("b", "search", 0.0)]


def test_every_call_of_such_a_tool_is_recovered_and_no_other() -> None:
    state = replied(failing("search"), call("a", "search"), call("b", "lone"), call("c", "search"))
    assert list(executions(state))[1] == Execution(call("b", "lone"), 1, 0, 0.0, recovering=False)
    assert [one.index for one in executions(state)] == [0, 1, 2]
    assert runs(state) == [("a", "search", 1.0), ("b", "lone", 0.0), ("c", "search", 1.0)]


def test_counters_belong_to_the_run() -> None:
    """Two runs of one session: what failed in the first says nothing in the second."""
    first = recovering()
    second = begun(tools=TOOLS, conversation=failing("search").closed)
    assert first.round.recovering.keys() == {"a"}
    assert runs(replied(second, call("a", "search"))) == [("a", "search", 0.0)]


# ---- the steps ---------------------------------------------------------------------------------


def test_retry_then_alternative_then_fallback_and_then_it_is_exhausted() -> None:
    state = recovering()
    assert list(executions(state)) == [Execution(call("a", "search", {"q": "x"}), 0, 0, 1.0, recovering=True)]
    state = finished(state, "a", "failed", "search is down")
    assert (check(state), state.round.call("a")) == (("a",), call("a", "mirror", {"q": "x"}))
    state = checked(state)
    assert list(executions(state)) == [Execution(call("a", "mirror", {"q": "x"}), 0, 1, 0.0, recovering=True)]
    state = checked(finished(state, "a", "failed", "so is the mirror"))
    assert list(executions(state)) == [Execution(call("a", "cache", {"q": "x"}), 0, 2, 0.0, recovering=True)]
    state = finished(state, "a", "failed", "empty")
    assert last_results(state)[0].call_id == "a"
    assert told(state) == [
        "empty",
        (
            "What was tried: search once more: failed (search is down); mirror in its place: failed (so is the mirror); "
            "cache as a fallback: failed. Nothing else is left to try: do without it, or say what keeps you from going on."
        ),
    ]
    assert model_call(state).round == 4


def test_after_an_exhausted_chain_the_count_stays_at_two() -> None:
    state = finished(recovering("lone"), "a", "failed")
    assert state.habits.failures == {"lone": 2}
    assert runs(replied(state, call("b", "lone"))) == [("b", "lone", 1.0)]


def test_a_first_step_that_succeeds_is_the_result_as_it_is() -> None:
    assert told(finished(recovering(), "a", "ok", "found")) == ["found"]


def test_a_later_step_that_succeeds_says_what_was_tried() -> None:
    state = finished(checked(finished(recovering(), "a", "failed", "down")), "a", "ok", "found")
    assert kinds(state) == {"a": "ok"}
    assert told(state) == ["found", "What was tried: search once more: failed (down); mirror in its place: ok."]
    assert state.habits.failures == {"search": 0}


def test_a_fallback_without_an_alternative() -> None:
    tools = {**TOOLS, "search": replace(TOOLS["search"], alternative=None)}
    state = finished(recovering(tools=tools), "a", "failed")
    assert state.round.call("a").name == "cache"


@pytest.mark.parametrize(
    ("most", "tried"), [(1, ["search"]), (2, ["search", "mirror"]), (3, ["search", "mirror", "cache"]), (9, None)]
)
def test_at_most_three_executions(most: int, tried: list[str] | None) -> None:
    state, ran = recovering(policy=Policy(max_recovery_executions=most)), list[str]()
    while state.open is not None:
        state = checked(state) if check(state) else state
        ran.append(state.round.call("a").name)
        state = finished(state, "a", "failed")
    assert ran == (tried or ["search", "mirror", "cache"])


def test_an_error_marked_not_recoverable_ends_the_chain() -> None:
    state = hopeless(recovering())
    assert told(state) == ["no", f"What was tried: search once more: failed. {EXHAUSTED}"]
    assert state.habits.failures == {"search": 0}


@pytest.mark.parametrize("kind", ["outcome_unknown", "interrupted", "denied"])
def test_what_may_have_had_an_effect_is_not_tried_again(kind: ResultKind) -> None:
    state = finished(recovering(), "a", kind, "who knows")
    assert (kinds(state), told(state)) == ({"a": kind}, ["who knows"])


def test_a_stand_in_that_changes_something_or_is_gone_is_passed_over() -> None:
    assert told(finished(recovering("odd"), "a", "failed", "down"))[1].startswith("What was tried: odd once more: failed. ")


def test_other_calls_go_on_meanwhile() -> None:
    state = replied(failing("search"), call("a", "search"), call("b", "lone"))
    state = finished(state, "a", "failed")
    assert (stage(state), check(state)) == ((("b",), ()), ("a",))
    state = checked(state)
    assert stage(state) == (("a", "b"), ())
    state = finished(finished(state, "b"), "a")
    assert kinds(state) == {"a": "ok", "b": "ok"}


def test_a_result_of_another_call_leaves_what_is_to_be_checked() -> None:
    state = replied(failing("search"), call("a", "search"), call("b", "lone"), call("c", "lone", {"x": 1}))
    state = finished(finished(state, "a", "failed"), "b")
    assert (stage(state), check(state)) == ((("c",), ()), ("a",))


def test_a_change_behind_it_waits_for_its_end() -> None:
    state = replied(failing("search", policy=Policy(grants=(Grant("write"),))), call("a", "search"), call("w", "write"))
    state = finished(state, "a", "failed")
    assert (stage(state), check(state)) == (((), ()), ("a",))
    state = checked(state)
    assert stage(state) == (("a",), ())
    assert stage(finished(state, "a")) == (("w",), ())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("down.", "down"),
        ("see XX.", "see XX"),
        ("line one\n\n  line two", "line one line two"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        ("a b" + "\n" * 500 + "c", "a b c"),
        ("x" * 199 + "\n  y" + "z" * 10_000, "x" * 199 + " …"),
    ],
)
def test_a_text_becomes_one_bounded_line(text: str, shown: str) -> None:
    state = finished(recovering(), "a", "failed", text)
    assert state.round.recovering["a"].tried == (Tried("retry", "search", "failed", shown, executed=True),)


def test_what_the_operator_is_told_of_each_step() -> None:
    state = recovering()
    assert noticed(state.round.recovering["a"], "search") == "search keeps failing; next: search once more"
    state = finished(state, "a", "failed", "down")
    assert noticed(state.round.recovering["a"], "search") == (
        "search keeps failing; search once more: failed (down); next: mirror in its place"
    )
    state = checked(state, verdict=Invalid(("/q: bad",)))
    assert noticed(state.round.recovering["a"], "search") == (
        "search keeps failing; mirror in its place: failed (mirror was not run: /q: bad); next: cache as a fallback"
    )


def test_what_was_not_executed_has_no_conclusion() -> None:
    with pytest.raises(ValueError, match=r"^nothing was executed$"):
        concluded(Recovery("retry", call("a", "lone"), Valid()))


def test_each_step_is_told_apart_from_those_before() -> None:
    """Whoever performs starts, and asks, once in each step of a call."""
    state = replied(failing("search"), call("a", "search"), call("b", "lone"))
    assert (state.round.step_of("a"), state.round.step_of("b")) == (0, 0)
    state = finished(state, "a", "failed")
    assert (state.round.step_of("a"), state.round.step_of("b")) == (1, 0)
    state = checked(state, verdict=Invalid(("/q: bad",)))
    assert (state.round.step_of("a"), state.round.step_of("b")) == (2, 0)


# ---- validation --------------------------------------------------------------------------------


def test_a_stand_in_that_does_not_take_the_arguments_is_passed_over() -> None:
    state = finished(recovering(), "a", "failed", "down")
    state = checked(state, verdict=Invalid(("/q: too long",)))
    assert (check(state), state.round.call("a").name) == (("a",), "cache")
    state = checked(state, verdict=Unknown(()))
    assert told(state) == [
        "down",
        (
            "What was tried: search once more: failed; mirror in its place: failed (mirror was not run: /q: too long); "
            f"cache as a fallback: failed (there is no tool named 'cache'). {EXHAUSTED}"
        ),
    ]


def test_what_is_not_run_is_no_execution() -> None:
    state = finished(recovering(can_ask=True, policy=Policy(max_recovery_executions=2)), "a", "failed")
    state = checked(state, verdict=Invalid(("/q: bad",)))
    assert runs(checked(state)) == [("a", "cache", 0.0)]


@pytest.mark.parametrize("id", ["a", "b", ""])
def test_only_what_is_to_be_checked_is(id: str) -> None:
    with pytest.raises(IllegalInput) as caught:
        checked(recovering(), id)
    assert str(caught.value) == f"call {id!r} is not to be checked"
    with pytest.raises(IllegalInput, match=r"^CallModel is pending, not RunStage$"):
        checked(begun(), id)


def test_only_a_tool_that_is_there_can_be_valid() -> None:
    state = finished(recovering(), "a", "failed")
    tools = {name: facts for name, facts in TOOLS.items() if name != "mirror"}
    with pytest.raises(IllegalInput, match=r"^a call of no known tool has the verdict Valid: mirror$"):
        checked(replace(state, terms=replace(state.terms, tools=tools)))


# ---- approval ----------------------------------------------------------------------------------


def test_each_expensive_step_is_asked_about_for_itself() -> None:
    state = recovering("render", can_ask=True)
    assert stage(state) == ((), ("a",))
    assert asked_about(state, "a") == Asked(call("a", "render", {"q": "x"}), EXPENSIVE, "render is EXPENSIVE")
    state = checked(finished(decided(state, "a"), "a", "failed"))
    assert stage(state) == ((), ("a",))
    assert asked_about(state, "a") == Asked(
        call("a", "sketch", {"q": "x"}), EXPENSIVE, "sketch is EXPENSIVE; it would stand in for a tool that keeps failing"
    )
    state = decided(state, "a")
    assert runs(state) == [("a", "sketch", 0.0)]
    assert kinds(finished(state, "a")) == {"a": "ok"}


def test_a_stand_in_that_needs_a_person_where_there_is_none_is_passed_over() -> None:
    state = finished(recovering("render", policy=Policy(grants=(Grant("render"),))), "a", "failed", "down")
    state = checked(state)
    assert told(state)[1] == (
        "What was tried: render once more: failed; sketch as a fallback: denied (sketch needs a person's approval "
        f"and nobody can give it here; the call was not run). {EXHAUSTED}"
    )


def test_a_grant_covers_a_stand_in() -> None:
    policy = Policy(grants=(Grant("render"), Grant("sketch", {"q": "x"})))
    assert runs(checked(finished(recovering("render", policy=policy), "a", "failed"))) == [("a", "sketch", 0.0)]


def test_a_denied_call_is_denied_and_nothing_else_is_tried() -> None:
    state = decided(recovering("render", can_ask=True), "a", Deny("not now"))
    assert (kinds(state), told(state)) == ({"a": "denied"}, ["denied: not now"])


def test_a_denied_stand_in_leads_to_the_next_step() -> None:
    state = checked(finished(decided(recovering("render", can_ask=True), "a"), "a", "failed", "down"))
    state = decided(state, "a", Deny("too dear"))
    assert (check(state), state.round.call("a").name) == (("a",), "render")
    state = decided(checked(state), "a", Deny("leave it"))
    assert kinds(state) == {"a": "failed"}
    assert told(state)[1] == (
        "What was tried: render once more: failed; sketch as a fallback: denied (too dear); "
        f"render after asking a person: denied (leave it). {EXHAUSTED}"
    )


def test_edited_arguments_hold_for_what_comes_after() -> None:
    state = decided(recovering("render", can_ask=True), "a", Approve({"q": "y"}), Valid())
    assert [one.call for one in executions(state)] == [call("a", "render", {"q": "y"})]
    state = finished(state, "a", "failed")
    assert state.round.call("a") == call("a", "sketch", {"q": "y"})
    state = decided(checked(state), "a", Approve({"q": "z"}), Invalid(("/q: bad",)))
    assert state.round.call("a") == call("a", "render", {"q": "y"})


def test_an_edit_that_does_not_fit_fails_the_call_as_ever() -> None:
    state = decided(recovering("render", can_ask=True), "a", Approve({"q": 1}), Invalid(("/q: bad",)))
    assert told(state) == ["render was not run: /q: bad"]


# ---- asking a person at the end ----------------------------------------------------------------


def test_where_somebody_can_be_asked_the_last_step_is_a_question() -> None:
    state = finished(recovering("lone", can_ask=True), "a", "failed", "down")
    state = checked(state)
    assert stage(state) == ((), ("a",))
    assert asked_about(state, "a") == Asked(
        call("a", "lone", {"q": "x"}), SAFE, "lone keeps failing and nothing else is left to try: run it once more?"
    )
    state = decided(state, "a")
    assert runs(state) == [("a", "lone", 0.0)]
    again = finished(state, "a", "failed", "still down")
    assert told(again) == [
        "still down",
        f"What was tried: lone once more: failed (down); lone after asking a person: failed. {EXHAUSTED}",
    ]
    assert told(finished(state, "a", "ok", "up"))[0] == "up"


def test_nobody_is_asked_when_no_execution_is_left() -> None:
    state = recovering(can_ask=True)
    for _ in range(2):
        state = checked(finished(state, "a", "failed"))
    state = finished(state, "a", "failed")
    assert told(state)[1].endswith(f"cache as a fallback: failed. {EXHAUSTED}")


def test_a_grant_is_no_answer_to_that_question() -> None:
    state = checked(finished(recovering("lone", can_ask=True, policy=Policy(grants=(Grant("lone"),))), "a", "failed"))
    assert stage(state) == ((), ("a",))


def test_the_question_and_those_about_expensive_calls_are_one() -> None:
    state = replied(failing("lone", can_ask=True), call("a", "lone"), call("b", "render"))
    assert stage(state) == (("a",), ("b",))
    state = checked(finished(state, "a", "failed"))
    assert stage(state) == ((), ("a", "b"))


def test_an_answer_may_come_later_in_another_process() -> None:
    state = decided(checked(finished(recovering("lone", can_ask=True), "a", "failed", "down")), "a", Later())
    assert state.pending == Suspend(("a",))
    later = taken_up(loads(State, dumps(state)), OWNER, TOOLS, 1000.0, ["a"])
    later = decided(later, "a")
    assert runs(later) == [("a", "lone", 0.0)]
    assert kinds(finished(later, "a")) == {"a": "ok"}


# ---- taken up again ----------------------------------------------------------------------------


DAMAGED = "the snapshot is damaged: "


def put_off() -> State:
    """A stand-in waits for an answer that will come later."""
    state = checked(finished(decided(recovering("render", can_ask=True), "a"), "a", "failed", "down"))
    return loads(State, dumps(decided(state, "a", Later())))


def test_a_stand_in_that_is_as_it_was_only_waits_for_its_answer() -> None:
    assert taken_up(put_off(), OWNER, TOOLS, 9.0, ["a"]).pending == Suspend(("a",))
    assert stage(taken_up(put_off(), OWNER, TOOLS, 9.0, ())) == ((), ("a",))


def test_a_stand_in_that_changed_is_checked_and_asked_about_again() -> None:
    state = taken_up(put_off(), OWNER, {**TOOLS, "sketch": ToolFacts(EXPENSIVE, "new")}, 9.0, ["a"])
    assert (stage(state), check(state)) == (((), ()), ("a",))
    assert stage(checked(state)) == ((), ("a",))


def test_a_stand_in_that_is_gone_is_passed_over() -> None:
    tools = {name: facts for name, facts in TOOLS.items() if name != "sketch"}
    state = taken_up(put_off(), OWNER, tools, 9.0, ["a"])
    assert check(state) == ("a",)
    state = checked(state, verdict=Unknown(()))
    assert state.round.call("a").name == "render"


def test_a_tool_that_changed_before_it_was_tried_again_is_asked_about_and_not_checked() -> None:
    state = decided(recovering("render", can_ask=True), "a", Later())
    assert state.pending == Suspend(("a",))
    again = taken_up(state, OWNER, {**TOOLS, "render": ToolFacts(EXPENSIVE, "new", fallback="sketch")}, 9.0, ["a"])
    assert (stage(again), check(again)) == (((), ("a",)), ())


def test_a_call_whose_own_tool_is_gone_is_answered() -> None:
    tools = {name: facts for name, facts in TOOLS.items() if name != "render"}
    assert told(taken_up(put_off(), OWNER, tools, 9.0, ["a"])) == ["the tool render is no longer there"]


@pytest.mark.parametrize(
    "broken",
    [
        Recovery("retry", call("b", "lone"), Valid()),
        Recovery("retry", call("a", "lone"), None),
        Recovery("retry", call("a", "lone"), Valid(), (), ToolResult("a", "failed", ())),
        Recovery("fallback", call("a", "lone"), Valid()),
        Recovery("fallback", call("b", "lone"), None, (), ToolResult("a", "failed", ())),
    ],
    ids=range(5),
)
def test_a_recovery_that_contradicts_itself_is_refused(broken: Recovery) -> None:
    state = put_off()
    damaged = replace(state, open=replace(state.round, recovering={"a": broken}))
    with pytest.raises(CodecError, match=f"^{DAMAGED}the recovery of a call in its open round contradicts itself$"):
        taken_up(damaged, OWNER, TOOLS, 9.0, ["a"])
    with pytest.raises(
        CodecError, match=f"^{DAMAGED}its open round has results, answers or changes for calls that are not in it$"
    ):
        taken_up(replace(state, open=replace(state.round, recovering={"z": broken})), OWNER, TOOLS, 9.0, ["a"])


# ---- its process ended -------------------------------------------------------------------------


def standing_in() -> State:
    """A stand-in runs, after a person's approval of it."""
    return decided(checked(finished(decided(recovering("render", can_ask=True), "a"), "a", "failed", "down")), "a")


def with_flags(name: str, *, idempotent: bool = False, reconciles: bool = False) -> Mapping[str, ToolFacts]:
    return {**TOOLS, name: replace(TOOLS[name], idempotent=idempotent, reconciles=reconciles)}


def again(
    state: State, tools: Mapping[str, ToolFacts] = TOOLS, reconciled: Mapping[str, ToolResult | None] | None = None
) -> State:
    return revived(loads(State, dumps(state)), OWNER, tools, 9.0, reconciled=reconciled)


WAS_STARTED = (
    "sketch had been started when its process ended; it may or may not have had its effect. Check before calling again"
)


@pytest.mark.parametrize(
    ("tools", "doubt"),
    [
        (TOOLS, "unknown"),
        (with_flags("render", idempotent=True), "unknown"),
        (with_flags("render", reconciles=True), "unknown"),
        (with_flags("sketch", idempotent=True), "run_again"),
        (with_flags("sketch", reconciles=True), "reconcile"),
    ],
)
def test_it_is_the_tool_that_was_started_which_is_in_doubt(tools: Mapping[str, ToolFacts], doubt: Doubt) -> None:
    assert in_doubt(standing_in(), tools) == {"a": doubt}


def test_a_safe_step_is_taken_again() -> None:
    state = again(recovering())
    assert runs(state) == [("a", "search", 1.0)]
    state = checked(finished(state, "a", "failed", "down"))
    assert runs(again(state)) == [("a", "mirror", 0.0)]
    state = finished(again(state), "a")
    assert told(state) == ["done", "What was tried: search once more: failed (down); mirror in its place: ok."]
    assert state.counters.calls_of == {"search": 3, "mirror": 1}, "what runs again counts once"


def test_a_safe_tool_whose_stand_in_is_not_safe() -> None:
    tools = {**TOOLS, "search": ToolFacts(SAFE, "d", fallback="cache")}
    state = checked(finished(recovering(tools=tools), "a", "failed"))
    assert runs(state) == [("a", "cache", 0.0)]
    assert in_doubt(state, tools) == {"a": "unknown"}
    assert kinds(again(state, tools)) == {"a": "outcome_unknown"}


def test_a_stand_in_that_may_have_had_its_effect_ends_the_chain_and_answers_the_call() -> None:
    state = again(standing_in())
    assert kinds(state) == {"a": "outcome_unknown"}
    assert told(state) == [
        WAS_STARTED,
        "What was tried: render once more: failed (down); sketch as a fallback: outcome_unknown.",
    ]
    assert state.counters.calls_of == {"render": 3, "sketch": 1}, "it may have run, so it counts"


def test_an_idempotent_stand_in_runs_again_with_the_answer_that_it_had() -> None:
    state = again(standing_in(), with_flags("sketch", idempotent=True))
    assert (stage(state), runs(state)) == ((("a",), ()), [("a", "sketch", 0.0)])


def test_what_the_reconciler_of_a_stand_in_found_is_what_came_of_its_step() -> None:
    tools = with_flags("sketch", reconciles=True)
    state = again(standing_in(), tools, {"a": ok("a", "sketched by then")})
    assert kinds(state) == {"a": "ok"}
    assert told(state) == ["sketched by then", "What was tried: render once more: failed (down); sketch as a fallback: ok."]
    assert runs(again(standing_in(), tools, {"a": None})) == [("a", "sketch", 0.0)]


def test_a_stand_in_that_is_gone_when_it_would_run_again_is_passed_over() -> None:
    state = checked(finished(recovering(), "a", "failed"))
    state = again(state, {name: facts for name, facts in TOOLS.items() if name != "mirror"})
    assert (runs(state), check(state)) == ([], ("a",))
    state = checked(checked(state, verdict=Unknown(())))
    assert runs(state) == [("a", "cache", 0.0)]


def test_a_run_that_was_being_stopped_takes_no_step_again() -> None:
    state = again(step(checked(finished(recovering(), "a", "failed")), StopRequested(1.0)))
    assert (ending(state).reason, kinds(state)) == ("stopped", {"a": "interrupted"})


def test_a_recovery_that_contradicts_itself_is_refused_here_too() -> None:
    state = recovering()
    broken = replace(state, open=replace(state.round, recovering={"a": Recovery("retry", call("a", "lone"), None)}))
    with pytest.raises(CodecError, match=f"^{DAMAGED}the recovery of a call in its open round contradicts itself$"):
        again(broken)


# ---- budgets -----------------------------------------------------------------------------------


def test_every_execution_counts() -> None:
    state = finished(checked(finished(recovering(), "a", "failed")), "a")
    assert (state.counters.tool_calls, state.counters.calls_of) == (4, {"search": 3, "mirror": 1})


@pytest.mark.parametrize(("most", "goes_on"), [(3, False), (4, True)])
def test_a_step_that_is_over_the_budget_of_calls_is_not_taken(most: int, goes_on: bool) -> None:
    state = finished(recovering(policy=Policy(max_tool_calls=most)), "a", "failed")
    assert (state.open is not None) is goes_on


@pytest.mark.parametrize(("most", "goes_on"), [(4, False), (5, True)])
def test_what_other_calls_of_the_round_will_take_is_set_aside(most: int, goes_on: bool) -> None:
    state = replied(failing("search", policy=Policy(max_tool_calls=most)), call("a", "search"), call("b", "lone"))
    state = finished(state, "a", "failed")
    assert ("a" in state.round.results) is not goes_on


def test_a_stand_in_has_its_own_limit() -> None:
    tools = {**TOOLS, "mirror": ToolFacts(SAFE, "d", max_calls=1)}
    state = replied(failing("search", tools=tools), call("m", "mirror"), call("a", "search"))
    state = finished(state, "a", "failed")
    assert state.round.call("a").name == "cache"
    state = finished(finished(checked(state), "a"), "m")
    assert kinds(state) == {"m": "ok", "a": "ok"}
    state = replied(state, call("n", "mirror"))
    assert told(state) == ["not executed: mirror may run 1 times in a run, and has"]


@pytest.mark.parametrize(("limit", "name"), [(1, "cache"), (2, "mirror")])
def test_executions_of_a_stand_in_count_in_all_rounds(limit: int, name: str) -> None:
    tools = {**TOOLS, "mirror": ToolFacts(SAFE, "d", max_calls=limit)}
    state = finished(replied(failing("search", tools=tools), call("m", "mirror")), "m")
    state = finished(replied(state, call("a", "search")), "a", "failed")
    assert state.round.call("a").name == name


@pytest.mark.parametrize(("limit", "name"), [(1, "cache"), (2, "mirror")])
def test_executions_of_a_stand_in_count_in_the_same_round(limit: int, name: str) -> None:
    tools = {**TOOLS, "mirror": ToolFacts(SAFE, "d", max_calls=limit)}
    state = replied(failing("search", tools=tools), call("m", "mirror"), call("a", "search"))
    state = finished(finished(state, "m"), "a", "failed")
    assert state.round.call("a").name == name
    assert replied(failing("lone"), call("b", "lone")).counters.calls_of == {"lone": 2}


def test_a_stand_in_that_never_ran_has_all_of_its_limit() -> None:
    tools = {**TOOLS, "mirror": ToolFacts(SAFE, "d", max_calls=1)}
    assert finished(recovering(tools=tools), "a", "failed").round.call("a").name == "mirror"


def test_each_tool_has_its_own_count() -> None:
    state = finished(replied(begun(tools=TOOLS), call("a", "lone")), "a")
    state = finished(replied(state, call("b", "mirror")), "b")
    assert state.counters.calls_of == {"lone": 1, "mirror": 1}


def test_a_limit_of_a_tool_holds_in_all_rounds_and_within_one() -> None:
    tools = {"lone": ToolFacts(SAFE, "d", max_calls=3), "other": ToolFacts(SAFE, "d")}
    state = finished(replied(begun(tools=tools), call("a", "lone")), "a")
    state = replied(state, *(call(id, "lone", {"id": id}) for id in "bcde"), call("f", "other"))
    assert stage(state) == (("b", "c", "f"), ())
    state = finished(finished(finished(state, "b"), "c"), "f")
    assert kinds(state) == {"b": "ok", "c": "ok", "d": "failed", "e": "failed", "f": "ok"}
    assert model_call(state).wrap_up is None


# ---- time, stopping, cancelling ----------------------------------------------------------------


@pytest.mark.parametrize(("at", "delay"), [(98.5, 1.0), (99.0, 0.0), (99.5, 0.0)])
def test_it_waits_only_if_the_run_has_time_for_that(at: float, delay: float) -> None:
    state = replied(failing("lone", policy=Policy(max_seconds=100.0)), call("a", "lone"), at=at)
    assert runs(state) == [("a", "lone", delay)]


def test_when_the_time_is_used_up_the_chain_ends_where_it_is() -> None:
    state = recovering(policy=Policy(max_seconds=100.0))
    state = finished(state, "a", "failed", "down", at=100.0)
    assert told(state) == ["down", f"What was tried: search once more: failed. {EXHAUSTED}"]
    assert ending(state).reason == "time_budget"


def test_stopping_ends_the_chain_where_it_is() -> None:
    state = checked(finished(decided(recovering("render", can_ask=True), "a"), "a", "failed", "down"))
    stopped = step(state, StopRequested(0.0))
    assert told(stopped) == ["down", f"What was tried: render once more: failed. {EXHAUSTED}"]
    assert ending(stopped).reason == "stopped"


def test_what_runs_when_the_run_is_stopped_may_finish_and_nothing_new_is_tried() -> None:
    state = step(recovering(), StopRequested(0.0))
    assert stage(state) == (("a",), ())
    assert kinds(finished(state, "a", "failed")) == {"a": "failed"}
    assert ending(finished(state, "a", "failed")).reason == "stopped"


def test_a_cancelled_run_keeps_what_was_tried() -> None:
    waiting = checked(finished(decided(recovering("render", can_ask=True), "a"), "a", "failed", "down"))
    assert told(step(waiting, Interrupted(0.0)))[0] == "down"
    running = decided(waiting, "a")
    assert kinds(step(running, Interrupted(0.0))) == {"a": "interrupted"}
    not_yet = recovering("render", can_ask=True)
    assert told(step(not_yet, Interrupted(0.0))) == ["interrupted: the run was stopped before this call was started"]
