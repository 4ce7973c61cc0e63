"""Sub-agents on the command line: what is shown of what happens inside, what may run there, and how their runs are listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.journal_file import FileJournal
from geode.domain.content import ToolUseBlock
from geode.domain.loop.inner import inner_run_id
from geode.domain.reply import Stop
from geode.domain.script import Step
from geode.domain.usage import Usage
from geode.entrypoints.cli.main import main
from geode.entrypoints.demo.timeline import Timeline
from geode.entrypoints.observers import line_of
from geode.entrypoints.spending import Spending
from geode.events import Event, ModelCalled, ModelReplied, Nested, Notice, RoundClosed, ToolFinished
from geode.ports import Text, ToolResult
from geode.testing import ScriptedModel, calls, default_model, says

Ran = tuple[int, str, str]
AGENTS = '''
import geode


@geode.tool(tier="safe")
def look(place: str) -> str:
    """Look."""
    return f"saw {place}"


@geode.tool(tier="write")
def save(text: str) -> str:
    """Keep a text."""
    return f"saved {text}"


research = geode.subagent("research", "Finds things out.", tools=[look, save])
'''
SCRIPT = (
    calls(("research", {"task": "find it"})),
    calls(("look", {"place": "here"}), ("save", {"text": "x"})),
    says("It is here."),
    says("Found."),
)
PLACE: Any = {"run_id": "r", "seq": 1, "round": 1, "attempt": 1}
CALL = ToolUseBlock("c", "research", {"task": "find it"})


@pytest.fixture
def geode(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    (project / "agents.py").write_text(AGENTS, "utf-8")

    def run(*arguments: str, script: tuple[Step, ...] = SCRIPT) -> Ran:
        with default_model(ScriptedModel(*script)):
            code = main([*arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def nested(event: Event, call: ToolUseBlock = CALL) -> Nested:
    return Nested(run_id="r", seq=1, round=1, attempt=1, call=call, event=event)


def finished(name: str = "look", text: str = "saw here") -> ToolFinished:
    result = ToolResult("i", "ok", (Text(text),))
    return ToolFinished(**PLACE, index=0, call=ToolUseBlock("i", name, {}), result=result, seconds=0.5)


# ---- geode run ---------------------------------------------------------------------------------


def test_calls_inside_are_shown_behind_its_name_and_its_words_are_not_the_answer(geode: Callable[..., Ran]) -> None:
    code, out, err = geode("run", "Go", "--tools", "agents:research", "--stream", "--approve", "save")
    assert (code, out) == (0, "Found.\n")
    lines = err.splitlines()
    assert '→ research(task="find it")' in lines
    assert '  research │ → look(place="here")' in lines
    (looked,) = [line for line in lines if line.startswith("  research │ ✓ look ")]
    assert looked.endswith("saw here")
    assert any(line.startswith("✓ research ") and line.endswith("It is here.") for line in lines)


def test_the_answer_alone_is_printed_without_stream(geode: Callable[..., Ran]) -> None:
    code, out, err = geode("run", "Go", "--tools", "agents:research", "--approve", "save")
    assert (code, out, err) == (0, "Found.\n", "")


def test_a_tool_inside_can_be_allowed_by_its_name(geode: Callable[..., Ran]) -> None:
    code, _, err = geode("run", "Go", "--tools", "agents:research", "--approve", "sav", script=())
    assert code == 2
    assert 'names "sav", which is no tool of this run; did you mean save?' in err
    _, out, _ = geode("run", "Go", "--tools", "agents:research", "--approve", "save", "--jsonl")
    inside = [json.loads(line)["nested"] for line in out.splitlines() if json.loads(line)["event"] == "Nested"]
    assert [event["result"]["kind"] for event in inside if event["event"] == "ToolFinished"] == ["ok", "ok"]


def test_a_tool_inside_that_nobody_allows_is_named_before_the_run(geode: Callable[..., Ran]) -> None:
    _, _, err = geode("run", "Go", "--tools", "agents:research", "--approve", "none")
    assert "geode run: every call of save (WRITE) will be denied" in err


def test_events_inside_are_whole_as_json(geode: Callable[..., Ran]) -> None:
    _, out, _ = geode("run", "Go", "--tools", "agents:research", "--approve", "save", "--jsonl")
    told = [json.loads(line) for line in out.splitlines()]
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    (started,) = [event for event in told if event["event"] == "Nested" and event["nested"]["event"] == "ModelCalled"][:1]
    assert started["call"]["name"] == "research"
    assert started["nested"]["run_id"] != started["run_id"] == told[0]["run_id"]
    assert started["nested"]["seq"] == 1


# ---- geode runs --------------------------------------------------------------------------------


def test_its_run_is_listed_after_the_one_around_it(geode: Callable[..., Ran]) -> None:
    geode("run", "Go", "--tools", "agents:research", "--approve", "save", "--journal", "kept")
    geode("run", "Other", "--journal", "kept", script=(says("Hi."),))
    outer = next(id for id in FileJournal("kept").run_ids() if inner_run_id(id, "call_1_0") in FileJournal("kept").run_ids())
    inner = inner_run_id(outer, "call_1_0")
    _, out, _ = geode("runs", "list", "--journal", "kept", script=())
    rows = out.splitlines()[1:]
    (at,) = [number for number, row in enumerate(rows) if row.startswith(outer[:12])]
    assert rows[at].endswith("Go")
    assert rows[at + 1].startswith(inner[:12])
    assert rows[at + 1].endswith(f"(in {outer[:12]}) find it")
    _, out, _ = geode("runs", "list", "--journal", "kept", "--json", script=())
    assert {line["run_id"]: line["inside"] for line in json.loads(out)}[inner] == outer
    assert "inner" not in json.loads(out)[0]
    assert "It is here." in geode("runs", "show", inner, "--journal", "kept", script=())[1]


# ---- a chat's spending, a log, the timeline ----------------------------------------------------


def test_replies_inside_count_by_their_model_and_are_no_part_of_the_conversation() -> None:
    spending = Spending()

    def heard(run_id: str, model: str, usage: Usage, wrap: Callable[[Event], Event]) -> None:
        place = {**PLACE, "run_id": run_id}
        called = ModelCalled(**place, adapter="acme", model=model, tool_choice="auto", wrap_up=False)
        replied = ModelReplied(
            **place,
            text="",
            calls=(),
            stop=Stop.END,
            usage=usage,
            route="",
            request_id="",
        )
        spending(wrap(called))
        spending(wrap(replied))

    heard("r", "big", Usage(100, 10), lambda event: event)
    heard("i", "small", Usage(7, 1), nested)
    heard("d", "small", Usage(5, 1), lambda event: nested(nested(event)))
    assert spending.conversation_tokens == 110
    assert [line.partition(",")[0] for line in spending.lines()] == [
        *("acme big: 1 reply", "acme small: 2 replies", "all: 3 replies")
    ]


def test_a_log_names_the_sub_agents() -> None:
    line = line_of(nested(nested(finished()), ToolUseBlock("o", "outer", {})))
    assert line is not None
    assert line.text.startswith("  outer │   research │ ✓ look")
    assert line_of(nested(RoundClosed(**PLACE, results=()))) is None


def test_the_timeline_shows_what_runs_inside() -> None:
    painted: list[str] = []
    timeline = Timeline(lambda spans: painted.append("".join(one if isinstance(one, str) else one[0] for one in spans)))
    timeline.event(nested(finished()))
    timeline.event(nested(nested(finished("put", "ok"))))
    timeline.event(nested(Notice(**PLACE, kind="wrap_up", text="conclude")))
    timeline.event(nested(RoundClosed(**PLACE, results=())))
    assert [line.strip() for line in painted] == [
        *("research │ ✓ look 500 ms  saw here", "research │ ✓ put 500 ms  ok", "notice  research: conclude")
    ]
