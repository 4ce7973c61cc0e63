"""A run that is taken from its journal: what happens while tools are asked what became of their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import geode
from geode import ToolContext
from geode.adapters.journal_file import FileJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve
from geode.domain.errors import Misuse
from geode.domain.loop.inputs import Input
from geode.domain.loop.outcome import Stopped
from geode.domain.loop.state import State
from geode.domain.script import Step, calls, says
from tests.unit.application.rig import Asks, answered, assert_whole, kinds, loop_of, tasks_left, texts


class Ends(BaseException):
    """The process ends here."""


class Cut(FileJournal):
    """Its process ends when the answer for the first call was written: nothing is written any more."""

    def happened(self, before: State, input: Input) -> None:
        if len(self.recorded(before.terms.run_id).records) < 3:
            super().happened(before, input)
        else:
            raise Ends

    def left(self, state: State) -> None:
        self.let_go(state.terms.run_id)


class Asked:
    """A reconciler that answers when it is let."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def look(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
        self.asked.set()
        await self.may_answer.wait()
        return "it was done"

    @geode.tool(tier="write", reconcile=look)
    async def add(self, n: int) -> str:
        """Add a number."""
        return f"added {n}"


async def cut(folder: Path) -> None:
    approver = Asks(lambda call: Approve())
    with pytest.raises(Ends):
        await loop_of(calls(("add", {"n": 1})), tools=[Asked().add], approver=approver, journal=Cut(folder)).run("go")


def taking(folder: Path, asked: Asked, *steps: Step) -> tuple[AgenticLoop, ScriptedModel]:
    model = ScriptedModel(*steps)
    return loop_of(model=model, tools=[asked.add], journal=FileJournal(folder), approver=Asks()), model


async def test_stopped_meanwhile_the_run_keeps_what_was_found_and_ends(tmp_path: Path) -> None:
    await cut(tmp_path)
    asked = Asked()
    loop, model = taking(tmp_path, asked)
    running = asyncio.create_task(loop.resume_run("run_1"))
    await asked.asked.wait()
    loop.stop()
    asked.may_answer.set()
    outcome = await running
    assert isinstance(outcome, Stopped)
    assert_whole(outcome.conversation)
    assert (texts(outcome), kinds(outcome), model.requests) == (["it was done"], ["ok"], [])
    assert tasks_left() == set()


async def test_meanwhile_the_session_runs_nothing_else(tmp_path: Path) -> None:
    await cut(tmp_path)
    asked = Asked()
    loop, _ = taking(tmp_path, asked, says("done"))
    running = asyncio.create_task(loop.resume_run("run_1"))
    await asked.asked.wait()
    for other in (loop.run("go"), loop.resume_run("run_1")):
        with pytest.raises(Misuse) as caught:
            await other
        assert caught.value.id == "one-run"
    asked.may_answer.set()
    assert texts(answered(await running)) == ["it was done"]


async def test_what_was_stopped_before_says_nothing_of_the_next(tmp_path: Path) -> None:
    await cut(tmp_path)
    asked = Asked()
    asked.may_answer.set()
    loop, _ = taking(tmp_path, asked, says("done"))
    loop.stop()
    assert answered(await loop.resume_run("run_1")).text == "done"
