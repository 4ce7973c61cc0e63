"""`geode run` at a terminal of its own: a person answers, edits, puts off, or presses Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geode.domain.script import calls, says
from geode.entrypoints.emulator import Emulator, running_in_thread
from tests.unit.entrypoints.cli.commands import command, environment, geode

SCRIPT = (calls(("save", {"text": "one"}), ("save", {"text": "two"})), says("Done."))
# A new session takes the first terminal that it opens for its own: then Ctrl-C comes from it.
TAKES_ITS_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"


class Person:
    """Reads and types at the other end of a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unseen = self.screen = ""

    def sees(self, text: str, seconds: float = 30) -> None:
        """Wait for `text` beyond what was seen before."""
        until = time.monotonic() + seconds
        while text not in self._unseen:
            ready, _, _ = select.select([self._descriptor], [], [], max(until - time.monotonic(), 0))
            assert ready, f"{text!r} never came: {self._unseen!r}"
            self._unseen += os.read(self._descriptor, 65536).decode()
        seen, found, self._unseen = self._unseen.partition(text)
        self.screen += seen + found

    def types(self, text: str) -> None:
        os.write(self._descriptor, text.encode())


@contextmanager
def at_a_terminal(*arguments: str, cwd: Path, **more: str) -> Iterator[tuple[Person, subprocess.Popen[str]]]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", TAKES_ITS_TERMINAL, *command(*arguments)],
        cwd=cwd,
        env=environment(**more),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        with process:
            try:
                yield Person(ours), process
            finally:
                process.kill()
    finally:
        os.close(ours)


@contextmanager
def asked(project: Path, *arguments: str, **more: str) -> Iterator[tuple[Person, subprocess.Popen[str], Emulator]]:
    emulator = Emulator(SCRIPT)
    with running_in_thread(emulator) as at:
        model = ("--model", "gpt-5.2", "--base-url", at.base_url, "--tools", "app:everything")
        with at_a_terminal("run", "Go", *model, *arguments, cwd=project, **more) as (person, process):
            yield person, process, emulator


def results(emulator: Emulator) -> list[str]:
    request = emulator.received[-1].request
    return [item["output"] for item in request["input"] if item.get("type") == "function_call_output"]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=20)
    return process.returncode, out


def test_a_person_is_asked_without_being_told_to(project: Path) -> None:
    with asked(project) as (person, process, emulator):
        person.sees("> ")
        assert "save  WRITE" in person.screen
        assert '"text": "one"' in person.screen
        assert "two" not in person.screen, "one question at a time"
        person.types("y\n")
        person.sees("> ")
        person.types("n not twice\n")
        assert ended(process) == (0, "Done.\n")
        first, second = results(emulator)
        assert first == "saved one"
        assert "not twice" in second


def test_what_was_typed_before_the_question_does_not_answer_it(project: Path) -> None:
    with asked(project, "--approve", "ask") as (person, process, emulator):
        person.types("y\n")
        person.sees("> ")
        time.sleep(0.3)
        assert emulator.received[1:] == []
        person.types("n\n")
        person.sees("> ")
        person.types("n\n")
        assert ended(process)[0] == 0
        assert [text.startswith("denied") for text in results(emulator)] == [True, True]


def test_arguments_are_edited_in_the_person_s_editor(project: Path) -> None:
    editor = project / "editor.py"
    editor.write_text("import sys, pathlib\nf = pathlib.Path(sys.argv[1])\nf.write_text(f.read_text().replace('o', '0'))\n")
    with asked(project, EDITOR=f"{sys.executable} {editor}", VISUAL="") as (person, process, emulator):
        person.sees("> ")
        person.types("e\n")
        person.sees("0ne")
        person.sees("> ")
        person.types("y\n")
        person.sees("> ")
        person.types("a\n")
        assert ended(process)[0] == 0
        assert results(emulator) == ["saved 0ne", "saved two"]


def test_an_editor_that_is_not_there_leaves_the_line(project: Path) -> None:
    with asked(project, EDITOR="/no/such/editor", VISUAL="") as (person, process, emulator):
        person.sees("> ")
        person.types("e\n")
        person.sees("cannot be started")
        person.sees("> ")
        person.types('{"text": "three"}\n')
        person.sees("three")
        person.sees("> ")
        person.types("a\n")
        assert ended(process)[0] == 0
        assert results(emulator) == ["saved three", "saved two"]


def test_ctrl_c_at_a_question_is_clean(project: Path) -> None:
    with asked(project) as (person, process, _):
        person.sees("> ")
        person.types("\x03")
        person.sees("geode run: interrupted")
        assert ended(process) == (130, "")
        assert "Traceback" not in person.screen


def test_a_terminal_that_goes_away_denies(project: Path) -> None:
    with asked(project) as (person, process, emulator):
        person.sees("> ")
        person.types("\x04")
        person.sees("> ")
        person.types("\x04")
        assert ended(process)[0] == 0
        assert all("terminal was closed" in text for text in results(emulator))


def test_an_answer_that_is_put_off_is_given_later_and_once(project: Path) -> None:
    with asked(project) as (person, process, emulator):
        person.sees("> ")
        person.types("l\n")
        person.sees("to go on: geode ")
        person.sees(" --approve ask")
        assert ended(process) == (7, "")
        (line,) = json.loads(geode("runs", "list", "--json", cwd=project).stdout)
        assert line["state"] == "waits for a person: save"
        told = shlex.split(person.screen.rpartition("to go on: geode ")[2])
        model = ["--model", "gpt-5.2", "--base-url", emulator_address(process), "--tools", "app:everything"]
        assert sorted(told) == sorted(
            ["runs", "resume", line["run_id"], "--journal", ".geode/runs", *model, "--approve", "ask"]
        )
        without_terminal = subprocess.run(
            command(*told), cwd=project, env=environment(), capture_output=True, text=True, check=False, start_new_session=True
        )
        assert "there is no terminal to ask on; name what may run: --approve save" in without_terminal.stderr
        told[-1] = "all"
        refused = geode(*(word for word in told if word not in ("--tools", "app:everything")), cwd=project)
        assert refused.returncode == 2
        assert f"run {line['run_id']} waits with calls of save: give --tools MODULE:NAME" in refused.stderr
        done = geode(*told, cwd=project)
        assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
        assert results(emulator) == ["saved one", "saved two"]
        asked_for = len(emulator.received)
        assert geode(*told, cwd=project).stdout == "Done.\n"
        assert len(emulator.received) == asked_for, "a run that is over gives its outcome again"


def emulator_address(process: subprocess.Popen[str]) -> str:
    arguments = process.args
    assert isinstance(arguments, list)
    return str(arguments[arguments.index("--base-url") + 1])


def test_without_a_terminal_the_way_out_is_named(project: Path) -> None:
    done = subprocess.run(
        command("run", "Go", "--model", "gpt-5.2", "--tools", "app:everything", "--approve", "ask"),
        cwd=project,
        env=environment(OPENAI_API_KEY="k"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 2
    assert "--approve ask: there is no terminal to ask on; name what may run: --approve save [no-terminal]" in done.stderr


def test_a_signal_while_an_editor_is_open_ends_both(project: Path) -> None:
    editor = project / "editor.py"
    editor.write_text("import pathlib, time\npathlib.Path('opened').touch()\ntime.sleep(60)\n")
    with asked(project, EDITOR=f"{sys.executable} {editor}", VISUAL="") as (person, process, _):
        person.sees("> ")
        person.types("e\n")
        until = time.monotonic() + 20
        while not (project / "opened").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130
