"""The contracts of a journal, `geode.ports.Journal`, and of one that gives runs back, `geode.ports.JournalStore`."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import geode
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.codec import dumps
from geode.domain.loop.actions import Finish
from geode.domain.loop.inputs import Input
from geode.domain.loop.outcome import Answered
from geode.domain.loop.recording import Began, Happened, Left, replay
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.script import calls, fails, says
from geode.domain.tiers import SafetyTier
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import Contract, made
from geode.entrypoints.compliance.playing import AT_ONCE, READER
from geode.entrypoints.testing import default_model
from geode.entrypoints.tools import as_tool
from geode.ports.journal import Journal, JournalError, JournalStore
from geode.ports.tools import Tool


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

    async def _run(self, journal: Journal, answer: str) -> Answered[Any]:
        model = ScriptedModel(fails(503), calls(specification.READ, ("unknown", {})), says(answer))
        outcome = await geode.run("hi", model=model, tools=[READER], journal=journal, policy=geode.Policy(retry=AT_ONCE))
        assert isinstance(outcome, Answered), outcome
        return outcome

    async def test_what_was_written_is_the_whole_run(self) -> None:
        """Folding `step` over it ends where the run ended."""
        made = self.made
        journal = made.journal()
        outcome = await self._run(journal, "done")
        state, inputs = made.read(journal, outcome.run_id)
        for input in inputs:
            state = step(state, input)
        assert isinstance(state.pending, Finish)
        assert dumps(state.pending.outcome) == dumps(outcome)

    async def test_runs_at_the_same_time_are_kept_apart(self) -> None:
        made = self.made
        journal = made.journal()
        outcomes = await asyncio.gather(*(self._run(journal, f"answer {number}") for number in range(3)))
        for outcome in outcomes:
            state, inputs = made.read(journal, outcome.run_id)
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
        assert not inspect.iscoroutinefunction(journal.left)


class JournalStoreHarness(JournalHarness):
    """A place where runs are kept; each harness has a place of its own, which is empty at first."""

    @abstractmethod
    def journal(self) -> JournalStore:
        """A journal over the place. Those of two calls see what the other one wrote."""

    def read(self, journal: Journal, run_id: str) -> tuple[State, Sequence[Input]]:
        assert isinstance(journal, JournalStore)
        first, *rest = journal.recorded(run_id).records
        assert isinstance(first, Began)
        return first.state, [record.input for record in rest if isinstance(record, Happened)]


class JournalStoreContract(JournalContract):
    """And they are given back: to whoever looks, and to one at a time who goes on."""

    @property
    def made(self) -> JournalStoreHarness:
        found: JournalStoreHarness = made(type(self), JournalStoreHarness)
        return found

    async def test_a_run_is_gone_on_with_by_another(self) -> None:
        """What was decided before is not decided again, and the recording stays one that can be folded."""
        made = self.made
        model = ScriptedModel(calls(specification.READ), says("done"))
        with default_model(model):
            parked = await geode.run("hi", tools=[_asked()], approve=lambda _: geode.Later(), journal=made.journal())
            assert isinstance(parked, geode.Suspended), parked
            journal = made.journal()
            async with geode.session(tools=[_asked()], approve=lambda _: geode.Approve(), journal=journal) as loop:
                outcome = await loop.resume_run(parked.run_id)
        assert isinstance(outcome, Answered)
        found = replay(made.journal().recorded(parked.run_id))
        assert found.divergence is None
        assert found.state is not None
        assert found.state.closed == outcome.conversation

    async def test_the_recording_can_be_replayed(self) -> None:
        """Beside each input stands the action that was pending, and at the end the one that the run was left with."""
        made = self.made
        outcome = await self._run(made.journal(), "done")
        recording = made.journal().recorded(outcome.run_id)
        assert (recording.run_id, recording.torn) == (outcome.run_id, False)
        assert isinstance(recording.records[-1], Left)
        assert replay(recording).divergence is None

    async def test_one_at_a_time_has_a_run(self) -> None:
        made = self.made
        outcome = await self._run(made.journal(), "done")
        first, second = made.journal(), made.journal()
        assert first.taken(outcome.run_id) == made.journal().recorded(outcome.run_id)
        with pytest.raises(JournalError, match=outcome.run_id):
            second.taken(outcome.run_id)
        second.recorded(outcome.run_id)  # looking is free
        first.let_go(outcome.run_id)
        assert second.taken(outcome.run_id).records
        second.let_go(outcome.run_id)
        second.let_go(outcome.run_id)

    async def test_a_run_under_way_is_not_given_away(self) -> None:
        made = self.made
        said: list[str] = []

        def meanwhile() -> str:
            (run_id,) = made.journal().run_ids()
            with pytest.raises(JournalError) as caught:
                made.journal().taken(run_id)
            said.append(str(caught.value))
            return "x"

        tool = geode.tool(tier="safe")(meanwhile)
        await geode.run("hi", model=ScriptedModel(calls(("meanwhile", {})), says("done")), tools=[tool], journal=made.journal())
        assert said, "the tool was not run"

    async def test_the_ids_of_all_runs_are_listed(self) -> None:
        made = self.made
        assert list(made.journal().run_ids()) == []
        outcomes = [await self._run(made.journal(), "done") for _ in range(3)]
        assert sorted(made.journal().run_ids()) == sorted(outcome.run_id for outcome in outcomes)

    async def test_a_run_that_is_not_there_is_a_journal_error(self) -> None:
        made = self.made
        for method in (made.journal().recorded, made.journal().taken):
            with pytest.raises(JournalError, match="nowhere"):
                method("nowhere")


def _asked() -> Tool:
    """A tool that a person has to allow."""
    return replace(as_tool(READER), tier=SafetyTier.WRITE)
