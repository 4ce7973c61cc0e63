"""`geode run` in this process, over scripted models: outcomes, exit codes, and what goes where."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geode.domain.content import Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Outcome, Refused, Stopped, Suspended
from geode.domain.script import Step
from geode.domain.usage import Usage
from geode.entrypoints.cli.exit_codes import EXIT_CODES, exit_code
from geode.entrypoints.cli.jsonl import event_line
from geode.entrypoints.cli.main import main
from geode.entrypoints.cli.shown import AnswerOnly, AsItComes
from geode.entrypoints.emulator import Emulator, running_in_thread
from geode.entrypoints.places import HOME
from geode.entrypoints.routes.registry import forget_adapters
from geode.ports.events import ModelSwitched, ToolFinished, ToolStarted
from geode.testing import ScriptedModel, calls, cut, default_model, fails, refuses, says
from tests.unit.entrypoints.cli.commands import lines_of

Ran = tuple[int, str, str, ScriptedModel]


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*arguments: str, script: tuple[Step, ...] = (says("Hello."),)) -> Ran:
        model = ScriptedModel(*script)
        with default_model(model):
            code = main(["run", *arguments])
        out, err = capsys.readouterr()
        return code, out, err, model

    return run


def test_the_answer_is_all_that_stdout_holds(run: Callable[..., Ran]) -> None:
    code, out, err, _ = run("Add", "--tools", "app:add", script=(calls(("add", {"a": 1, "b": 2})), says("Three.")))
    assert (code, out, err) == (0, "Three.\n", "a tool that prints\n")


def test_system_text_prompt_and_tools_reach_the_model(run: Callable[..., Ran]) -> None:
    _, _, _, model = run("Hi", "--system", "Be brief.", "--tools", "app:add,stumble")
    (request,) = model.requests
    assert request.system == "Be brief."
    assert [tool.name for tool in request.tools] == ["add", "stumble", "recall_tool_result"]
    assert "Hi" in repr(request.conversation)


def test_an_effort_is_sent_as_it_is_named(run: Callable[..., Ran]) -> None:
    _, _, _, model = run("Hi", "--effort", "low")
    assert model.requests[0].effort == "low"


def test_a_fallback_answers_where_all_attempts_fail(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the last one asked is named with those before it."""
    busy = Emulator((fails(503, retry_after=0),) * 3)
    well = Emulator((says("Here I am."),))
    with running_in_thread(busy) as first, running_in_thread(well) as second:
        declared = [(name, f"{at.base_url}/v1") for name, at in (("a", first), ("b", second))]
        (project / "home").mkdir()
        blocks = "".join(f'[providers.{name}]\nbase_url = "{url}"\n' for name, url in declared)
        (project / "home" / "routing.toml").write_text(blocks)
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(HOME, str(project / "home"))
            forget_adapters()
            code = main(["run", "Hi", "--model", "a/x", "--fallback", "b/y"])
    forget_adapters()
    assert (code, capsys.readouterr().out) == (0, "Here I am.\n")
    assert (len(busy.received), len(well.received)) == (3, 1)


def test_a_dash_reads_the_prompt_from_stdin(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("From a pipe\n"))
    code, _, _, model = run("-")
    assert code == 0
    assert "From a pipe" in repr(model.requests[0].conversation)


@pytest.mark.parametrize(
    ("script", "arguments", "code", "reason"),
    [
        ((says("Done."),), [], 0, ""),
        ((refuses("No."),), [], 3, "geode run: Refused (model_refusal)\n"),
        ((calls(("add", {"a": 1, "b": 1})), says("Cut short.")), ["--max-rounds", "2"], 4, "Exhausted (max_rounds)\n"),
        ((cut(says("and then")),), [], 4, "Exhausted (answer_truncated)\n"),
        ((fails(400, message="no such thing"),), [], 5, "Failed (request_error: "),
        ((fails(401, message="who are you"),), [], 5, "Failed (auth_error: "),
    ],
)
def test_each_outcome_has_its_exit_code_and_a_reason(
    run: Callable[..., Ran], script: tuple[Step, ...], arguments: list[str], code: int, reason: str
) -> None:
    ended, _, err, _ = run("Go", "--tools", "app:add", *arguments, script=script)
    assert ended == code
    assert reason in err
    assert ("geode run:" in err) == (code != 0)


def test_every_outcome_has_a_code_of_the_table() -> None:
    common: dict[str, Any] = {"text": "", "conversation": Conversation(), "usage": Usage(), "run_id": "r"}
    waiting = (ToolUseBlock("c", "save", {}),)
    outcomes: list[Outcome] = [
        Answered(**common),
        Refused(**common),
        Exhausted(**common, reason="max_rounds"),
        Failed(**common, reason="model_error", why=""),
        Stopped(**common),
        Suspended(**common, asked=waiting, snapshot=""),
    ]
    codes = {type(outcome).__name__: exit_code(outcome) for outcome in outcomes}
    assert codes == {"Answered": 0, "Refused": 3, "Exhausted": 4, "Failed": 5, "Stopped": 6, "Suspended": 7}
    assert all(EXIT_CODES[code].startswith(name) for name, code in codes.items())


