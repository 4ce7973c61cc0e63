"""`geode demo`: the same script over three wires, through the real SDKs and real HTTP on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from geode.domain.approval import Approve, Decision, Question
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.provider import Provider
from geode.domain.script import Script
from geode.domain.targets import WireName
from geode.entrypoints import emulator
from geode.entrypoints.demo.again import Again
from geode.entrypoints.demo.folder import Folder, folder_to_show
from geode.entrypoints.demo.same import comparable, difference
from geode.entrypoints.demo.script import QUESTION, SYSTEM, script
from geode.entrypoints.demo.timeline import Paint, Timeline, painter
from geode.entrypoints.demo.tools import DemoTools
from geode.entrypoints.runtime import session
from geode.entrypoints.settings import Settings
from geode.ports.events import Event, Finished, Notice


@dataclass(frozen=True, slots=True)
class Wire:
    """One of the three: how it is called, the SDK that speaks it, a model, and whether this run is streamed."""

    name: WireName
    title: str
    sdk: str
    model: str
    path: str
    streamed: bool


WIRES: Final = (
    Wire("messages", "Anthropic Messages", "anthropic", "claude-sonnet-4-5", "", streamed=True),
    Wire("responses", "OpenAI Responses", "openai", "gpt-5.2", "/v1", streamed=False),
    Wire("chat", "Chat Completions", "openai", "my-llama", "/v1", streamed=True),
)
_KEYS: Final[Mapping[str, str]] = {
    "ANTHROPIC_API_KEY": "claude-sonnet-4-5",
    "OPENAI_API_KEY": "gpt-5.2",
    "OPENROUTER_API_KEY": "openrouter/openai/gpt-5.2",
    "ZAI_API_KEY": "glm-4.7",
}


@dataclass(slots=True)
class Told:
    """What one run left: its events, and what was not as it must be."""

    wire: Wire
    requests: int = 0
    events: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class _Yes:
    """Approves, and shows that it did."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        self._timeline.answered("yes, says the demo")
        return {asked.call.id: Approve() for asked in question.calls}


def demo_command(arguments: Namespace) -> int:
    """Run, show, compare. 0 when everything was as it must be."""
    folder = folder_to_show()
    paint = painter(color=not arguments.no_color)
    paint(
        [("geode demo", "bold"), f": one script over each wire (a provider's HTTP API), offline, on the files of {folder.root}"]
    )
    chosen = [wire for wire in WIRES if arguments.wire in (None, wire.name)]
    with _reports(arguments.keep) as reports:
        told = asyncio.run(_runs(chosen, folder, reports, paint))
        for one in told:
            report = reports / one.wire.name / "report.md"
            if not report.exists():
                one.problems.append(f"{report} was not written")
            if one.problems and not arguments.keep:
                shutil.rmtree(report.parent, ignore_errors=True)
    problems = [f"{one.wire.title}: {problem}" for one in told for problem in one.problems] + _differences(told, folder)
    return _concluded(paint, told, problems, reports)


