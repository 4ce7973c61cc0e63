"""`geode runs`, and `geode run --journal`, over scripted models."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import geode as embedded
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_file import FileJournal
from geode.domain.conversation import Conversation
from geode.domain.loop.recording import Happened, Recording
from geode.domain.script import Step
from geode.entrypoints.cli.main import main
from geode.entrypoints.emulator import Emulator, running_in_thread
from geode.entrypoints.places import HOME
from geode.entrypoints.routes.registry import forget_adapters
from geode.testing import ScriptedModel, calls, default_model, fails, refuses, says
from tests.unit.entrypoints.cli.commands import command, environment, lines_of

Ran = tuple[int, str, str]
TOOLS = ("--tools", "app:everything")
KEPT = ("--journal", "kept")
SAVE = (calls(("save", {"text": "x"})), says("Saved."))


@pytest.fixture
def geode(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*arguments: str, script: tuple[Step, ...] = ()) -> Ran:
        with default_model(ScriptedModel(*script)):
            code = main([*arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def only_run(folder: str = "kept") -> str:
    (run_id,) = FileJournal(folder).run_ids()
    return run_id


def cut_after(records: int, folder: str = "kept") -> str:
    """The file of the one run ends after so many records, as if its process had."""
    run_id = only_run(folder)
    path = Path(folder) / f"{run_id}.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in path.read_bytes().split(b"\n")[: records + 1]))
    return run_id


# ---- run --journal -----------------------------------------------------------------------------


def test_a_run_is_kept_where_the_option_or_the_variable_says(
    geode: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert geode("run", "Hi", script=(says("Hello."),))[0] == 0
    assert not list(Path().rglob("*.jsonl"))
    geode("run", "Hi", *KEPT, script=(says("Hello."),))
    monkeypatch.setenv("GEODE_JOURNAL", "elsewhere")
    geode("run", "Hi", script=(says("Hello."),))
    assert only_run("kept") != only_run("elsewhere")
    assert only_run("elsewhere") in geode("runs", "show", only_run("elsewhere"))[1]


# ---- list and show -----------------------------------------------------------------------------


def test_the_list_says_where_each_run_stopped(geode: Callable[..., Ran]) -> None:
    geode("run", "Add them", *TOOLS, *KEPT, script=(calls(("add", {"a": 1, "b": 2})), says("Three.")))
    geode("run", "No", *KEPT, script=(refuses("I will not."),))
    code, out, err = geode("runs", "list", *KEPT)
    assert (code, err) == (0, "")
    head, first, second = out.splitlines()
    assert head.split() == ["RUN", "BEGAN", "(UTC)", "ROUNDS", "CALLS", "STATE", "PROMPT"]
    assert re.fullmatch(r"[0-9a-f]{12}  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  2 +1 +answered +Add them", first)
    assert re.fullmatch(r"[0-9a-f]{12}  .{19}  1 +0 +refused \(model_refusal\)  No", second)
    listed = json.loads(geode("runs", "list", "--json", *KEPT)[1])
    assert [one["run_id"] for one in listed] == list(FileJournal("kept").run_ids())
    assert [(one["rounds"], one["tool_calls"], one["prompt"]) for one in listed] == [(2, 1, "Add them"), (1, 0, "No")]


@pytest.mark.parametrize(
    ("records", "state"),
    [
        (0, "never began"),
        (1, "cut off while the model was asked"),
        (2, "cut off during save"),
        (3, "cut off during save"),
        (4, "cut off while the model was asked"),
        (5, "answered"),
        (6, "answered"),
    ],
)
def test_a_run_that_was_cut_off_says_during_what(geode: Callable[..., Ran], records: int, state: str) -> None:
    geode("run", "Go", *TOOLS, "--approve", "all", *KEPT, script=SAVE)
    run_id = cut_after(records)
    (listed,) = json.loads(geode("runs", "list", "--json", *KEPT)[1])
    assert (listed["run_id"], listed["state"], listed["torn"]) == (run_id, state, False)
    assert f"state   {state}\n" in geode("runs", "show", run_id, *KEPT)[1]


def test_a_run_is_told_in_order(geode: Callable[..., Ran]) -> None:
    script = (says("I add.") + calls(("add", {"a": 1, "b": 2}), ("stumble", {"word": "luck"})), says("Three."))
    geode("run", "Add them", *TOOLS, *KEPT, script=script)
    code, out, _ = geode("runs", "show", only_run()[:5], *KEPT)
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["run", "state", "began", "model", "spent"]
    assert lines[4] == "spent   2 rounds, 2 tool calls, 30 tokens, 2 replies of unknown cost"
    assert lines[6:] == [
        "user    Add them",
        "model   I add.",
        "→ add(a=1, b=2)",
        '→ stumble(word="luck")',
        "✓ add ok  3",
        "✗ stumble failed  no luck today",
        "model   Three.",
    ]
    shown = json.loads(geode("runs", "show", only_run(), "--json", *KEPT)[1])
    assert shown["state"] == "answered"
    assert Conversation.loads(json.dumps(shown["conversation"])).turns


async def test_a_run_that_switched_says_so_and_comes_to_the_same_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ScriptedModel(*[fails(503, message="busy")] * 3, name="first"), ScriptedModel(says("Hi."), name="second")
    await embedded.run("Go", model=first, fallbacks=[second], journal="kept", clock=ManualClock())
    assert main(["runs", "show", only_run(), *KEPT]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:5] == ["model   second second", "left    first first: busy, 3 attempts in 3.0 s"]
    assert main(["runs", "show", only_run(), "--json", *KEPT]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["model"], shown["left"]) == ("second second", ["first first: busy, 3 attempts in 3.0 s"])
    assert main(["runs", "replay", only_run(), *KEPT]) == 0
    assert "7 inputs, and the same actions again" in capsys.readouterr().out


def test_a_run_that_was_cut_off_before_the_next_model_was_asked_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ScriptedModel(*[fails(503)] * 3, name="first"), ScriptedModel(says("Hi."), name="second")
    asyncio.run(embedded.run("Go", model=first, fallbacks=[second], journal="kept", clock=ManualClock()))
    cut_after(6)
    assert main(["runs", "list", *KEPT]) == 0
    assert "cut off before second second was asked" in capsys.readouterr().out
    resumed = ScriptedModel(says("Hi."), name="second")
    with default_model(ScriptedModel(name="first")):

        async def resume() -> Any:
            async with embedded.session(fallbacks=[resumed], journal="kept") as loop:
                return await loop.resume_run(only_run())

        assert asyncio.run(resume()).text == "Hi."


def test_a_damaged_run_is_named_and_hides_no_other(geode: Callable[..., Ran]) -> None:
    geode("run", "One", *KEPT, script=(says("Hello."),))
    path = Path("kept") / f"{only_run()}.jsonl"
    geode("run", "Two", *KEPT, script=(says("Hello."),))
    path.write_bytes(path.read_bytes().replace(b"Hello", b"Hallo"))
    code, out, err = geode("runs", "list", *KEPT)
    assert code == 0
    assert f"geode runs: {path}, line 3: its checksum does not fit" in err
    assert "damaged" in out
    assert "Two" in out
    code, out, err = geode("runs", "resume", path.stem, *KEPT)
    assert (code, out) == (74, "")
    assert f"geode runs: {path}, line 3: its checksum" in err


# ---- resume ------------------------------------------------------------------------------------


def test_a_run_that_waits_for_a_person_is_gone_on_with(geode: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    geode("run", "Go", *TOOLS, "--approve", "all", *KEPT, script=SAVE)
    run_id = cut_after(2)
    code, out, err = geode("runs", "resume", run_id[:8], *TOOLS, "--approve", "all", *KEPT, script=(says("Saved now."),))
    assert (code, out) == (0, "Saved now.\n"), err
    assert "answered" in geode("runs", "list", *KEPT)[1]
    code, out, _ = geode("runs", "resume", run_id, *KEPT)
    assert (code, out) == (0, "Saved now.\n"), "a run that is over gives its outcome again"


def test_what_may_have_run_is_unknown_and_every_event_is_told(geode: Callable[..., Ran]) -> None:
    geode("run", "Go", *TOOLS, "--approve", "all", *KEPT, script=SAVE)
    run_id = cut_after(3)
    code, out, _ = geode("runs", "resume", run_id, *TOOLS, "--approve", "all", "--jsonl", *KEPT, script=(says("Let me look."),))
    assert code == 0
    (closed,) = [event for event in lines_of(out) if event["event"] == "RoundClosed"]
    assert [result["kind"] for result in closed["results"]] == ["outcome_unknown"]


def test_another_model_is_noticed(geode: Callable[..., Ran], capsys: pytest.CaptureFixture[str]) -> None:
    geode("run", "Go", *KEPT, script=(says("Hello."),))

    class Other(ScriptedModel):
        name = "other"

    with default_model(Other(says("Hello."))):
        assert main(["runs", "resume", cut_after(1), *KEPT]) == 0
    assert "the run was begun with scripted scripted and goes on with other other" in capsys.readouterr().err


def test_a_run_goes_on_with_its_own_model_unless_another_is_named(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing switches by itself (spec section 7): not to what is configured by now either."""
    own, configured = Emulator((*SAVE, says("Of its own."))), Emulator((says("Of another."),))
    home = project / "home"
    home.mkdir()
    monkeypatch.setenv(HOME, str(home))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with running_in_thread(own) as first, running_in_thread(configured) as second:
        blocks = "".join(
            f'[providers.{name}]\nbase_url = "{at.base_url}/v1"\n' for name, at in (("own", first), ("other", second))
        )
        (home / "routing.toml").write_text(f'{blocks}[model.defaults]\nprimary = "other/m"\n')
        forget_adapters()
        main(["run", "Go", *TOOLS, "--model", "own/m", "--approve", "all", *KEPT])
        run_id = cut_after(3)
        capsys.readouterr()
        assert main(["runs", "resume", run_id, *TOOLS, "--approve", "all", *KEPT]) == 0
        out, err = capsys.readouterr()
        assert (out, "goes on with" in err, len(configured.received)) == ("Of its own.\n", False, 0)
        cut_after(3)
        assert main(["runs", "resume", run_id, *TOOLS, "--approve", "all", "--model", "other/m", *KEPT]) == 0
        out, err = capsys.readouterr()
        assert out == "Of another.\n"
        assert "the run was begun with own m and goes on with other m" in err
    forget_adapters()


