"""Showing the calls of a stage to the hooks of the application, before they are asked about or started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TypeAlias

from geode.application.announcer import Announcer
from geode.application.hooking import BROKE, Hooking
from geode.domain.content import ToolUseBlock
from geode.domain.loop.inputs import CallChanged, CallVetoed, Input
from geode.domain.loop.state import State
from geode.ports.clock import Clock
from geode.ports.hooks import Veto

# A call by its id, with the step of its recovery: what is tried next is another call to a hook.
Key: TypeAlias = tuple[str, int]


class Admission:
    """Calls are shown one at a time, in call order, each once; what is changed or vetoed is an input of the loop.

    `came` gets the inputs; `news` is called when a call may enter as it is.
    """

    def __init__(
        self, hooking: Hooking, clock: Clock, announcer: Announcer, came: Callable[[Input], None], news: Callable[[], None]
    ) -> None:
        self._hooking, self._clock, self._announcer = hooking, clock, announcer
        self._came, self._news = came, news
        self._showing: asyncio.Task[None] | None = None
        self._at_the_door: tuple[Key, ToolUseBlock] | None = None
        self._shown: set[Key] = set()
        self._admitted: set[Key] = set()

    def held(self, state: State, started: Collection[Key]) -> set[str]:
        """The calls that the stage wants and that may not enter yet.

        What a person has decided about, or was changed, was shown before, be it in another process.
        """
        if not self._hooking.before_tools or state.stopping:
            return set()
        stage, round = state.stage, state.round
        seen = {*round.decisions, *round.changed}
        wanted = {(id, round.step_of(id)) for id in (*stage.start, *stage.ask) if id not in seen}
        held = wanted.difference(started, self._admitted)
        unseen = held - self._shown
        if unseen and self._showing is None:
            steps = dict(unseen)
            calls = [((call.id, steps[call.id]), call) for call in round.waiting if call.id in steps]
            self._showing = asyncio.create_task(self._show(calls))
            self._showing.add_done_callback(self._ended)
        return {id for id, _ in held}

    def cancel(self) -> list[asyncio.Task[None]]:
        """Show nothing more, now: the task that ends soon."""
        showing, self._showing = self._showing, None
        if showing is None:
            return []
        showing.cancel()
        return [showing]

    async def _show(self, calls: list[tuple[Key, ToolUseBlock]]) -> None:
        for key, call in calls:
            self._at_the_door = (key, call)
            self._let_in(key, call, await self._hooking.before_tool(call))

    def _let_in(self, key: Key, call: ToolUseBlock, found: ToolUseBlock | Veto) -> None:
        self._shown.add(key)
        if isinstance(found, Veto):
            self._came(CallVetoed(self._clock.now(), call.id, found.why))
        elif found is not call:
            self._came(CallChanged(self._clock.now(), call.id, found.input))
        else:
            self._admitted.add(key)
            self._news()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A hook that cancelled its own task has not allowed anything."""
        if task is not self._showing:
            return
        self._showing = None
        if self._at_the_door is not None and (task.cancelled() or task.exception() is not None):
            key, call = self._at_the_door
            why = f"it cancelled itself; {call.name} ({call.id}) is denied"
            self._announcer.soon(self._hooking.broke("before_tool", why))
            self._let_in(key, call, Veto(BROKE))
        self._news()
