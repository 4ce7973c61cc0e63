"""Taking up a stored state: with the tools of today, at the time of today.

A run that was suspended waits for answers. One whose process ended is gone on with where its journal
ends: the model is asked again, finished results stay, and of each call that had been started without
a result it is decided here whether it may run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from geode.domain.content import Owner, ToolResult, ToolUseBlock, result
from geode.domain.errors import CodecError, Misuse
from geode.domain.loop.actions import CallModel, Compact, Finish, RunStage, Suspend, SwitchModel, Wait
from geode.domain.loop.calling import next_call
from geode.domain.loop.stages import advance
from geode.domain.loop.state import OpenRound, State
from geode.domain.recovery import Recovery, concluded
from geode.domain.repair import INTERRUPTED
from geode.domain.rounds import as_decided, refusal
from geode.domain.spent import BROKEN_OFF
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.verdicts import Valid, Verdict

Doubt: TypeAlias = Literal["run_again", "reconcile", "unknown"]


def taken_up(
    state: State,
    owner: Owner,
    tools: Mapping[str, ToolFacts],
    now: float,
    answered: Collection[str],
    *,
    verdicts: Mapping[str, Verdict] | None = None,
    fallbacks: tuple[Owner, ...] = (),
    windows: Mapping[str, int] | None = None,
) -> State:
    """`state`, suspended some time ago, with its tools bound again by name.

    Answers for the calls `answered` are at hand; the others that were put off are asked again, and so
    is a tool that changed its schema or tier: its answers and grants are void. A call whose tool is gone
    gets a failed result, and so does one whose arguments the tool takes no more: `verdicts` has those of
    the calls `to_check_again`. The time of waiting does not count against the budget.
    A run that had switched to one of the models `fallbacks` goes on with it, any other with `owner`.
    """
    if isinstance(state.pending, Suspend) and state.stopping:
        raise CodecError("the snapshot is damaged: a run that is being stopped waits for nobody")
    if not isinstance(state.pending, Suspend):
        raise Misuse("not-suspended", f"run {state.terms.run_id} is not suspended; {type(state.pending).__name__} is pending")
    return _reopened(
        state, _bound(state, owner, tools, now, fallbacks=fallbacks, windows=windows or {}), answered, {}, verdicts or {}
    )


def revived(
    state: State,
    owner: Owner,
    tools: Mapping[str, ToolFacts],
    now: float,
    *,
    answered: Collection[str] = (),
    reconciled: Mapping[str, ToolResult | None] | None = None,
    verdicts: Mapping[str, Verdict] | None = None,
    fallbacks: tuple[Owner, ...] = (),
    windows: Mapping[str, int] | None = None,
) -> State:
    """`state`, the last that was written down of a run, as it goes on; one that is over stays as it is.

    The call of a model that was pending is made again, and counts as a further attempt, for the one
    before may have reached the provider. Calls `in_doubt` are settled: `reconciled` has what their
    reconcilers found, None for a call that did not run, `outcome_unknown` where they do not know either.
    For the rest see `taken_up`.
    """
    bound = _bound(state, owner, tools, now, fallbacks=fallbacks, windows=windows or {})
    match state.pending:
        case Finish():
            return state
        case Suspend():
            return taken_up(state, owner, tools, now, answered, verdicts=verdicts, fallbacks=fallbacks, windows=windows)
        case CallModel() as call:
            return next_call(_in_doubt_of_cost(bound), replace(call, attempt=call.attempt + 1))
        case Wait(seconds, call):
            left = max(0.0, seconds - max(0.0, now - state.now))
            return replace(bound, pending=Wait(left, call))
        case SwitchModel() as pending:
            return bound if pending.to in fallbacks else _not_switched(state, bound, pending)
        case Compact():
            return _in_doubt_of_cost(bound)
        case RunStage():
            return _reopened(state, bound, answered, _settled(state, tools, reconciled or {}), verdicts or {})


def _in_doubt_of_cost(state: State) -> State:
    """What was asked last may have been worked on, and nobody told what that cost."""
    return replace(state, counters=state.counters.charged(BROKEN_OFF))


def _not_switched(stored: State, bound: State, pending: SwitchModel) -> State:
    """The model that was to be asked next is none of this session's: its own is asked, anew if it was not asked before."""
    same = bound.terms.owner == stored.terms.owner
    call = replace(pending.call, attempt=pending.call.attempt + 1 if same else 1)
    return next_call(replace(bound, left=bound.left if same else (*bound.left, pending.why)), call)


def in_doubt(state: State, tools: Mapping[str, ToolFacts]) -> dict[str, Doubt]:
    """Calls that had been started and have no result, and what to do about each.

    Whether a call wanted by the pending stage had really started, nobody wrote down: it may have. In a
    recovery it is the tool that stands in which may have run.
    """
    if not isinstance(state.pending, RunStage):
        return {}
    started = (state.round.call(id) for id in state.pending.start if id not in state.round.results)
    return {call.id: _doubt(state.terms.tools[call.name], tools.get(call.name)) for call in started}


def _doubt(then: ToolFacts, now: ToolFacts | None) -> Doubt:
    """By the tier that the tool had when it was started, and by what it promises of itself today."""
    if then.tier is SafetyTier.SAFE:
        return "run_again"
    if now is not None and now.reconciles:
        return "reconcile"
    return "run_again" if now is not None and now.idempotent else "unknown"


