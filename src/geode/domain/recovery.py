"""The recovery chain of a tool that keeps failing (spec section 6).

    retry (after a wait) ─▶ alternative ─▶ fallback ─▶ escalate ─▶ exhausted

A call of such a tool goes through the chain until one step succeeds. Each step is a call like any
other: checked, approved by its tier, counted against the budgets, run. Whatever comes of it answers the
call that the model made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from geode.domain.content import ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.policy import Policy
from geode.domain.tools import ToolFacts
from geode.domain.verdicts import Verdict

RecoveryStep: TypeAlias = Literal["retry", "alternative", "fallback", "escalate"]

EXHAUSTED: Final = "Nothing else is left to try: do without it, or say what keeps you from going on."
_ORDER: Final[tuple[RecoveryStep, ...]] = ("retry", "alternative", "fallback", "escalate")
_WORDS: Final[Mapping[RecoveryStep, str]] = {
    "retry": "{} once more",
    "alternative": "{} in its place",
    "fallback": "{} as a fallback",
    "escalate": "{} after asking a person",
}
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Tried:
    """One step that was taken: what came of it, in the words of its result. Not every step is executed."""

    step: RecoveryStep
    tool: str
    kind: ResultKind
    text: str
    executed: bool


@dataclass(frozen=True, slots=True)
class Recovery:
    """How far one call is. `call` is what runs in this step, once `verdict` is there.

    `last` is the result of the last execution: None in the first step, and in no other.
    """

    step: RecoveryStep
    call: ToolUseBlock
    verdict: Verdict | None = None
    tried: tuple[Tried, ...] = ()
    last: ToolResult | None = None

    @property
    def executions(self) -> int:
        return sum(one.executed for one in self.tried)

    def executed(self, call: ToolUseBlock, found: ToolResult) -> Recovery:
        """After this step was run, as `call`."""
        tried = Tried(self.step, call.name, found.kind, _short(found.text), executed=True)
        return replace(self, call=call, tried=(*self.tried, tried), last=found)

    def passed_over(self, answer: ToolResult) -> Recovery:
        """After this step was not run, for the reason in `answer`."""
        tried = Tried(self.step, self.call.name, answer.kind, _short(answer.text), executed=False)
        return replace(self, tried=(*self.tried, tried))


def needs_recovery(facts: ToolFacts, failures: int, policy: Policy) -> bool:
    """Whether the next call of a tool that failed so often in a row goes through the chain. Never one that changes things."""
    if facts.tier.runs_alone or policy.max_recovery_executions == 0:
        return False
    return failures >= policy.recovery_failures


def next_step(
    recovery: Recovery,
    origin: str,
    tools: Mapping[str, ToolFacts],
    most: int,
    *,
    can_ask: bool,
    room: Callable[[str], bool],
) -> Recovery | None:
    """The step to take after those that were tried, or None: it succeeded, nobody knows what it did, or nothing is left.

    `origin` is the tool that was called, `most` the limit of executions, and `room` says whether the
    budgets have room for another one of a tool.
    """
    last = recovery.last
    if last is None or last.kind != "failed" or not last.recoverable or recovery.executions >= most:
        return None
    facts = tools[origin]
    names: Mapping[RecoveryStep, str | None] = {
        "alternative": facts.alternative,
        "fallback": facts.fallback,
        "escalate": origin if can_ask else None,
    }
    for step in _ORDER[_ORDER.index(recovery.step) + 1 :]:
        name = names[step]
        if name is not None and name in tools and not tools[name].tier.runs_alone and room(name):
            return replace(recovery, step=step, call=replace(recovery.call, name=name), verdict=None)
    return None


def concluded(recovery: Recovery) -> ToolResult:
    """The result of the call: the last execution's, with what was tried, unless the first step was enough."""
    last = recovery.last
    if last is None:
        raise ValueError("nothing was executed")
    if len(recovery.tried) == 1 and last.kind != "failed":
        return last
    executed = [one for one in recovery.tried if one.executed]
    # The text of the last execution stands in the result already.
    steps = "; ".join(_told(one, shown=one is not executed[-1]) for one in recovery.tried)
    end = f" {EXHAUSTED}" if last.kind == "failed" else ""
    return replace(last, content=(*last.content, Text(f"What was tried: {steps}.{end}")))


def _told(one: Tried, *, shown: bool) -> str:
    """One step in words, its text included if that is to be `shown`."""
    found = one.kind if not shown or not one.text else f"{one.kind} ({one.text.removeprefix(f'{one.kind}: ')})"
    return f"{_WORDS[one.step].format(one.tool)}: {found}"


def noticed(recovery: Recovery, origin: str) -> str:
    """What the operator reads when a step is about to be taken."""
    past = f"; {_told(recovery.tried[-1], shown=True)}" if recovery.tried else ""
    return f"{origin} keeps failing{past}; next: {_WORDS[recovery.step].format(recovery.call.name)}"


def reason_to_ask(recovery: Recovery | None, name: str, tools: Mapping[str, ToolFacts]) -> str:
    """Why a person is asked about a call of the tool `name`."""
    tier = f"{name} is {tools[name].tier.name}"
    if recovery is None or recovery.step == "retry":
        return tier
    if recovery.step == "escalate":
        return f"{name} keeps failing and nothing else is left to try: run it once more?"
    return f"{tier}; it would stand in for a tool that keeps failing"


def _short(text: str) -> str:
    """One bounded line that goes into a sentence."""
    line = " ".join(text.split())
    return line.rstrip(".") if len(line) <= _SHOWN else line[:_SHOWN] + "…"
