"""What a chat is made of: one conversation, the model that goes on with it, and its runs."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack, aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, TextIO

from geode.application.agentic_loop import AgenticLoop
from geode.domain.conversation import Conversation
from geode.domain.errors import GeodeError
from geode.domain.loop.outcome import Failed, Outcome, Suspended
from geode.domain.targets import Target
from geode.domain.turns import UserTurn
from geode.entrypoints.cli.arguments import DEFAULT_JOURNAL
from geode.entrypoints.cli.chat_approval import ChatApproval
from geode.entrypoints.cli.chat_waiting import WaitingRuns
from geode.entrypoints.cli.exit_codes import INTERRUPTED, WRONG_USE, exit_code
from geode.entrypoints.cli.interrupts import unless_cut_off
from geode.entrypoints.cli.route import load_sdk, route
from geode.entrypoints.cli.run import Told, journal_of, policy_of, tell_way_on
from geode.entrypoints.cli.shown import AsItComes
from geode.entrypoints.cli.tools import given_tools
from geode.entrypoints.config import configuration
from geode.entrypoints.runtime import Session, session
from geode.entrypoints.settings import Settings
from geode.entrypoints.spending import Spending
from geode.ports.events import Event, Finished

_OTHER_MODEL: Final = "or choose another model: /model"
_STOPPING: Final = "stopping; Ctrl-C again cuts off what still runs"


@dataclass(frozen=True, slots=True)
class Answering:
    """The model that answers: its id as it was given, and what a session takes. `effort` None: what is configured."""

    name: str | None
    model: str | None
    providers: tuple[Target, ...] = ()
    effort: str | None = None

    @property
    def shown(self) -> str:
        """The model and its effort, in words."""
        effort = f" at effort {self.effort}" if self.effort else ""
        return f"{self.name or 'the model that is configured'}{effort}"


class Chat:
    """One conversation, the model that goes on with it, and whoever approves."""

    def __init__(self, arguments: Namespace, out: TextIO, *, attended: bool, until_the_end: ExitStack) -> None:
        self.arguments, self.out, self.attended = arguments, out, attended
        self.given = given_tools(arguments)
        self.approval = ChatApproval(arguments.approve, self.given, attended=sys.stderr.isatty(), until_the_end=until_the_end)
        self.spending = Spending()
        self.conversation = Conversation()
        self.answering = self._first = replace(self.answering_by(arguments.model), effort=arguments.effort)
        # The word that was chosen, here or by configuration; a model without effort control is not sent it.
        self.effort = arguments.effort or configuration().value("effort")
        self._journal = journal_of(arguments)
        self.suspended: dict[str, Suspended] = {}
        self._waiting = WaitingRuns(self.runs_folder)
        self.code, self.over = 0, False
        self._shown = AsItComes(out, "geode chat")
        self._told = Told(self._shown)
        self._next: Session | None = self.session_for(self.answering)
        self._loop: AgenticLoop | None = None
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()
        if not self.keeps_runs:
            for outcome in self.suspended.values():
                kept = str(self.runs_folder) if self._waiting.keeps(outcome.run_id) else None
                tell_way_on(outcome, kept, self.arguments)

    def say(self, text: str) -> None:
        """A command's answer."""
        self._shown.pause()
        print(text, file=self.out, flush=True)

    def trouble(self, text: str) -> None:
        """What did not go as it was wanted."""
        self._shown.pause()
        print(f"geode chat: {text}", file=sys.stderr, flush=True)

    # ---- runs ----------------------------------------------------------------------------------

    async def prompt(self, text: str) -> None:
        """Run a prompt after the conversation."""
        self.code = WRONG_USE
        loop = await self.loop()
        await self._run(loop, loop.stream(text, conversation=self.conversation), self.conversation)

    async def resumed(self, run_id: str, snapshot: str, journal: Path | None) -> None:
        """Go on with a run that stopped; the conversation is that of the run from then on.

        `journal` is where it is kept, if this chat does not keep its own runs there.
        """
        self.code = WRONG_USE
        if journal is not None:
            async with self.session_for(self.answering, journal) as loop:
                await self._run(loop, loop.stream_resume(snapshot, {}))
            return
        self._waiting.check_unchanged(run_id, snapshot)
        loop = await self.loop()
        waiting = self.suspended.pop(run_id, None)
        try:
            await self._run(loop, loop.stream_resume(snapshot, {}))
        except GeodeError:  # refused: it waits as before
            if waiting is not None:
                self.suspended[run_id] = waiting
            raise

    async def _run(self, loop: AgenticLoop, events: AsyncGenerator[Event], before: Conversation | None = None) -> None:
        """`before` is the conversation that a prompt was put after."""
        self._told.loop = loop

        def stop() -> None:
            self._shown.pause(unended=self.attended)  # the terminal wrote ^C
            print(_STOPPING, file=sys.stderr, flush=True)
            loop.stop()

        outcome = await unless_cut_off(self._watched(events), stop)
        self.over = self.over or self.approval.over
        if self._told.nobody_reads is not None:
            raise self._told.nobody_reads
        if outcome is None:
            self.code, self.conversation = INTERRUPTED, loop.conversation
            self.spending.cut_off()
            self._shown.pause(unended=self.attended)
            self.trouble("cut off; what had finished is in the conversation")
            return
        self.code, self.conversation = exit_code(outcome), outcome.conversation
        self._shown.end(outcome)
        self._tell_way_on(outcome, before)

    async def _watched(self, events: AsyncGenerator[Event]) -> Outcome:
        outcome: Outcome | None = None
        async with aclosing(events):
            async for event in events:
                self._told(event)
                if isinstance(event, Finished):
                    outcome = event.outcome
        if outcome is None:
            raise AssertionError("a stream ended without its last event")
        return outcome

    def _tell_way_on(self, outcome: Outcome, before: Conversation | None) -> None:
        match outcome:
            case Failed() if before is not None and _unanswered(outcome.conversation, before):
                self.conversation = before
                what = "what the answer began with is not kept" if outcome.text else "nothing answered"
                self.trouble(f"{what}, so the prompt is left out of the conversation; send it again, {_OTHER_MODEL}")
            case Failed():
                self.trouble(f"the conversation is kept; go on, {_OTHER_MODEL}")
            case Suspended(run_id=run_id):
                self.suspended[run_id] = outcome
                if not self.over:
                    self.trouble(f"/resume {run_id[:8]} asks again and goes on with it")
            case _:
                pass

    # ---- the model -----------------------------------------------------------------------------

    def answering_by(self, name: str | None) -> Answering:
        """The model of that id, as the options of this chat reach it. Misuse for one that nobody serves."""
        model, providers = route(Namespace(**{**vars(self.arguments), "model": name}))
        return Answering(name or configuration().value("model"), model, providers)

    def session_for(self, answering: Answering, journal: Path | None = None) -> Session:
        """A session with that model. Misuse for whatever cannot work; nothing is opened."""
        settings = Settings(
            tools=self.given.all,
            providers=answering.providers,
            system=self.arguments.system,
            approve=self.approval,
            observe=[self.spending],
            policy=policy_of(self.arguments),
        )
        if answering.model is not None:
            settings["model"] = answering.model
        if answering.effort is not None:
            settings["effort"] = answering.effort
        # Whoever chose another model did not choose what stands in for the first one.
        if self.arguments.fallback and answering.model == self._first.model:
            settings["fallbacks"] = self.arguments.fallback
        settings["journal"] = journal or self._journal or self._waiting
        opening = session(**settings)
        load_sdk(answering.model, answering.providers)
        return opening

    async def answer_by(self, answering: Answering) -> None:
        """Have that model answer from the next prompt on. Misuse where it cannot, and then nothing changes."""
        opening = self.session_for(answering)
        if self._loop is None:
            self._next, self.answering = opening, answering
            return
        async with AsyncExitStack() as opened:
            loop = await opened.enter_async_context(opening)
            # Results that the conversation names are read in the new session too.
            loop.take_results_of(self._loop)
            before, self._open = self._open, opened.pop_all()
        self._loop, self.answering = loop, answering
        await before.aclose()

    async def loop(self) -> AgenticLoop:
        """The session's loop, opened when it is needed first."""
        if self._loop is None:
            opening, self._next = self._next or self.session_for(self.answering), None
            self._loop = await self._open.enter_async_context(opening)
        return self._loop

    @property
    def runs_folder(self) -> Path:
        """Where runs are kept, or would be."""
        return Path(self._journal or DEFAULT_JOURNAL)

    @property
    def keeps_runs(self) -> bool:
        """Whether this chat's own runs are kept as they happen."""
        return self._journal is not None


def _unanswered(after: Conversation, before: Conversation) -> bool:
    """Whether nothing was added but the prompt."""
    added = after.turns[len(before.turns) :]
    return len(added) == 1 and isinstance(added[0], UserTurn)