def test_the_time_budget_ends_a_run_whose_tool_does_not(run: Callable[..., Ran]) -> None:
    code, _, err, _ = run("Go", "--tools", "app:hang", "--time", "0.3", script=(calls(("hang", {})),))
    assert code == 4
    assert "Exhausted (time_budget)" in err


# ---- approval ----------------------------------------------------------------------------------

SAVE = (calls(("save", {"text": "x"})), says("As you like."))


@pytest.mark.parametrize(
    ("approve", "kind"),
    [([], "denied"), (["--approve", "none"], "denied"), (["--approve", "all"], "ok"), (["--approve", "save"], "ok")],
)
def test_above_mcp_trusted_runs_what_was_approved(run: Callable[..., Ran], approve: list[str], kind: str) -> None:
    _, out, err, _ = run("Go", "--tools", "app:everything", "--jsonl", *approve, script=SAVE)
    (closed,) = [event for event in lines_of(out) if event["event"] == "RoundClosed"]
    assert [result["kind"] for result in closed["results"]] == [kind]
    warned = "geode run: every call of save (WRITE) will be denied. --approve save allows them; what cannot hurt is marked"
    assert err.count(warned) == (kind == "denied")
    assert err.count("will be denied") == (kind == "denied")
    assert "approve=" not in err


def test_a_call_that_never_ran_shows_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    shown = AsItComes(sys.stdout)
    call = ToolUseBlock("c1", "save", {"text": "x"})
    numbered: dict[str, Any] = {"run_id": "r", "seq": 1, "round": 1, "attempt": 1, "index": 0, "call": call}
    denied = ToolResult("c1", "denied", (Text("the operator said no"),))
    shown.event(ToolFinished(**numbered, result=denied, seconds=0.0))
    shown.event(ToolStarted(**{**numbered, "index": 1}))
    shown.event(ToolFinished(**{**numbered, "index": 1}, result=denied, seconds=0.0))
    assert capsys.readouterr().err.splitlines() == [
        '→ save(text="x")',
        "⚑ save denied  the operator said no",
        '→ save(text="x")',
        "⚑ save 0 ms  the operator said no",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--modle", "foo"], "there is no argument --modle; did you mean --model?"),
        (["x", "--modle=foo"], "there is no argument --modle; did you mean --model?"),
        (["x", "--base_url", "http://x"], "there is no argument --base_url; did you mean --base-url?"),
        (["x", "y"], "there is no argument y; see geode run --help"),
    ],
)
def test_an_option_that_does_not_exist(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"geode run: {said}\n"


def test_nobody_is_warned_when_no_tool_asks(run: Callable[..., Ran]) -> None:
    assert run("Go", "--tools", "app:add")[2] == ""


def test_naming_a_tool_that_is_not_there_is_wrong_use(run: Callable[..., Ran]) -> None:
    code, _, err, _ = run("Go", "--tools", "app:everything", "--approve", "sav", script=())
    assert code == 2
    assert err == 'geode run: --approve names "sav", which is no tool of this run; did you mean save? [approve-name]\n'
    assert "the tools are: none (see --tools)" in run("Go", "--approve", "save", script=())[2]


# ---- what is shown -----------------------------------------------------------------------------

LONG = (
    says("I add, and stumble.") + calls(("add", {"a": 1, "b": 2}), ("stumble", {"word": "luck"})),
    fails(529, retry_after=0),
    says("Three."),
)


def test_jsonl_is_one_object_an_event_and_nothing_else(run: Callable[..., Ran]) -> None:
    code, out, _, _ = run("Go", "--tools", "app:everything", "--jsonl", script=LONG)
    told = lines_of(out)
    assert code == 0
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert len({event["run_id"] for event in told}) == 1
    assert {"ModelCalled", "ModelReplied", "ToolStarted", "ToolFinished", "RoundClosed", "Retrying"} < {
        e["event"] for e in told
    }
    results = [result for event in told if event["event"] == "RoundClosed" for result in event["results"]]
    assert [(result["kind"], result["content"]) for result in results] == [
        ("ok", [{"text": "3"}]),
        ("failed", [{"text": "no luck today"}]),
    ]
    outcome = told[-1]["outcome"]
    assert (told[-1]["event"], outcome["kind"], outcome["reason"], outcome["text"]) == (
        "Finished",
        "Answered",
        "natural",
        "Three.",
    )
    assert outcome["usage"]["input_tokens"] == 20
    assert "conversation" not in outcome


def test_jsonl_has_deltas_only_with_stream(run: Callable[..., Ran]) -> None:
    plain = lines_of(run("Go", "--tools", "app:everything", "--jsonl", script=LONG)[1])
    streamed = lines_of(run("Go", "--tools", "app:everything", "--jsonl", "--stream", script=LONG)[1])
    assert not [event for event in plain if event["event"].endswith("Delta")]
    assert "".join(event["text"] for event in streamed if event["event"] == "TextDelta") == "I add, and stumble.Three."


def test_jsonl_tells_a_failure_and_a_picture(run: Callable[..., Ran], project: Path) -> None:
    (project / "art.py").write_text(
        "import geode\nfrom geode.entrypoints.demo.chart import bar_chart\n"
        '@geode.tool(tier="safe")\ndef draw() -> bytes:\n    "Draw."\n    return bar_chart("é", [("a", 1)])\n'
    )
    code, out, _, _ = run("Go", "--tools", "art:draw", "--jsonl", script=(calls(("draw", {})), fails(400, message="tired")))
    told = lines_of(out)
    (image,) = next(event for event in told if event["event"] == "ToolFinished")["result"]["content"]
    assert image["media_type"] == "image/png"
    assert image["data"].startswith("iVBORw0KGgo")
    assert code == 5
    assert told[-1]["outcome"]["kind"] == "Failed"
    assert told[-1]["outcome"]["failure"]["status"] == 400


def test_streamed_text_is_on_stdout_and_the_rest_on_stderr(run: Callable[..., Ran]) -> None:
    code, out, err, _ = run("Go", "--tools", "app:everything", "--stream", script=LONG)
    assert (code, out) == (0, "I add, and stumble.\nThree.\n")
    assert "→ add(a=1, b=2)\n" in err
    assert "✗ stumble" in err
    assert "no luck today" in err
    assert "attempt 1 failed: scripted failure" in err


@pytest.mark.parametrize("shown", [AnswerOnly, AsItComes])
def test_another_model_is_told_on_stderr(capsys: pytest.CaptureFixture[str], shown: type[AnswerOnly | AsItComes]) -> None:
    switch: dict[str, Any] = {
        "from_adapter": "a",
        "from_model": "a-1",
        "to_adapter": "b",
        "to_model": "b-1",
        "why": "a a-1: busy",
    }
    shown(sys.stdout).event(ModelSwitched(run_id="r", seq=1, round=1, attempt=3, **switch))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "goes on with b b-1: a a-1: busy\n")
    line = event_line(ModelSwitched(run_id="r", seq=1, round=1, attempt=3, **switch))
    assert json.loads(line) == {"event": "ModelSwitched", "run_id": "r", "seq": 1, "round": 1, "attempt": 3, **switch}


