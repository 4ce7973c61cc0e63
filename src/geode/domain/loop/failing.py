"""What a failed model call comes to: another attempt, or the end of the run."""

from __future__ import annotations

from dataclasses import replace

from geode.domain.failures import FailureClass, classify_retry_error, describe
from geode.domain.loop.actions import CallModel, Wait
from geode.domain.loop.compacting import too_long
from geode.domain.loop.ending import exhaust, fail
from geode.domain.loop.inputs import ModelFailed
from geode.domain.loop.outcome import FailedReason
from geode.domain.loop.state import State
from geode.domain.retry import retry_delay_for


def judge_failure(state: State, call: CallModel, input: ModelFailed) -> State:
    """The state after `call` failed."""
    kind = classify_retry_error(input.failure)
    delay = retry_delay_for(state.terms.policy.retry, input.failure, call.attempt, input.jitter)
    why = describe(state.terms.owner.adapter, input.failure, call.attempt, state.now - state.counters.call_started_at)
    if _too_late(state, kind, delay):
        return exhaust(state, "time_budget", why=why)
    if delay is not None:
        return replace(state, pending=Wait(delay, replace(call, attempt=call.attempt + 1)))
    if kind is FailureClass.CONTEXT_OVERFLOW:
        return too_long(state, call, why)
    return fail(state, _reason(kind), why, input.failure)


def _too_late(state: State, kind: FailureClass, delay: float | None) -> bool:
    """Whether the time budget is what ended the call, or leaves no room to wait for the next attempt."""
    remaining = state.remaining_seconds
    if remaining is None:
        return False
    return (remaining <= 0 and kind is FailureClass.TIMEOUT) or (delay is not None and delay >= remaining)


def _reason(kind: FailureClass) -> FailedReason:
    match kind:
        case FailureClass.BILLING:
            return "billing_error"
        case FailureClass.AUTH:
            return "auth_error"
        case FailureClass.REQUEST_FATAL | FailureClass.OTHER_CLIENT:
            return "request_error"
        case _:
            return "model_error"
