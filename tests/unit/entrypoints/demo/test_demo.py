"""`geode demo` as a user starts it: in a checkout, elsewhere, and without any network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.content import Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Answered
from geode.domain.reply import Stop
from geode.domain.usage import Usage
from geode.entrypoints.demo.again import Again
from geode.entrypoints.demo.main import _reports
from geode.ports.events import Event, Finished, ModelReplied, RoundClosed, ToolFinished

CALL = ToolUseBlock("c", "look", {})
NUMBERED: dict[str, Any] = {"run_id": "r", "seq": 1, "round": 1, "attempt": 1}

CHECKOUT = {
    "pyproject.toml": '[project]\nname = "shop"\n',
    "README.md": "# Shop\n\nIt sells things.\n",
    "src/shop/cart.py": "async def total() -> int:\n    return 3\n" * 20,
    "src/shop/till.py": "async def pay() -> None:\n    pass\n",
    ".hidden/secret.txt": "async def hidden\n",
    "build/made.py": "async def made\n",
}
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in CHECKOUT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def demo(cwd: Path, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    outside = ("ANTHROPIC_", "OPENAI_", "OPENROUTER_", "ZAI_", "GEODE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
    return subprocess.run(
        [*before, sys.executable, "-m", "geode", "demo", *arguments],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_three_runs_on_the_files_of_a_checkout(checkout: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    done = demo(checkout, "--keep", str(reports))
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    for title in ("Anthropic Messages", "OpenAI Responses", "Chat Completions"):
        assert f"── {title} ─" in said
    assert said.count("⚑ asks  May write_report run? It is WRITE.") == 1
    assert said.count("✗ read_file    docs/roadmap.md") == 1
    assert said.count("[image png ") == 1
    assert said.count(" 2  as above  ✗ read_file  ✓ read_file\n") == 2
    assert said.count("✓ ok   ✗ failed   ⚑ a person is asked   ▕ ██ ▏ when a call ran, within its round") == 1
    assert said.count("✓ 5 rounds · 7 calls (1 failed, 1 approved)") == 3
    assert "✓ 3 wires, streamed and not: the same outcome and the same " in said
    assert "✓ 15 requests, each accepted by the rules of the emulator" in said
    assert f"✓ reports: {reports}/{{messages,responses,chat}}/report.md" in said
    assert re.search(r"ANTHROPIC_API_KEY=… \S*geode run", said)
    assert max(len(line) for line in said.splitlines()) <= 100 + len(str(checkout))
    for wire in ("messages", "responses", "chat"):
        report = (reports / wire / "report.md").read_text("utf-8")
        assert "4 text files with 47 lines" in report
        assert "| src/shop | 42 |" in report
        assert "`src/shop/cart.py:1` async def total() -> int:" in report
        assert "hidden" not in report + said.replace(str(checkout), "")
        assert (reports / wire / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_one_wire_alone_elsewhere_looks_at_geode_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = demo(elsewhere, "--wire", "responses", "--no-color")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Anthropic" not in done.stdout
    assert re.search(r"on the files of \S+/geode\n", done.stdout)
    (report,) = re.findall(r"✓ reports: (\S+)", done.stdout)
    assert Path(report).parent.name == "responses"
    assert "| domain | " in Path(report).read_text("utf-8")
    assert list(elsewhere.iterdir()) == []


def test_reports_that_cannot_be_written_are_no_success(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = demo(checkout, "--keep", str(tmp_path / "file"))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("report.md was not written") == 3
    assert "✓ reports" not in done.stdout


def test_a_run_that_failed_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def interrupted() -> None:
        with _reports(None) as reports:
            (reports / "chat").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with _reports(None) as reports:
        pass
    assert list(tmp_path.iterdir()) == []
    with _reports(None) as reports:
        (reports / "chat").mkdir()
    assert list(tmp_path.iterdir()) == [reports]


def test_what_differs_from_the_first_run_is_told_in_full() -> None:
    def told(text: str, end: str) -> list[Event]:
        reply = ModelReplied(**NUMBERED, text=text, calls=(CALL,), stop=Stop.TOOL_CALLS, usage=Usage(), route="", request_id="")
        finished = ToolFinished(**NUMBERED, index=0, call=CALL, result=ToolResult("c", "ok", (Text("x"),)), seconds=0.0)
        outcome: Answered[Any] = Answered(end, Conversation(), Usage(), "r")
        return [reply, finished, RoundClosed(**NUMBERED, results=()), Finished(**NUMBERED, outcome=outcome)]

    def shown(events: list[Event]) -> str:
        lines: list[str] = []
        again = Again(lambda line: lines.append("".join(span if isinstance(span, str) else span[0] for span in line)), first)
        again.header("Wire", "details", "What?")
        for event in events:
            again.event(event)
        return "\n".join(lines)

    first = told("Look", "The end")
    same = shown(first)
    assert " 1  as above  ✓ look" in same
    assert "Look" not in same
    assert "The end" not in same
    assert "✓ 1 rounds · 1 calls" in same
    other = shown(told("Look", "Another end"))
    assert " 1  as above  ✓ look" in other
    assert "Another end" in other
    assert "Leap" in shown(told("Leap", "The end"))


def test_a_reader_that_goes_away_is_no_traceback(checkout: Path, tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "geode", "demo", "--wire", "responses", "--keep", str(tmp_path / "r")]
    with subprocess.Popen(arguments, cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as piped:
        assert piped.stdout is not None
        assert piped.stderr is not None
        piped.stdout.readline()
        piped.stdout.close()
        assert piped.stderr.read() == ""
    assert piped.returncode == 0


def test_the_demo_needs_no_network_at_all(checkout: Path, tmp_path: Path) -> None:
    namespace = ("unshare", "-rn")
    try:
        works = subprocess.run([*namespace, "ip", "link", "set", "lo", "up"], capture_output=True, timeout=10, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"no empty network namespace can be made here: there is no {error.filename}")
    if works.returncode != 0:
        pytest.skip(f"no empty network namespace can be made here: {works.stderr.decode().strip()}")
    within = (*namespace, "sh", "-c", 'ip link set lo up && ! ip route get 192.0.2.1 2>/dev/null && exec "$@"', "sh")
    done = demo(checkout, "--keep", str(tmp_path / "reports"), before=within)
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ 15 requests" in done.stdout


def test_on_a_terminal_it_is_in_colour(checkout: Path, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="this platform has no pseudo-terminals")
    pytest.importorskip("rich", reason="colour needs the extra cli")
    mine, terminal = pty.openpty()
    arguments = [sys.executable, "-m", "geode", "demo", "--wire", "responses", "--keep", str(tmp_path / "r")]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(arguments, cwd=checkout, env=environment, stdout=terminal) as process:
        os.close(terminal)
        told = b"".join(iter(lambda: _read(mine), b""))
    os.close(mine)
    assert process.returncode == 0
    said = told.decode()
    assert COLOR.search(said)
    assert "✗ read_file    docs/roadmap.md" in COLOR.sub("", said)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # on Linux the end of a terminal is an error
        return b""


def test_the_version_of_the_package_is_that_of_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "geode", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"geode {geode.__version__}\n"
