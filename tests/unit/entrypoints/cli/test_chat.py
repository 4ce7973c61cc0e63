"""`geode chat` from lines that nobody types, in this process and over scripted models."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from geode.domain.reply import Stop
from geode.domain.script import Step
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage
from geode.entrypoints.cli.chat_commands import COMMANDS
from geode.entrypoints.cli.main import main
from geode.entrypoints.cli.words import counted
from geode.entrypoints.spending import Spending
from geode.ports.events import Aborted, ModelCalled, ModelReplied, TextDelta
from geode.testing import ScriptedModel, calls, default_model, fails, refuses, says

Ran = tuple[int, str, str, ScriptedModel]


@pytest.fixture
def chat(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    def chat(*lines: str, options: tuple[str, ...] = (), script: tuple[Step, ...] = ()) -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        model = ScriptedModel(*script)
        with default_model(model):
            code = main(["chat", *options])
        out, err = capsys.readouterr()
        return code, out, err, model

    return chat


def users(model: ScriptedModel, request: int) -> list[str]:
    """What users said in a request, in order."""
    return [turn.text for turn in model.requests[request].conversation.turns if isinstance(turn, UserTurn)]


# ---- prompts -----------------------------------------------------------------------------------


def test_each_line_is_a_prompt_of_one_conversation(chat: Callable[..., Ran]) -> None:
    code, out, err, model = chat("One", "", "Two", script=(says("First."), says("Second.")))
    assert (code, out, err) == (0, "First.\nSecond.\n", "")
    assert [users(model, number) for number in (0, 1)] == [["One"], ["One", "Two"]]


def test_the_options_are_those_of_a_run(chat: Callable[..., Ran]) -> None:
    script = (calls(("save", {"text": "it"})), says("Saved."))
    options = ("--system", "Be brief.", "--tools", "app:everything", "--approve", "save")
    code, out, err, model = chat("Save it", options=options, script=script)
    assert (code, out) == (0, "Saved.\n")
    assert model.requests[0].system == "Be brief."
    assert "✓ save" in err


def test_an_error_does_not_end_the_chat_and_the_last_run_decides_the_code(chat: Callable[..., Ran]) -> None:
    code, out, err, model = chat("One", "Two", script=(fails(400, message="no"), says("Two it is.")))
    assert (code, out) == (0, "Two it is.\n")
    assert "geode chat: Failed (request_error: " in err
    assert "/model" in err
    assert users(model, 1) == ["Two"], "what was not answered is not said again"
    assert chat("One", "Two", "/cost", script=(says("1"), refuses("No.")))[0] == 3


def test_a_failure_after_an_answer_keeps_the_conversation(chat: Callable[..., Ran]) -> None:
    script = (calls(("add", {"a": 1, "b": 2})), fails(400, message="no"), says("Three."))
    _, out, err, model = chat("Add", "And?", options=("--tools", "app:add"), script=script)
    assert out == "Three.\n"
    assert users(model, 2) == ["Add", "And?"]
    assert "the conversation is kept; go on, or choose another model: /model" in err


def test_an_ended_stdin_and_quit_both_end(chat: Callable[..., Ran]) -> None:
    assert chat()[:3] == (0, "", "")
    code, out, _, model = chat("/quit", "One")
    assert (code, out, model.requests) == (0, "", [])


def test_no_model_is_said_before_anything_is_read(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Hi\n"))
    assert main(["chat"]) == 2
    assert "geode chat: no model is named: give --model ID" in capsys.readouterr().err


# ---- commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/modle x", "there is no command /modle; did you mean /model?"),
        ("/COST", "there is no command /COST; did you mean /cost?"),
        ("/etc/passwd says what?", "there is no command /etc/passwd"),
        ("/", "there is no command /"),
        ("/cost now", "/cost takes nothing after it"),
        ("/model", "/model opens the picker on a terminal, and here is none: /model ID"),
        ("/approve sav", '--approve names "sav", which is no tool of this run; did you mean save?'),
        ("/resume 3f2a", 'no run "3f2a" waits in this chat'),
    ],
)
def test_a_wrong_command_is_told_and_is_no_prompt(chat: Callable[..., Ran], line: str, said: str) -> None:
    code, out, err, model = chat(line, options=("--tools", "app:save", "--approve", "none"))
    assert (code, out, model.requests) == (0, "", [])
    assert f"geode chat: {said}" in err


def test_a_blank_before_a_slash_makes_it_a_prompt(chat: Callable[..., Ran]) -> None:
    assert users(chat(" /etc is what?", script=(says("A folder."),))[3], 0) == [" /etc is what?"]


def test_help_names_every_command(chat: Callable[..., Ran]) -> None:
    out = chat("/help")[1]
    assert [line.split()[0] for line in out.splitlines()] == [
        "/help",
        "/model",
        "/tools",
        "/approve",
        "/cost",
        "/resume",
        "/compact",
        "/clear",
        "/quit",
    ]


def test_compacting_says_what_it_saved_and_cost(chat: Callable[..., Ran]) -> None:
    script = (*(says(f"{word}. " + "x" * 400) for word in ("First", "Second", "Third")), says("They counted."), says("Fourth."))
    code, out, err, model = chat("One", "Two", "Three", "/compact", "/cost", "Four", script=script)
    assert (code, err) == (0, "")
    turns, cost = out.splitlines()[3:5]
    summary = "the summary took 10 tokens in, 5 out"
    assert re.fullmatch(rf"6 turns became 5, about \d+ tokens less with each prompt; {summary}", turns)
    assert cost.startswith("scripted scripted: 4 replies, 40 tokens in, 20 out")
    assert users(model, 4)[1:] == ["Two", "Three", "Four"]


def test_what_cannot_be_compacted_stays(chat: Callable[..., Ran]) -> None:
    script = (says("1"), fails(400, message="no"), says("2"), says("3"), fails(400, message="no"), says("4"))
    _, out, err, model = chat("One", "/compact", "Two", "Two", "Three", "/compact", "Four", script=script)
    assert "nothing of 2 turns can be left out: the latest stay as they are" in out
    assert err.splitlines()[-1].startswith("geode chat: scripted scripted: no")
    assert users(model, 5) == ["One", "Two", "Three", "Four"]


def test_the_page_names_every_command_as_help_does() -> None:
    page = (Path(__file__).parents[4] / "docs" / "chat.md").read_text("utf-8")
    rows = re.findall(r"^\| `/([^`]+)` \| (.+) \|$", page, re.MULTILINE)
    assert rows == [(f"{name} {command.takes}".strip(), command.help) for name, command in COMMANDS.items()]


def test_tools_say_what_becomes_of_their_calls(chat: Callable[..., Ran]) -> None:
    script = (calls(("save", {"text": "a"})), says("Denied."), calls(("save", {"text": "b"})), says("Saved."))
    lines = ("/tools", "Save", "/approve save", "Save", "/approve none", "/approve all")
    _, out, err, model = chat(*lines, options=("--tools", "app:add,save", "--approve", "none"), script=script)
    shown = [line.split(maxsplit=2) for line in out.splitlines() if line.startswith(("add", "save"))]
    assert [(name, fate) for name, _, fate in shown] == [
        ("add", "runs"),
        ("save", "denied: /approve save allows it"),
        ("add", "runs"),
        ("save", "runs: it is approved"),
        ("add", "runs"),
        ("save", "denied: /approve save allows it"),
        ("add", "runs"),
        ("save", "runs: all are approved"),
    ]
    assert [tier for name, tier, _ in shown[:2]] == ["SAFE", "WRITE"]
    assert [result.kind for result in model.requests[-1].conversation.results()] == ["denied", "ok"]
    assert "geode chat: every call of save (WRITE) will be denied." in err


def test_without_tools_it_is_said_how_to_give_some(chat: Callable[..., Ran]) -> None:
    assert chat("/tools")[1] == "no tools: geode chat --tools MODULE:NAME\n"


def test_clear_begins_a_new_conversation(chat: Callable[..., Ran]) -> None:
    _, out, _, model = chat("One", "/clear", "Two", script=(says("1"), says("2")))
    assert users(model, 1) == ["Two"]
    assert "a new conversation; 2 turns are left behind\n" in out


def test_one_turn_is_one(chat: Callable[..., Ran]) -> None:
    assert counted(1, "turn", "turns") == "1 turn"
    assert counted(2, "turn", "turns") == "2 turns"
    assert "a new conversation; 0 turns are left behind\n" in chat("/clear")[1]


def test_a_denied_call_took_no_time_whatever_ran_in_a_run_before(chat: Callable[..., Ran]) -> None:
    script = (calls(("save", {"text": "a"})), says("Saved."), calls(("save", {"text": "b"})), says("Denied."))
    lines = ("Save", "/approve none", "Save")
    err = chat(*lines, options=("--tools", "app:save", "--approve", "save"), script=script)[2]
    assert [line.split("  ")[0] for line in err.splitlines() if line.startswith("⚑")] == ["⚑ save denied"]
    assert '→ save(text="b")' in err


# ---- what it costs -----------------------------------------------------------------------------


def test_tokens_are_counted_by_model_and_an_untold_cost_is_unknown(chat: Callable[..., Ran]) -> None:
    _, out, _, _ = chat("/cost", "One", "Two", "/cost", script=(says("1"), says("2")))
    assert out.splitlines()[0] == "no model has replied yet"
    assert out.splitlines()[-1] == "scripted scripted: 2 replies, 20 tokens in, 10 out, cost unknown"


def reply(spending: Spending, model: str, usage: Usage) -> None:
    numbers = {"run_id": "r", "seq": 0, "round": 1, "attempt": 1}
    spending(ModelCalled(**numbers, adapter="a", model=model, tool_choice="auto", wrap_up=False))  # type: ignore[arg-type]
    spending(
        ModelReplied(**numbers, text="", calls=(), stop=Stop.END, usage=usage, route="", request_id="")  # type: ignore[arg-type]
    )


def test_what_was_told_is_summed_and_what_was_not_is_said() -> None:
    spending = Spending()
    reply(spending, "m", Usage(1000, 20, Decimal("0.01"), cached_input_tokens=600))
    reply(spending, "m", Usage(1000, 20, Decimal("0.02")))
    reply(spending, "n", Usage(5, 5))
    assert list(spending.lines()) == [
        "a m: 2 replies, 2,000 tokens in (600 of them cached), 40 out, $0.03",
        "a n: 1 reply, 5 tokens in, 5 out, cost unknown",
        "all: 3 replies, 2,005 tokens in (600 of them cached), 45 out, $0.03 and more: of 1 of 3 replies the cost is unknown",
    ]
    assert spending.conversation_tokens == 10


def heard(spending: Spending, kind: type, **more: object) -> None:
    spending(kind(run_id="r", seq=0, **({"round": 1, "attempt": 1} if kind is not Aborted else {}), **more))


def test_a_reply_that_was_cut_short_is_unknown_and_one_that_never_began_and_failed_is_none() -> None:
    spending = Spending()
    for _ in range(2):  # the second attempt
        heard(spending, ModelCalled, adapter="a", model="m", tool_choice="auto", wrap_up=False)
        heard(spending, TextDelta, index=0, text="Once")
    spending.cut_off()
    spending.cut_off()
    assert list(spending.lines()) == ["a m: 2 replies cut short, tokens and cost unknown"]
    heard(spending, ModelCalled, adapter="a", model="n", tool_choice="auto", wrap_up=False)
    reply(spending, "m", Usage(5, 5, Decimal(1)))
    assert list(spending.lines()) == [
        "a m: 1 reply, 5 tokens in, 5 out, $1; and 2 replies cut short, tokens and cost unknown",
    ]


def test_a_failure_before_any_word_is_no_reply(chat: Callable[..., Ran]) -> None:
    assert chat("One", "/cost", script=(fails(400, message="no"),))[1] == "no model has replied yet\n"


def test_a_cost_of_nothing_is_told_as_nothing() -> None:
    spending = Spending()
    reply(spending, "m", Usage(5, 5, Decimal(0)))
    assert list(spending.lines()) == ["a m: 1 reply, 5 tokens in, 5 out, $0"]


# ---- the model ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "/model claude-sonnet-4-5",
            "claude-sonnet-4-5 reads 200,000 tokens at most, and this conversation has 300,005: /clear",
        ),
        ("/model claude-opus-4-8 turbo", 'claude-opus-4-8 takes no effort "turbo"; it takes low, medium, high, xhigh, max'),
        ("/model gpt-5.2", "gpt-5.2 cannot be used: openai-payg has no key: set OPENAI_API_KEY"),
        ("/model llama", 'llama cannot be used: no provider serves the model "llama"'),
    ],
)
def test_a_model_that_does_not_fit_is_refused_and_the_chat_goes_on_as_it_was(
    chat: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    long = replace(says("Long."), input_tokens=300_000)
    code, out, err, model = chat("Read it all", line, "And?", script=(long, says("Still here.")))
    assert (code, out) == (0, "Long.\nStill here.\n")
    assert f"geode chat: {said}" in err
    assert len(model.requests) == 2


def test_after_clear_the_conversation_fits_again(chat: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    long = replace(says("Long."), input_tokens=300_000)
    _, out, err, _ = chat("Read it all", "/clear", "/model claude-sonnet-4-5", script=(long,))
    assert "from the next prompt on claude-sonnet-4-5 answers, not " in out
    assert err == ""


def test_a_switch_is_said_with_the_conversation_that_goes_on(
    chat: Callable[..., Ran], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    _, out, _, _ = chat("Hi", "/model claude-opus-4-8 low", "/model claude-sonnet-4-5", script=(says("Hello."),))
    assert "from the next prompt on claude-opus-4-8 at effort low answers, not " in out
    assert "; the conversation of 2 turns goes on with it" in out
    assert "from the next prompt on claude-sonnet-4-5 answers, not claude-opus-4-8 at effort low" in out, "it inherits none"
    assert not (project / ".geode").exists(), "nothing is stored"


# ---- runs that stopped -------------------------------------------------------------------------


def test_a_run_that_waits_is_listed_and_gone_on_with(chat: Callable[..., Ran], project: Path) -> None:
    """It was suspended by `geode run`, in another process as it were."""
    journal = project / "runs"
    options = ("--tools", "app:everything", "--approve", "all", "--journal", str(journal))
    run_id = suspended(journal)
    _, out, err, model = chat("/resume", f"/resume {run_id[:6]}", "/resume", "And now?", options=options, script=GOES_ON)
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["RUN", "BEGAN"]
    assert lines[1].startswith(run_id[:12])
    assert "waits for a person: save" in lines[1]
    assert lines[2:] == ["Saved.", f"no run waits or was cut off (looked in {journal})", "Yes."]
    assert "✓ save" in err
    assert users(model, 1) == ["Save it", "And now?"], "the conversation is that of the run"


def test_a_resumed_run_takes_the_place_of_what_was_said(chat: Callable[..., Ran], project: Path) -> None:
    journal = project / "runs"
    run_id = suspended(journal)
    options = ("--tools", "app:everything", "--approve", "all")
    script = (says("Hello."), *GOES_ON)
    _, out, _, model = chat("Hi", f"/resume {run_id}", "And now?", options=(*options, "--journal", str(journal)), script=script)
    assert f"the conversation is that of run {run_id[:8]} from here on" in out
    assert users(model, 2) == ["Save it", "And now?"]


def test_a_run_whose_tools_are_not_here_is_refused(chat: Callable[..., Ran], project: Path) -> None:
    journal = project / "runs"
    run_id = suspended(journal)
    _, _, err, model = chat(f"/resume {run_id}", options=("--journal", str(journal)))
    assert f"run {run_id} waits with calls of save: give --tools MODULE:NAME" in err
    assert model.requests == []


def test_a_run_that_is_over_is_refused(chat: Callable[..., Ran], project: Path) -> None:
    journal = project / "runs"
    chat("Hi", options=("--journal", str(journal)), script=(says("Hello."),))
    (file,) = journal.glob("*.jsonl")
    _, _, err, _ = chat(f"/resume {file.stem}", options=("--journal", str(journal)))
    assert f"run {file.stem} is over" in err


GOES_ON = (says("Saved."), says("Yes."))


def suspended(journal: Path) -> str:
    """A run of the journal that waits for a person."""
    import asyncio

    import geode
    from geode.entrypoints.cli.tools import named_values

    async def later(_: geode.ToolUseBlock) -> geode.Later:
        return geode.Later()

    model = ScriptedModel(calls(("save", {"text": "it"})))
    outcome = asyncio.run(
        geode.run("Save it", model=model, tools=named_values(["app:everything"]), approve=later, journal=str(journal))
    )
    assert isinstance(outcome, geode.Suspended)
    assert json.loads(outcome.snapshot)
    return outcome.run_id
