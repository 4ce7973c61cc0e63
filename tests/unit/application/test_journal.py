"""The journal is the run: folding `step` over it gives the same end, from any state on, through the codec too."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.domain.approval import Approve, Deny
from geode.domain.codec import dumps, loads
from geode.domain.loop.inputs import Decided, ModelFailed, ModelReplied, ToolFinished, Waited
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.script import Step, calls, cut, fails, pauses, refuses, says, thinks
from tests.unit.application.rig import Asks, loop_of, outcome_of, replayed


@geode.tool(tier="safe")
async def look(n: int = 0) -> str:
    return f"seen {n}"


@geode.tool(tier="write")
async def write(n: int = 0) -> str:
    if n > 1:
        raise ValueError(n)
    return f"wrote {n}"


SCRIPTS: dict[str, Sequence[Step]] = {
    "text": [says("done")],
    "rounds": [thinks("hm") + calls(("look", {"n": 1}), ("write", {"n": 2})), fails(500), calls(("write", {})), says("done")],
    "broken": [calls(("look", "{"), ("nope", {}), ("look", {"n": "x"})), says("done")],
    "refusal": [calls(("look", {})), refuses("no")],
    "failure": [fails(500), fails(500), fails(500)],
    "cut": [cut(calls(("look", {}))), cut(says("Once"))],
    "pauses": [pauses("one"), pauses("two"), says("three")],
    "limit": [calls(("look", {}))] * 3 + [says("that was all")],
}


def loop_for(name: str, journal: MemoryJournal) -> AgenticLoop:
    asks = Asks(lambda call: Approve(input={"n": 1}) if call.input.get("n") == 2 else Deny("no"))
    return loop_of(
        *SCRIPTS[name],
        tools=[look, write],
        approver=asks,
        clock=ManualClock(),
        journal=journal,
        policy=Policy(max_rounds=4),
    )


@pytest.mark.parametrize("name", SCRIPTS)
async def test_folding_the_journal_gives_the_same_outcome(name: str) -> None:
    journal = MemoryJournal()
    loop = loop_for(name, journal)
    outcome = await loop.run("go")
    state = replayed(journal)
    assert outcome_of(state) == outcome
    assert state.closed == outcome.conversation == loop.conversation


@pytest.mark.parametrize("name", SCRIPTS)
async def test_every_state_on_the_way_can_be_stored(name: str) -> None:
    journal = MemoryJournal()
    outcome = await loop_for(name, journal).run("go")
    state = journal.states["run_1"]
    for input in journal.inputs["run_1"]:
        state = loads(State, dumps(step(loads(State, dumps(state)), input)))
    assert outcome_of(state) == outcome


async def test_inputs_are_written_as_they_happen_and_before_they_take_effect() -> None:
    class Watching(MemoryJournal):
        def happened(self, before: Any, input: Any) -> None:
            seen.append(loop.conversation)
            super().happened(before, input)

    seen: list[geode.Conversation] = []
    journal = Watching()
    loop = loop_for("rounds", journal)
    await loop.run("go")
    kinds = [type(input) for input in journal.inputs["run_1"]]
    assert kinds == [
        ModelReplied,
        ToolFinished,
        Decided,
        ToolFinished,
        ModelFailed,
        Waited,
        ModelReplied,
        Decided,
        ModelReplied,
    ]
    assert [len(conversation.turns) for conversation in seen] == [1, 1, 1, 1, 3, 3, 3, 3, 5]
    times = [input.at for input in journal.inputs["run_1"]]
    assert times == sorted(times)


async def test_runs_are_kept_apart() -> None:
    journal = MemoryJournal()
    loop = loop_of(says("one"), says("two"), journal=journal)
    first, second = await loop.run("a"), await loop.run("b")
    assert set(journal.states) == {first.run_id, second.run_id} == {"run_1", "run_2"}


async def test_replay_needs_neither_model_nor_tools_nor_validator() -> None:
    journal = MemoryJournal()
    model = ScriptedModel(*SCRIPTS["broken"])
    outcome = await loop_of(model=model, tools=[look], journal=journal).run("go")
    fold: Callable[[MemoryJournal], State] = replayed
    assert outcome_of(fold(journal)) == outcome
