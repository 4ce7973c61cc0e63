"""Asking tools what became of calls whose process ended."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from geode.application.announcer import Announcer
from geode.application.catalog import Catalog
from geode.application.contents import Contents
from geode.application.finishing import Review
from geode.application.guard import ResultGuard
from geode.application.processor import GRACE_SECONDS, ToolCallProcessor
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.loop.resuming import in_doubt
from geode.domain.loop.state import State
from geode.domain.rounds import Execution, as_decided
from geode.domain.spent import Spent
from geode.ports.clock import Clock
from geode.ports.tools import Invoke, NotRun, Tool, ToolContext


async def reconciled(
    state: State,
    *,
    catalog: Catalog,
    deps: Any,
    clock: Clock,
    review: Review | None,
    contents: Contents | None = None,
    guard: ResultGuard | None = None,
) -> dict[str, ToolResult | None]:
    """What the reconcilers found of the calls in doubt, by call id; None for one that did not run.

    They run like tools: within the tool's deadline, side by side, in threads if they may block. What they
    found is reviewed like any result; one that breaks leaves its call `outcome_unknown`, with its words.
    Nothing is told to observers: no call starts here.
    """
    wanted = [id for id, doubt in in_doubt(state, catalog.facts).items() if doubt == "reconcile"]
    if not wanted:
        return {}
    found: dict[str, ToolResult] = {}
    not_run: set[str] = set()
    all_in = asyncio.Event()

    known: set[str] = set()

    async def reviewed(call: ToolUseBlock, came: ToolResult) -> ToolResult:
        if came.kind == "ok":
            known.add(call.id)
        return came if review is None or came.kind != "ok" or call.id in not_run else await review(call, came)

    def finished(result: ToolResult, _: Spent | None) -> None:
        found[result.call_id] = result if result.call_id in known else replace(result, kind="outcome_unknown")
        if len(found) == len(wanted):
            all_in.set()

    processor = ToolCallProcessor(
        catalog=replace(catalog, tools={name: _asking(tool, not_run) for name, tool in catalog.tools.items()}),
        policy=state.terms.policy,
        deps=deps,
        clock=clock,
        announcer=Announcer(state.terms.run_id, (), None),
        finished=finished,
        review=reviewed,
        guard=guard,
        contents=contents,
    )
    for index, id in enumerate(wanted):
        processor.start(Execution(as_decided(state.round.call(id), state.round), index), None)
    try:
        await all_in.wait()
    finally:
        ending = processor.cancel()
        if ending:
            await asyncio.wait(ending, timeout=GRACE_SECONDS)
    return {id: None if id in not_run else found[id] for id in wanted}


def _asking(tool: Tool, not_run: set[str]) -> Tool:
    """`tool` with its reconciler in the place of its handler."""
    if tool.reconcile is None:
        return tool
    blocking = not (inspect.iscoroutinefunction(tool.reconcile) or inspect.isasyncgenfunction(tool.reconcile))
    return replace(tool, invoke=_Reconciler(tool.reconcile, not_run), blocking=blocking)


@dataclass(frozen=True, slots=True)
class _Reconciler:
    """Notes the calls that did not run; whatever else comes is the result."""

    reconcile: Invoke
    not_run: set[str]

    def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        found = self.reconcile(arguments, context)
        return self._awaited(found, context) if inspect.isawaitable(found) else self._noted(found, context)

    async def _awaited(self, found: Awaitable[Any], context: ToolContext[Any]) -> Any:
        return self._noted(await found, context)

    def _noted(self, found: Any, context: ToolContext[Any]) -> Any:
        if not isinstance(found, NotRun):
            return found
        self.not_run.add(context.call_id)
        return None