# ---- replay ------------------------------------------------------------------------------------


def test_a_run_comes_to_the_same_again(geode: Callable[..., Ran]) -> None:
    geode("run", "Go", *TOOLS, "--approve", "all", *KEPT, script=SAVE)
    run_id = only_run()
    assert geode("runs", "replay", run_id, *KEPT)[:2] == (0, f"{run_id}: 4 inputs, and the same actions again\n")
    assert json.loads(geode("runs", "replay", run_id, "--json", *KEPT)[1]) == {
        "run_id": run_id,
        "inputs": 4,
        "divergence": None,
    }


def test_the_first_other_action_is_told_with_both(geode: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    geode("run", "Go", *TOOLS, "--approve", "all", *KEPT, script=SAVE)
    run_id = only_run()
    really = FileJournal.recorded

    def changed(self: FileJournal, run_id: str) -> Recording:
        records = list(really(self, run_id).records)
        third = records[2]
        assert isinstance(third, Happened)
        records[2] = Happened("to wait", third.input)
        return Recording(run_id, tuple(records))

    monkeypatch.setattr(FileJournal, "recorded", changed)
    code, out, _ = geode("runs", "replay", run_id, *KEPT)
    lines = out.splitlines()
    assert code == 1
    assert lines[0] == f"{run_id}: after 1 inputs, record 3 is another"
    assert lines[1] == "recorded  to wait"
    assert lines[2].startswith('replayed  {"geode":1,"kind":"RunStage"')
    told = json.loads(geode("runs", "replay", run_id, "--json", *KEPT)[1])
    assert (told["divergence"]["record"], told["divergence"]["recorded"]) == (3, "to wait")
    assert "decided otherwise at record 3" in geode("runs", "list", *KEPT)[1]


# ---- wrong use ---------------------------------------------------------------------------------


def test_without_a_journal(geode: Callable[..., Ran]) -> None:
    code, out, err = geode("runs", "list")
    assert (code, out) == (2, "")
    assert "there is no journal at .geode/runs: name the folder with --journal DIR or GEODE_JOURNAL" in err


def test_a_run_that_is_not_there_or_not_alone(geode: Callable[..., Ran]) -> None:
    Path("kept").mkdir()
    for name in ("abc1", "abc2"):
        (Path("kept") / f"{name}.jsonl").touch()
    assert "2 runs begin with ab: abc1, abc2; write more of the id" in geode("runs", "show", "ab", *KEPT)[2]
    assert 'kept has no run "zzzz"; geode runs list says which there are' in geode("runs", "show", "zzzz", *KEPT)[2]
    assert geode("runs", "show", "", *KEPT)[0] == 2


# ---- processes ---------------------------------------------------------------------------------

PROGRAM = """
import asyncio, geode, app
from geode.testing import ScriptedModel, calls, says
model = ScriptedModel(calls(("hang", {})), says("Done."))
asyncio.run(geode.run("Go", model=model, tools=[app.hang], journal="kept"))
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a word of POSIX")
def test_a_run_of_another_process_is_seen_refused_and_taken_over_when_that_is_killed(
    geode: Callable[..., Ran], project: Path
) -> None:
    with subprocess.Popen([*command()[:1], "-c", PROGRAM], cwd=project, env=environment()) as process:
        try:
            listed: list[dict[str, Any]] = []
            for _ in range(600):
                time.sleep(0.05)
                listed = json.loads(geode("runs", "list", "--json", *KEPT)[1] or "[]") if Path("kept").is_dir() else []
                if listed and listed[0]["rounds"] == 1:
                    break
            assert listed[0]["state"] == f"running, by process {process.pid}"
            code, _, err = geode("runs", "resume", listed[0]["run_id"], *KEPT)
            assert code == 74
            assert f"is being run already, by process {process.pid}" in err
        finally:
            process.send_signal(signal.SIGKILL)
    (cut,) = json.loads(geode("runs", "list", "--json", *KEPT)[1])
    assert cut["state"] == "cut off during hang"
    code, out, _ = geode("runs", "resume", cut["run_id"], *TOOLS, *KEPT, script=(says("Without it, then."),))
    assert (code, out) == (0, "Without it, then.\n"), "the tool is not among those given: its call has failed"
