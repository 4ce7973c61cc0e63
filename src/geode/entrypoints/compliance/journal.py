"""The contract of a journal: `geode.ports.Journal`."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence

import geode
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.codec import dumps
from geode.domain.loop.actions import Finish
from geode.domain.loop.inputs import Input
from geode.domain.loop.outcome import Answered
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.script import calls, fails, says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import Contract, made
from geode.entrypoints.compliance.playing import AT_ONCE, READER
from geode.ports.journal import Journal


class JournalHarness(ABC):
    """A journal, and how what was written is read back: `read` is for the suite, the port has no such method."""

    @abstractmethod
    def journal(self) -> Journal: ...

    @abstractmethod
    def read(self, journal: Journal, run_id: str) -> tuple[State, Sequence[Input]]:
        """The first state of the run and its inputs in their order."""


class JournalContract(Contract):
    """The first state and the inputs in their order are the whole run."""

    @property
    def made(self) -> JournalHarness:
        found: JournalHarness = made(type(self), JournalHarness)
        return found

    async def _run(self, journal: Journal, answer: str) -> Answered:
        model = ScriptedModel(fails(503), calls(specification.READ, ("unknown", {})), says(answer))
        outcome = await geode.run("hi", model=model, tools=[READER], journal=journal, policy=geode.Policy(retry=AT_ONCE))
        assert isinstance(outcome, Answered), outcome
        return outcome

    async def test_what_was_written_is_the_whole_run(self) -> None:
        """Folding `step` over it ends where the run ended."""
        journal = self.made.journal()
        outcome = await self._run(journal, "done")
        state, inputs = self.made.read(journal, outcome.run_id)
        for input in inputs:
            state = step(state, input)
        assert isinstance(state.pending, Finish)
        assert dumps(state.pending.outcome) == dumps(outcome)

    async def test_runs_at_the_same_time_are_kept_apart(self) -> None:
        journal = self.made.journal()
        outcomes = await asyncio.gather(*(self._run(journal, f"answer {number}") for number in range(3)))
        for outcome in outcomes:
            state, inputs = self.made.read(journal, outcome.run_id)
            assert state.terms.run_id == outcome.run_id
            for input in inputs:
                state = step(state, input)
            assert isinstance(state.pending, Finish)
            assert state.pending.outcome.text == outcome.text

    async def test_writing_is_a_plain_call(self) -> None:
        """So that nothing, a cancellation least of all, comes between what is written and its effect."""
        journal = self.made.journal()
        assert not inspect.iscoroutinefunction(journal.began)
        assert not inspect.iscoroutinefunction(journal.happened)
