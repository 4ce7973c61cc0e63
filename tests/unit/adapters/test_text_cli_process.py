"""A program is run alone with what it needs, read whatever it prints, and ended with all that it started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.text_cli import process
from geode.adapters.text_cli.process import Folder, Invocation, Ran, run
from geode.entrypoints.compliance.playing import until

# What a program finds, told as its only line.
TELLS = """
import json, os, sys
prompt = sys.stdin.buffer.read().decode()
told = {"prompt": prompt, "arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd(),
        "there": os.listdir(), "session": os.getsid(0) == os.getpid()}
print(json.dumps(told))
"""
# Starts a child that holds out against being asked to end, says who they are, and stays.
STAYS = """
import os, signal, subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
grand = subprocess.Popen([sys.executable, "-ISc", child], stdout=subprocess.PIPE)
grand.stdout.readline()
open(os.path.join(os.environ["LAB"], "pids.new"), "w").write(f"{os.getpid()} {grand.pid}")
os.rename(os.path.join(os.environ["LAB"], "pids.new"), os.path.join(os.environ["LAB"], "pids"))
print('{"begun": true}', flush=True)
time.sleep(600)
"""


# Files of certificates, where this machine has its own.
OF_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")


def invoked(script: str, prompt: str = "", **environment: str) -> Callable[[Folder], Invocation]:
    return lambda folder: Invocation(("-ISc", script), prompt, environment)


async def ran(script: str, prompt: str = "", *, seconds: float = 30.0, **environment: str) -> Ran:
    return await run(sys.executable, invoked(script, prompt, **environment), seconds)


async def told(prompt: str = "", own: str = "") -> dict[str, Any]:
    (event,) = (await ran(TELLS, prompt, OWN=own)).events
    return dict(event)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folders of runs are made; empty after each test, like the list of what runs."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


async def gone(pid: int) -> None:
    for _ in range(500):
        if not alive(pid):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{pid} still runs after 5 s")


@pytest.mark.parametrize(
    "prompt",
    ["--help", "-p x", "--dangerously-skip-permissions", "", "ä\u2028\0 \r\n", "line\n" * 3, "@/etc/passwd", "$(id)"],
    ids=repr,
)
async def test_a_prompt_is_read_as_it_is(prompt: str) -> None:
    found = await told(prompt)

    assert found["prompt"] == prompt
    assert found["arguments"] == []


async def test_a_prompt_of_a_megabyte_is_read_whole() -> None:
    prompt = "0123456789abcdef" * 65536
    assert (await told(prompt))["prompt"] == prompt


async def test_a_program_that_does_not_read_its_prompt_has_ended_all_the_same() -> None:
    done = await ran("print('{\"a\": 1}')", "x" * 5_000_000)
    assert (done.events, done.code) == (({"a": 1},), 0)


async def test_it_knows_nothing_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "HTTPS_PROXY",
        "CI_TOKEN",
    )
    for name in (*secrets, "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PYTHONPATH"):
        monkeypatch.setenv(name, "planted")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("LANG", "C.UTF-8")

    found = await told(own="given")

    assert "planted" not in json.dumps(found["environment"])
    own = {name for name in found["environment"] if name not in ("LC_CTYPE", "LC_ALL", "TZ", *OF_TRUST)}
    assert own == {"PATH", "LANG", "HOME", "USERPROFILE", "TMPDIR", "OWN"}
    assert found["environment"]["PATH"] == "/usr/bin:/bin"


async def test_it_is_alone_in_an_empty_folder_that_is_gone_afterwards(temporary: Path) -> None:
    found = await told()

    assert found["there"] == []
    assert found["session"]
    for place in (found["folder"], found["environment"]["HOME"]):
        assert place.startswith(str(temporary))
    assert found["environment"]["HOME"] != str(Path.home())
    assert os.listdir(temporary) == []


async def test_files_are_there_for_its_arguments_and_for_nobody_else(temporary: Path) -> None:
    script = (
        "import json, os, sys; print(json.dumps({'text': open(sys.argv[1]).read(), 'mode': os.stat('..').st_mode & 0o777}))"
    )

    def prepare(folder: Folder) -> Invocation:
        return Invocation(("-ISc", script, str(folder.file("system.txt"))), "", files={"system.txt": "Be brief, ä."})

    done = await run(sys.executable, prepare, 30.0)

    assert done.events == ({"text": "Be brief, ä.", "mode": 0o700},)
    assert os.listdir(temporary) == []


async def test_lines_may_be_of_any_length() -> None:
    script = (
        "import sys\nfor n in (1, 5_000_000, 70_000): print('{\"t\": \"' + 'x' * n + '\"}')\nsys.stdout.write('{\"last\": 1}')"
    )
    done = await ran(script)
    assert [len(event.get("t", "")) for event in done.events] == [1, 5_000_000, 70_000, 0]
    assert done.events[-1] == {"last": 1}


async def test_what_is_no_object_is_no_event() -> None:
    lines = ["", "[1]", "7", '"text"', "null", "not json", '{"a": NaN}', "[" * 100_000, "{}", '{"a": 1}', '{"cut": ']
    done = await ran(f"import sys; sys.stdout.write({chr(10).join(lines)!r})")
    assert done.events == ({"a": 1},)
    assert done.complaint.endswith('{"cut":')


async def test_the_last_lines_of_its_complaint_are_kept() -> None:
    script = """
import sys
for n in range(200_000): print('line', n, file=sys.stderr)
sys.exit('oh\\n\\nno')
"""
    done = await ran(script)
    assert (done.code, done.complaint, done.events) == (1, "line 199999 / oh / no", ())


async def test_a_program_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_BYTES", 1_000_000)
    done = await ran("while True: print('x' * 1000)", seconds=60)
    assert (done.endless, done.late, done.code) == (True, False, None)


async def test_a_program_that_goes_on_without_hope_is_ended(temporary: Path) -> None:
    script = "import time; print('{\"n\": 1}', flush=True); print('{\"n\": 2}', flush=True); time.sleep(600)"
    done = await run(sys.executable, invoked(script), 60.0, lambda event: event["n"] == 2)
    assert (done.events, done.late, done.code) == (({"n": 1}, {"n": 2}), False, None)
    assert os.listdir(temporary) == []


async def test_a_program_that_is_killed_says_by_which_signal() -> None:
    done = await ran("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert done.code == -9


@pytest.mark.parametrize("times", [0, 1, 2], ids=["late", "cancelled", "cancelled twice"])
async def test_it_is_ended_with_all_that_it_started(times: int, tmp_path: Path, temporary: Path) -> None:
    """Its child ignores SIGTERM."""
    pids = tmp_path / "pids"
    started = time.monotonic()
    task = asyncio.create_task(ran(STAYS, seconds=600.0 if times else 2.0, LAB=str(tmp_path)))
    if times:
        await until(pids.exists)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        done = await task
        assert (done.late, done.code, done.events) == (True, None, ({"begun": True},))

    assert time.monotonic() - started < 60
    program, child = map(int, pids.read_text().split())
    await gone(program)
    await gone(child)
    assert os.listdir(temporary) == []
    assert [one for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []


async def test_what_it_left_behind_is_ended_with_it(tmp_path: Path) -> None:
    """A child that outlives it holds its pipes open."""
    script = """
import subprocess, sys
print('{"c": %d}' % subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(600)"]).pid)
"""
    done = await ran(script, seconds=60)
    assert not done.late
    await gone(done.events[0]["c"])


async def test_a_program_that_cannot_be_started_leaves_nothing(temporary: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run(str(temporary / "nothing"), invoked(""), 1.0)
    assert os.listdir(temporary) == []
