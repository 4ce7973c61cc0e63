"""A key that a program prints: run once, bounded, alone with what it needs, and never quoted."""

from __future__ import annotations

import asyncio
import gc
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.credentials_command import CommandCredential
from geode.ports.credentials import CredentialError


class Now:
    def __init__(self) -> None:
        self.value = 1000.0

    def __call__(self) -> float:
        return self.value


def command(program: str, *arguments: object) -> str:
    return shlex.join((sys.executable, "-I", "-S", "-c", program, *map(str, arguments)))


def running(program: str, *arguments: object, **settings: Any) -> CommandCredential:
    return CommandCredential(command(program, *arguments), Now(), **settings)


async def text(credential: CommandCredential) -> str:
    return (await credential.secret()).get_secret_value()


async def refused(credential: CommandCredential) -> str:
    with pytest.raises(CredentialError) as caught:
        await credential.secret()
    assert credential.source in str(caught.value)
    return str(caught.value).replace(credential.source, "command X")


# Counts in a file how often it ran, and prints the number.
COUNTING = "import sys; p=sys.argv[1]; open(p,'a').write('x'); print('sk-', len(open(p).read()), sep='')"


async def test_it_runs_once_for_all_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    credential = running(COUNTING, tmp_path / "runs")
    assert await asyncio.gather(*(text(credential) for _ in range(10))) == ["sk-1"] * 10
    assert await text(credential) == "sk-1"
    credential.refused(await credential.secret())
    assert await asyncio.gather(*(text(credential) for _ in range(10))) == ["sk-2"] * 10
    assert (tmp_path / "runs").read_text() == "xx"


async def test_what_it_printed_has_an_age(tmp_path: Path) -> None:
    now = Now()
    credential = CommandCredential(command(COUNTING, tmp_path / "runs"), now, max_age_seconds=60)
    assert await text(credential) == "sk-1"
    now.value += 59
    assert await text(credential) == "sk-1"
    now.value += 1
    assert await text(credential) == "sk-2"


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    credential = running("import sys; print(open(sys.argv[1]).read())", tmp_path / "key")
    assert "ended with code 1" in await refused(credential)
    (tmp_path / "key").write_text("sk-one")
    assert await text(credential) == "sk-one"


async def test_no_shell_reads_it(tmp_path: Path) -> None:
    credential = running("import sys; print(sys.argv[1])", f"$(touch${{IFS}}{tmp_path}/made);`id`")
    assert await text(credential) == f"$(touch${{IFS}}{tmp_path}/made);`id`"
    assert os.listdir(tmp_path) == []


async def test_it_is_given_what_it_needs_and_nobodys_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GEODE_MODEL", "PYTHONPATH", "LD_PRELOAD_NOT"):
        monkeypatch.setenv(name, "planted")
    monkeypatch.setenv("LC_TIME", "C")
    credential = running("import os; print(','.join(sorted(os.environ)))", env={"VAULT": "lab"})
    names = set((await text(credential)).split(","))
    assert {"HOME", "LC_TIME", "PATH", "VAULT"} <= names
    allowed = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE", "VAULT", "DISPLAY")
    assert all(name in allowed or name.startswith(("LC_", "XDG_", "DBUS_", "WAYLAND_", "XAUTH", "GNUPG")) for name in names)


async def test_it_has_nothing_to_read_and_no_terminal() -> None:
    program = "import os, sys; print('read', repr(sys.stdin.read()), os.getsid(0) == os.getpid(), sep='-')"
    assert await text(running(program)) == "read-''-True"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; print('sk-SECRET'); sys.exit(3)", "command X ended with code 3"),
        ("import sys; sys.exit('first\\nthe vault is locked\\n\\n')", 'command X ended with code 1: "the vault is locked"'),
        ("import sys; print('two words'); print('x', file=sys.stderr)", "what command X printed has white space"),
        ("pass", "what command X printed is empty"),
        ("import sys; sys.stdout.buffer.write(b'sk-\\xff')", "what command X printed has white space"),
        ("print('x' * 70000)", "command X printed more than 65536 bytes, which is no key"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "command X ended with code -15"),
    ],
)
async def test_what_went_wrong_is_said_without_the_output(program: str, said: str) -> None:
    found = await refused(running(program))
    assert found.startswith(said)
    assert "SECRET" not in found
    assert "two words" not in found


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("sk-SECRET is not valid", "*** is not valid"),
        ("bad token: 0123456789abcdefSECRET!", "bad token: ***!"),
        ("what was printed: printed-SECRET", "what was printed: ***"),
        ("/srv/me/.store/0123456789abcdef.gpg: no such file", "/srv/me/.store/0123456789abcdef.gpg: no such file"),
        ("gpg: decryption failed: No secret key", "gpg: decryption failed: No secret key"),
    ],
)
async def test_what_looks_like_a_key_in_its_complaint_is_hidden(line: str, shown: str) -> None:
    program = "import sys; print('printed-SECRET'); print(sys.argv[1], file=sys.stderr); sys.exit(2)"
    assert await refused(running(program, line)) == f'command X ended with code 2: "{shown}"'


