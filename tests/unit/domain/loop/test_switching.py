"""A chain of models: when the next one is asked, what stays, and how it ends (spec section 7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.approval import Later
from geode.domain.choice import Required
from geode.domain.codec import dumps, loads
from geode.domain.content import Owner
from geode.domain.errors import IllegalInput
from geode.domain.failures import CallFailure, RetryHint
from geode.domain.loop.actions import CallModel, Finish, SwitchModel, Wait
from geode.domain.loop.inputs import (
    CallRefused,
    Interrupted,
    ModelFailed,
    StopRequested,
    Switched,
    Waited,
)
from geode.domain.loop.outcome import Exhausted, Failed
from geode.domain.loop.resuming import revived, taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import begin, step
from geode.domain.policy import Policy
from geode.domain.retry import RetryPolicy
from geode.domain.turns import AssistantTurn
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
    model_call,
    replied,
    user,
)

THIRD = Owner("acme-payg", "acme-2")
ONCE = Policy(retry=RetryPolicy(attempts=1))


def chained(policy: Policy = ONCE, *fallbacks: Owner) -> State:
    return begun(policy, fallbacks=fallbacks or (OTHER,), can_compact=True)


def switched(state: State, at: float | None = None) -> State:
    expect(SwitchModel, state.pending)
    return step(state, Switched(state.now if at is None else at))


def exhausted_attempts(state: State, fault: CallFailure, at: float = 0.0) -> State:
    """All three attempts of the policy fail."""
    for _ in range(2):
        state = step(failed(state, fault, at=at), Waited(at))
    return failed(state, fault, at=at)


# ---- when --------------------------------------------------------------------------------------


def test_all_attempts_on_one_model_come_before_the_next() -> None:
    state = chained(Policy())
    for attempt in (1, 2):
        assert model_call(state).attempt == attempt
        state = failed(state, failure(503, "busy"))
        expect(Wait, state.pending)
        state = step(state, Waited(state.now))
    state = failed(state, failure(503, "busy"))
    asked = expect(SwitchModel, state.pending)
    assert (asked.to, asked.call.attempt) == (OTHER, 3)
    assert asked.why == "acme-payg acme-1: busy, 3 attempts in 0.0 s"


@pytest.mark.parametrize(
    "fault",
    [
        failure(408),
        failure(None, phase="connect", timed_out=True),
        failure(409),
        failure(429),
        failure(503),
        failure(529),
        failure(None, phase="connect"),
        failure(200, phase="stream"),
    ],
    ids=range(8),
)
def test_a_failure_that_passes_by_itself_leads_on(fault: CallFailure) -> None:
    assert isinstance(failed(chained(), fault).pending, SwitchModel)


@pytest.mark.parametrize("hint", [RetryHint(900.0, False, "900"), RetryHint(None, True, "x-should-retry: false")])
def test_a_hint_that_forbids_another_attempt_leads_on_at_once(hint: RetryHint) -> None:
    state = failed(chained(Policy()), failure(429, hint=hint))
    assert expect(SwitchModel, state.pending).call.attempt == 1


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (failure(402), "billing_error"),
        (failure(429, code="insufficient_quota"), "billing_error"),
        (replace(failure(429), subscription=True), "billing_error"),
        (failure(401), "auth_error"),
        (failure(403), "auth_error"),
        (failure(400), "request_error"),
        (failure(404), "request_error"),
        (failure(200), "model_error"),
        (failure(503, after_output=True), "model_error"),
        (failure(200, phase="stream", after_output=True), "model_error"),
    ],
    ids=range(10),
)
def test_any_other_failure_ends_the_chain(fault: CallFailure, reason: str) -> None:
    assert ending(failed(chained(), fault)).reason == reason


def test_an_overflow_is_compacted_and_never_leads_on() -> None:
    state = failed(chained(), failure(400, code="context_length_exceeded"))
    assert type(state.pending).__name__ == "Compact"


def test_without_a_chain_nobody_else_is_asked() -> None:
    state = begun(ONCE)
    assert state.terms.chain == ()
    assert ending(failed(state, failure(503))).reason == "model_error"


# ---- after it ----------------------------------------------------------------------------------


def test_the_same_call_is_made_of_the_next_model_from_its_first_attempt() -> None:
    choice = Required()
    state = begun(Policy(), first_choice=choice, fallbacks=(OTHER,))
    before = model_call(state)
    after = switched(exhausted_attempts(state, failure(503)))
    assert after.pending == before
    assert after.terms.owner == OTHER
    assert after.counters.rounds == 0


def test_the_run_stays_with_the_model_it_switched_to() -> None:
    state = switched(failed(chained(), failure(503)))
    state = finished(replied(state, call("a")), "a")
    assert expect(AssistantTurn, state.closed.turns[-2]).made_by == OTHER
    assert state.terms.owner == OTHER
    assert model_call(state).round == 2
    # And fails with it: nobody comes after it.
    assert ending(failed(state, failure(503))).reason == "model_error"


def test_it_is_the_same_call_though_a_new_one_would_have_to_conclude() -> None:
    state = chained(replace(ONCE, max_seconds=100.0))
    state = finished(replied(state, call("a")), "a")
    before = model_call(state)
    after = switched(failed(state, failure(503), at=90.0), at=95.0)
    assert after.pending == replace(before, timeout_seconds=5.0)
    assert before.wrap_up is None


def test_each_run_begins_with_the_primary() -> None:
    ended = ending(replied(switched(failed(chained(), failure(503))), "done"))
    again = begin(
        run_id="run-2",
        owner=OWNER,
        policy=ONCE,
        tools=TOOLS,
        conversation=ended.conversation,
        turn=user(),
        now=0.0,
        fallbacks=(OTHER,),
    )
    assert again.terms.owner == OWNER
    assert again.terms.chain == (OWNER, OTHER)


def test_the_last_one_fails_as_before_and_every_model_is_named() -> None:
    state = switched(failed(chained(ONCE, OTHER, THIRD), failure(503, "busy"), at=1.0), at=2.0)
    state = switched(failed(state, failure(529, "overloaded"), at=5.0), at=6.0)
    outcome = expect(Failed, ending(failed(state, failure(500, "broken"), at=7.5)))
    assert outcome.reason == "model_error"
    assert outcome.failure == failure(500, "broken")
    assert outcome.why == (
        "acme-payg acme-2: broken. Another model may do: choose one (/model, geode model). "
        "Before that, acme-payg acme-1: busy; other-payg other-1: overloaded"
    )


def test_seconds_are_counted_of_the_model_that_is_asked() -> None:
    state = switched(exhausted_attempts(chained(Policy()), failure(503, "busy"), at=10.0), at=100.0)
    state = step(failed(state, failure(503, "late"), at=101.0), Waited(102.0))
    state = step(failed(state, failure(503, "late"), at=103.0), Waited(104.0))
    outcome = expect(Failed, ending(failed(state, failure(503, "late"), at=104.5)))
    assert outcome.why.startswith("other-payg other-1: late, 3 attempts in 4.5 s. ")


def test_billing_on_the_second_model_ends_it_and_names_the_first() -> None:
    state = switched(failed(chained(ONCE, OTHER, THIRD), failure(503, "busy")))
    outcome = expect(Failed, ending(failed(state, failure(402, "no credit"))))
    assert outcome.reason == "billing_error"
    assert outcome.why == (
        "other-payg other-1: no credit. Add credit or raise the limit in the account at the provider. "
        "Before that, acme-payg acme-1: busy"
    )


def test_what_the_next_model_does_not_take_ends_the_run_and_says_so() -> None:
    state = switched(failed(chained(), failure(503, "busy")))
    outcome = expect(Failed, ending(step(state, CallRefused(1.0, "model other-1 takes no effort; leave it out"))))
    assert outcome.reason == "request_error"
    assert outcome.why == "model other-1 takes no effort; leave it out. Before that, acme-payg acme-1: busy"


def test_a_model_that_cannot_be_asked_ends_the_run() -> None:
    state = failed(chained(ONCE, OTHER, THIRD), failure(503, "busy"))
    outcome = expect(Failed, ending(step(state, Switched(1.0, "no key"))))
    assert outcome.reason == "model_error"
    assert outcome.why == "other-payg other-1 cannot be asked: no key. Before that, acme-payg acme-1: busy"


def test_a_compaction_on_the_second_model_names_the_first_where_it_ends() -> None:
    state = begun(Policy(retry=RetryPolicy(attempts=1)), fallbacks=(OTHER,))
    state = switched(failed(state, failure(503, "busy")))
    outcome = expect(Exhausted, ending(failed(state, failure(400, "too long", code="context_length_exceeded"))))
    assert outcome.reason == "context_exhausted"
    assert outcome.why == "other-payg other-1: too long. Before that, acme-payg acme-1: busy"


# ---- time, stopping, cancelling ----------------------------------------------------------------


def test_no_switch_without_time_left() -> None:
    timed = replace(ONCE, max_seconds=60.0)
    outcome = expect(Exhausted, ending(failed(chained(timed), failure(503, "busy"), at=60.0)))
    assert (outcome.reason, outcome.why) == ("time_budget", "acme-payg acme-1: busy")
    assert isinstance(failed(chained(timed), failure(503), at=59.9).pending, SwitchModel)


def test_where_nobody_comes_next_only_a_timeout_is_laid_to_the_time() -> None:
    timed = replace(ONCE, max_seconds=60.0)
    assert ending(failed(begun(timed), failure(503), at=60.0)).reason == "model_error"
    assert ending(failed(begun(timed), failure(408), at=60.0)).reason == "time_budget"


def test_the_provider_s_own_words_are_enough_where_no_way_on_is_known() -> None:
    assert expect(Failed, ending(failed(begun(), failure(400, "bad schema")))).why == "acme-payg: bad schema"


def test_time_that_ran_out_while_switching_ends_the_run() -> None:
    state = failed(chained(replace(ONCE, max_seconds=60.0)), failure(503), at=59.0)
    assert ending(switched(state, at=60.0)).reason == "time_budget"
    assert model_call(switched(state, at=59.5)).timeout_seconds == 0.5


@pytest.mark.parametrize("input", [StopRequested(9.0), Interrupted(9.0)])
def test_a_run_can_be_ended_while_it_switches(input: StopRequested | Interrupted) -> None:
    assert ending(step(failed(chained(), failure(503)), input)).reason == "stopped"


def test_only_a_switch_takes_a_switch() -> None:
    with pytest.raises(IllegalInput, match="CallModel is pending, not SwitchModel"):
        step(chained(), Switched(1.0))
    with pytest.raises(IllegalInput, match="SwitchModel is pending, not CallModel"):
        step(failed(chained(), failure(503)), ModelFailed(1.0, failure(503), 0.5))


# ---- stored, and taken up again ----------------------------------------------------------------

AFTER = switched(failed(chained(), failure(503, "busy")))


def test_a_state_of_a_chain_goes_through_the_codec() -> None:
    for state in (chained(), failed(chained(), failure(503)), AFTER):
        assert loads(State, dumps(state)) == state


def test_a_state_that_knew_no_chain_is_read() -> None:
    old = dumps(begun()).replace(',"chain":[]', "").replace(',"left":[]', "")
    assert '"chain"' not in old
    assert '"left"' not in old
    assert loads(State, old) == begun()


@pytest.mark.parametrize(
    ("fallbacks", "goes_on_with", "chain"),
    [
        ((OTHER,), OTHER, (OWNER, OTHER)),
        ((THIRD, OTHER), OTHER, (OWNER, THIRD, OTHER)),
        ((THIRD,), OWNER, (OWNER, THIRD)),
        ((), OWNER, ()),
    ],
)
def test_a_killed_run_goes_on_with_its_model_if_that_is_in_the_chain(
    fallbacks: tuple[Owner, ...], goes_on_with: Owner, chain: tuple[Owner, ...]
) -> None:
    state = revived(AFTER, OWNER, TOOLS, 99.0, fallbacks=fallbacks)
    assert (state.terms.owner, state.terms.chain) == (goes_on_with, chain)
    assert model_call(state).attempt == 2


def test_a_suspended_run_goes_on_with_its_model_if_that_is_in_the_chain() -> None:
    state = decided(replied(AFTER, call("a", "write")), "a", Later())
    for fallbacks, owner in (((OTHER,), OTHER), ((), OWNER)):
        assert taken_up(state, OWNER, TOOLS, 9.0, ["a"], fallbacks=fallbacks).terms.owner == owner
        assert revived(state, OWNER, TOOLS, 9.0, answered=["a"], fallbacks=fallbacks).terms.owner == owner
        windows = {owner.name: 9_000}
        assert revived(state, OWNER, TOOLS, 9.0, answered=["a"], fallbacks=fallbacks, windows=windows).terms.windows == windows


def test_a_run_killed_while_it_switched_switches_again() -> None:
    state = failed(chained(Policy()), failure(429, "wait", hint=RetryHint(900.0, False, "900")))
    again = revived(state, OWNER, TOOLS, 99.0, fallbacks=(OTHER,))
    assert again.pending == state.pending
    assert model_call(switched(again)).attempt == 1


def test_a_run_killed_while_it_switched_to_a_model_that_is_gone_asks_the_session_s_own_once_more() -> None:
    state = failed(chained(Policy()), failure(429, "wait", hint=RetryHint(900.0, False, "900")))
    same = revived(state, OWNER, TOOLS, 99.0)
    assert (same.terms.owner, model_call(same).attempt, same.left) == (OWNER, 2, ())
    other = revived(state, THIRD, TOOLS, 99.0)
    assert (other.terms.owner, model_call(other).attempt) == (THIRD, 1)
    assert other.left == ("acme-payg acme-1: wait, the server said '900' about retrying",)


def test_a_run_that_is_over_stays_so() -> None:
    over = failed(AFTER, failure(402))
    assert isinstance(over.pending, Finish)
    assert revived(over, THIRD, TOOLS, 99.0) == over


def test_what_a_resumed_wait_waits_for_is_a_call_of_the_same_model() -> None:
    state = failed(switched(exhausted_attempts(chained(Policy()), failure(503))), failure(503))
    again = revived(state, OWNER, TOOLS, state.now, fallbacks=(OTHER,))
    assert (again.pending, again.terms.owner) == (state.pending, OTHER)
    assert isinstance(step(again, Waited(9.0)).pending, CallModel)
