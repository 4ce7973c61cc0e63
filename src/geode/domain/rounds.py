"""One round of calls: what is answered at once, and in which stages the rest runs (spec section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from geode.domain.approval import Approve, Asked, Grant
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.loop.actions import RunStage, Suspend
from geode.domain.loop.state import OpenRound, State
from geode.domain.naming import shown_name
from geode.domain.recovery import Recovery, reason_to_ask
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.verdicts import Invalid, Unknown, Valid, Verdict


def settle(
    calls: Sequence[ToolUseBlock],
    verdicts: Sequence[Verdict],
    tools: Mapping[str, ToolFacts],
    grants: Sequence[Grant],
    *,
    can_ask: bool,
    calls_left: int | None,
    calls_of: Mapping[str, int],
) -> Iterator[ToolResult]:
    """The results of the calls that cannot run: unknown, invalid, over a budget, or with nobody to approve them.

    `calls_of` counts the executions of each tool in the rounds before.
    """
    running = Counter[str]()
    for call, verdict in zip(calls, verdicts, strict=True):
        answer = refusal(call, verdict)
        if answer is None and calls_left is not None and running.total() >= calls_left:
            answer = result(call.id, "failed", f"not executed: the run's limit of tool calls is reached ({call.name})")
        if answer is None:
            answer = over_its_limit(call, tools[call.name], calls_of.get(call.name, 0) + running[call.name])
        if answer is None and not can_ask and not cleared(call, tools[call.name], grants):
            answer = unapproved(call, tools[call.name])
        if answer is None:
            running[call.name] += 1
        else:
            yield answer


def over_its_limit(call: ToolUseBlock, facts: ToolFacts, used: int) -> ToolResult | None:
    """The failed result for a call of a tool that may not run so often, or None."""
    if facts.max_calls is None or used < facts.max_calls:
        return None
    return result(call.id, "failed", f"not executed: {call.name} may run {facts.max_calls} times in a run, and has")


def unapproved(call: ToolUseBlock, facts: ToolFacts) -> ToolResult:
    """The denied result for a call that needs an answer where nobody can give one."""
    told = f"{call.name} needs a person's approval and nobody can give it here; the call was not run"
    return result(
        call.id, "denied", told, f"{call.name} is {facts.tier.name} and the session has no approve=; the call was denied"
    )


def refusal(call: ToolUseBlock, verdict: Verdict) -> ToolResult | None:
    """The failed result for a call that must not run, or None for one that may."""
    match verdict:
        case Valid():
            return None
        case Unknown(closest):
            hint = f" Did you mean: {', '.join(closest)}?" if closest else ""
            return result(call.id, "failed", f"there is no tool named {shown_name(call.name)}.{hint}")
        case Invalid(errors):
            return result(call.id, "failed", f"{call.name} was not run: " + "; ".join(errors))


def cleared(call: ToolUseBlock, facts: ToolFacts, grants: Sequence[Grant]) -> bool:
    """Whether a call needs no answer of a person: by its tier, or by a grant."""
    return not facts.tier.needs_approval or any(grant.covers(call, facts) for grant in grants)


def next_stage(
    round: OpenRound,
    tools: Mapping[str, ToolFacts],
    grants: Sequence[Grant],
    seconds: float | None,
    current: RunStage = RunStage((), ()),
) -> RunStage | Suspend:
    """What a round needs next in which calls wait for their results.

    WRITE and DANGEROUS calls are barriers: each is a stage of its own, asked when its turn comes.
    All EXPENSIVE calls are asked for in one question, at the earliest stage, and so is whether a tool
    that keeps failing may run once more. What the `current` stage asked stays asked, whatever was
    granted meanwhile: an answer that is on its way counts. What stands in for another is checked first.
    """
    waiting, unchecked = round.waiting, round.unchecked

    def may_start(call: ToolUseBlock) -> bool:
        if call.id in round.decisions:
            return isinstance(round.decisions[call.id], Approve)
        return call.id not in current.ask and not round.escalated(call.id) and cleared(call, tools[call.name], grants)

    def open_question(call: ToolUseBlock) -> bool:
        asks_early = tools[call.name].tier is SafetyTier.EXPENSIVE or round.escalated(call.id)
        return asks_early and call.id not in round.decisions and not may_start(call)

    questions = tuple(call.id for call in waiting if call.id not in unchecked and open_question(call))
    postponed = tuple(call.id for call in round.postponed)
    group = _first_group(waiting, tools, unchecked)
    first = group[0]
    alone = _alone(first, tools, unchecked)
    # With an answer put off the stage still finishes, but the next one does not begin.
    held = alone and postponed and first.id not in current.start
    start = () if held else tuple(call.id for call in group if call.id not in unchecked and may_start(call))
    if start or questions or unchecked:
        return RunStage(start, questions, seconds, tuple(unchecked))
    if postponed:
        return Suspend(postponed)
    return RunStage((), (first.id,), seconds)


def _first_group(
    waiting: Sequence[ToolUseBlock], tools: Mapping[str, ToolFacts], unchecked: Collection[str]
) -> tuple[ToolUseBlock, ...]:
    if _alone(waiting[0], tools, unchecked):
        return (waiting[0],)
    return tuple(takewhile(lambda call: not _alone(call, tools, unchecked), waiting))


def _alone(call: ToolUseBlock, tools: Mapping[str, ToolFacts], unchecked: Collection[str]) -> bool:
    """Whether the call is a barrier. What is not checked yet may be of a tool that is gone, and of none that runs alone."""
    return call.id not in unchecked and tools[call.name].tier.runs_alone


def asked_about(state: State, call_id: str) -> Asked:
    """What a person is asked about a call of the open round."""
    call, tools = state.round.call(call_id), state.terms.tools
    return Asked(call, tools[call.name].tier, reason_to_ask(state.round.recovering.get(call_id), call.name, tools))


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a call: as which tool with which arguments, after how many seconds.

    `index` is the place of the call in its round; `step` tells the executions of one call apart, and
    `recovering` that its result need not be the call's.
    """

    call: ToolUseBlock
    index: int
    step: int = 0
    delay_seconds: float = 0.0
    recovering: bool = False


def executions(state: State) -> Iterator[Execution]:
    """What the pending stage wants executed, in call order."""
    round, start = state.round, frozenset(state.stage.start)
    for index, called in enumerate(round.calls):
        if called.id in start:
            call, recovery = as_decided(round.current(called), round), round.recovering.get(called.id)
            if recovery is None:
                yield Execution(call, index)
            else:
                yield Execution(call, index, len(recovery.tried), _delay(state, recovery), recovering=True)


def _delay(state: State, recovery: Recovery) -> float:
    """How long to wait before a step: before the first, if the run has time for that."""
    seconds, remaining = state.terms.policy.recovery_seconds, state.remaining_seconds
    return seconds if recovery.step == "retry" and (remaining is None or remaining > seconds) else 0.0


def as_decided(call: ToolUseBlock, round: OpenRound) -> ToolUseBlock:
    """The call as it runs, whatever a person decided about its arguments."""
    decision = round.decisions.get(call.id)
    return edited(call, decision) if isinstance(decision, Approve) else call


def edited(call: ToolUseBlock, answer: Approve) -> ToolUseBlock:
    """The call with the arguments a person put in, if they did."""
    return call if answer.input is None else replace(call, input=answer.input, unparsed=None)