# ---- wrong use ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["  "], "the prompt is empty: geode run PROMPT, or geode run - and the prompt on stdin [empty-prompt]"),
        (["Hi", "--wire", "chat"], "--wire says nothing without --base-url URL [option-alone]"),
        (["Hi", "--key-from", "K"], "--key-from says nothing without --base-url URL --wire WIRE [option-alone]"),
        (
            ["Hi", "--model", "gpt-5", "--base-url", "http://h", "--key-from", "K"],
            "--key-from says nothing without --wire WIRE",
        ),
        (["Hi"], "no model is named: give --model ID, or set GEODE_MODEL, or geode config set model ID. Looked in: "),
        (
            ["Hi", "--model", "gpt-5", "--base-url", "http://h:99999/v1"],
            "the port of base_url must be from 1 to 65535, got 'http://h:99999/v1' (it comes from --base-url)",
        ),
        (["Hi", "--base-url", "http://127.0.0.1:1"], "no model is named: give --model ID, or set GEODE_MODEL, or geode config"),
        (
            ["Hi", "--model", "llama"],
            (
                "o4-…, or declare it in routing.toml [unknown-model]\n"
                "For a server of your own: --base-url URL --wire messages|responses|chat\n"
            ),
        ),
        (
            ["Hi", "--model", "llama", "--base-url", "http://127.0.0.1:1"],
            "\n--wire is missing: --base-url is a server of your own with --wire messages|responses|chat\n",
        ),
        (
            ["Hi", "--model", "claude-sonnet-4-5"],
            "has no key: set ANTHROPIC_API_KEY. Looked in: process environment, ",
        ),
        (
            ["Hi", "--model", "x", "--base-url", "http://h.example", "--wire", "chat", "--key-from", "LAB"],
            "chat-server has no key: set LAB.",
        ),
    ],
)
def test_wrong_use_is_said_in_the_words_of_the_command_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["run", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_a_mistake_in_a_tool_is_wrong_use(run: Callable[..., Ran], project: Path) -> None:
    (project / "vague.py").write_text("def find(what):\n    'Find.'\n")
    code, _, err, _ = run("Hi", "--tools", "vague:find", script=())
    assert code == 2
    assert 'parameter "what" has no annotation' in err


def test_events_stay_json_whatever_a_call_holds(run: Callable[..., Ran]) -> None:
    _, out, _, _ = run("Go", "--tools", "app:add", "--jsonl", script=(calls(("add", '{"a": "é\\ud800", ')), says("Well.")))
    assert all(json.loads(line) for line in out.splitlines())
