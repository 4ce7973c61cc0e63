"""AgenticLoop: the driver. It performs the pending action and feeds what happened to `step`; it decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from geode.application.announcer import Announcer
from geode.application.catalog import Catalog, said_of_denied
from geode.application.model_call import Asking, ModelCall
from geode.application.stage import StagePerformer, checked_answers, decided
from geode.domain.approval import Decision
from geode.domain.codec import dumps, loads
from geode.domain.content import Image, Owner, Text
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.actions import CallModel, Finish, RunStage, Suspend, Wait
from geode.domain.loop.inputs import Input, Interrupted, ModelFailed, ModelReplied, StopRequested, Waited
from geode.domain.loop.outcome import Outcome, Suspended
from geode.domain.loop.resuming import taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import begin, step
from geode.domain.policy import Policy
from geode.domain.request import forced_choice
from geode.domain.turns import ToolResultsTurn, UserTurn
from geode.ports import events
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.events import Event, Observer
from geode.ports.journal import Journal

Prompt = str | Text | Image | Sequence[str | Text | Image]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a loop is given besides its model and its tools."""

    clock: Clock
    journal: Journal
    new_run_id: Callable[[], str]
    approver: Approver | None = None
    observers: tuple[Observer, ...] = ()
    deps: Any = None


