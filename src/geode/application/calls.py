"""One execution of a tool: how far it is, and what is said of one that did not end well."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from geode.application.foreign import text_of
from geode.application.threads import RaisedInThread
from geode.domain.content import Part, Text, ToolResult, ToolUseBlock, result
from geode.domain.loop.inner import Allowance
from geode.domain.results import Stream
from geode.domain.rounds import Execution
from geode.domain.spent import Spent
from geode.domain.usage import Usage
from geode.ports.tools import InnerRun, Tool


@dataclass(slots=True, eq=False)
class Call:
    """One execution under way: of which tool, the seconds it may take, and how far it is.

    `delayed`: its time to begin has not come; `entered`: its handler was; `overdue`: its deadline passed
    before it ended; `cancelled`: with the run, before it ended; `settled`: it has its result, or never will.
    `stream`: what it gives piece by piece, so far. `delivered`: its result was handed on.
    `usage`: what its tool said that it spent; `inner`: the run inside it, which `allowed` has limits for.
    """

    tool: Tool
    execution: Execution
    deadline: float
    task: asyncio.Task[ToolResult] | None = None
    started_at: float | None = None
    ended_at: float | None = None
    timer: asyncio.TimerHandle | None = None
    delayed: bool = False
    has_slot: bool = False
    entered: bool = False
    overdue: bool = False
    cancelled: bool = False
    blocked: bool = False
    settled: bool = False
    stream: Stream | None = None
    delivered: bool = False
    usage: Usage = Usage()
    inner: InnerRun | None = None
    allowed: Allowance = Allowance()

    @property
    def block(self) -> ToolUseBlock:
        return self.execution.call

    def spend(self, usage: Usage) -> None:
        """See `ToolContext.spend`. TypeError for what could not be counted."""
        if not _counts(usage):
            raise TypeError(f"spend(…) takes a geode.Usage of tokens and dollars, 0 or more, got {usage!r:.200}")
        self.usage += replace(usage, quota=())

    @property
    def spent(self) -> Spent | None:
        """What it has spent so far beside its execution; None for nothing."""
        found = Spent(self.usage) if self.inner is None else Spent(self.usage) + self.inner.spent
        return None if found == Spent() else found


def _counts(usage: object) -> bool:
    if not isinstance(usage, Usage):
        return False
    tokens = (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens)
    cost: object = usage.cost_usd
    return all(type(one) is int and one >= 0 for one in tokens) and (
        cost is None or (isinstance(cost, Decimal) and cost.is_finite() and cost >= 0)
    )


@dataclass(frozen=True, slots=True)
class Made:
    """The content of a result, made where the handler ran."""

    content: tuple[Part, ...]


class Returned(Exception):
    """Its cause was returned by a tool, which so says that it failed."""


def own_error(error: BaseException) -> BaseException:
    """What the tool raised or returned to fail: coroutines cannot raise StopIteration, nor threads all that they would."""
    cause = error.__cause__
    renamed = isinstance(error, RuntimeError) and isinstance(cause, StopIteration | StopAsyncIteration)
    if cause is not None and (isinstance(error, RaisedInThread | Returned) or (renamed and "raised Stop" in text_of(error))):
        return cause
    return error


def keeping(call: Call, found: ToolResult) -> ToolResult:
    """A result that is not ok, with what the tool gave before."""
    if call.stream is None or not len(call.stream):
        return found
    said = Text(f"What it gave before ({len(call.stream)} items):")
    return replace(found, content=(*found.content, said, *call.stream.content()))


def timed_out(call: Call) -> ToolResult:
    """Past the deadline: failed for a tool that changes nothing, else nobody knows what it did (spec section 4)."""
    name, id = call.block.name, call.block.id
    if not call.entered:
        why = "calls that are past their deadline hold every thread"
        return result(id, "failed", f"timeout: {name} was not started within {call.deadline:g} s: {why}")
    late = f"{name} did not finish within {call.deadline:g} s"
    if call.tool.tier.needs_approval:
        return result(id, "outcome_unknown", f"{late}; it may or may not have had its effect. Check before calling again")
    return result(id, "failed", f"timeout: {late}")


def not_started(block: ToolUseBlock, alive: Mapping[str, str]) -> ToolResult:
    others = ", ".join(f"{name} ({id})" for id, name in alive.items())
    return result(block.id, "failed", f"{block.name} was not started: {others} is past its deadline and still running")
