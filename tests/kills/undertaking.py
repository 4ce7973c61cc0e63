"""The run that is killed: reads and writes on a real folder, for a model that knows from the history where it is.

Each write adds one line to a file, with the id of its call in it: so the files tell how often each was
executed, and a reconciler can look.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from returns.result import Result, Success

import geode
from geode import Approve, NotRun, ToolContext, ToolUseBlock
from geode.adapters.journal_file import FileJournal
from geode.domain.content import Text
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.turns import AssistantTurn, ToolResultsTurn
from geode.domain.usage import Usage
from geode.ports.model import Emit


class Ready(Protocol):
    """An event that another process waits for."""

    def set(self) -> None: ...


PAUSE: Final = 0.002
# What the model asks for, round by round: reads side by side, writes one at a time, before and after them.
ROUNDS: Final = (
    (("read", "notes"), ("read", "log"), ("add", "log")),
    (("add", "notes"), ("read", "notes"), ("add", "log")),
    (("read", "log"), ("read", "notes")),
    (("add", "log"), ("add", "log"), ("add", "notes")),
    (("add", "list"), ("read", "list"), ("add", "list")),
)
FILES: Final = ("notes", "log", "list")
WRITES: Final = sum(name == "add" for calls in ROUNDS for name, _ in calls)


class Planned:
    """A model that has no memory but the conversation: so it goes on in whichever process it is asked."""

    name = "planned"
    capabilities = Capabilities()

    def __init__(self, folder: Path) -> None:
        self._seen = folder / "seen"

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        turns = request.conversation.turns
        if isinstance(turns[-1], ToolResultsTurn):
            unknown = [one.call_id for one in turns[-1].results if one.kind == "outcome_unknown"]
            append(self._seen, "".join(f"{id}\n" for id in unknown))
        await asyncio.sleep(PAUSE)
        number = sum(isinstance(turn, AssistantTurn) for turn in turns)
        if number == len(ROUNDS):
            return Success(AdapterCallResult((Text("done"),), Stop.END, Usage(10, 5)))
        calls = tuple(
            ToolUseBlock(f"call_{number}_{place}", name, {"file": file}) for place, (name, file) in enumerate(ROUNDS[number])
        )
        return Success(AdapterCallResult(calls, Stop.TOOL_CALLS, Usage(10, 5)))


def append(path: Path, text: str) -> None:
    """In one piece: a kill comes before or after."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class Desk:
    """The tools, on one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @geode.tool(tier="safe")
    async def read(self, file: str) -> str:
        """Read a file."""
        await asyncio.sleep(PAUSE)
        return ",".join(lines(self._folder / file)) or "nothing"

    @geode.tool(tier="write", name="add")
    async def add(self, file: str, context: ToolContext[Any]) -> str:
        """Add a line to a file."""
        await asyncio.sleep(PAUSE)
        append(self._folder / file, f"{context.call_id}\n")
        await asyncio.sleep(PAUSE)
        return f"added {context.call_id}"

    async def look(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        there = context.call_id in lines(self._folder / arguments["file"])
        return f"added {context.call_id}" if there else NotRun()

    @geode.tool(tier="write", name="add", reconcile=look)
    async def add_and_look(self, file: str, context: ToolContext[Any]) -> str:
        """Add a line to a file."""
        return await self.add(file, context)


def begun_runs(journal: FileJournal) -> list[str]:
    """At most one: a process that was killed before it had written the beginning has begun nothing."""
    return [run_id for run_id in journal.run_ids() if journal.recorded(run_id).records]


async def _run(folder: Path, ready: Ready, *, reconciles: bool) -> None:
    desk, journal = Desk(folder), FileJournal(folder / "runs")
    tools = [desk.read, desk.add_and_look if reconciles else desk.add]
    async with geode.session(
        model=Planned(folder), tools=tools, approve=lambda call: Approve(always="tool"), journal=journal
    ) as loop:
        begun = begun_runs(journal)
        ready.set()
        outcome = await (loop.resume_run(begun[0]) if begun else loop.run("Keep the books"))
    assert isinstance(outcome, geode.Answered), outcome
    (folder / "conversation").write_text(outcome.conversation.dumps())


def undertake(folder: str, reconciles: bool, ready: Ready) -> None:
    """Begin the run in `folder`, or go on with the one that is there, to its end; `ready` is set when that begins."""
    asyncio.run(_run(Path(folder), ready, reconciles=reconciles))