class AgenticLoop:
    """Runs prompts to their right end, one at a time. Nothing carries over from run to run by itself."""

    def __init__(self, asking: Asking, catalog: Catalog, policy: Policy, around: Surroundings) -> None:
        self._asking, self._catalog, self._policy, self._around = asking, catalog, policy, around
        self._active: _Run | None = None
        self._last = Conversation()

    @property
    def conversation(self) -> Conversation:
        """The last whole conversation, after a cancellation too."""
        return self._last if self._active is None else self._active.state.closed

    async def run(self, prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None) -> Outcome:
        """Run `prompt` after `conversation` (nothing, by default) to its end.

        `tool_choice` holds for the first round only; any accepted spelling. A provider's or a tool's
        failure is in the outcome, never an exception; Misuse is raised before anything leaves.
        Cancelling the caller cancels every call, and `conversation` is whole afterwards.
        """
        return await self._perform(self._begun(prompt, conversation, tool_choice), None)

    async def resume(self, snapshot: str, answers: Mapping[str, Decision]) -> Outcome:
        """Go on with a suspended run, here or in another process; `answers` by call id.

        A call left out is asked of this session's approver, or stays open and the run is suspended again.
        """
        return await self._perform(self._resumed(snapshot, answers), None)

    async def stream(
        self, prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None
    ) -> AsyncIterator[Event]:
        """`run`, as its events happen, deltas included; the last one is `Finished`.

        The reader sets the pace: at most 64 events wait. Closing the iterator cancels the run.
        """
        state = self._begun(prompt, conversation, tool_choice)
        waiting: asyncio.Queue[Event | None] = asyncio.Queue(64)

        async def work() -> None:
            try:
                await self._perform(state, waiting.put)
            finally:
                await waiting.put(None)

        task = asyncio.create_task(work())
        try:
            while (event := await waiting.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            while not task.done():
                # The run may be waiting for room in the queue that nobody reads any more.
                while not waiting.empty():
                    waiting.get_nowait()
                await asyncio.wait((task,), timeout=0.05)

    def stop(self) -> None:
        """End the active run soon: what runs may finish, nothing new starts, the outcome is `Stopped`."""
        if self._active is not None:
            self._active.stop()

    # ---- one run -------------------------------------------------------------------------------

    def _begun(self, prompt: Prompt, conversation: Conversation | None, tool_choice: Any) -> State:
        _check_conversation(conversation)
        asking, tools = self._asking, self._catalog
        return begin(
            run_id=self._around.new_run_id(),
            owner=Owner(asking.adapter.name, asking.model),
            policy=self._policy,
            tools=tools.facts,
            conversation=conversation or Conversation(),
            turn=UserTurn(_items(prompt)),
            now=self._around.clock.now(),
            can_ask=self._around.approver is not None,
            first_choice=forced_choice(tool_choice, tools.specs),
        )

    def _resumed(self, snapshot: str, answers: Mapping[str, Decision]) -> State:
        owner = Owner(self._asking.adapter.name, self._asking.model)
        stored, now = loads(State, snapshot), self._around.clock.now()
        state = taken_up(stored, owner, self._catalog.facts, now, checked_answers(answers))
        put_off = {call.id: call for call in stored.round.postponed}
        for call_id in answers:
            if call_id not in put_off:
                raise Misuse("unknown-call", f"no call {call_id!r} waits for an answer; waiting: {', '.join(put_off)}")
            # A tool that changed is asked about again, whatever the answer for the old one was.
            if state.open is not None and put_off[call_id] in state.open.postponed:
                state = step(state, decided(self._catalog, put_off[call_id], answers, now))
        return state

    async def _perform(self, state: State, stream: Callable[[Event], Awaitable[None]] | None) -> Outcome:
        if self._active is not None:
            raise Misuse("one-run", "this session is running already; lend one session per run from a Runtime")
        around = self._around
        announcer = Announcer(state.terms.run_id, around.observers, stream, state.counters.rounds)
        call = ModelCall(self._asking, self._catalog, around.clock, announcer)
        stage = StagePerformer(
            catalog=self._catalog,
            policy=state.terms.policy,
            deps=around.deps,
            clock=around.clock,
            announcer=announcer,
            approver=around.approver,
        )
        run = self._active = _Run(state, announcer, call, stage, around)
        try:
            try:
                outcome = await run.drive()
            finally:
                self._last, self._active = run.state.closed, None
            await announcer.tell(events.Finished, outcome=outcome)
        finally:
            announcer.close()
        return outcome


class _Run:
    """One run under way: the only place where a state is replaced by the next."""

    def __init__(
        self, state: State, announcer: Announcer, call: ModelCall, stage: StagePerformer, around: Surroundings
    ) -> None:
        self.state = state
        self._announcer, self._call, self._stage = announcer, call, stage
        self._clock, self._journal = around.clock, around.journal
        # The task that waits for the model or for time to pass, while it does; and whether `stop` cut that short.
        self._waiting: asyncio.Task[Any] | None = None
        self._stopping = self._cut_short = False

    async def drive(self) -> Outcome:
        terms = self.state.terms
        self._journal.began(self.state)
        try:
            if not terms.can_ask and (denied := said_of_denied(terms.tools, terms.policy.grants)):
                await self._announcer.notice("tools_denied", denied)
            while (outcome := self._ended()) is None:
                await self._take(await self._next_input())
        except asyncio.CancelledError:
            await self._interrupt()
            raise
        finally:
            await self._stage.cancel()
        return outcome

    def stop(self) -> None:
        """See AgenticLoop.stop. Waiting is cut short, for the model and for calls; what runs goes on until it has ended."""
        self._stopping = True
        self._stage.wake()
        if self._waiting is not None and not self._cut_short:
            self._cut_short = self._waiting.cancel()

    def _ended(self) -> Outcome | None:
        state = self.state
        match state.pending:
            case Finish(outcome=outcome):
                return outcome
            case Suspend(asked=asked):
                calls = tuple(state.round.call(id) for id in asked)
                usage = state.counters.usage
                return Suspended(state.said, state.closed, usage, state.terms.run_id, calls, dumps(state))
            case CallModel() | RunStage() | Wait():
                return None

    async def _next_input(self) -> Input:
        """Whatever comes first. Stopping ends the waiting, and is never a cancellation of whoever runs this."""
        while self.state.stopping or not self._stopping:
            found = await self._performed()
            if found is not None:
                return found
        return StopRequested(self._clock.now())

    async def _performed(self) -> Input | None:
        """What came of the pending action, or None when the waiting for it was ended."""
        match self.state.pending:
            case CallModel() as call:
                return await self._unless_stopped(self._call.perform(self.state, call))
            case Wait(seconds=seconds):
                return await self._unless_stopped(self._pause(seconds))
            case RunStage():
                return await self._stage.next_input(self.state)
            case Suspend() | Finish():
                raise AssertionError("nothing is pending")

    async def _unless_stopped(self, work: Coroutine[Any, Any, Input]) -> Input | None:
        """What `work` gives, or None when stopping cut it short.

        Stopping cancels this task while it waits here, and that cancellation is taken back here: one
        that somebody else asked for passes. A task for the work alone would cost two turns of the loop.
        """
        task = self._waiting = asyncio.current_task()
        asked_before = 0 if task is None else task.cancelling()
        try:
            found = await work
            if self._cut_short:
                await asyncio.sleep(0)  # the work ended first: the cancellation arrives here
        except asyncio.CancelledError:
            if task is None or not self._cut_short or task.uncancel() > asked_before:
                raise
            return None
        finally:
            self._waiting = None
        return found

    async def _pause(self, seconds: float) -> Input:
        await self._clock.sleep(seconds)
        return Waited(self._clock.now())

    async def _take(self, input: Input) -> None:
        """Write the input down and let it take effect, at once; then tell what became of it."""
        self._journal.happened(self.state.terms.run_id, input)
        before, self.state = self.state, step(self.state, input)
        if self._announcer.heard:
            await self._tell(before, self.state, input)

    async def _tell(self, before: State, after: State, input: Input) -> None:
        if isinstance(after.pending, Wait) and isinstance(input, ModelFailed):
            await self._announcer.tell(events.Retrying, seconds=after.pending.seconds, why=input.failure.message)
        if before.open is None and after.open is None and not isinstance(input, ModelReplied):
            return
        match after.closed.turns[-1]:
            case ToolResultsTurn(results=results, hints=hints) if after.closed is not before.closed:
                await self._announcer.tell(events.RoundClosed, results=results)
                for hint in hints:
                    await self._announcer.notice(hint.kind, hint.text)
            case _:
                pass

    async def _interrupt(self) -> None:
        """The run was cancelled: keep what finished, answer the rest, so that the conversation is whole."""
        for finished in await self._stage.cancel():
            if isinstance(self.state.pending, RunStage) and finished.result.call_id in self.state.pending.start:
                await self._take(finished)
        if not isinstance(self.state.pending, Finish):
            await self._take(Interrupted(self._clock.now()))


def _check_conversation(value: object) -> None:
    if value is not None and not isinstance(value, Conversation):
        items = cast("list[object]", value) if isinstance(value, list) else []
        shown = f"list of {type(items[0]).__name__}" if items else type(value).__name__
        raise Misuse("conversation-type", f"conversation must be a Conversation, got {shown}: Conversation.loads(text)")


def _items(prompt: object) -> tuple[Text | Image, ...]:
    parts = prompt if isinstance(prompt, list | tuple) else (prompt,)
    return tuple(_item(part) for part in cast("Sequence[object]", parts))


def _item(part: object) -> Text | Image:
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, Text | Image):
        return part
    raise Misuse("prompt-type", f"a prompt is text, an Image or a list of them, got {type(part).__name__}")
