"""The decision table: model calls and their failures, stopping, cancelling, and inputs out of place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.approval import Approve, Grant, Later
from geode.domain.budget import WRAP_UP_TEXT
from geode.domain.choice import Auto, Named, NoTools
from geode.domain.content import Opaque, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.failures import CallFailure, RetryHint
from geode.domain.loop.actions import CallModel, Suspend, Wait
from geode.domain.loop.inputs import (
    CallRefused,
    Decided,
    Input,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StopRequested,
    TimePassed,
    ToolFinished,
    Waited,
)
from geode.domain.loop.outcome import Exhausted, Failed, Stopped
from geode.domain.loop.stages import NOT_STARTED
from geode.domain.loop.state import Counters, State
from geode.domain.loop.step import begin, step
from geode.domain.policy import Policy
from geode.domain.repair import INTERRUPTED
from geode.domain.reply import Stop
from geode.domain.retry import RetryPolicy
from geode.domain.spent import BROKEN_OFF
from geode.domain.turns import Hint, ToolResultsTurn, UserTurn
from geode.domain.usage import Usage
from geode.domain.verdicts import Valid
from tests.unit.domain.builders import (
    OWNER,
    TOOLS,
    assistant,
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
    reply,
    results,
    rounds_of_reading,
    stage,
    user,
)

# Spec section 7: a transient failure that ran out names the ways on.
WAYS_ON = (
    "Another model may do: choose one (/model, geode model), or name some to fall back on in [model.fallbacks] of routing.toml"
)

HINT = Hint("wrap_up", WRAP_UP_TEXT)


# ---- the beginning -----------------------------------------------------------------------------


def test_a_run_begins_with_its_first_model_call() -> None:
    state = begun(now=100.0)
    assert state.pending == CallModel(1, 1, Auto(), None, None, 600.0)
    assert state.closed.turns == (user(),)
    assert (state.open, state.stopping, state.grants) == (None, False, ())
    assert state.counters == Counters(call_started_at=100.0)
    assert (state.counters.rounds, state.counters.tool_calls, state.counters.usage) == (0, 0, Usage())
    assert (state.now, state.remaining_seconds, state.said) == (100.0, None, "")


def test_a_run_goes_on_after_a_conversation() -> None:
    before = Conversation((user("first"), assistant("before"), user("more"), assistant(call("a")), results("a")))
    state = begun(conversation=before)
    assert state.closed.turns == (*before.turns, user())
    assert state.said == ""
    assert stage(replied(state, call("a"))) == (("a_2",), ())
    assert ending(replied(state, "x", stop=Stop.UNKNOWN)).text == "x"


def test_limits_of_the_policy_bound_each_call() -> None:
    policy = Policy(max_output_tokens=100, call_timeout_seconds=7.0, max_seconds=5.0, grants=(Grant("read"),))
    assert begun(policy).pending == CallModel(1, 1, Auto(), None, 100, 5.0)
    assert begun(policy).grants == (Grant("read"),)
    assert model_call(begun(Policy(max_total_tokens=70, max_output_tokens=100))).max_output_tokens == 70
    assert model_call(begun(Policy(max_total_tokens=170, max_output_tokens=100))).max_output_tokens == 100


def test_nobody_can_be_asked_unless_it_is_said() -> None:
    from geode.domain.loop.step import begin

    state = begin(run_id="r", owner=OWNER, policy=Policy(), tools=TOOLS, conversation=Conversation(), turn=user(), now=0.0)
    assert kinds(replied(state, call("a", "write"))) == {"a": "denied"}
    assert model_call(state).tool_choice == Auto()


# ---- the next round ----------------------------------------------------------------------------


def test_the_next_round_follows_when_every_call_has_its_result() -> None:
    state = finished(replied(begun(), call("a"), at=3.0), "a", at=4.5)
    assert state.pending == CallModel(2, 1, Auto(), None, None, 600.0)
    assert (state.now, state.counters.call_started_at) == (4.5, 4.5)
    assert state.counters == Counters(1, 1, Usage(10, 5), Usage(10, 5), 0, 0, 0, 4.5, {"read": 1})


def test_time_never_goes_back() -> None:
    state = replied(begun(now=10.0), call("a"), at=12.0)
    assert finished(state, "a", at=5.0).now == 12.0


def test_the_last_two_rounds_of_fifty_must_conclude_and_are_told_once() -> None:
    state = rounds_of_reading(begun(), 47)
    assert (model_call(state).round, model_call(state).tool_choice, model_call(state).wrap_up) == (48, Auto(), None)
    assert expect(ToolResultsTurn, state.closed.turns[-1]).hints == ()
    state = rounds_of_reading(state, 1)
    assert state.pending == CallModel(49, 1, NoTools(), "max_rounds", 2048, 600.0)
    assert expect(ToolResultsTurn, state.closed.turns[-1]).hints == (HINT,)
    state = replied(state, call("z"))
    assert model_call(state).round == 50
    assert expect(ToolResultsTurn, state.closed.turns[-1]).hints == ()
    assert ending(replied(state, "in short")).reason == "max_rounds"


def test_where_a_round_closed_without_results_the_hint_is_a_turn_of_its_own() -> None:
    """After a pause, and after an empty reply: nothing that was sent is changed."""
    paused = replied(begun(Policy(max_rounds=2)), "Once upon", stop=Stop.PAUSE)
    assert paused.closed.turns == (user(), assistant("Once upon"), UserTurn((), (HINT,)))
    assert (model_call(paused).wrap_up, model_call(paused).tool_choice) == ("max_rounds", NoTools())
    outcome = expect(Exhausted, ending(replied(paused, " a time")))
    assert (outcome.reason, outcome.text) == ("max_rounds", "Once upon a time")
    empty = replied(begun(Policy(max_rounds=2)), " ")
    assert empty.closed.turns == (user(), UserTurn((), (HINT,)))
    assert expect(Exhausted, ending(replied(empty, "in short"))).text == "in short"


def test_nothing_comes_between_a_tool_of_the_server_and_its_end() -> None:
    """A paused turn with such a use in it is refused with anything after it (server tool pairs stay together)."""
    use = Opaque(OWNER, "server_tool_use", '{"type":"server_tool_use","id":"srvtoolu_1"}')
    paused = replied(begun(Policy(max_rounds=3)), "so", use, stop=Stop.PAUSE)
    again = replied(paused, "so", use, stop=Stop.PAUSE)
    assert again.closed.turns == (user(), assistant("so", use), assistant("so", use))
    assert model_call(again).wrap_up == "max_rounds"


def test_a_pause_in_the_last_rounds_is_told_once() -> None:
    state = rounds_of_reading(begun(Policy(max_rounds=9)), 7)
    assert state.closed.turns[-1] == results(ok("r6"), hints=(HINT,))
    paused = replied(state, "so", stop=Stop.PAUSE)
    assert paused.closed.turns[-1] == assistant("so")


def test_a_budget_that_is_used_up_gives_no_hint() -> None:
    state = replied(begun(Policy(max_rounds=2, max_total_tokens=20)), call("a"))
    assert expect(Exhausted, ending(finished(state, "a"))).reason == "token_budget"
    assert finished(state, "a").closed.turns[-1] == results("a")


def test_the_hint_comes_after_the_results_of_its_turn() -> None:
    state = rounds_of_reading(begun(Policy(max_rounds=2)), 1)
    assert state.closed.turns[-1] == results(ok("r0"), hints=(HINT,))


def test_each_run_is_told_for_itself() -> None:
    before = rounds_of_reading(begun(Policy(max_rounds=2)), 1)
    again = rounds_of_reading(begun(Policy(max_rounds=2), conversation=before.closed), 1)
    assert expect(ToolResultsTurn, again.closed.turns[-1]).hints == (HINT,)


def test_the_output_of_the_wrap_up_is_small() -> None:
    for policy, limit in (
        (Policy(max_rounds=2, wrap_up_output_tokens=9), 9),
        (Policy(max_rounds=2, max_output_tokens=5), 5),
        (Policy(max_rounds=2, max_total_tokens=130), 100),
        (Policy(max_rounds=2, max_output_tokens=5000), 2048),
    ):
        assert model_call(rounds_of_reading(begun(policy), 1)).max_output_tokens == limit


def test_wrap_up_beats_the_choice_of_the_caller() -> None:
    state = rounds_of_reading(begun(Policy(max_rounds=2), first_choice=Named("read")), 1)
    assert (model_call(state).tool_choice, model_call(state).wrap_up) == (NoTools(), "max_rounds")


def test_a_run_of_one_round_may_call_and_then_ends() -> None:
    state = begun(Policy(max_rounds=1))
    assert (model_call(state).tool_choice, model_call(state).wrap_up) == (Auto(), None)
    outcome = expect(Exhausted, ending(finished(replied(state, "hm", call("a")), "a")))
    assert (outcome.reason, outcome.text) == ("max_rounds", "hm")
    assert outcome.conversation.turns[-1] == results("a")


def test_time_that_runs_out_in_a_round_ends_the_run_after_it() -> None:
    state = replied(begun(Policy(max_seconds=100.0)), "hm", call("a"))
    outcome = expect(Exhausted, ending(finished(state, "a", at=100.0)))
    assert (outcome.reason, outcome.text, outcome.conversation.turns[-1]) == ("time_budget", "hm", results("a"))


def test_tokens_that_run_out_end_the_run_before_the_next_call() -> None:
    state = replied(begun(Policy(max_total_tokens=100)), call("a"), usage=Usage(40, 10))
    assert expect(Exhausted, ending(finished(state, "a"))).reason == "token_budget"
    enough = replied(begun(Policy(max_total_tokens=101)), call("a"), usage=Usage(40, 10))
    assert model_call(finished(enough, "a")).max_output_tokens == 1


# ---- failures of the model ---------------------------------------------------------------------


def test_a_transient_failure_is_tried_three_times_in_all() -> None:
    state = failed(begun(), failure(503), jitter=0.5)
    first = CallModel(1, 1, Auto(), None, None, 600.0)
    assert state.pending == Wait(1.0, replace(first, attempt=2))
    state = step(state, Waited(1.0))
    assert state.pending == replace(first, attempt=2)
    state = failed(state, failure(503), jitter=0.5)
    assert state.pending == Wait(2.0, replace(first, attempt=3))
    outcome = expect(Failed, ending(failed(step(state, Waited(3.0)), failure(503, "busy"), at=4.0)))
    assert (outcome.reason, outcome.why) == ("model_error", f"acme-payg: busy, 3 attempts in 4.0 s. {WAYS_ON}")
    assert outcome.failure == failure(503, "busy")
    assert outcome.conversation.turns == (user(),)


def test_a_limit_that_a_failure_ran_into_names_the_failure() -> None:
    late = expect(Exhausted, ending(failed(begun(Policy(max_seconds=1.0)), failure(503, "busy"), jitter=0.9)))
    assert (late.reason, late.why) == ("time_budget", "acme-payg: busy")
    long = expect(Exhausted, ending(failed(begun(), failure(400, "too long", code="context_length_exceeded"))))
    assert (long.reason, long.why) == ("context_exhausted", "acme-payg: too long")


def test_attempts_are_those_of_the_policy() -> None:
    state = failed(begun(Policy(retry=RetryPolicy(attempts=1))), failure(503, "busy"))
    assert expect(Failed, ending(state)).why == f"acme-payg: busy. {WAYS_ON}"


def test_a_call_that_succeeds_in_the_end_counts_as_one_round() -> None:
    state = replied(step(failed(begun(), failure(503)), Waited(1.0)), call("a"))
    assert (state.counters.rounds, model_call(finished(state, "a")).attempt) == (1, 1)


def test_each_round_has_its_own_attempts_and_its_own_clock() -> None:
    state = step(failed(begun(), failure(503)), Waited(10.0))
    state = finished(replied(state, call("a"), at=20.0), "a", at=30.0)
    state = failed(state, failure(503), at=31.0)
    state = failed(step(state, Waited(32.0)), failure(503), at=33.0)
    outcome = expect(Failed, ending(failed(step(state, Waited(34.0)), failure(503, "busy"), at=35.0)))
    assert outcome.why == f"acme-payg: busy, 3 attempts in 5.0 s. {WAYS_ON}"


REASONS = [
    (failure(402), "billing_error"),
    (failure(429, code="insufficient_quota"), "billing_error"),
    (failure(401), "auth_error"),
    (failure(403), "auth_error"),
    (failure(400), "request_error"),
    (failure(404), "request_error"),
    (failure(422), "request_error"),
    (failure(200), "model_error"),
    (failure(200, phase="stream", after_output=True), "model_error"),
    (failure(429, hint=RetryHint(61.0, False, "61")), "model_error"),
    (failure(503, hint=RetryHint(None, True, "x-should-retry: false")), "model_error"),
    (failure(409, hint=RetryHint(None, True)), "model_error"),
    (failure(None, phase="connect", timed_out=True, hint=RetryHint(None, True)), "model_error"),
    (failure(None, phase="connect", hint=RetryHint(None, True)), "model_error"),
]


@pytest.mark.parametrize(("fault", "reason"), REASONS, ids=range(len(REASONS)))
def test_a_failure_for_good_ends_the_run_with_its_facts(fault: CallFailure, reason: str) -> None:
    state = finished(replied(begun(), "hm", call("a")), "a")
    outcome = expect(Failed, ending(failed(state, fault)))
    assert (outcome.reason, outcome.failure, outcome.text) == (reason, fault, "hm")
    assert outcome.why.startswith("acme-payg: it failed")
    assert outcome.conversation == state.closed
    assert outcome.usage == Usage(10, 5)


def test_what_was_shown_before_a_reply_broke_off_is_in_the_text_of_the_outcome() -> None:
    """Spec section 6: every outcome carries the text so far."""
    state = finished(replied(begun(), "hm", call("a")), "a")
    cut = replace(failure(None, phase="stream", after_output=True), partial="and so", usage=Usage(3, 1))
    outcome = ending(failed(state, cut))
    assert (outcome.text, outcome.usage) == ("hm\nand so", Usage(13, 6))
    stopped = ending(step(state, StopRequested(5.0, "and so", BROKEN_OFF)))
    assert (stopped.text, stopped.usage) == ("hm\nand so", Usage(10, 5, unpriced_calls=1))
    assert ending(step(state, StopRequested(5.0))).usage == Usage(10, 5)
    assert ending(step(state, Interrupted(5.0, BROKEN_OFF))).usage.unpriced_calls == 1


def test_an_overflow_exhausts_the_context() -> None:
    state = finished(replied(begun(), "hm", call("a")), "a")
    outcome = expect(Exhausted, ending(failed(state, failure(400, code="context_length_exceeded"))))
    assert (outcome.reason, outcome.text) == ("context_exhausted", "hm")


def test_a_hint_of_the_server_is_waited_for() -> None:
    assert expect(Wait, failed(begun(), failure(429, hint=RetryHint(45.0, False, "45"))).pending).seconds == 45.0


def test_a_wait_longer_than_the_run_has_left_is_not_begun() -> None:
    busy = failure(503, hint=RetryHint(20.0, False, "20"))
    policy = Policy(max_seconds=100.0)
    assert expect(Wait, failed(begun(policy), busy, at=79.9).pending).seconds == 20.0
    assert ending(failed(begun(policy), busy, at=80.0)).reason == "time_budget"
    assert ending(failed(begun(policy), busy, at=90.0)).reason == "time_budget"
    assert expect(Wait, failed(begun(), busy, at=10**6).pending).seconds == 20.0


def test_a_call_that_timed_out_with_the_run_is_the_runs_budget() -> None:
    policy = Policy(max_seconds=100.0, retry=RetryPolicy(attempts=1))
    late = failure(None, phase="response", timed_out=True)
    assert ending(failed(begun(policy), late, at=100.0)).reason == "time_budget"
    assert ending(failed(begun(policy), late, at=99.0)).reason == "model_error"
    assert ending(failed(begun(policy), failure(401), at=100.0)).reason == "auth_error"


def test_a_repeated_call_has_what_is_left_of_the_run() -> None:
    state = failed(begun(Policy(max_seconds=100.0, wrap_up_seconds=0)), failure(503), at=30.0)
    assert model_call(step(state, Waited(31.0))) == CallModel(1, 2, Auto(), None, None, 69.0)
    assert ending(step(state, Waited(100.0))).reason == "time_budget"


def test_a_repeated_call_is_the_same_round_with_the_same_choice() -> None:
    state = begun(Policy(max_rounds=1), first_choice=Named("read"))
    again = model_call(step(failed(state, failure(503)), Waited(1.0)))
    assert (again.round, again.attempt, again.tool_choice) == (1, 2, Named("read"))


def test_a_request_that_cannot_leave_ends_the_run() -> None:
    state = step(begun(), CallRefused(1.0, 'acme-payg: model acme-1 cannot be given tool_choice "w"'))
    outcome = expect(Failed, ending(state))
    assert (outcome.reason, outcome.failure) == ("request_error", None)
    assert outcome.why == 'acme-payg: model acme-1 cannot be given tool_choice "w"'


# ---- stopping ----------------------------------------------------------------------------------


def test_stopping_between_rounds_ends_the_run() -> None:
    state = finished(replied(begun(), "hm", call("a")), "a")
    stopped = step(state, StopRequested(5.0))
    assert ending(stopped) == Stopped("hm", state.closed, Usage(10, 5), "run-1", "stopped")


def test_stopping_while_waiting_ends_the_run() -> None:
    assert isinstance(ending(step(failed(begun(), failure(503)), StopRequested(1.0))), Stopped)


def test_stopping_in_a_round_lets_what_runs_finish_and_starts_nothing() -> None:
    state = replied(begun(), "hm", call("a"), call("b"), call("c", "write"), call("d", "render"))
    assert stage(state) == (("a", "b"), ("d",))
    state = step(finished(state, "a"), StopRequested(5.0))
    assert stage(state) == (("b",), ())
    state = finished(state, "b")
    assert isinstance(ending(state), Stopped)
    assert last_results(state) == (
        *(ok("a"), ok("b")),
        *(ToolResult(id, "interrupted", (Text(NOT_STARTED),)) for id in "cd"),
    )
    assert NOT_STARTED == "interrupted: the run was stopped before this call was started"
    assert ending(state).text == "hm"


def test_stopping_while_several_run_waits_for_all_of_them() -> None:
    state = step(replied(begun(), call("a"), call("b"), call("c")), StopRequested(1.0))
    assert stage(state) == (("a", "b", "c"), ())
    state = finished(finished(state, "c"), "a")
    assert stage(state) == (("b",), ())
    assert isinstance(ending(finished(state, "b")), Stopped)


def test_stopping_twice_changes_nothing() -> None:
    state = step(replied(begun(), call("a"), call("b", "write")), StopRequested(1.0))
    assert step(state, StopRequested(1.0)) == state


def test_stopping_while_a_question_is_open_ends_the_run() -> None:
    state = step(replied(begun(), call("a", "write")), StopRequested(1.0))
    assert isinstance(ending(state), Stopped)
    assert kinds(state) == {"a": "interrupted"}


def test_stopping_a_suspended_run_ends_it() -> None:
    state = step(decided(replied(begun(), call("a", "write")), "a", Later()), StopRequested(1.0))
    assert isinstance(ending(state), Stopped)
    assert kinds(state) == {"a": "interrupted"}


def test_no_answer_is_taken_after_the_stop() -> None:
    state = step(replied(begun(), call("a"), call("b", "render")), StopRequested(1.0))
    with pytest.raises(IllegalInput, match=r"^call 'b' is not asked about$"):
        decided(state, "b")


# ---- cancelling --------------------------------------------------------------------------------


def test_cancelling_keeps_what_finished_and_interrupts_the_rest() -> None:
    """a has finished, b runs, c was never started: three results, in order."""
    state = finished(replied(begun(), "hm", call("a"), call("b"), call("c", "write")), "a", text="real")
    state = step(state, Interrupted(5.0))
    assert isinstance(ending(state), Stopped)
    assert last_results(state) == (
        ok("a", "real"),
        ToolResult("b", "interrupted", (Text(INTERRUPTED),)),
        ToolResult("c", "interrupted", (Text(NOT_STARTED),)),
    )
    assert ending(state).text == "hm"


def test_cancelling_outside_of_a_round() -> None:
    assert isinstance(ending(step(begun(), Interrupted(1.0))), Stopped)
    assert isinstance(ending(step(failed(begun(), failure(503)), Interrupted(1.0))), Stopped)


def test_cancelling_a_suspended_run() -> None:
    state = decided(replied(begun(), call("a"), call("b", "render")), "b", Later())
    state = step(finished(state, "a"), Interrupted(1.0))
    assert last_results(state) == (ok("a"), ToolResult("b", "interrupted", (Text(NOT_STARTED),)))


def test_cancelling_after_a_stop() -> None:
    state = step(replied(begun(), call("a"), call("b", "write")), StopRequested(1.0))
    state = step(state, Interrupted(2.0))
    assert [one.text for one in last_results(state)] == [INTERRUPTED, NOT_STARTED]


# ---- inputs out of place -----------------------------------------------------------------------


def in_every_place() -> dict[str, State]:
    called = begun()
    asked = replied(called, call("a", "write"))
    return {
        "CallModel": called,
        "Wait": failed(called, failure(503)),
        "RunStage": replied(called, call("a"), call("b", "render")),
        "Suspend": decided(asked, "a", Later()),
        "Finish": replied(called, "done"),
    }


REPLIED = ModelReplied(1.0, reply("x"))
FAILED = ModelFailed(1.0, failure(503), 0.5)
REFUSED = CallRefused(1.0, "no")
ANSWERED = Decided(1.0, "b", Approve())
DONE = ToolFinished(1.0, ok("a"))
WAITED, STOP, CANCELLED = Waited(1.0), StopRequested(1.0), Interrupted(1.0)

NOT_CALLED = "{place} is pending, not CallModel"
ILLEGAL: list[tuple[Input, str, str]] = [
    *(
        (input, place, NOT_CALLED)
        for input in (REPLIED, FAILED, REFUSED)
        for place in ("Wait", "RunStage", "Suspend", "Finish")
    ),
    *((WAITED, place, "{place} is pending, not Wait") for place in ("CallModel", "RunStage", "Suspend", "Finish")),
    *((DONE, place, "{place} is pending, not RunStage") for place in ("CallModel", "Wait", "Suspend", "Finish")),
    *((ANSWERED, place, "call 'b' is not asked about") for place in ("CallModel", "Wait", "Suspend", "Finish")),
    *((input, "Finish", "the run is over") for input in (STOP, CANCELLED)),
]


@pytest.mark.parametrize(
    ("input", "place", "why"), ILLEGAL, ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20]
)
def test_an_input_that_the_pending_action_does_not_allow(input: Input, place: str, why: str) -> None:
    state = in_every_place()[place]
    before = repr(state)
    with pytest.raises(IllegalInput) as caught:
        step(state, input)
    assert str(caught.value) == why.format(place=place)
    assert repr(state) == before


def test_every_place_is_what_it_is_called() -> None:
    assert {name: type(state.pending).__name__ for name, state in in_every_place().items()} == {
        name: name for name in in_every_place()
    }


def test_a_reply_has_one_verdict_for_each_call() -> None:
    for verdicts in ((), (Valid(), Valid())):
        with pytest.raises(IllegalInput) as caught:
            step(begun(), ModelReplied(1.0, reply(call("a")), verdicts))
        assert str(caught.value) == f"the reply has 1 calls and {len(verdicts)} verdicts"


def test_a_call_of_no_known_tool_cannot_be_valid() -> None:
    with pytest.raises(IllegalInput) as caught:
        replied(begun(), call("a", "nope"), call("b"), call("c", "nor"), verdicts=(Valid(),) * 3)
    assert str(caught.value) == "a call of no known tool has the verdict Valid: nope, nor"


def test_no_round_no_stage() -> None:
    with pytest.raises(IllegalInput, match=r"^no round is open$"):
        _ = begun().round
    with pytest.raises(IllegalInput, match=r"^CallModel is pending, not RunStage$"):
        _ = begun().stage


def test_what_is_said_includes_the_open_round_and_skips_blanks() -> None:
    state = finished(replied(begun(), "one", call("a")), "a")
    state = finished(replied(state, " ", call("b")), "b")
    state = replied(state, "two", call("c", "write"))
    assert state.said == "one\ntwo"
    assert isinstance(decided(state, "c", Later()).pending, Suspend)


def test_what_is_left_of_the_time() -> None:
    state = replied(begun(Policy(max_seconds=100.0), now=50.0), call("a"), at=80.0)
    assert state.remaining_seconds == 70.0


def test_time_that_passes_withdraws_questions_and_starts_nothing_new() -> None:
    state = replied(begun(Policy(max_seconds=60.0)), call("a"), call("b", "render"), at=1.0)
    assert stage(state) == (("a",), ("b",))
    with pytest.raises(IllegalInput, match=r"^no stage is pending whose time is up$"):
        step(state, TimePassed(59.0))
    late = step(state, TimePassed(60.0))
    assert stage(late) == (("a",), ())
    ended = ending(finished(late, "a", at=61.0))
    assert isinstance(ended, Exhausted)
    assert ended.reason == "time_budget"
    assert [(one.call_id, one.kind) for one in ended.conversation.results()] == [("a", "ok"), ("b", "failed")]


def test_time_that_passes_is_no_input_while_the_model_is_asked() -> None:
    with pytest.raises(IllegalInput):
        step(begun(Policy(max_seconds=60.0)), TimePassed(100.0))


def test_a_run_compacts_and_asks_only_where_that_was_said() -> None:
    state = begin(run_id="r", owner=OWNER, policy=Policy(), tools=TOOLS, conversation=Conversation(), turn=user(), now=0.0)
    assert (state.terms.can_ask, state.terms.can_compact) == (False, False)
