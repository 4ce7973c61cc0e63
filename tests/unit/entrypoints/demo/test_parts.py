"""The parts of the demo: what it sees, draws and writes, and that it notices when something is wrong."""

from __future__ import annotations

import struct
import zlib
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

import geode
from geode.domain.content import ToolUseBlock
from geode.domain.script import Script, Step, cut, fails, says
from geode.entrypoints.demo import main as demo
from geode.entrypoints.demo.chart import bar_chart
from geode.entrypoints.demo.folder import Folder, folder_to_show, look
from geode.entrypoints.demo.same import comparable, difference
from geode.entrypoints.demo.script import script
from geode.entrypoints.demo.timeline import Timeline, _arguments, _bar
from geode.entrypoints.demo.tools import DemoTools
from geode.ports.events import Event, ToolFinished, ToolStarted
from geode.ports.tools import ToolError
from geode.testing import ScriptedModel, calls


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    for name, data in {
        "a.py": b"import os\nimport sys\n",
        "docs/guide.md": b"import nothing\n",
        "docs/picture.png": b"\x89PNG\r\n\x1a\n\0",
        "docs/latin.txt": b"caf\xe9\n",
        "docs/huge.txt": b"x" * 300_000,
        "node_modules/other.js": b"import x\n",
        ".env": b"KEY=secret\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return look(tmp_path)


def test_only_text_that_people_wrote_is_seen(folder: Folder) -> None:
    assert [(file.path, file.lines) for file in folder.files] == [("a.py", 2), ("docs/guide.md", 1)]
    assert folder.sizes("lines", 5) == [("(top)", 2), ("docs", 1)]
    assert [(file.path, number) for file, number, _ in folder.find("import")] == [
        ("a.py", 1),
        ("a.py", 2),
        ("docs/guide.md", 1),
    ]


def test_a_change_meanwhile_is_seen(folder: Folder) -> None:
    assert folder.changed_since() == []
    (folder.root / "a.py").write_text("import re\n")
    assert folder.changed_since() == ["a.py"]


def test_outside_of_a_checkout_geode_shows_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_to_show().root == Path(geode.__file__).parent
    (tmp_path / ".git").mkdir()
    assert folder_to_show().root == Path(geode.__file__).parent  # nothing to read there yet
    for name in "abc":
        (tmp_path / name).write_text("text\n")
    assert folder_to_show().root == tmp_path


@pytest.mark.parametrize("path", ["missing.md", "../a.py", "/etc/passwd", ".env", "docs/../a.py"])
def test_nothing_but_the_listed_files_can_be_read(folder: Folder, path: str) -> None:
    with pytest.raises(ToolError, match=r"no file .* here"):
        DemoTools(folder, None).read_file(path)


def test_tools_say_what_is_there(folder: Folder, tmp_path: Path) -> None:
    tools = DemoTools(folder, tmp_path / "reports")
    assert tools.list_files("docs/*") == "1 files, 1 lines:\ndocs/guide.md"
    assert tools.search_text("import").splitlines()[:2] == ["3 lines in 2 files:", "a.py:1: import os"]
    assert tools.read_file("a.py", 2, 2) == "import sys"
    assert tools.write_report("T", "text") == "report.md with 3 lines"
    tools.draw_chart()
    assert tools.write_report("T", "text") == "report.md with 5 lines, and chart.png"
    assert (tmp_path / "reports" / "report.md").read_text() == "# T\n\ntext\n\n![chart](chart.png)\n"


def test_the_chart_is_a_whole_png() -> None:
    data = bar_chart("Lines per folder", [("src/geode", 300), ("tests", 150), ("weiß?", 0)])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    pixels = zlib.decompress(chunks[b"IDAT"])
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert len(pixels) == height * (1 + 3 * width)
    assert len({pixels[at : at + 3] for at in range(1, len(pixels), 3)}) > 4


# ---- two runs are compared ---------------------------------------------------------------------


async def events_of(*arguments: int) -> list[Event]:
    @geode.tool(tier="safe")
    def double(number: int) -> int:
        """Twice the number."""
        return 2 * number

    told: list[Event] = []
    model = ScriptedModel(calls(*(("double", {"number": number}) for number in arguments)), says("Done."))
    await geode.run("Go", model=model, tools=[double], observe=told.append)
    return told


async def test_the_order_of_side_by_side_calls_does_not_matter() -> None:
    told = await events_of(1, 2)
    between = [event for event in told if isinstance(event, ToolStarted | ToolFinished)]
    start = told.index(between[0])
    turned = [*told[:start], *reversed(between), *told[start + len(between) :]]
    assert difference(comparable(told), comparable(turned)) == ""


async def test_what_differs_is_named() -> None:
    one, other = comparable(await events_of(1, 2)), comparable(await events_of(1, 3))
    assert difference(one, one) == ""
    assert difference(one, other).startswith("event 2, ModelReplied of round 1: calls ")
    assert difference(one, one[:-1]) == f"{len(one)} events ≠ {len(one) - 1} events"


# ---- the demo fails when something is not as it must be ----------------------------------------


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("import os\n")
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return Namespace(wire="responses", keep=str(tmp_path / "out"), no_color=True)


SCRIPT = "geode.entrypoints.demo.main.script"


def test_a_script_that_is_not_played_to_its_end_fails(
    arguments: Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SCRIPT, lambda folder: (says("Enough."), *script(folder)))
    assert demo.demo_command(arguments) == 1
    assert "✗ OpenAI Responses: 1 of 6 steps of the script were played" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (cut(says("It holds")), "the run ended as Exhausted (answer_truncated), not with an answer"),
        (fails(400, message="no such thing"), "the run ended as Failed (request_error: "),
    ],
)
def test_a_run_that_does_not_end_with_an_answer_fails(
    arguments: Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], last: Step, said: str
) -> None:
    monkeypatch.setattr(SCRIPT, lambda folder: (*script(folder)[:-1], last))
    assert demo.demo_command(arguments) == 1
    assert f"✗ OpenAI Responses: {said}" in capsys.readouterr().out


