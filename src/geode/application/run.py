"""One run, from a state to its outcome: the pending action is performed and what happened is fed to `step`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from geode.application.announcer import Announcer
from geode.application.catalog import said_of_denied
from geode.application.foreign import Noted, handed, kind_of
from geode.application.model_call import ModelCall
from geode.application.nesting import Nesting
from geode.application.stage import StagePerformer
from geode.application.tools_in_force import ToolsInForce
from geode.domain.codec import dumps
from geode.domain.content import Owner, ToolResult, ToolUseBlock
from geode.domain.loop.actions import CallModel, Compact, Finish, RunStage, Suspend, SwitchModel, Wait
from geode.domain.loop.inner import spent_in
from geode.domain.loop.inputs import Decided, Input, Interrupted, ModelFailed, ModelReplied, StopRequested, Switched, Waited
from geode.domain.loop.outcome import Outcome, Suspended
from geode.domain.loop.state import OpenRound, State
from geode.domain.loop.step import step
from geode.domain.recovery import Recovery, noticed
from geode.domain.reply import AdapterCallResult
from geode.domain.spent import Spent
from geode.domain.tool_search import as_run
from geode.domain.turns import AssistantTurn, ToolResultsTurn, hints_of
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.journal import Journal


class Run:
    """One run under way: the only place where a state is replaced by the next."""

    def __init__(
        self,
        state: State,
        *,
        announcer: Announcer,
        tools: ToolsInForce,
        call: ModelCall,
        stage: StagePerformer,
        clock: Clock,
        journal: Journal,
        inside: Nesting,
    ) -> None:
        self.state = state
        self._inside = inside
        self._announcer, self._tools, self._call, self._stage = announcer, tools, call, stage
        self._clock, self._journal = clock, journal
        # The task that waits for the model or for time to pass, while it does; and whether `stop` cut that short.
        self._waiting: asyncio.Task[Any] | None = None
        self._stopping = self._cut_short = False

    async def drive(self, before: State) -> Outcome:
        """To its end. `before` is the state that was taken up, where that has changed already."""
        terms = self.state.terms
        self._journal.began(self.state)
        try:
            if not terms.can_ask and (denied := said_of_denied(terms.tools, terms.policy.grants)):
                await self._announcer.notice("tools_denied", denied)
            if before is not self.state and self._announcer.heard:
                await self._tell_taken_up(before)
            while (outcome := self._ended()) is None:
                await self._take(await self._next_input())
        except BaseException as error:
            self._interrupt(error)
            raise
        finally:
            self._stage.close()
            with Noted(f"the journal failed in run {terms.run_id}"):
                self._journal.left(self.state)
            await self._stage.ended()
        return outcome

    @property
    def spent(self) -> Spent:
        """What it has spent so far, runs inside it included."""
        return spent_in(self.state) + self._inside.uncounted

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
            case CallModel() | RunStage() | Wait() | SwitchModel() | Compact():
                return None

    async def _next_input(self) -> Input:
        """Whatever comes first. Stopping ends the waiting, and is never a cancellation of whoever runs this."""
        while self.state.stopping or not self._stopping:
            found = await self._performed()
            if found is not None:
                return found
        return StopRequested(self._clock.now(), self._call.shown, self._call.spent)

    async def _performed(self) -> Input | None:
        """What came of the pending action, or None when the waiting for it was ended."""
        match self.state.pending:
            case CallModel() as call:
                return await self._unless_stopped(self._called(call))
            case Wait(seconds=seconds):
                return await self._unless_stopped(self._pause(seconds))
            case SwitchModel() as asked:
                return await self._unless_stopped(self._call.switch(asked))
            case Compact() as asked:
                return await self._unless_stopped(self._call.compact(self.state, asked))
            case RunStage():
                return await self._stage.next_input(self.state)
            case Suspend() | Finish():
                raise AssertionError("nothing is pending")

    async def _called(self, call: CallModel) -> Input:
        """What came of the call; or, before it is made, that the tools are others than in the round before."""
        changed = await self._tools.before_round(self.state, call, self._clock.now)
        self._announcer.at(call)
        while self._tools.news:
            await self._announcer.notice(*self._tools.news.pop(0))
        return await self._call.perform(self.state, call) if changed is None else changed

    async def _unless_stopped(self, work: Coroutine[Any, Any, Input]) -> Input | None:
        """What `work` gives, or None when stopping cut it short. What it gave counts, whatever comes after.

        Stopping cancels this task while it waits here, and that cancellation is taken back here: one
        that somebody else asked for passes. A task for the work alone would cost two turns of the loop.
        """
        task = self._waiting = asyncio.current_task()
        asked_before = 0 if task is None else task.cancelling()
        found: Input | None = None
        try:
            found = await work
            if self._cut_short:
                await asyncio.sleep(0)  # where the work ended first, the cancellation arrives here
                if task is not None and task.cancelling() > asked_before:
                    task.uncancel()  # and where the work swallowed it, it arrives nowhere
        except asyncio.CancelledError:
            if task is None or not self._cut_short or task.uncancel() > asked_before:
                raise
        finally:
            self._waiting = None
        return found

    async def _pause(self, seconds: float) -> Input:
        await self._clock.sleep(seconds)
        return Waited(self._clock.now())

    async def _take(self, input: Input) -> None:
        """Write the input down and let it take effect, at once; then tell what became of it."""
        before = self.state
        try:
            self._journal.happened(before, input)
        finally:
            # Written or not, it happened: a journal that fails ends the run, and the conversation has it.
            self.state = step(before, input)
        if self._announcer.heard:
            await self._tell(before, self.state, input)

    def _interrupt(self, error: BaseException) -> None:
        """The run is over before its end: keep what finished, answer the rest, so that the conversation is whole.

        Nothing waits in here, whatever is cancelled again: observers hear of it afterwards.
        """
        before = self.state
        for finished in self._stage.close():
            if isinstance(self.state.pending, RunStage) and finished.result.call_id in self.state.pending.start:
                self._keep(finished)
        if not isinstance(self.state.pending, Finish):
            self._keep(Interrupted(self._clock.now(), self._call.spent))
        if self._announcer.heard:
            self._announcer.soon(self._tell_abort(before, self.state, kind_of(error)))

    def _keep(self, input: Input) -> None:
        with Noted(f"the journal failed in run {self.state.terms.run_id}"):
            self._journal.happened(self.state, input)
        self.state = step(self.state, input)

    async def _tell_taken_up(self, before: State) -> None:
        then, now = before.terms.owner, self.state.terms.owner
        if then != now:
            text = f"the run was begun with {then.adapter} {then.model} and goes on with {now.adapter} {now.model}"
            await self._announcer.notice("model_changed", text)
        await self._tell(before, self.state)

    async def _tell_abort(self, before: State, after: State, why: str) -> None:
        await self._tell(before, after)
        await self._announcer.tell(events.Aborted, why=why)

    async def _tell(self, before: State, after: State, input: Input | None = None) -> None:
        if isinstance(input, ModelReplied):
            await self._tell_reply(input.reply)
        if isinstance(input, ModelFailed):
            await self._announcer.tell(events.ModelFailed, why=input.failure.message, usage=input.failure.usage)
        if isinstance(after.pending, Wait) and isinstance(input, ModelFailed):
            why, quota = input.failure.message, input.failure.quota
            await self._announcer.tell(events.Retrying, seconds=after.pending.seconds, why=why, quota=quota)
        if isinstance(before.pending, SwitchModel) and isinstance(input, Switched) and not input.refused:
            await self._tell_switch(before.terms.owner, before.pending)
        if isinstance(input, Decided):
            call = handed(before.round.call(input.call_id))
            await self._announcer.tell(events.ApprovalAnswered, call=call, decision=input.decision)
        if before.open is None and after.open is None and not isinstance(input, ModelReplied):
            return
        await self._announcer.caught_up()
        match after.closed.turns[-2:]:
            case (AssistantTurn(calls=calls), ToolResultsTurn(results)) if after.closed is not before.closed:
                runs = [as_run(call, after.terms.tools) for call in calls] if before.open is None else before.open.calls
                await self._tell_ends(runs, {result.call_id: result for result in results})
                await self._announcer.tell(events.RoundClosed, results=results)
            case _ if after.open is not None:
                await self._tell_ends(after.open.calls, after.open.results)
                await self._tell_recoveries({} if before.open is None else before.open.recovering, after.open)
            case _:
                pass
        for hint in hints_of(after.closed.turns[len(before.closed.turns) :]):
            await self._announcer.notice(hint.kind, hint.text)

    async def _tell_reply(self, reply: AdapterCallResult) -> None:
        await self._announcer.tell(
            events.ModelReplied,
            text=reply.text,
            calls=tuple(handed(call) for call in reply.calls),
            stop=reply.stop,
            usage=reply.usage,
            route=reply.route,
            request_id=reply.request_id,
        )

    async def _tell_switch(self, from_: Owner, asked: SwitchModel) -> None:
        await self._announcer.tell(
            events.ModelSwitched,
            from_adapter=from_.adapter,
            from_model=from_.model,
            to_adapter=asked.to.adapter,
            to_model=asked.to.model,
            why=asked.why,
        )

    async def _tell_recoveries(self, before: Mapping[str, Recovery], round: OpenRound) -> None:
        """Tell of every step that is about to be taken."""
        for id, recovery in round.recovering.items():
            if id not in round.results and (id not in before or before[id].step != recovery.step):
                await self._announcer.notice("recovery", noticed(recovery, round.called(id).name))

    async def _tell_ends(self, calls: Sequence[ToolUseBlock], results: Mapping[str, ToolResult]) -> None:
        """Tell of calls that did not run to their end, or in several steps; the processor tells of the others."""
        for index, call in enumerate(calls):
            found = results.get(call.id)
            if found is not None and self._announcer.ends(call.id):
                seconds = self._announcer.seconds_of(call.id)
                await self._announcer.tell(events.ToolFinished, index=index, call=handed(call), result=found, seconds=seconds)
