"""`journal=` as an embedder gives it: a folder, a journal, or what is neither."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import geode
import geode.testing
from geode import Approve, Later, Misuse, NotRun, ToolContext
from geode.container import GeodeContainer
from geode.entrypoints.tools import as_tool
from geode.ports import JournalStore, SessionFactory
from geode.stores import FileJournal, MemoryJournal, replay
from geode.testing import ScriptedModel, calls, says


@geode.tool(tier="write")
def save(text: str) -> str:
    """Keep a text."""
    return f"saved {text}"


@pytest.mark.parametrize("kind", [str, Path, FileJournal])
async def test_a_folder_keeps_runs(tmp_path: Path, kind: Any) -> None:
    outcome = await geode.run("Hi", model=ScriptedModel(says("Hello.")), journal=kind(tmp_path / "runs"))
    journal = FileJournal(tmp_path / "runs")
    assert journal.run_ids() == (outcome.run_id,)
    found = replay(journal.recorded(outcome.run_id))
    assert found.divergence is None
    assert found.state is not None
    assert found.state.closed == outcome.conversation


async def test_a_session_goes_on_with_the_run_of_another(tmp_path: Path) -> None:
    model = ScriptedModel(calls(("save", {"text": "x"})), says("Saved."))
    with geode.testing.default_model(model):
        parked = await geode.run("Go", tools=[save], approve=lambda call: Later(), journal=tmp_path)
        async with geode.session(tools=[save], approve=lambda call: Approve(), journal=tmp_path) as loop:
            outcome = await loop.resume_run(parked.run_id)
    assert outcome.text == "Saved."


IN_A_PROCESS = """
import asyncio, sys
from pathlib import Path
import geode
from geode.adapters.clock_manual import ManualClock
from geode.testing import ScriptedModel, calls, says

folder, day, way = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

@geode.tool(tier="write")
def save(text: str) -> str:
    return f"saved {text}"

def answer(call):
    return geode.Approve() if way == "at once" else geode.Later()

async def main() -> None:
    script = [calls(("save", {"text": "x"})), says("Saved.")]
    model = ScriptedModel(*(script if way == "at once" else script[day : day + 1]))
    clock, policy = ManualClock(1e9 + 86_400 * day), geode.Policy(max_seconds=60)
    settings = {"tools": [save], "journal": folder, "clock": clock, "policy": policy}
    async with geode.session(model=model, approve=answer, **settings) as loop:
        if day == 0:
            outcome = await loop.run("Go")
            name = "snapshot" if way == "snapshot" else "run_id"
            (folder / "handed on").write_text(getattr(outcome, name, ""))
        else:
            handed, yes = (folder / "handed on").read_text(), {"call_1_0": geode.Approve()}
            resume = loop.resume if way == "snapshot" else loop.resume_run
            outcome = await resume(handed, yes)
    print(type(outcome).__name__, outcome.text, outcome.usage, outcome.conversation.dumps())

asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["snapshot", "run_id"])
def test_suspended_in_one_process_and_approved_in_another_a_day_later(tmp_path: Path, way: str) -> None:
    """It ends like a run that was approved at once, although its time budget was a minute."""

    def done(folder: Path, day: int, way: str) -> str:
        command = [sys.executable, "-c", IN_A_PROCESS, str(folder), str(day), way]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    at_once = done(tmp_path / "one", 0, "at once")
    assert at_once.startswith("Answered Saved. ")
    assert done(tmp_path / "two", 0, way).startswith("Suspended ")
    ended = done(tmp_path / "two", 1, way)
    assert ended == at_once
    (run_id,) = FileJournal(tmp_path / "two").run_ids()
    assert replay(FileJournal(tmp_path / "two").recorded(run_id)).divergence is None


@pytest.mark.parametrize("journal", ["", None])
def test_without_one_nothing_is_kept(tmp_path: Path, journal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(geode.run("Hi", model=ScriptedModel(says("Hello.")), journal=journal))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("journal", [7, object(), ["runs"], FileJournal.recorded])
def test_what_is_no_journal_is_misuse(journal: Any) -> None:
    with pytest.raises(Misuse, match=r"journal must be a folder or a geode\.ports\.Journal, got ") as caught:
        geode.session(model=ScriptedModel(), journal=journal)
    assert caught.value.id == "journal-type"


@pytest.mark.parametrize("word", ["checkpointer", "durable"])
def test_the_words_of_others_are_told(word: str) -> None:
    settings: Any = {word: "runs"}
    with pytest.raises(Misuse, match=f'session has no "{word}": that is journal='):
        geode.session(model=ScriptedModel(), **settings)


async def test_in_a_container(tmp_path: Path) -> None:
    container = GeodeContainer(model=ScriptedModel(says("Hello.")), journal=str(tmp_path))
    sessions: SessionFactory = container.session
    async with sessions() as loop:
        outcome = await loop.run("Hi")
        assert await loop.resume_run(outcome.run_id) == outcome
    assert FileJournal(tmp_path).run_ids() == (outcome.run_id,)


def test_a_session_that_is_not_open_says_so(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"async with geode\.session"):
        cast("Any", geode.session(model=ScriptedModel(), journal=tmp_path)).resume_run("x")


# ---- what a tool promises ----------------------------------------------------------------------


def look(arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
    return NotRun()


class Bank:
    def find(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        return self

    @staticmethod
    def search(arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        return "found"

    @geode.tool(tier="write", reconcile=find)
    def pay(self, cents: int) -> str:
        """Pay."""
        return "paid"

    @geode.tool(tier="write", reconcile=look)
    def refund(self, cents: int) -> str:
        """Pay back."""
        return "paid"

    @geode.tool(tier="write", reconcile=search)
    def lend(self, cents: int) -> str:
        """Lend."""
        return "lent"


def test_a_reconciler_of_the_same_class_is_bound_to_the_same_object() -> None:
    bank, nothing = Bank(), cast("ToolContext[Any]", None)
    paying, refunding, lending = as_tool(bank.pay), as_tool(bank.refund), as_tool(bank.lend)
    assert paying.reconcile is not None
    assert paying.reconcile({}, nothing) is bank
    assert refunding.reconcile is look
    assert lending.reconcile is not None
    assert lending.reconcile({}, nothing) == "found"


def test_nothing_is_promised_by_default() -> None:
    tool = as_tool(save)
    assert (tool.idempotent, tool.reconcile) == (False, None)


def test_a_tool_may_promise_that_twice_is_once() -> None:
    @geode.tool(tier="write", idempotent=True)
    def put(text: str) -> str:
        """Put a text in its place."""
        return text

    assert as_tool(put).idempotent


def test_both_journals_can_be_read(tmp_path: Path) -> None:
    assert isinstance(MemoryJournal(), JournalStore)
    assert isinstance(FileJournal(tmp_path), JournalStore)
