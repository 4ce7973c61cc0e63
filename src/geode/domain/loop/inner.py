"""A run inside a call of another run: what it is called, and how much of the other's budgets it may use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias, TypeVar

from geode.domain.budget import calls_left, tokens_left
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.spent import Spent

Budget: TypeAlias = Literal["time", "token", "cost"]

_Limit = TypeVar("_Limit", int, float, Decimal)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run inside another one may use at most; None where there is no such limit."""

    seconds: float | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    cost_usd: Decimal | None = None


def inner_run_id(run_id: str, call_id: str, step: int = 0) -> str:
    """The id of the run inside a call, in the step `step` of its recovery: the same in whichever process."""
    whole = f"{run_id}/{call_id}" if step == 0 else f"{run_id}/{call_id}/{step}"
    return hashlib.sha256(whole.encode(errors="replace")).hexdigest()[:32]


def spent_in(state: State) -> Spent:
    """What the run has spent: its own, and what was inside its calls."""
    open = 0 if state.open is None else state.open.executions
    return Spent(state.counters.usage, state.counters.tool_calls + open, state.counters.broken_off)


def as_held(spent: Spent) -> Allowance:
    """What was spent and is not counted in the state yet."""
    return Allowance(None, spent.usage.total_tokens, spent.tool_calls, spent.usage.cost_usd)


def allowance(state: State, now: float, *, held: Iterable[Allowance] = (), sharers: int = 1) -> Allowance:
    """A share of what `state` has left for runs inside its calls.

    `held` are the allowances of those that run already; `sharers`, how many are to begin, this one included. The
    rest is shared evenly. The run keeps what it needs to conclude: the end of its time, a call as big and as dear
    as its last one, and an execution for each call of its own.
    """
    policy, others = state.terms.policy, tuple(held)
    seconds = None
    if policy.max_seconds is not None:
        window = min(policy.wrap_up_seconds, policy.wrap_up_share_of_seconds * policy.max_seconds)
        seconds = policy.max_seconds - (now - state.terms.started_at) - window
    tokens = tokens_left(state)
    if tokens is not None:
        tokens = max(0, (tokens - sum(one.tokens or 0 for one in others)) // sharers)
    calls = calls_left(state)
    if calls is not None:
        own = 0 if state.open is None else state.open.executions + len(state.open.waiting)
        calls = max(0, (calls - own - sum(one.tool_calls or 0 for one in others)) // sharers)
    return Allowance(seconds, tokens, calls, _dollars_left(state, others, sharers))


def _dollars_left(state: State, others: Iterable[Allowance], sharers: int) -> Decimal | None:
    """A cost that nobody told is taken for none: the run that has such a model ends by its own rule."""
    most, counters = state.terms.policy.max_cost_usd, state.counters
    if most is None:
        return None
    spent = (counters.usage.cost_usd or Decimal(0)) + (counters.last_usage.cost_usd or Decimal(0))
    left = most - spent - sum((one.cost_usd or Decimal(0) for one in others), Decimal(0))
    return max(Decimal(0), left / sharers)


def within(policy: Policy, most: Allowance) -> Policy | Budget:
    """`policy` with limits of at most that; or the budget that has no room for a run at all."""
    seconds, tokens, cost = (
        _least(policy.max_seconds, most.seconds),
        _least(policy.max_total_tokens, most.tokens),
        _least(policy.max_cost_usd, most.cost_usd),
    )
    if seconds is not None and seconds <= 0:
        return "time"
    if tokens is not None and tokens < 1:
        return "token"
    if cost is not None and cost <= 0:
        return "cost"
    calls = _least(policy.max_tool_calls, most.tool_calls)
    return replace(policy, max_seconds=seconds, max_total_tokens=tokens, max_cost_usd=cost, max_tool_calls=calls)


def _least(own: _Limit | None, most: _Limit | None) -> _Limit | None:
    if own is None or most is None:
        return most if own is None else own
    return min(own, most)
