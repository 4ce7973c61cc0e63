"""AgenticLoop: what a session gives. It begins runs, takes them up again, and has one at a time performed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from geode.application.announcer import Announcer
from geode.application.catalog import Catalog
from geode.application.hooking import Hooking
from geode.application.model_call import Asking, ModelCall
from geode.application.reconciling import reconciled
from geode.application.run import Run
from geode.application.stage import StagePerformer, checked_answers, decided
from geode.domain.approval import Decision
from geode.domain.codec import loads
from geode.domain.content import MEDIA, Owner, Part, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.actions import Finish
from geode.domain.loop.outcome import Outcome
from geode.domain.loop.recording import Recording, replay
from geode.domain.loop.resuming import changed_tools, revived, taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import askable, begin, step
from geode.domain.policy import Policy
from geode.domain.request import forced_choice
from geode.domain.turns import UserTurn
from geode.ports import events
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.events import Event, Observer
from geode.ports.hooks import Hooks
from geode.ports.journal import Journal, JournalError, JournalStore

Prompt = str | Part | Sequence[str | Part]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a loop is given besides its model and its tools."""

    clock: Clock
    journal: Journal
    new_run_id: Callable[[], str]
    approver: Approver | None = None
    observers: tuple[Observer, ...] = ()
    deps: Any = None
    hooks: tuple[Hooks, ...] = ()


class AgenticLoop:
    """Runs prompts to their right end, one at a time. Nothing carries over from run to run by itself.

    `home` is the event loop that its adapter belongs to, if it belongs to one.
    """

    def __init__(
        self,
        asking: Asking,
        catalog: Catalog,
        policy: Policy,
        around: Surroundings,
        home: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._asking, self._catalog, self._policy, self._around = asking, catalog, policy, around
        self._home, self._closed = home, False
        self._active: Run | None = None
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
        Where this session's journal has the run, a snapshot that it has gone on from since is Misuse.
        """
        self._check_usable()
        stored, journal = loads(State, snapshot), self._around.journal
        run_id = stored.terms.run_id
        if isinstance(journal, JournalStore) and run_id in journal.run_ids():
            return await self._taken(journal, run_id, answers, stored)
        return await self._perform(self._resumed(stored, answers), None, stored)

    async def resume_run(self, run_id: str, answers: Mapping[str, Decision] | None = None) -> Outcome:
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
        return await self._taken(journal, run_id, answers or {}, None)

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

    def _begun(self, prompt: Prompt, conversation: Conversation | None, tool_choice: Any) -> State:
        self._check_usable()
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

    async def _taken(
        self, journal: JournalStore, run_id: str, answers: Mapping[str, Decision], expected: State | None
    ) -> Outcome:
        """Go on with a run of the journal, which nobody else can take meanwhile."""
        self._check_idle()
        recording = journal.taken(run_id)
        try:
            stored = _last_state(recording)
            if expected is not None and stored != expected:
                way_out = f"resume_run({run_id!r}) goes on from where it is"
                raise Misuse("stale-snapshot", f"run {run_id} has gone on since this snapshot was made; {way_out}")
            if isinstance(stored.pending, Finish):
                self._last = stored.closed
                return stored.pending.outcome
            around = self._around
            found = await reconciled(stored, catalog=self._catalog, deps=around.deps, clock=around.clock)
            return await self._perform(self._resumed(stored, answers, found), None, stored)
        finally:
            journal.let_go(run_id)

    def _resumed(
        self, stored: State, answers: Mapping[str, Decision], found: Mapping[str, ToolResult | None] | None = None
    ) -> State:
        """`stored`, gone on with; `found` is what reconcilers said, where the run is taken from a journal."""
        owner = Owner(self._asking.adapter.name, self._asking.model)
        now, tools = self._around.clock.now(), self._catalog.facts
        answered = checked_answers(answers)
        if found is None:
            state = taken_up(stored, owner, tools, now, answered)
        else:
            state = revived(stored, owner, tools, now, answered=answered, reconciled=found)
        waiting, changed = askable(stored), changed_tools(stored, tools)
        for call_id in answers:
            if call_id not in waiting:
                shown = ", ".join(waiting) or "none"
                raise Misuse("unknown-call", f"no call {call_id!r} waits for an answer; waiting: {shown}")
            call = stored.round.call(call_id)
            # A tool that changed is asked about again, whatever the answer for the old one was.
            if call_id in askable(state) and call.name not in changed:
                state = step(state, decided(self._catalog, call, answers, now))
        return state

    def _check_idle(self) -> None:
        if self._active is not None:
            raise Misuse(
                "one-run",
                "this session is running already; lend one session per run from a Runtime. A stream() that was left "
                "early runs on until it is closed: read it to its end, or use contextlib.aclosing",
            )

    async def _perform(
        self, state: State, stream: Callable[[Event], Awaitable[None]] | None, stored: State | None = None
    ) -> Outcome:
        """Run `state`, which was begun, or taken up from the state that was `stored`, to its end."""
        await _cancelled_before()
        self._check_idle()
        around, before = self._around, stored or state
        told = () if before.open is None else before.open.results
        announcer = Announcer(state.terms.run_id, around.observers, stream, state.counters.rounds, told)
        policy = state.terms.policy
        hooking = Hooking(around.hooks, self._catalog, announcer, policy.tool_timeout_seconds)
        stage = StagePerformer(
            catalog=self._catalog,
            policy=policy,
            deps=around.deps,
            clock=around.clock,
            announcer=announcer,
            approver=around.approver,
            hooking=hooking,
        )
        call = ModelCall(self._asking, self._catalog, around.clock, announcer, hooking)
        run = self._active = Run(state, announcer=announcer, call=call, stage=stage, clock=around.clock, journal=around.journal)
        try:
            try:
                outcome = await run.drive(before)
            finally:
                self._last, self._active = run.state.closed, None
            await announcer.tell(events.Finished, outcome=outcome)
        finally:
            announcer.close()
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


def _check_conversation(value: object) -> None:
    if value is not None and not isinstance(value, Conversation):
        items = cast("list[object]", value) if isinstance(value, list) else []
        shown = f"list of {type(items[0]).__name__}" if items else type(value).__name__
        ways = "Conversation.loads(text) or geode.conversation_from(wire, list)"
        raise Misuse("conversation-type", f"conversation must be a Conversation, got {shown}: {ways}")


def _items(prompt: object) -> tuple[Part, ...]:
    parts = prompt if isinstance(prompt, list | tuple) else (prompt,)
    items = tuple(_item(part) for part in cast("Sequence[object]", parts))
    if not any(not isinstance(item, Text) or item.text.strip() for item in items):
        raise Misuse("empty-prompt", "the prompt says nothing: give text, an Image or a Document")
    return items


def _item(part: object) -> Part:
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, (Text, *MEDIA)):
        return part
    raise Misuse("prompt-type", f"a prompt is text, an Image, a Document or a list of them, got {type(part).__name__}")
