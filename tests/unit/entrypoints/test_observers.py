"""The observers that are ready to use: what they say of each event, to whom, and how loudly."""

from __future__ import annotations

import asyncio
import io
import logging
import subprocess
import sys
from typing import Any, get_args

import pytest
from rich.console import Console

import geode
from geode import events
from geode.entrypoints.observers import line_of
from geode.events import LogObserver, RichObserver
from geode.testing import ScriptedModel, calls, fails, says


@geode.tool(tier="safe")
async def look(word: str) -> str:
    """Look."""
    return f"seen {word}"


@geode.tool(tier="write")
async def save(word: str) -> str:
    """Save."""
    raise geode.ToolError(f"no room for {word}")


def approve(call: geode.ToolUseBlock) -> geode.Approve | geode.Deny:
    return geode.Deny("not two") if call.input["word"] == "two" else geode.Approve({"word": "three"}, always="arguments")


def veto(call: geode.ToolUseBlock) -> geode.Veto | None:
    return geode.Veto("not this") if call.input["word"] == "bad" else None


SCRIPT = (
    fails(529),
    calls(("look", {"word": "one"}), ("look", {"word": "bad"}), ("save", {"word": "two"}), ("save", {"word": "x"})),
    says("Done."),
)
POLICY = geode.Policy(max_rounds=4)


async def ran(observer: Any) -> None:
    from geode.testing import ManualClock

    model = ScriptedModel(*SCRIPT)
    tools, hooks = [look, save], geode.Hooks(before_tool=veto)
    await geode.run(
        "Go", model=model, tools=tools, approve=approve, hooks=hooks, observe=observer, policy=POLICY, clock=ManualClock()
    )


async def test_a_log_of_a_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "app.llm")
    await ran(LogObserver("app.llm"))
    run = vars(caplog.records[0])["geode_event"].run_id[:8]
    told = [(record.levelname, record.getMessage().removeprefix(f"{run} ")) for record in caplog.records]
    assert told[0] == ("DEBUG", "round 1: asks scripted scripted (auto)")
    assert told[1][0] == "WARNING"
    assert told[1][1].startswith("attempt 1 failed: ")
    assert ("INFO", "round 1: calls look, look, save, save; 10 tokens in, 5 out, by scripted") in told
    assert ("INFO", '→ look(word="one")') in told
    assert ("WARNING", 'hook before_tool: vetoed of look(word="bad"): not this') in told
    assert ("WARNING", "asks a person about save") in told
    assert ("WARNING", 'denied save(word="two"): not two') in told
    assert ("INFO", 'allowed save(word="x"), with other arguments, always for this call') in told
    assert any(line.startswith("✗ save 0 ms  no room for three") and level == "WARNING" for level, line in told)
    assert told[-1] == ("INFO", "Answered: natural")
    assert all(isinstance(vars(record)["geode_event"], get_args(events.Event)) for record in caplog.records)


async def test_a_run_in_colours() -> None:
    out = io.StringIO()
    await ran(RichObserver(Console(file=out, force_terminal=True, width=200, color_system="standard")))
    shown = out.getvalue()
    assert "\x1b[32m✓ look" in shown
    assert "\x1b[31m✗ save" in shown
    assert "Answered: natural" in shown


async def test_a_stream_in_colours_ends_its_line_before_the_next() -> None:
    out = io.StringIO()
    model = ScriptedModel(says("I look.\nNow.") + calls(("look", {"word": "[bold]one[/bold]"})), says("Done \x1b[31m[red]."))
    observer = RichObserver(Console(file=out, width=200))
    async with geode.session(model=model, tools=[look], observe=observer) as loop:
        async for _ in loop.stream("Go"):
            pass
    lines = out.getvalue().split("\n")
    place = lines.index("I look.")
    assert lines[place + 1] == "Now."
    assert lines[place + 2].startswith("round 1: calls look")
    assert '→ look(word="[bold]one[/bold]")' in lines
    assert "Done \\u001b[31m[red]." in lines


async def test_a_cancelled_run_is_told_as_such() -> None:
    seen: list[events.Event] = []
    entered = asyncio.Event()

    @geode.tool(tier="safe")
    async def hang() -> None:
        """Hang."""
        entered.set()
        await asyncio.sleep(60)

    model = ScriptedModel(calls(("hang", {})))
    async with geode.session(model=model, tools=[hang], observe=seen.append) as loop:
        running = asyncio.create_task(loop.run("Go"))
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert [type(event).__name__ for event in seen[-3:]] == ["ToolFinished", "RoundClosed", "Aborted"]
    line = line_of(seen[-1])
    assert line is not None
    assert (line.text, line.tone) == ("Aborted: CancelledError", "bad")


SWITCH: dict[str, Any] = {"from_adapter": "a", "from_model": "a-1", "to_adapter": "b", "to_model": "b-1"}


def test_a_switch_is_told_as_a_warning() -> None:
    line = line_of(events.ModelSwitched(run_id="r", seq=1, round=1, attempt=3, **SWITCH, why="a a-1: busy"))
    assert line is not None
    assert (line.text, line.tone) == ("goes on with b b-1: a a-1: busy", "warning")


HOSTILE = "\x1b[2J\u202e\r" * 100


def test_no_line_obeys_the_model() -> None:
    common: dict[str, Any] = {"run_id": "r", "seq": 1, "round": 1, "attempt": 1}
    call = geode.ToolUseBlock("c", HOSTILE, {"x": HOSTILE})
    from geode.domain.approval import Asked, Question
    from geode.domain.content import Text

    result = geode.ToolResult("c", "failed", (Text(HOSTILE),))
    question = Question("r", (Asked(call, geode.SafetyTier.WRITE, ""),))
    told: list[events.Event] = [
        events.ToolStarted(**common, index=0, call=call),
        events.ToolProgressed(**common, call=call, message=HOSTILE),
        events.ToolFinished(**common, index=0, call=call, result=result, seconds=0.1),
        events.ApprovalAsked(**common, question=question),
        events.ApprovalAnswered(**common, call=call, decision=geode.Deny(HOSTILE)),
        events.ApprovalAnswered(**common, call=call, decision=geode.Later()),
        events.Hooked(**common, point="before_tool", call=call, changes={}, veto=HOSTILE),
        events.Retrying(**common, seconds=1.0, why=HOSTILE),
        events.ModelSwitched(**common, **SWITCH, why=HOSTILE),
        events.Notice(**common, kind="hook_failed", text=HOSTILE),
    ]
    for event in told:
        line = line_of(event)
        assert line is not None
        assert line.text.isprintable()
        assert len(line.text) < 600


def test_rich_is_loaded_by_its_observer_alone() -> None:
    program = "import sys, geode.events as e; e.LogObserver(); print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_without_rich_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(geode.Misuse, match=r"geode\[cli\].*\[missing-extra\]$"):
        RichObserver()
