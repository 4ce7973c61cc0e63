"""One round of calls: what is answered at once, and in which stages the rest runs (spec section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from geode.domain.approval import Approve, Grant
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.loop.actions import RunStage, Suspend
from geode.domain.loop.state import OpenRound
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
) -> Iterator[ToolResult]:
    """The results of the calls that cannot run: unknown, invalid, over the budget, or with nobody to approve them."""
    running = 0
    for call, verdict in zip(calls, verdicts, strict=True):
        answer = refusal(call, verdict)
        if answer is None and calls_left is not None and running >= calls_left:
            answer = result(call.id, "failed", f"not executed: the run's limit of tool calls is reached ({call.name})")
        if answer is None and not can_ask and not cleared(call, tools[call.name], grants):
            tier = tools[call.name].tier.name
            answer = result(
                call.id,
                "denied",
                f"{call.name} needs a person's approval and nobody can give it here; the call was not run",
                f"{call.name} is {tier} and the session has no approve=; the call was denied",
            )
        if answer is None:
            running += 1
        else:
            yield answer


def refusal(call: ToolUseBlock, verdict: Verdict) -> ToolResult | None:
    """The failed result for a call that must not run, or None for one that may."""
    match verdict:
        case Valid():
            return None
        case Unknown(closest):
            hint = f" Did you mean: {', '.join(closest)}?" if closest else ""
            return result(call.id, "failed", f"there is no tool named {_shown(call.name)}.{hint}")
        case Invalid(errors):
            return result(call.id, "failed", f"{call.name} was not run: " + "; ".join(errors))


def _shown(name: str) -> str:
    """A name that the model made up, escaped and bounded."""
    return repr(name if len(name) <= 64 else name[:64] + "…")


def cleared(call: ToolUseBlock, facts: ToolFacts, grants: Sequence[Grant]) -> bool:
    """Whether a call needs no answer of a person: by its tier, or by a grant."""
    return not facts.tier.needs_approval or any(grant.covers(call) for grant in grants)


def next_stage(
    round: OpenRound,
    tools: Mapping[str, ToolFacts],
    grants: Sequence[Grant],
    seconds: float | None,
    current: RunStage = RunStage((), ()),
) -> RunStage | Suspend | None:
    """What the round needs next, or None when every call has its result.

    WRITE and DANGEROUS calls are barriers: each is a stage of its own, asked when its turn comes.
    All EXPENSIVE calls are asked for in one question, at the earliest stage. What the `current` stage
    asked stays asked, whatever was granted meanwhile: an answer that is on its way counts.
    """
    waiting = round.waiting
    if not waiting:
        return None

    def may_start(call: ToolUseBlock) -> bool:
        if call.id in round.decisions:
            return isinstance(round.decisions[call.id], Approve)
        return call.id not in current.ask and cleared(call, tools[call.name], grants)

    def open_question(call: ToolUseBlock) -> bool:
        return call.id not in round.decisions and not may_start(call)

    expensive = tuple(call.id for call in waiting if tools[call.name].tier is SafetyTier.EXPENSIVE and open_question(call))
    postponed = tuple(call.id for call in round.postponed)
    group = _first_group(waiting, tools)
    first, alone = group[0], tools[group[0].name].tier.runs_alone
    # With an answer put off the stage still finishes, but the next one does not begin.
    held = alone and postponed and first.id not in current.start
    start = () if held else tuple(call.id for call in group if may_start(call))
    if start or expensive:
        return RunStage(start, expensive, seconds)
    if postponed:
        return Suspend(postponed)
    return RunStage((), (first.id,), seconds)


def _first_group(waiting: Sequence[ToolUseBlock], tools: Mapping[str, ToolFacts]) -> tuple[ToolUseBlock, ...]:
    if tools[waiting[0].name].tier.runs_alone:
        return (waiting[0],)
    return tuple(takewhile(lambda call: not tools[call.name].tier.runs_alone, waiting))


def as_decided(call: ToolUseBlock, round: OpenRound) -> ToolUseBlock:
    """The call as it runs, whatever a person decided about its arguments."""
    decision = round.decisions.get(call.id)
    return edited(call, decision) if isinstance(decision, Approve) else call


def edited(call: ToolUseBlock, answer: Approve) -> ToolUseBlock:
    """The call with the arguments a person put in, if they did."""
    return call if answer.input is None else replace(call, input=answer.input, unparsed=None)
