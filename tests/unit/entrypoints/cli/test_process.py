"""`geode` as processes: signals, pipes, threads that never end, and two terminals."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from geode.domain.script import calls, hangs, says
from geode.entrypoints.emulator import Emulator, running_in_thread
from tests.unit.entrypoints.cli.commands import environment, geode, started

# Of the two SDKs this model needs the one that is imported sooner.
GPT = ("--model", "gpt-5.2", "--base-url")


def wait_for(happened: Callable[[], object], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)


def read_until(stream: IO[str], text: str, seconds: float = 30) -> str:
    """What the process wrote, up to `text` and perhaps more; one that stays silent fails the test and does not hang it."""
    until, said = time.monotonic() + seconds, ""
    while text not in said:
        ready, _, _ = select.select([stream], [], [], max(until - time.monotonic(), 0))
        # Past the stream's own buffer, which select cannot see.
        more = os.read(stream.fileno(), 65536).decode() if ready else ""
        assert more, f"{text!r} never came: {said!r}"
        said += more
    return said


@pytest.mark.parametrize("more", [[], ["--stream"], ["--jsonl"]])
def test_ctrl_c_cancels_a_run_whose_server_hangs(project: Path, more: list[str]) -> None:
    server = Emulator((hangs(),))
    with running_in_thread(server) as at, started("run", "Hi", *GPT, at.base_url, *more, cwd=project) as process:
        wait_for(lambda: server.received)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert time.monotonic() - asked < 2
    assert process.returncode == 130
    assert err == "\ngeode run: interrupted\n"
    events = ["ModelCalled", "Aborted"] if more == ["--jsonl"] else []
    assert [line.split('"')[3] for line in out.splitlines()] == events


def test_ctrl_c_does_not_wait_for_the_import_of_an_sdk(project: Path) -> None:
    """At a moment that is inside the import, which takes a second or more."""
    (project / "ready.py").write_text("import sys\nprint('ready', file=sys.stderr, flush=True)\ntools = []\n")
    # A server that never answers: however fast the import is, the run cannot end by itself first.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        arguments = ("--model", "claude-sonnet-4-5", "--base-url", address, "--tools", "ready:tools")
        returncode, err = _interrupted(arguments, project, 0.5)
    assert returncode == 130
    assert "Traceback" not in err


def _interrupted(arguments: tuple[str, ...], project: Path, seconds: float) -> tuple[int, str]:
    """How a run ends that gets Ctrl-C so many seconds after its tools were imported."""
    with started("run", "Hi", *arguments, cwd=project) as process:
        assert process.stderr is not None
        read_until(process.stderr, "ready")
        time.sleep(seconds)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert time.monotonic() - asked < 2
    return process.returncode, err


def test_ctrl_c_cancels_a_run_whose_tool_hangs(project: Path) -> None:
    server = Emulator((calls(("hang", {})),))
    with (
        running_in_thread(server) as at,
        started("run", "Hi", *GPT, at.base_url, "--tools", "app:hang", "--stream", cwd=project) as process,
    ):
        assert process.stderr is not None
        read_until(process.stderr, "→ hang()")
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert time.monotonic() - asked < 2
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_tool_that_never_returns_does_not_keep_the_process_alive(project: Path) -> None:
    server = Emulator((calls(("hang", {})),))
    limits = ("--tools", "app:hang", "--time", "0.5", "--jsonl")
    with running_in_thread(server) as at, started("run", "Hi", *GPT, at.base_url, *limits, cwd=project) as process:
        assert process.stdout is not None
        said = read_until(process.stdout, '"Finished"')
        ended = time.monotonic()
        process.communicate(timeout=10)
        assert time.monotonic() - ended < 1
    assert process.returncode == 4
    assert '"reason":"time_budget"' in said


@pytest.mark.parametrize("how", ["--stream", "--jsonl"])
def test_a_reader_that_goes_away_ends_the_run_without_a_traceback(project: Path, how: str) -> None:
    # More than a pipe holds, and then a step that would be paid for in vain.
    server = Emulator((says("line\n" * 100_000) + calls(("add", {"a": 1, "b": 2})), hangs()))
    with (
        running_in_thread(server) as at,
        started("run", "Hi", *GPT, at.base_url, "--tools", "app:add", how, cwd=project) as piped,
    ):
        assert piped.stdout is not None
        assert piped.stderr is not None
        read_until(piped.stdout, "\n")
        piped.stdout.close()
        err = piped.stderr.read()
        assert piped.wait(timeout=10) == 141
    assert "Traceback" not in err


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`geode …` by a shell, which can close streams."""
    return subprocess.run(
        ["sh", "-c", line.replace("geode", f"{shlex.quote(sys.executable)} -m geode", 1)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("how", ["", "--stream", "--jsonl"])
def test_a_full_disk_is_told_and_not_taken_for_success(project: Path, how: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this platform has no /dev/full")
    server = Emulator((says("Hello."),))
    with running_in_thread(server) as at:
        done = shell(f"geode run Hi {' '.join(GPT)} {at.base_url} {how} >/dev/full", project)
    assert (done.returncode, done.stderr) == (74, "geode run: No space left on device\n")


def test_closed_streams_show_no_traceback(project: Path) -> None:
    no_input = shell("geode run - --model gpt-5.2 <&-", project)
    assert (no_input.returncode, no_input.stderr.partition(":")[0]) == (2, "geode run")
    assert "the prompt is empty" in no_input.stderr
    no_output = shell("geode run Hi --model gpt-5.2 >&-", project)
    assert (no_output.returncode, "stdout is closed" in no_output.stderr) == (74, True)
    assert shell("geode run - --model gpt-5.2 <&- 2>&-", project).returncode == 2


def test_what_a_terminal_cannot_show_does_not_end_the_run(project: Path) -> None:
    with running_in_thread(Emulator((says("“é ✓”"),))) as at:
        done = geode("run", "Hi", *GPT, at.base_url, cwd=project, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "?? ??\n")


def test_the_emulator_in_one_terminal_and_runs_in_another(project: Path) -> None:
    (project / "script.json").write_text(
        '[{"says": "I add.", "calls": [["add", {"a": 1, "b": 2}]]}, {"fails": 529, "retry_after": 0.01}, {"says": "Three."}]'
    )
    with started("emulate", "--port", "0", "--script", "script.json", cwd=project) as server:
        assert server.stdout is not None
        banner = read_until(server.stdout, "--wire chat")
        commands = re.findall(r'geode (run "Hi" .*)', banner)
        assert len(commands) == 3
        for line in commands:
            done = geode(*line.replace('"', "").split(), "--tools", "app:add", cwd=project)
            assert (done.returncode, done.stdout) == (0, "Three.\n"), done.stderr
        asked = time.monotonic()
        server.send_signal(signal.SIGINT)
        _, log = server.communicate(timeout=10)
        assert time.monotonic() - asked < 2
    assert server.returncode == 0
    seen = [line.split()[1:] for line in log.splitlines()]
    assert [line[0] for line in seen] == [wire for wire in ("messages", "responses", "chat") for _ in range(3)]
    assert all(line[3] == "accepted" for line in seen)
    assert log.count('→ says "I add."; calls add') == log.count("→ fails with 529") == log.count('→ says "Three."') == 3
