"""When a run has to end, and when it should begin to conclude (spec section 6). Budgets are checked before the spend."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from geode.domain.loop.outcome import ExhaustedReason
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.spent import Spent
from geode.domain.usage import Usage

WRAP_UP_TEXT: Final = (
    "The budget of this run is nearly used up. Do not call any more tools: conclude now, "
    "with what you have found, and say what is left undone."
)
COST_UNKNOWN: Final = (
    "what a call of this model costs is not known: the provider does not say it and no price is, so "
    "Policy(max_cost_usd=…) cannot be kept; a row of [prices] in routing.toml says it"
)


def exhausted(state: State) -> ExhaustedReason | None:
    """The budget that leaves no room for another model call, if there is one."""
    remaining = state.remaining_seconds
    if state.counters.rounds >= state.terms.policy.max_rounds:
        return "max_rounds"
    if remaining is not None and remaining <= 0:
        return "time_budget"
    left = tokens_left(state)
    if left is not None and left <= 0:
        return "token_budget"
    return "cost_budget" if _too_dear(state) else None


def later(state: State, spent: Spent, last: Usage, at: float) -> State:
    """`state` as it is at the time `at`, after calls beside its rounds spent that, the last of them `last`."""
    counters = state.counters.charged(spent).expecting(last)
    return replace(state, now=max(state.now, at), counters=counters)


def tokens_left(state: State) -> int | None:
    """Tokens that the next call may write: the budget, less what was used, less the input it will have at least.

    The next input holds the last one and the last reply.
    """
    if state.terms.policy.max_total_tokens is None:
        return None
    return state.terms.policy.max_total_tokens - state.counters.usage.total_tokens - state.counters.last_usage.total_tokens


def _too_dear(state: State) -> bool:
    """Whether a call that costs as much as the last one goes over the budget. A cost that is not told is too much."""
    counters, most = state.counters, state.terms.policy.max_cost_usd
    if most is None:
        return False
    last, spent = counters.last_usage.cost_usd, counters.usage.cost_usd
    if counters.rounds == 0 and counters.last_usage == Usage():
        return spent is not None and spent >= most
    return last is None or spent is None or _untold(state) or spent >= most or spent + last > most


def _untold(state: State) -> bool:
    """Whether something came of a call whose cost nobody tells. One that broke off is not held against the model."""
    return state.counters.usage.unpriced_calls > state.counters.broken_off


def why_exhausted(state: State, reason: ExhaustedReason) -> str:
    """What the operator has to know beside the reason: "" for nothing."""
    last = state.counters.last_usage
    known = (last == Usage() or last.cost_usd is not None) and not _untold(state)
    return "" if known or reason != "cost_budget" else COST_UNKNOWN


def calls_left(state: State) -> int | None:
    """Executions that the budget still has room for when a round begins, or None where there is no such budget."""
    most = state.terms.policy.max_tool_calls
    return None if most is None else most - state.counters.tool_calls


def room_for(state: State, name: str, call_id: str) -> bool:
    """Whether the budgets have room for one more execution of the tool `name`, for the call `call_id` of the open round.

    Every other call that has no result has one execution set aside, or under way.
    """
    round, counters, limit = state.round, state.counters, state.terms.tools[name].max_calls
    others = [call.name for call in round.waiting if call.id != call_id]
    left = calls_left(state)
    if left is not None and round.executions + len(others) >= left:
        return False
    return limit is None or counters.calls_of.get(name, 0) + round.ran.get(name, 0) + others.count(name) < limit


def wrap_up_cause(state: State) -> ExhaustedReason | None:
    """The budget that is nearly used up, so that the next round has to conclude. Never in the first round."""
    rounds, policy = state.counters.rounds, state.terms.policy
    if rounds == 0:
        return None
    if policy.max_tool_calls is not None and state.counters.tool_calls >= policy.max_tool_calls:
        return "tool_budget"
    if policy.max_rounds - rounds <= wrap_up_rounds(policy):
        return "max_rounds"
    remaining = state.remaining_seconds
    if policy.max_seconds is not None and remaining is not None:
        window = min(policy.wrap_up_seconds, policy.wrap_up_share_of_seconds * policy.max_seconds)
        if remaining <= window:
            return "time_budget"
    return None


def wrap_up_rounds(policy: Policy) -> int:
    """How many rounds at the end conclude: at most a share of the budget, at least one where it is over one."""
    if policy.max_rounds <= 1:
        return 0
    return max(1, min(policy.wrap_up_rounds, int(policy.max_rounds * policy.wrap_up_share_of_rounds)))


def call_seconds(state: State) -> float:
    """The deadline of the next model call: its own, or what is left of the run."""
    remaining = state.remaining_seconds
    own = state.terms.policy.call_timeout_seconds
    return own if remaining is None else min(own, remaining)
