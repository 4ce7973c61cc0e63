"""Runs inside calls whose process ended: they go on where their journal ends, and no finished call runs twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from returns.result import Result, Success

import geode
from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import NoJournal
from geode.domain.content import Text
from geode.domain.failures import CallFailure
from geode.domain.loop.inner import inner_run_id
from geode.domain.loop.inputs import Input, ToolFinished
from geode.domain.loop.recording import Happened, replay
from geode.domain.loop.state import State
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.turns import AssistantTurn, UserTurn
from geode.domain.usage import Usage
from geode.events import Nested, ToolStarted
from geode.ports.journal import Journal
from geode.ports.model import Emit
from tests.unit.application.rig import Asks, Recorder, answered, kinds, texts

RAN: list[tuple[str, int]] = []
# Round by round, what the models ask for; they know from the conversation where they are.
OUTER = ((("research", {"task": "left"}), ("research", {"task": "right"})), (("put", {"n": 9}),))
INNER = ((("look", {"n": 1}),), (("put", {"n": 2}), ("look", {"n": 3})))
# Every input of the run and of both inside it: 3 replies, 3 results, 1 answer; and in each 3 replies, 3 results, 1 answer.
MOST_INPUTS = 7 + 2 * 7


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@geode.tool(tier="safe")
async def look(n: int, context: geode.ToolContext[Any]) -> str:
    """Look."""
    await asyncio.sleep(0)
    RAN.append((context.run_id, n))
    return f"saw {n}"


@geode.tool(tier="write")
async def put(n: int, context: geode.ToolContext[Any]) -> str:
    """Put."""
    await asyncio.sleep(0)
    RAN.append((context.run_id, n))
    return f"put {n}"


def _task(request: AdapterCallRequest) -> str:
    first = request.conversation.turns[0]
    assert isinstance(first, UserTurn)
    return first.text


class Planned:
    """Asks for what its plan has next, however often its process began anew."""

    capabilities = Capabilities()

    def __init__(self, name: str, plan: Any) -> None:
        self.name, self._plan = name, plan

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        turns = request.conversation.turns
        number = sum(isinstance(turn, AssistantTurn) for turn in turns)
        if number == len(self._plan):
            return Success(AdapterCallResult((Text(f"{_task(request)}: done"),), Stop.END, Usage(10, 5)))
        asked = enumerate(self._plan[number])
        blocks = tuple(geode.ToolUseBlock(f"call_{number}_{at}", name, arguments) for at, (name, arguments) in asked)
        return Success(AdapterCallResult(blocks, Stop.TOOL_CALLS, Usage(10, 5)))


class Killed(BaseException):
    """The process ends here."""


class Dies(FileJournal):
    """A journal that writes so many inputs, of whichever run, and nothing after that: its process is dead."""

    def __init__(self, folder: Path, after: int) -> None:
        super().__init__(folder, fsync="never")
        self.left_to_write, self.dead = after, asyncio.Event()

    def began(self, state: State) -> None:
        if self.left_to_write > 0:
            super().began(state)

    def happened(self, before: State, input: Input) -> None:
        if self.left_to_write > 0:
            super().happened(before, input)
        self.left_to_write -= 1
        if self.left_to_write <= 0:
            self.dead.set()

    def left(self, state: State) -> None:
        """It has no time to say so."""
        self.let_go(state.terms.run_id)


def session(journal: Journal, **settings: Any) -> Any:
    research = geode.subagent("research", "", model=Planned("inner", INNER), tools=[look, put])
    given: dict[str, Any] = {"model": Planned("outer", OUTER), "tools": [research, put], "approve": Asks(), "journal": journal}
    return geode.session(**{**given, **settings})


def written(folder: Path) -> dict[str, int]:
    """How many inputs each run in the folder has."""
    journal = FileJournal(folder)
    return {id: sum(isinstance(one, Happened) for one in journal.recorded(id).records) for id in journal.run_ids()}


async def killed(folder: Path, after: int) -> str:
    """A run whose process ends when so many inputs were written; its id."""
    journal = Dies(folder, after)
    async with session(journal) as loop:
        running = asyncio.create_task(loop.run("go"))
        await journal.dead.wait()
        running.cancel()
        await asyncio.wait((running,))
    ids = FileJournal(folder).run_ids()
    inner = {inner_run_id(id, f"call_0_{at}") for id in ids for at in (0, 1)}
    (outer,) = set(ids) - inner
    return outer


def test_undisturbed_it_has_so_many_inputs(tmp_path: Path) -> None:
    outcome = asyncio.run(killed_never(tmp_path))
    assert sum(written(tmp_path).values()) == MOST_INPUTS
    assert outcome.usage.total_tokens == 3 * 15 + 2 * 3 * 15
    assert Counter(n for _, n in RAN) == {1: 2, 2: 2, 3: 2, 9: 1}


async def killed_never(folder: Path) -> geode.Answered[Any]:
    async with session(FileJournal(folder)) as loop:
        return answered(await loop.run("go"))


@pytest.mark.parametrize("after", range(1, MOST_INPUTS))
async def test_cut_off_after_any_input_it_goes_on(tmp_path: Path, after: int) -> None:
    run_id = await killed(tmp_path, after)
    before = written(tmp_path)
    assert sum(before.values()) == after
    finished = results_in(tmp_path)
    RAN.clear()
    async with session(FileJournal(tmp_path)) as loop:
        outcome = answered(await loop.resume_run(run_id))
    assert texts(outcome)[:2] == ["left: done", "right: done"], "the answers of the runs inside, whole"
    again = {(id, n) for id, n in RAN}
    assert again.isdisjoint(finished), "what had finished does not run again"
    inside = [inner_run_id(run_id, f"call_0_{at}") for at in (0, 1)]
    assert set(written(tmp_path)) == {run_id, *inside}, "the runs inside were gone on with, and none begun beside them"
    journal = FileJournal(tmp_path)
    for id in (run_id, *inside):
        found = replay(journal.recorded(id))
        assert found.divergence is None
    assert outcome.usage.total_tokens == 90 + 45, "what was spent inside before and after counts once"


def results_in(folder: Path) -> set[tuple[str, int]]:
    """The calls that have a result, by their run and what they were about."""
    journal = FileJournal(folder)
    found: set[tuple[str, int]] = set()
    for id in journal.run_ids():
        recording = journal.recorded(id)
        state = replay(recording).state
        assert state is not None
        turns = [*state.closed.turns, *([] if state.open is None else [state.open.turn])]
        about = {call.id: call.input.get("n", 0) for turn in turns if isinstance(turn, AssistantTurn) for call in turn.calls}
        inputs = [one.input for one in recording.records if isinstance(one, Happened)]
        found |= {(id, about[one.result.call_id]) for one in inputs if isinstance(one, ToolFinished)}
    return found


async def test_a_run_inside_that_is_over_gives_its_answer_again(tmp_path: Path) -> None:
    """The process ended between the end of the run inside and the result of its call."""
    run_id = await killed(tmp_path, 7)
    inside = inner_run_id(run_id, "call_0_0")
    async with geode.session(model=Planned("inner", INNER), tools=[look, put], approve=Asks(), journal=tmp_path) as loop:
        over = await loop.resume_run(inside)
    RAN.clear()
    seen = Recorder()
    async with session(FileJournal(tmp_path), observe=seen) as loop:
        outcome = answered(await loop.resume_run(run_id))
    assert texts(outcome)[0] == over.text
    assert all(id != inside for id, _ in RAN)


async def test_nobody_to_ask_any_more_denies(tmp_path: Path) -> None:
    """The run inside was begun where somebody could be asked; in this process there is nobody."""
    run_id = await killed(tmp_path, 3)
    async with session(FileJournal(tmp_path), approve=None) as loop:
        outcome = await loop.resume_run(run_id)
    assert isinstance(outcome, geode.Suspended), "its own call waits for a person"
    inside = replay(FileJournal(tmp_path).recorded(inner_run_id(run_id, "call_0_0"))).state
    assert inside is not None
    assert "denied" in kinds(inside.closed)


async def test_its_events_are_nested_when_it_goes_on(tmp_path: Path) -> None:
    run_id = await killed(tmp_path, 5)
    seen = Recorder()
    async with session(FileJournal(tmp_path), observe=seen) as loop:
        await loop.resume_run(run_id)
    inside = {inner_run_id(run_id, f"call_0_{at}") for at in (0, 1)}
    assert {event.event.run_id for event in seen.of(Nested)} <= inside
    assert {event.call.name for event in seen.of(ToolStarted)} <= {"research", "put"}


async def test_without_a_journal_there_is_nothing_to_go_on_with() -> None:
    async with session(NoJournal()) as loop:
        assert texts(answered(await loop.run("go")))[:2] == ["left: done", "right: done"]