def _settled(
    state: State, tools: Mapping[str, ToolFacts], reconciled: Mapping[str, ToolResult | None]
) -> dict[str, ToolResult]:
    """The results of the calls in doubt that do not run again."""
    found: dict[str, ToolResult] = {}
    for id, doubt in in_doubt(state, tools).items():
        known = reconciled.get(id)
        if doubt == "run_again" or (doubt == "reconcile" and id in reconciled and known is None):
            # A run that is being stopped starts nothing new.
            if state.stopping:
                found[id] = result(id, "interrupted", INTERRUPTED)
        elif known is not None and known.kind != "outcome_unknown":
            found[id] = _answer(state.round, known)
        else:
            unknown = _unknown(id, state.round.call(id).name, "" if known is None else known.text)
            found[id] = _answer(state.round, unknown)
    return found


def _answer(round: OpenRound, found: ToolResult) -> ToolResult:
    """The result of a call whose execution came to `found`, which no further step of a recovery follows."""
    recovery = round.recovering.get(found.call_id)
    if recovery is None:
        return found
    return concluded(recovery.executed(as_decided(recovery.call, round), found))


def _unknown(id: str, name: str, why: str) -> ToolResult:
    text = f"{name} had been started when its process ended; it may or may not have had its effect. Check before calling again"
    return result(id, "outcome_unknown", text, f"its reconciler said: {why}" if why else "")


def _bound(
    state: State,
    owner: Owner,
    tools: Mapping[str, ToolFacts],
    now: float,
    *,
    fallbacks: tuple[Owner, ...],
    windows: Mapping[str, int],
) -> State:
    """`state` with the models and tools of today; what was granted for a tool that changed is void."""
    changed = changed_tools(state, tools)
    terms = replace(
        state.terms,
        owner=state.terms.owner if state.terms.owner in fallbacks else owner,
        chain=(owner, *fallbacks) if fallbacks else (),
        windows=windows,
        tools=tools,
        started_at=state.terms.started_at + max(0.0, now - state.now),
    )
    grants = tuple(grant for grant in state.grants if grant.tool not in changed)
    return replace(state, terms=terms, now=max(now, state.now), grants=grants)


def changed_tools(state: State, tools: Mapping[str, ToolFacts]) -> set[str]:
    """Tools that are gone, or are not what a person was asked about."""
    return {name for name, then in state.terms.tools.items() if name not in tools or _asked(then) != _asked(tools[name])}


def to_check_again(state: State, tools: Mapping[str, ToolFacts]) -> tuple[ToolUseBlock, ...]:
    """The calls of the open round that may run yet and whose tool is not what it was, as the model wants them run.

    What stands in for a tool that keeps failing is checked by its stage.
    """
    if state.open is None:
        return ()
    changed, round = changed_tools(state, tools), state.open
    own = (call for call in round.calls if call.id not in round.results and not _stands_in(round.recovering.get(call.id)))
    return tuple(call for call in own if call.name in changed and call.name in tools)


def _asked(facts: ToolFacts) -> ToolFacts:
    """What an answer was about: not what a tool promises for the case that its process ends."""
    return replace(facts, idempotent=False, reconciles=False)


def _reopened(
    stored: State,
    bound: State,
    answered: Collection[str],
    found: Mapping[str, ToolResult],
    verdicts: Mapping[str, Verdict],
) -> State:
    """The open round of `stored`, gone on with in `bound`: `found` are the results that its calls got meanwhile."""
    round, tools = _checked_round(stored.round), bound.terms.tools
    changed = changed_tools(stored, tools)
    names = {call.id: round.current(call).name for call in round.calls}
    gone = {
        call.id: result(call.id, "failed", f"the tool {call.name} is no longer there")
        for call in round.calls
        if call.name not in tools
    }
    checked = {call.id: refusal(call, verdicts.get(call.id, Valid())) for call in to_check_again(stored, tools)}
    misfits = {id: refused for id, refused in checked.items() if refused is not None}
    asked_again = {call.id for call in round.postponed if call.id not in answered}
    reopened = replace(
        round,
        results={**gone, **misfits, **round.results, **found},
        decisions={id: made for id, made in round.decisions.items() if names[id] not in changed and id not in asked_again},
        ran=dict(Counter(round.ran) + Counter(names[id] for id in found)),
        recovering={id: _as_of_today(recovery, changed, tools) for id, recovery in round.recovering.items()},
        changed={id: arguments for id, arguments in round.changed.items() if names.get(id) not in changed},
    )
    return advance(replace(bound, open=reopened, pending=RunStage((), ())))


def _checked_round(round: OpenRound) -> OpenRound:
    """The open round of a snapshot; CodecError for one in which things do not belong together."""
    calls = {call.id for call in round.turn.calls}
    if not {*round.results, *round.decisions, *round.recovering, *round.changed, *round.forwarded} <= calls:
        raise CodecError("the snapshot is damaged: its open round has results, answers or changes for calls that are not in it")
    if any(id != call.id for id, call in round.forwarded.items()):
        raise CodecError("the snapshot is damaged: a call of its open round runs under another id")
    if not all(_makes_sense(id, recovery) for id, recovery in round.recovering.items()):
        raise CodecError("the snapshot is damaged: the recovery of a call in its open round contradicts itself")
    return round


def _makes_sense(id: str, recovery: Recovery) -> bool:
    if recovery.step == "retry":
        return recovery.call.id == id and recovery.last is None and recovery.verdict is not None
    return recovery.call.id == id and recovery.last is not None


def _as_of_today(recovery: Recovery, changed: Collection[str], tools: Mapping[str, ToolFacts]) -> Recovery:
    """What stands in is checked again if it is another tool than it was."""
    name = recovery.call.name
    return replace(recovery, verdict=None) if _stands_in(recovery) and (name in changed or name not in tools) else recovery


def _stands_in(recovery: Recovery | None) -> bool:
    return recovery is not None and recovery.step != "retry"
