"""`geode chat` in a real terminal, against the emulator: streaming, Ctrl-C, the picker, approval, resuming."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from geode.domain.script import Script, calls, fails, hangs, says
from geode.entrypoints.emulator import Emulator, running_in_thread
from tests.unit.entrypoints.cli.commands import geode
from tests.unit.entrypoints.cli.screens import ALT_ENTER, CTRL_C, CTRL_D, DOWN, ENTER, LEFT, UP, Screen, on_a_screen


@contextmanager
def chatting(
    project: Path, script: Script, *options: str, delay: float = 0.0, **more: str
) -> Iterator[tuple[Screen, subprocess.Popen[bytes], Emulator]]:
    """A chat at a terminal; the emulator plays one step for each request."""
    emulator = Emulator(script, event_delay_seconds=delay)
    home = project / "home"
    with running_in_thread(emulator) as at:
        model = ("--model", "gpt-5.2", "--base-url", at.base_url)
        with on_a_screen("chat", *model, *options, cwd=project, env={"GEODE_HOME": str(home), **more}) as (screen, process):
            screen.sees("geode chat with gpt-5.2")
            screen.prompts()
            yield screen, process, emulator


def sent(emulator: Emulator, number: int) -> str:
    """The conversation of a request, as it was sent."""
    return repr(emulator.received[number].request.get("input"))


def test_text_is_shown_while_it_is_said_and_history_is_kept(project: Path) -> None:
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    with chatting(project, (says(long), says("Again.")), delay=0.2) as (screen, process, emulator):
        screen.prompts()
        screen.types("Count" + ENTER)
        screen.sees("one")
        assert "fourteen" not in screen.text, "the answer is not over"
        screen.sees("fourteen")
        screen.prompts()
        screen.types(UP + ENTER)
        screen.sees("Again.")
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0
        assert "fourteen" in sent(emulator, 1)
    history = project / "home" / "history"
    assert "+Count" in history.read_text("utf-8")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_alt_enter_begins_another_line_and_ctrl_c_clears(project: Path) -> None:
    with chatting(project, (says("Two lines."),)) as (screen, process, emulator):
        screen.types("nonsense" + CTRL_C)
        screen.loses("nonsense")
        screen.types("first" + ALT_ENTER + "second" + ENTER)
        screen.sees("Two lines.")
        screen.prompts()
        screen.types("/quit" + ENTER)
        assert screen.ended(process) == 0
        assert "first\\nsecond" in sent(emulator, 0)


def test_ctrl_c_stops_the_round_and_keeps_the_conversation(project: Path) -> None:
    script = (says("Hello, Ada."), hangs(), says("Ada, of course."))
    with chatting(project, script) as (screen, process, emulator):
        screen.prompts()
        screen.types("I am Ada" + ENTER)
        screen.sees("Hello, Ada.")
        screen.prompts()
        screen.types("Wait for ever" + ENTER)
        screen.waits(lambda _: len(emulator.received) == 2, "the second request")
        screen.types(CTRL_C)
        screen.sees("geode chat: Stopped (stopped)")
        screen.prompts()
        screen.types("/cost" + ENTER)
        screen.sees("1 reply, ", "; and 1 reply cut")
        screen.prompts()
        screen.types("Who am I?" + ENTER)
        screen.sees("Ada, of course.")
        assert "Hello, Ada." in sent(emulator, 2)
        assert "Wait for ever" in sent(emulator, 2), "what was stopped stays, though nothing was answered"
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0


def test_a_second_ctrl_c_cuts_off_what_does_not_stop(project: Path) -> None:
    with chatting(project, (calls(("hang", {})), says("It was cut off.")), "--tools", "app:hang") as (
        screen,
        process,
        emulator,
    ):
        screen.prompts()
        screen.types("Hang" + ENTER)
        screen.sees("→ hang()")
        screen.types(CTRL_C)
        screen.sees("stopping; Ctrl-C again")
        screen.types(CTRL_C)
        screen.sees("cut off; what had finished is in the conversation")
        screen.prompts()
        screen.types("And?" + ENTER)
        screen.sees("It was cut off.")
        assert "interrupted" in sent(emulator, 1)
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0


def test_a_person_is_asked_and_may_answer_later(project: Path) -> None:
    script = (calls(("save", {"text": "it"})), says("Saved."), calls(("save", {"text": "more"})), says("Denied."))
    with chatting(project, script, "--tools", "app:everything") as (screen, process, emulator):
        screen.prompts()
        screen.types("Save it" + ENTER)
        screen.sees("save  WRITE", "[l]ater")
        screen.types("l\n")
        screen.sees("Suspended (no answer yet for save)", "/resume ")
        run_id = screen.text.rpartition("/resume ")[2].split()[0]
        screen.prompts()
        screen.types("/resume" + ENTER)
        screen.sees("1       0      waits for a person: save  Save")
        screen.prompts()
        screen.types(f"/resume {run_id}{ENTER}")
        screen.waits(lambda text: text.count("[l]ater") == 2, "the question again")
        screen.types("y\n")
        screen.sees("Saved.")
        screen.prompts()
        screen.types("/approve none" + ENTER)
        screen.sees("denied: /approve save allows it")
        screen.prompts()
        screen.types("Save more" + ENTER)
        screen.sees("Denied.")
        assert "saved it" in sent(emulator, 1)
        assert "the operator of this chat allows no call" in sent(emulator, 3)
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0
    assert list((project / ".geode" / "runs").iterdir()) == [], "what was answered waits nowhere"


def test_a_run_that_still_waits_at_the_end_is_kept(project: Path) -> None:
    with chatting(project, (calls(("save", {"text": "it"})),), "--tools", "app:everything") as (screen, process, _):
        screen.prompts()
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types("l\n")
        screen.sees("Suspended")
        screen.prompts()
        screen.types("/quit" + ENTER)
        assert screen.ended(process) == 7
        assert "to go on: geode runs resume" in screen.text
    assert len(list((project / ".geode" / "runs").glob("*.jsonl"))) == 1


@pytest.mark.parametrize("killed_by", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_run_that_waits_outlives_the_chat_however_that_ends(project: Path, killed_by: signal.Signals) -> None:
    with chatting(project, (calls(("save", {"text": "it"})),), "--tools", "app:everything") as (screen, process, _):
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types("l\n")
        screen.sees("Suspended")
        screen.prompts()
        process.send_signal(killed_by)
        screen.ended(process)
    (line,) = json.loads(geode("runs", "list", "--json", cwd=project).stdout)
    assert (line["state"], line["prompt"]) == ("waits for a person: save", "Save it")


def test_a_run_that_is_asked_about_again_outlives_the_chat_too(project: Path) -> None:
    with chatting(project, (calls(("save", {"text": "it"})),), "--tools", "app:everything") as (screen, process, _):
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types("l\n")
        screen.sees("Suspended", "/resume ")
        run_id = screen.text.rpartition("/resume ")[2].split()[0]
        screen.prompts()
        screen.types(f"/resume {run_id}{ENTER}")
        screen.waits(lambda text: text.count("[l]ater") == 2, "the question again")
        process.kill()
        screen.ended(process)
    (line,) = json.loads(geode("runs", "list", "--json", cwd=project).stdout)
    assert line["prompt"] == "Save it"


def test_a_run_that_went_on_elsewhere_is_not_gone_on_with_twice(project: Path) -> None:
    script = (calls(("save", {"text": "it"})), says("Saved."))
    with chatting(project, script, "--tools", "app:everything") as (screen, process, emulator):
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types("l\n")
        screen.sees("Suspended", "/resume ")
        run_id = screen.text.rpartition("/resume ")[2].split()[0]
        screen.prompts()
        arguments = process.args
        assert isinstance(arguments, list)
        at = str(arguments[arguments.index("--base-url") + 1])
        model = ("--model", "gpt-5.2", "--base-url", at, "--tools", "app:everything", "--journal", ".geode/runs")
        assert geode("runs", "resume", run_id, *model, "--approve", "all", cwd=project).stdout == "Saved.\n"
        screen.types(f"/resume {run_id}{ENTER}")
        screen.sees("has been gone on with")
        assert len(emulator.received) == 2


def test_a_prompt_after_later_leaves_the_call_waiting_and_is_left_behind_by_resuming(project: Path) -> None:
    script = (calls(("save", {"text": "it"})), says("Blue."), says("Saved."), says("Yes."))
    with chatting(project, script, "--tools", "app:everything") as (screen, process, emulator):
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types("l\n")
        screen.sees("Suspended", "/resume ")
        run_id = screen.text.rpartition("/resume ")[2].split()[0]
        screen.prompts()
        screen.types("Which colour?" + ENTER)
        screen.sees("Blue.")
        assert "Save it" in sent(emulator, 1)
        assert "function_call" not in sent(emulator, 1)
        screen.prompts()
        screen.types(f"/resume {run_id}{ENTER}")
        screen.sees(f"the conversation is that of run {run_id} from here on")
        screen.waits(lambda text: text.count("[l]ater") == 2, "the question again")
        screen.types("y\n")
        screen.sees("Saved.")
        screen.prompts()
        screen.types("And?" + ENTER)
        screen.sees("Yes.")
        assert "saved it" in sent(emulator, 3)
        assert "Which colour?" not in sent(emulator, 3)
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0


def test_ctrl_d_at_a_question_puts_it_off_and_ends_the_chat(project: Path) -> None:
    script = (calls(("save", {"text": "it"}), ("save", {"text": "more"})),)
    with chatting(project, script, "--tools", "app:everything") as (screen, process, emulator):
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types(CTRL_D)
        assert screen.ended(process) == 7
        assert "\ngeode chat: Suspended (no answer yet for save)" in screen.text
        assert "to go on: geode runs resume" in screen.text
        assert "/resume" not in screen.text, "there is no prompt for it any more"
        assert len(emulator.received) == 1, "the model is told nothing"
    (line,) = json.loads(geode("runs", "list", "--json", cwd=project).stdout)
    assert line["state"] == "waits for a person: save"


def test_ctrl_c_at_a_question_stops_the_round(project: Path) -> None:
    script = (calls(("save", {"text": "it"})), says("As you like."))
    with chatting(project, script, "--tools", "app:everything") as (screen, process, emulator):
        screen.prompts()
        screen.types("Save it" + ENTER)
        screen.sees("[l]ater")
        screen.types(CTRL_C)
        screen.sees("geode chat: Stopped")
        screen.prompts()
        screen.types("Leave it" + ENTER)
        screen.sees("As you like.")
        assert "saved it" not in sent(emulator, 1)
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0


def test_the_picker_changes_who_answers_next_and_is_stored(project: Path) -> None:
    script = (says("I am one."), says("I am another."))
    with chatting(project, script, OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k") as (screen, process, emulator):
        screen.prompts()
        screen.types("Who are you?" + ENTER)
        screen.sees("I am one.")
        screen.prompts()
        screen.types("/model" + ENTER)
        screen.sees("[primary]", ">· gpt-5.2")
        screen.types(DOWN + LEFT + ENTER)
        screen.sees("from the next prompt on", "not gpt-5.2", "goes on with it")
        screen.prompts()
        screen.types("And you?" + ENTER)
        screen.sees("I am another.")
        screen.prompts()
        screen.types("/cost" + ENTER)
        screen.sees("openai-payg gpt-5.2: 1 reply", "$0.0000875", "all: 2 replies")
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 0
        models = [received.request["model"] for received in emulator.received]
        assert models[0] == "gpt-5.2" != models[1]
        assert "I am one." in sent(emulator, 1)
    stored = (project / "home" / "config.toml").read_text("utf-8")
    assert f'model = "{models[1]}"' in stored


def test_a_model_of_another_wire_goes_on_with_the_conversation(project: Path) -> None:
    script = (says("I am Ada."), says("Ada, still."), fails(400, message="no such thing"))
    with chatting(project, script) as (screen, process, emulator):
        screen.prompts()
        screen.types("Who are you?" + ENTER)
        screen.sees("I am Ada.")
        screen.prompts()
        screen.types("/model claude-sonnet-5 low" + ENTER)
        screen.sees("from the next prompt on claude-sonnet-5 at effort low answers, not gpt-5.2")
        screen.prompts()
        screen.types("And now?" + ENTER)
        screen.sees("Ada, still.")
        request = emulator.received[1].request
        assert (request["model"], request["output_config"]) == ("claude-sonnet-5", {"effort": "low"})
        assert "I am Ada." in repr(request["messages"])
        screen.prompts()
        screen.types("/model gpt-5-pro" + ENTER)
        screen.sees('gpt-5-pro takes no effort "low"; it takes high')
        screen.prompts()
        screen.types("Fail" + ENTER)
        screen.sees("geode chat: Failed (request_error", "or choose another model: /model")
        screen.prompts()
        screen.types(CTRL_D)
        assert screen.ended(process) == 5
