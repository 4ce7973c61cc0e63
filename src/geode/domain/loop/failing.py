"""What a failed model call comes to: another attempt, another model, or the end of the run."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.failures import CallFailure, FailureClass, classify_retry_error, describe
from geode.domain.loop.actions import CallModel, SwitchModel, Wait
from geode.domain.loop.compacting import too_long
from geode.domain.loop.ending import exhaust, fail
from geode.domain.loop.inputs import ModelFailed
from geode.domain.loop.outcome import reason_of
from geode.domain.loop.state import Counters, State
from geode.domain.loop.switching import with_others
from geode.domain.retry import Following, GiveUp, NextModel, RetryAfter, after_failure
from geode.domain.ways_out import way_on


def judge_failure(state: State, call: CallModel, input: ModelFailed) -> State:
    """The state after `call` failed. What had been told of its tokens was spent."""
    failure = input.failure
    state = replace(state, counters=_with_attempt(state.counters, failure))
    kind, to = classify_retry_error(failure), state.terms.next_owner
    following = after_failure(state.terms.policy.retry, failure, call.attempt, input.jitter, is_last=to is None)
    why = describe(_asked(state), failure, call.attempt, state.now - state.counters.call_started_at)
    if _too_late(state, kind, following):
        return exhaust(state, "time_budget", why=with_others(state, why))
    match following:
        case RetryAfter(seconds):
            return replace(state, pending=Wait(seconds, replace(call, attempt=call.attempt + 1)))
        case NextModel() if to is not None:
            return replace(state, pending=SwitchModel(to, why, call))
        case GiveUp() | NextModel() if kind is FailureClass.CONTEXT_OVERFLOW:
            return too_long(state, call, with_others(state, why))
        case GiveUp() | NextModel():
            way = way_on(failure, chained=bool(state.terms.chain))
            return fail(state, reason_of(kind), with_others(state, f"{why}. {way}" if way else why), failure)


def _with_attempt(counters: Counters, failure: CallFailure) -> Counters:
    """What an attempt has taken that came to nothing, the next one may take too: it is expected to be as dear."""
    charged, usage = counters.charged(failure.spent), failure.usage
    return charged if usage is None or failure.broke_off else charged.expecting(usage)


def _asked(state: State) -> str:
    """How the model that was asked is named: by its adapter, which one may have several in a chain."""
    owner = state.terms.owner
    return owner.name if state.terms.chain else owner.adapter


def _too_late(state: State, kind: FailureClass, following: Following) -> bool:
    """Whether the time budget is what ended the call, or leaves no room to wait for the next attempt or to switch."""
    remaining = state.remaining_seconds
    if remaining is None:
        return False
    match following:
        case RetryAfter(seconds):
            return seconds >= remaining
        case NextModel():
            return remaining <= 0
        case GiveUp():
            return remaining <= 0 and kind is FailureClass.TIMEOUT
