"""Runs inside the calls of a run: they share what it has left, are stopped with it, and are told within its events."""

from __future__ import annotations

from geode.application.announcer import Announcer
from geode.application.calls import Call
from geode.application.catalog import Checks
from geode.application.foreign import handed
from geode.domain.loop.actions import RunStage
from geode.domain.loop.inner import Allowance, allowance, as_held, inner_run_id
from geode.domain.loop.state import State
from geode.domain.spent import Spent
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.events import Event
from geode.ports.tools import InnerRun, ToolError


class Nesting:
    """Knows the runs inside the calls of one run."""

    def __init__(self, state: State, *, catalog: Checks, clock: Clock, announcer: Announcer) -> None:
        self._state, self._catalog, self._clock, self._announcer = state, catalog, clock, announcer
        # The calls that hold a share of what is left, until the state has their results.
        self._holding: dict[str, Call] = {}
        self.stopping = False

    def at(self, state: State) -> None:
        """What is left from here on is what `state` has left."""
        self._state = state

    def around(self, call: Call) -> Around:
        """This run, as the run inside `call` sees it."""
        return Around(call, self, self._announcer)

    def stop(self) -> None:
        """The run is to stop, and the runs inside it with it."""
        self.stopping = True
        for call in self._holding.values():
            if call.inner is not None:
                call.inner.stop()

    def shared_with(self, call: Call) -> Allowance:
        """What the run inside `call` may use: an even share with those that begin with it and beside those that run."""
        id, state = call.block.id, self._state
        wanted = state.pending.start if isinstance(state.pending, RunStage) else ()
        self._holding = {other: held for other, held in self._holding.items() if other in wanted and other != id}
        others = [other for other in wanted if other != id and other not in self._holding and self._contains_run(other)]
        held = [as_held(one.spent or Spent()) if one.settled else one.allowed for one in self._holding.values()]
        call.allowed = allowance(state, self._clock.now(), held=held, sharers=len(others) + 1)
        self._holding[id] = call
        return call.allowed

    def _contains_run(self, id: str) -> bool:
        tool = self._catalog.tools.get(self._state.round.call(id).name)
        return tool is not None and tool.contains_run

    @property
    def uncounted(self) -> Spent:
        """What the runs inside have spent that the state will not count, or not yet: their calls have no result."""
        return sum((call.spent or Spent() for call in self._holding.values() if not call.delivered), Spent())


class Around:
    """The run around a call; see `OuterRun`."""

    def __init__(self, call: Call, nesting: Nesting, announcer: Announcer) -> None:
        self._call, self._nesting, self._announcer = call, nesting, announcer

    @property
    def inner_run_id(self) -> str:
        return inner_run_id(self._announcer.run_id, self._call.block.id, self._call.execution.step)

    @property
    def heard(self) -> bool:
        return self._announcer.heard

    @property
    def streamed(self) -> bool:
        return self._announcer.streamed

    def allowance(self) -> Allowance:
        return self._nesting.shared_with(self._call)

    def contains(self, run: InnerRun) -> None:
        if self._nesting.stopping:
            raise ToolError(f"{self._call.block.name} was not begun: the run is being stopped")
        self._call.inner = run

    async def tell(self, event: Event) -> None:
        await self._announcer.tell(events.Nested, call=handed(self._call.block), event=event)
