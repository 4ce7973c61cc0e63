"""AgenticLoop: what a session gives. It begins runs, takes them up again, and has one at a time performed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Generic

from typing_extensions import TypeVar

from geode.application.announcer import Announcer
from geode.application.asking import Asking, limits_of
from geode.application.auxiliary import with_usage
from geode.application.compacting import Compaction, compacted
from geode.application.equipment import Equipment, Surroundings
from geode.application.hooking import Hooking
from geode.application.prompts import Prompt, check_conversation, items_of, with_fitting_prompt
from geode.application.run import Run
from geode.application.shelf import Shelf
from geode.application.stage import checked_answers, decided
from geode.application.streaming import Put, streamed
from geode.application.tab import Tab
from geode.application.tools_in_force import SessionTools, ToolsInForce
from geode.domain.approval import Decision
from geode.domain.codec import loads
from geode.domain.compaction import NOTHING_TO_LEAVE_OUT, cut_for
from geode.domain.content import ToolResult
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse, ModelCallError
from geode.domain.loop.actions import Finish
from geode.domain.loop.answering import askable
from geode.domain.loop.inner import spent_in
from geode.domain.loop.outcome import Answered, Outcome, Suspended, TypedOutcome
from geode.domain.loop.recording import Recording, replay
from geode.domain.loop.resuming import changed_tools, revived, taken_up, to_check_again
from geode.domain.loop.state import State
from geode.domain.loop.step import begin, step
from geode.domain.loop.storing import refs_of
from geode.domain.policy import Policy
from geode.domain.request import forced_choice
from geode.domain.spent import Spent
from geode.domain.turns import UserTurn
from geode.ports import events
from geode.ports.events import Event
from geode.ports.journal import JournalError, JournalStore

# What the answers of a session are, where that is known.
Value = TypeVar("Value", default=Any)


class AgenticLoop(Generic[Value]):
    """Runs prompts to their right end, one at a time. Nothing carries over from run to run by itself.

    `home` is the event loop that its adapter belongs to, if it belongs to one. `shelf` is where long results
    of its tools go; without one they are cut.
    """

    def __init__(
        self,
        asking: Asking,
        tools: SessionTools,
        policy: Policy,
        around: Surroundings,
        home: asyncio.AbstractEventLoop | None = None,
        *,
        shelf: Shelf | None = None,
    ) -> None:
        self._asking, self._tools, self._policy, self._around = asking, tools, policy, around
        self._home, self._shelf, self._closed = home, shelf, False
        self._active: Run | None = None
        # The task that takes a run from the journal, while reconcilers are asked; and whether it is to stop then.
        self._taking: asyncio.Task[Any] | None = None
        self._stop_asked = False
        self._last, self._spent = Conversation(), Spent()

    @property
    def conversation(self) -> Conversation:
        """The last whole conversation, after a cancellation too."""
        return self._last if self._active is None else self._active.state.closed

    @property
    def spent(self) -> Spent:
        """What the last run has spent so far, runs inside it included: tokens and executions of tools."""
        return self._spent if self._active is None else self._active.spent

    async def run(
        self, prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None
    ) -> TypedOutcome[Value]:
        """Run `prompt` after `conversation` (nothing, by default) to its end.

        `tool_choice` holds for the first round only; any accepted spelling. A provider's or a tool's
        failure is in the outcome, never an exception; Misuse is raised before anything leaves.
        Cancelling the caller cancels every call, and `conversation` is whole afterwards.
        """
        return await self._perform_new(*self._begun(prompt, conversation, tool_choice))

    async def resume(self, snapshot: str, answers: Mapping[str, Decision]) -> TypedOutcome[Value]:
        """Go on with a suspended run, here or in another process; `answers` by call id.

        A call left out is asked of this session's approver, or stays open and the run is suspended again.
        Where this session's journal has the run, a snapshot that it has gone on from since is Misuse.
        `stream_resume` is the same as events.
        """
        return await self._resume(snapshot, answers, None)

    async def resume_run(self, run_id: str, answers: Mapping[str, Decision] | None = None) -> TypedOutcome[Value]:
        """Go on with a run of this session's journal where it stopped: suspended, or cut off with its process.

        The model is asked again, finished results stay. Calls that had been started run again if they are
        SAFE or their tool is idempotent, are reconciled if it can tell what became of them, and else are
        `outcome_unknown` to the model. A run that is over gives its outcome again. `answers` as for `resume`.
        JournalError if there is no such run, somebody else has it, or its journal is damaged.
        """
        self._check_usable()
        journal: object = self._around.journal
        if not isinstance(journal, JournalStore):
            raise Misuse("journal-reads", 'resume_run(…) needs a journal that is kept: session(journal="FOLDER")')
        return await self._taken(journal, run_id, answers or {}, None, None)

    def stream(
        self, prompt: Prompt, *, conversation: Conversation | None = None, tool_choice: Any = None
    ) -> AsyncGenerator[Event]:
        """`run`, as its events happen, deltas included; the last one is `Finished`.

        The reader sets the pace: at most 64 events wait. Closing the iterator cancels the run.
        """
        state, tools = self._begun(prompt, conversation, tool_choice)
        return streamed(lambda put: self._perform_new(state, tools, put))

    def stream_resume(self, snapshot: str, answers: Mapping[str, Decision]) -> AsyncGenerator[Event]:
        """`resume`, as its events happen; see `stream`."""
        return streamed(lambda put: self._resume(snapshot, answers, put))

    async def compact(self, conversation: Conversation) -> Compaction:
        """`conversation` with a summary in the place of its beginning; the same where nothing can be left out.

        The last `Policy.compact_keep_rounds` replies and the last prompt stay word for word. The summary is written as in
        a run (docs/compaction.md), with the retries of the policy; what it took is in `usage`. Hooks `compact` are not
        asked. Raises BillingError, AuthenticationError, RequestRefused or another ModelCallError, also where what was
        written is no summary.
        """
        self._check_usable()
        self._check_idle()
        check_conversation(conversation)
        policy, around = self._policy, self._around
        run_id = around.new_run_id()
        announcer = Announcer(run_id, around.observers, around.put)
        catalog = self._tools.of_run(run_id, 0).now
        hooking = Hooking(around.hooks, catalog, announcer, policy.tool_timeout_seconds)
        limits = limits_of(policy)
        request = self._asking.request(conversation, catalog, run_id)
        cut = cut_for(conversation.turns, policy.compact_keep_rounds)
        tab = Tab(lambda *_: limits)
        try:
            made = await compacted(
                self._asking, request, policy, cut, clock=around.clock, announcer=announcer, hooking=hooking, tab=tab
            )
        finally:
            announcer.close()
        failed = made.swap().value_or(None)
        if failed is None:
            return made.unwrap()
        if failed.why == NOTHING_TO_LEAVE_OUT:
            return Compaction(conversation)
        raise with_usage(failed.error or ModelCallError(failed.why, None), tab.spent.usage)

    def stop(self) -> None:
        """End the active run soon: what runs may finish, nothing new starts, the outcome is `Stopped`.

        To be called on the event loop. Where no run is active nothing happens.
        """
        self._stop_asked = True
        if self._active is not None:
            self._active.stop()

    def take_results_of(self, other: AgenticLoop) -> None:
        """The conversation of `other` goes on here, with another model: its long results are read here from now on.

        Both keep them in the same store, and no run of `other` is active.
        """
        if self._shelf is not None and other._shelf is not None:
            self._shelf.take_all(other._shelf)

    def close(self) -> None:
        """What it ran with is being closed: it runs nothing more."""
        self._closed = True

    # ---- one run -------------------------------------------------------------------------------

    def _check_usable(self) -> None:
        if self._closed:
            raise Misuse("session-closed", "this session is closed; run inside its `async with`, or open another")
        running = asyncio.get_running_loop()
        if self._home is not None and running is not self._home:
            raise Misuse(
                "other-loop", f"this session belongs to {self._home!r} and was used from {running!r}; open one in each"
            )

    def _begun(self, prompt: Prompt, conversation: Conversation | None, tool_choice: Any) -> tuple[State, ToolsInForce]:
        self._check_usable()
        check_conversation(conversation)
        asking, run_id = self._asking, self._around.new_run_id()
        tools = self._tools.of_run(run_id, 0)
        state = begin(
            run_id=run_id,
            owner=asking.owner,
            policy=self._policy,
            tools=tools.facts,
            conversation=conversation or Conversation(),
            turn=UserTurn(items_of(prompt)),
            now=self._around.clock.now(),
            can_ask=self._around.approver is not None,
            can_compact=self._policy.compact_above is not None or any(hook.compact for hook in self._around.hooks),
            first_choice=forced_choice(tool_choice, tools.specs),
            fallbacks=asking.others,
            windows=asking.windows,
            answer=None if asking.answer is None else asking.answer.terms,
        )
        return state, tools

    async def _resume(self, snapshot: str, answers: Mapping[str, Decision], put: Put | None) -> TypedOutcome[Value]:
        self._check_usable()
        given: object = snapshot
        if not isinstance(given, str):
            raise Misuse("snapshot-type", f"a snapshot is the text of a Suspended outcome, got {type(given).__name__}")
        stored, journal = loads(State, given), self._around.journal
        self._check_answer(stored)
        run_id = stored.terms.run_id
        if isinstance(journal, JournalStore) and run_id in journal.run_ids():
            return await self._taken(journal, run_id, answers, stored, put)
        tools = await self._tools_of(stored)
        return await self._perform(self._resumed(stored, tools, answers), self._equipped(stored, tools, put), stored)

    async def _taken(
        self, journal: JournalStore, run_id: str, answers: Mapping[str, Decision], expected: State | None, put: Put | None
    ) -> TypedOutcome[Value]:
        """Go on with a run of the journal, which nobody else can take meanwhile."""
        self._check_idle()
        recording = journal.taken(run_id)
        self._taking, self._stop_asked = asyncio.current_task(), False
        try:
            stored = _last_state(recording)
            self._check_answer(stored)
            if expected is not None and stored != expected:
                way_out = f"resume_run({run_id!r}) goes on from where it is"
                raise Misuse("stale-snapshot", f"run {run_id} has gone on since this snapshot was made; {way_out}")
            if isinstance(stored.pending, Finish):
                self._last, self._spent = stored.closed, spent_in(stored)
                return self._valued(stored.pending.outcome)
            tools = await self._tools_of(stored)
            equipped = self._equipped(stored, tools, put)
            resumed = self._resumed(stored, tools, answers, await equipped.found(stored))
            return await self._perform(resumed, equipped, stored)
        finally:
            self._taking = None
            journal.let_go(run_id)

    def _check_answer(self, stored: State) -> None:
        """The answer has to be what the run was begun for."""
        wanted = self._asking.answer
        if stored.terms.answer != (None if wanted is None else wanted.terms):
            begun = "without answer=" if stored.terms.answer is None else "with another answer= than this session has"
            raise Misuse("answer-changed", f"run {stored.terms.run_id} was begun {begun}; open the session as it was then")

    def _valued(self, outcome: Outcome) -> TypedOutcome[Value]:
        """The outcome, with the value of its answer where that has a type."""
        wanted = self._asking.answer
        if wanted is None or not isinstance(outcome, Answered):
            return outcome
        return outcome.with_value(wanted.value_of(outcome.text))

    async def _tools_of(self, stored: State) -> ToolsInForce:
        """Those of now: what a person was asked about may be another tool since."""
        await self._tools.shared.refreshed(self._policy.call_timeout_seconds)
        return self._tools.of_run(stored.terms.run_id, stored.counters.rounds, open=stored.open is not None)

    def _resumed(
        self,
        stored: State,
        in_force: ToolsInForce,
        answers: Mapping[str, Decision],
        found: Mapping[str, ToolResult | None] | None = None,
    ) -> State:
        """`stored`, gone on with; `found` is what reconcilers said, where the run is taken from a journal."""
        asking = self._asking
        owner, others = asking.owner, asking.others
        now, tools = self._around.clock.now(), in_force.facts
        answered = checked_answers(answers)
        verdicts = {call.id: in_force.check(call) for call in to_check_again(stored, tools)}
        if found is None:
            state = taken_up(stored, owner, tools, now, answered, verdicts=verdicts, fallbacks=others, windows=asking.windows)
        else:
            state = revived(
                stored,
                owner,
                tools,
                now,
                answered=answered,
                reconciled=found,
                verdicts=verdicts,
                fallbacks=others,
                windows=asking.windows,
            )
        waiting, changed = askable(stored), changed_tools(stored, tools)
        for call_id in answers:
            if call_id not in waiting:
                shown = ", ".join(waiting) or "none"
                raise Misuse("unknown-call", f"no call {call_id!r} waits for an answer; waiting: {shown}")
            call = stored.round.call(call_id)
            # A tool that changed is asked about again, whatever the answer for the old one was.
            if call_id in askable(state) and call.name not in changed:
                state = step(state, decided(in_force, call, answers, now))
        return state

    def _check_idle(self) -> None:
        if self._active is not None or self._taking not in (None, asyncio.current_task()):
            raise Misuse(
                "one-run",
                "this session is running already; lend one session per run from a Runtime. A stream() that was left "
                "early runs on until it is closed: read it to its end, or use contextlib.aclosing",
            )

    def _equipped(self, before: State, tools: ToolsInForce, put: Put | None = None) -> Equipment:
        """What the run whose state is `before` is performed with."""
        return Equipment(before, self._asking, tools, self._around, shelf=self._shelf, put=put)

    async def _perform_new(self, state: State, tools: ToolsInForce, put: Put | None = None) -> TypedOutcome[Value]:
        """Run `state`, which was begun, to its end."""
        equipped = self._equipped(state, tools, put)
        fitting = await with_fitting_prompt(state, equipped.contents, equipped.announcer)
        return await self._perform(fitting, equipped, fitting)

    async def _perform(self, state: State, equipped: Equipment, before: State) -> TypedOutcome[Value]:
        """Run `state`, taken up from the state `before` where that is another, to its end."""
        await _cancelled_before()
        self._check_idle()
        if self._shelf is not None and before is not state:
            # Not before: where taking it up is refused it stays suspended, and what it names stays kept.
            self._shelf.take_over(before.terms.run_id, refs_of(before))
        run = self._active = equipped.run_of(state)
        if self._taking is not None and self._stop_asked:
            run.stop()
        try:
            try:
                outcome = await run.drive(before)
            finally:
                self._last, self._spent, self._active = run.state.closed, run.spent, None
            outcome = self._valued(outcome)
            if isinstance(outcome, Suspended):
                await equipped.guard.hold(run.state)
            await equipped.announcer.tell(events.Finished, outcome=outcome)
        finally:
            equipped.announcer.close()
        return outcome


async def _cancelled_before() -> None:
    """Let a cancellation that was asked for and not yet delivered arrive here: it is one of the run, not of its past.

    Ctrl-C during the import of an SDK is such a one.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        await asyncio.sleep(0)


def _last_state(recording: Recording) -> State:
    """Where the run stopped. JournalError if folding what was written does not give what was done."""
    found = replay(recording)
    if found.divergence is not None:
        raise JournalError(
            f"run {recording.run_id} cannot be gone on with: this geode decides otherwise than the one that wrote its journal. "
            f"{found.divergence}. Resume it with that geode"
        )
    if found.state is None:
        raise JournalError(f"run {recording.run_id} was cut off before it began; run its prompt again")
    return found.state