async def test_a_program_that_does_not_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys, time; c = subprocess.Popen(['sleep', '600']); "
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {c.pid}'); print('sk-SECRET', flush=True); time.sleep(600)"
    )
    credential = running(program, tmp_path / "pids", deadline_seconds=2.5)
    assert await refused(credential) == "command X did not end within 2.5 s"
    await _gone(tmp_path / "pids")


async def test_a_program_that_prints_without_end_is_ended_at_once(tmp_path: Path) -> None:
    program = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()))\nwhile True: print('sk-SECRET')"
    credential = running(program, tmp_path / "pids", deadline_seconds=600.0)
    async with asyncio.timeout(60):
        assert await refused(credential) == "command X printed more than 65536 bytes, which is no key"
    await _gone(tmp_path / "pids")


LEAVING = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
open(sys.argv[1], "w").write(str(left.pid))
print("sk-1")
"""


async def test_a_program_that_leaves_something_behind_has_ended_all_the_same(tmp_path: Path) -> None:
    """An agent that it started holds its pipes open for as long as it lives."""
    try:
        assert await text(running(LEAVING, tmp_path / "left", deadline_seconds=30.0)) == "sk-1"
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


ENDLESS = "while True: print('x' * 100)"
SILENT = "import time; time.sleep(600)"


@pytest.mark.parametrize("program", [LEAVING, ENDLESS, SILENT, "print('sk-1')"])
async def test_nothing_of_it_is_left_for_the_event_loop_to_report(program: str, tmp_path: Path) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    credential = running(program, tmp_path / "left", deadline_seconds=30.0 if program != SILENT else 0.5)
    try:
        await asyncio.gather(credential.secret(), return_exceptions=True)
        task = asyncio.create_task(running(SILENT).secret())
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        del task
        await asyncio.sleep(0.1)
        gc.collect()
        assert reported == []
    finally:
        if program == LEAVING:
            os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


async def test_who_is_cancelled_last_ends_it(tmp_path: Path) -> None:
    program = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    credential = running(program, tmp_path / "pids")
    task = asyncio.create_task(credential.secret())
    for _ in range(1000):
        if _read(tmp_path / "pids"):
            break
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _gone(tmp_path / "pids")


async def _gone(pids: Path) -> None:
    """No process of these is left; one that nobody has waited for yet is none."""
    assert _read(pids), "it never began"
    for pid in _read(pids).split():
        for _ in range(200):
            state = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
            if not state or state[0] == "Z":
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail(f"process {pid} lives on")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no-such-program-here --token sk-SECRET", "command no-such-program-here …: there is no such program on PATH"),
        ("pass 'show", "command … cannot be split into words (No closing quotation)"),
        ("''", "command … names no program"),
        ("", "command … names no program"),
    ],
)
async def test_a_command_that_cannot_be_run_is_said_beforehand(given: str, said: str) -> None:
    credential = CommandCredential(given, Now())
    with pytest.raises(CredentialError) as caught:
        credential.check()
    assert str(caught.value) == said
    with pytest.raises(CredentialError) as caught:
        await credential.secret()
    assert "SECRET" not in str(caught.value)


async def test_a_program_that_may_not_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-SECRET")
    said = await refused(CommandCredential(str(tmp_path / "key"), Now()))
    assert said == "command X cannot be run (Permission denied)"


def test_its_arguments_are_not_shown() -> None:
    credential = CommandCredential("pass show lab/sk-SECRET", Now())
    assert credential.source == "command pass …"
    assert "SECRET" not in repr(credential)
    assert CommandCredential("pass", Now()).source == "command pass"


async def test_no_process_and_no_descriptor_is_left(tmp_path: Path) -> None:
    credential = running(COUNTING, tmp_path / "runs")
    await credential.secret()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        credential.refused(await credential.secret())
    await credential.secret()
    assert len(os.listdir("/proc/self/fd")) == before