@contextlib.contextmanager
def _reports(keep: str | None) -> Iterator[Path]:
    """Where the reports go: a temporary folder goes away again when it is left empty, or in the middle."""
    if keep:
        yield Path(keep)
        return
    folder = Path(tempfile.mkdtemp(prefix="geode-demo-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not any(folder.iterdir()):
        folder.rmdir()


async def _runs(wires: Sequence[Wire], folder: Folder, reports: Path, paint: Paint) -> list[Told]:
    played = script(folder)
    told: list[Told] = []
    for wire in wires:
        timeline = Again(paint, told[0].events) if told else Timeline(paint)
        if not told:
            timeline.legend()
        told.append(await _run(wire, played, DemoTools(folder, reports / wire.name), timeline))
    return told


async def _run(wire: Wire, played: Script, tools: DemoTools, timeline: Timeline) -> Told:
    try:
        server = emulator.Emulator(played, check_signatures=True)
    except ImportError as error:
        raise Misuse(
            "missing-extra", f'geode demo needs the extra "emulator": pip install "geode[emulator]" ({error})'
        ) from error
    told = Told(wire)

    def observe(event: Event) -> None:
        told.events.append(event)
        timeline.event(event)

    async with emulator.running(server) as running:
        address = running.base_url + wire.path
        settings = Settings(
            model=f"demo/{wire.model}",
            providers=[Provider("demo", wire.name, address)],
            tools=tools.all,
            approve=_Yes(timeline),
            observe=observe,
            system=SYSTEM,
        )
        opening = session(**settings)  # it says which package is missing, if one is
        how = "streamed" if wire.streamed else "whole replies"
        timeline.header(wire.title, f"{wire.sdk} {version(wire.sdk)}, {how}, {address}", QUESTION)
        async with opening as loop:
            if wire.streamed:
                async for _ in loop.stream(QUESTION):
                    pass
            else:
                await loop.run(QUESTION)
    told.requests = len(server.received)
    told.problems += _problems(told.events, server, played)
    return told


def _problems(events: Sequence[Event], server: emulator.Emulator, played: Script) -> list[str]:
    """What must not be: a refused request, another end than an answer, a script that was not played, a deaf observer."""
    found = [f"the emulator refused a request by {one.rule} at {one.at}: {one.message}" for one in server.violations]
    for event in events:
        match event:
            case Notice(kind=kind, text=text):
                found.append(f"{kind}: {text}")
            case Finished(outcome=Failed(reason=reason, why=why)):
                found.append(f"the run ended as Failed ({reason}: {why}), not with an answer")
            case Finished(outcome=outcome) if not isinstance(outcome, Answered):
                found.append(f"the run ended as {type(outcome).__name__} ({outcome.reason}), not with an answer")
            case _:
                pass
    if server.position != len(played):
        found.append(f"{server.position} of {len(played)} steps of the script were played")
    return found


def _differences(told: Sequence[Told], folder: Folder) -> list[str]:
    first, *others = told
    found: list[str] = []
    for other in others:
        what = difference(comparable(first.events), comparable(other.events))
        if what:
            found.append(f"{first.wire.title} and {other.wire.title} do not tell the same: {what[:600]}")
    changed = folder.changed_since() if found else []
    return [*found, f"files changed meanwhile ({', '.join(changed[:3])}): run it again"] if changed else found


def _concluded(paint: Paint, told: Sequence[Told], problems: Sequence[str], reports: Path) -> int:
    paint([])
    for problem in problems:
        paint([("✗ ", "bold red"), problem])
    if problems:
        _paint_reports(paint, reports, [one for one in told if not one.problems])
        return 1
    requests = sum(one.requests for one in told)
    shared = len(comparable(told[0].events))
    if len(told) > 1:
        paint(
            [
                ("✓ ", "bold green"),
                f"{len(told)} wires, streamed and not: the same outcome and the same {shared} events, deltas aside",
            ]
        )
    paint([("✓ ", "bold green"), f"{requests} requests, each accepted by the rules of the emulator"])
    _paint_reports(paint, reports, told)
    paint([])
    paint(["The model was scripted; SDKs, HTTP, tools and files were real. With a real one:"])
    for line in _command():
        paint([(f"  {line}", "bold")])
    sys.stdout.flush()
    return 0


def _paint_reports(paint: Paint, reports: Path, told: Sequence[Told]) -> None:
    names = [one.wire.name for one in told]
    if names:
        middle = names[0] if len(names) == 1 else f"{{{','.join(names)}}}"
        paint([("✓ ", "bold green"), f"reports: {reports}/{middle}/report.md"])


def _geode() -> str:
    """How this command is typed: from an environment that is not activated, by its path."""
    if shutil.which("geode"):
        return "geode"
    beside = Path(sys.executable).with_name("geode")
    if not beside.exists():
        return "python -m geode"
    near = os.path.relpath(beside)
    return str(beside) if near.startswith(os.pardir) else near


def _command() -> tuple[str, str]:
    """What to type to do the same with a model; with a key that is there, if one is."""
    found = next((name for name in _KEYS if os.environ.get(name)), None)
    key = "" if found else "ANTHROPIC_API_KEY=… "
    model = _KEYS[found or "ANTHROPIC_API_KEY"]
    return (
        f'{key}{_geode()} run "{QUESTION.partition("?")[0]}?" --model {model} --stream \\',
        "  --tools geode.entrypoints.demo.here:tools --approve write_report",
    )
