"""The token guard: what is too long for the model is stored or cut before it counts as the result of a call."""

from __future__ import annotations

import asyncio

from geode.application.announcer import Announcer
from geode.application.foreign import explained, warn
from geode.application.shelf import Shelf
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.loop.state import State
from geode.domain.loop.storing import refs_of
from geode.domain.offload import RECALL, ResultLimits, cut, measured, offloaded, remedy_for
from geode.domain.policy import Policy
from geode.domain.tokens import CountTokens
from geode.ports.results import Origin


class ResultGuard:
    """Of one run. `window` is the model's, in tokens, where it is known; without a `shelf` everything is cut."""

    def __init__(
        self, policy: Policy, window: int | None, count: CountTokens, shelf: Shelf | None, announcer: Announcer
    ) -> None:
        self._policy, self._window, self._count = policy, window, count
        self._shelf, self._announcer = shelf, announcer
        self._limits: dict[str, ResultLimits] = {}

    def limits_of(self, tool: str) -> ResultLimits:
        """The limits of a tool's results, fitted to the window. What is recalled is never stored again."""
        if tool not in self._limits:
            self._limits[tool] = self._fitted(tool)
        return self._limits[tool]

    def fit(self, window: int | None) -> None:
        """Another model reads the results from here on."""
        self._window = window
        self._limits.clear()

    def _fitted(self, tool: str) -> ResultLimits:
        limits = self._policy.limits_of(tool).within(self._window)
        return limits.without_store if self._shelf is None or tool == RECALL else limits

    def needed(self, call: ToolUseBlock, found: ToolResult) -> bool:
        """Whether the result is too long. Told soon, however long it is."""
        return remedy_for(found, self.limits_of(call.name), self._count) != "keep"

    def cut(self, call: ToolUseBlock, found: ToolResult) -> ToolResult:
        """The result cut, at once, if that is needed."""
        limits = self.limits_of(call.name).without_store
        return cut(found, limits, self._count) if remedy_for(found, limits, self._count) == "cut" else found

    async def guarded(self, call: ToolUseBlock, found: ToolResult) -> ToolResult:
        """The result that is too long as the model reads it, stored if that can be. The operator is told."""
        limits = self.limits_of(call.name)
        if self._shelf is not None and remedy_for(found, limits, self._count) == "offload":
            shown = await self._offloaded(self._shelf, call, found, limits)
            if shown is not None:
                return shown
        shown = self.cut(call, found)
        if shown is not found:
            await self._announcer.notice("result_cut", f"the result of {call.name} ({call.id}) was cut: {_size(found)}")
        return shown

    async def _offloaded(self, shelf: Shelf, call: ToolUseBlock, found: ToolResult, limits: ResultLimits) -> ToolResult | None:
        """The summary of the result, which is in the store now; None where that could not be."""
        ref_id, text = shelf.new_ref(), measured(found.content)
        shown = await asyncio.to_thread(offloaded, found, ref_id, limits, self._count)
        if shown is None:
            return None
        try:
            await shelf.keep(ref_id, text, Origin(self._announcer.run_id, call.name, call.id))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a store is an application's own, and may raise anything
            if isinstance(error, asyncio.CancelledError) and self._announcer.being_cancelled():
                raise
            why = f"the result store failed: {explained(error)}; the result of {call.name} ({call.id}) is not kept"
            warn(f"{why} (run {self._announcer.run_id})")
            await self._announcer.notice("store_failed", why)
            return None
        await self._announcer.notice("offload", f"the result of {call.name} ({call.id}) is kept as {ref_id}: {_size(found)}")
        return shown

    async def hold(self, state: State) -> None:
        """The run is suspended: what it names is kept until it ends."""
        refs = refs_of(state)
        if self._shelf is None or not refs:
            return
        try:
            await self._shelf.hold(state.terms.run_id, refs)
        except Exception as error:
            why = f"the result store failed: {explained(error)}; results that the suspended run names may expire"
            warn(f"{why} (run {state.terms.run_id})")
            await self._announcer.notice("store_failed", why)


def _size(found: ToolResult) -> str:
    return f"{len(measured(found.content))} characters"
