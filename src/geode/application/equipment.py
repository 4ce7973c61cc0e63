"""What one run is performed with: made for its policy, before it begins or is taken up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from geode.application.announcer import Announcer
from geode.application.asking import Asking
from geode.application.contents import Contents
from geode.application.guard import ResultGuard
from geode.application.hooking import Hooking
from geode.application.model_call import ModelCall
from geode.application.nesting import Nesting
from geode.application.reconciling import reconciled
from geode.application.run import Run
from geode.application.shelf import Shelf
from geode.application.stage import StagePerformer
from geode.application.streaming import Put
from geode.application.tools_in_force import ToolsInForce
from geode.domain.content import ToolResult
from geode.domain.loop.state import State
from geode.domain.results import PLAIN, Rendering
from geode.domain.tokens import CountTokens, estimate_tokens
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.events import Observer
from geode.ports.hooks import Hooks
from geode.ports.images import ImageResizer
from geode.ports.journal import Journal
from geode.ports.tools import NothingStored


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a loop is given besides its model and its tools. `put` takes the events of every run, deltas included."""

    clock: Clock
    journal: Journal
    new_run_id: Callable[[], str]
    approver: Approver | None = None
    observers: tuple[Observer, ...] = ()
    deps: Any = None
    hooks: tuple[Hooks, ...] = ()
    rendering: Rendering = PLAIN
    resizer: ImageResizer | None = None
    count_tokens: CountTokens = estimate_tokens
    put: Put | None = None


class Equipment:
    """Of the run whose state is `before`. `put` takes its events, where they are streamed."""

    def __init__(
        self, before: State, asking: Asking, tools: ToolsInForce, around: Surroundings, *, shelf: Shelf | None, put: Put | None
    ) -> None:
        policy, told = before.terms.policy, () if before.open is None else before.open.results
        self._asking, self._tools, self._around, self._shelf = asking, tools, around, shelf
        self.announcer = Announcer(before.terms.run_id, around.observers, put or around.put, before.counters.rounds, told)
        self.hooking = Hooking(around.hooks, tools, self.announcer, policy.tool_timeout_seconds)
        self._policy = policy
        window = asking.windows.get(asking.serving(before.terms.owner).name)
        self.guard = ResultGuard(policy, window, around.count_tokens, shelf, self.announcer)
        self.contents = self._contents_for(asking)
        self._stage: StagePerformer | None = None

    def run_of(self, state: State) -> Run:
        """The run that begins with `state`, or goes on from it."""
        around = self._around
        nesting = Nesting(state, catalog=self._tools, clock=around.clock, announcer=self.announcer)
        stage = self._stage = StagePerformer(
            tools=self._tools,
            policy=state.terms.policy,
            deps=around.deps,
            clock=around.clock,
            announcer=self.announcer,
            approver=around.approver,
            hooking=self.hooking,
            contents=self.contents,
            guard=self.guard,
            results=self._shelf or NothingStored(),
            nesting=nesting,
        )
        call = ModelCall(self._asking, self._tools, around.clock, self.announcer, self.hooking, asks=self._fit)
        return Run(
            state,
            announcer=self.announcer,
            tools=self._tools,
            call=call,
            stage=stage,
            clock=around.clock,
            journal=around.journal,
            inside=nesting,
        )

    def _fit(self, asking: Asking) -> None:
        """Results are made for the model that is asked from here on."""
        self.guard.fit(asking.window)
        self.contents = self._contents_for(asking)
        if self._stage is not None:
            self._stage.fit(self.contents)

    def _contents_for(self, asking: Asking) -> Contents:
        around = self._around
        return Contents.of(self._policy, around.rendering, asking.adapter.capabilities.pictures, around.resizer)

    async def found(self, stored: State) -> dict[str, ToolResult | None]:
        """What became of the calls that had been started, as far as their tools can tell."""
        try:
            return await reconciled(
                stored,
                catalog=self._tools.now,
                deps=self._around.deps,
                clock=self._around.clock,
                review=self.hooking.after_result if self.hooking.after_results else None,
                contents=self.contents,
                guard=self.guard,
            )
        except BaseException:
            self.announcer.close()
            raise