def test_wires_that_do_not_tell_the_same_fail(
    arguments: Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments.wire = None
    responses = demo.WIRES[1]
    monkeypatch.setattr(demo, "WIRES", (responses, replace(responses, title="Another")))
    played = demo._run
    last = iter([says("So."), says("Otherwise.")])

    async def other(wire: demo.Wire, common: Script, tools: DemoTools, timeline: Timeline) -> demo.Told:
        return await played(wire, (*common[:-1], next(last)), tools, timeline)

    monkeypatch.setattr(demo, "_run", other)
    assert demo.demo_command(arguments) == 1
    said = capsys.readouterr().out
    assert "✗ OpenAI Responses and Another do not tell the same: event " in said
    assert 'text "So." ≠ "Otherwise."' in said


# ---- how it looks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "whole", "bar"),
    [
        (0.0, 1.0, 1.0, "▕██████████▏"),
        (0.5, 1.0, 1.0, "▕     █████▏"),
        (1.0, 1.0, 1.0, "▕         █▏"),
        (0.0, 0.0, 0.0, "▕█         ▏"),
        (0.0, 0.01, 1.0, "▕█         ▏"),
    ],
)
def test_bars_stay_in_their_column(start: float, end: float, whole: float, bar: str) -> None:
    assert _bar(start, end, whole) == bar


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, ""),
        ({"path": "a.py"}, "a.py"),
        ({"by": "lines", "top": 8}, "lines, 8"),
        ({"path": "src/geode/entrypoints/emulator/server.py", "last": 3}, "…oints/emulator/server.py, 3"),
        ({"title": "What is in the folder", "text": "very long"}, "What is in the folder, very…"),
    ],
)
def test_of_a_long_path_the_end_is_shown(given: dict[str, object], shown: str) -> None:
    assert _arguments(ToolUseBlock("c", "t", given)) == shown
