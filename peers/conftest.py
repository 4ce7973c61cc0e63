"""Each test plays one scenario; a whole run that passes is written to `docs/evidence/peers.json`."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from emulated import BIN, ROOT, Emulated, emulated

# Set before the library is imported: its traces go to a public host otherwise.
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

EVIDENCE = ROOT / "docs" / "evidence" / "peers.json"
WORDS = ("accepted", "refused", "streamed")
VERSIONS = ("pydantic-ai-slim", "openai-agents", "anthropic", "openai")


@dataclass
class Played:
    """All that one client did on one wire in one scenario."""

    client: str
    scenario: str
    wire: str
    server: Emulated


PLAYED = pytest.StashKey[list[Played]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PLAYED] = []


@pytest.fixture
def emulate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str, list[dict[str, Any]]], Emulated]]:
    """`emulate(wire, script)` starts a `geode emulate` that plays the script."""
    client = request.module.__name__.rpartition("test_")[2].replace("_", "-")
    scenario = request.node.originalname.removeprefix("test_").replace("_", " ")
    with ExitStack() as stack:

        def start(wire: str, script: list[dict[str, Any]]) -> Emulated:
            server = stack.enter_context(emulated(script, tmp_path))
            request.config.stash[PLAYED].append(Played(client, scenario, wire, server))
            return server

        yield start


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    whole = not session.config.option.keyword and not session.config.option.file_or_dir
    if exitstatus == 0 and whole:
        result = report(session.config.stash[PLAYED])
        EVIDENCE.write_text(json.dumps(result, indent=2) + "\n")
        counts = f"{result['accepted']} requests accepted, {result['refused_on_purpose']} refused on purpose"
        print(f"\n{counts}: {EVIDENCE.relative_to(ROOT)}")


def tally(played: list[Played]) -> dict[tuple[str, str, str], Counter[str]]:
    found = defaultdict[tuple[str, str, str], Counter[str]](Counter)
    for one in played:
        found[one.client, one.scenario, one.wire].update({word: one.server.count(word) for word in WORDS})
    return found


def report(played: list[Played]) -> dict[str, Any]:
    scenarios: dict[str, dict[str, dict[str, str]]] = {}
    for (client, scenario, wire), counts in sorted(tally(played).items()):
        accepted, refused, streamed = (counts[word] for word in WORDS)
        told = f"{accepted} accepted, {refused} refused, {streamed} of them streamed"
        scenarios.setdefault(client, {}).setdefault(scenario, {})[wire] = told
    total = sum(tally(played).values(), Counter())
    kept = [{"client": one.client, **sent} for one in played if not one.server.count("refused") for sent in one.server.sent]
    lines = "\n".join(map(json.dumps, kept))
    judged = subprocess.run(
        [BIN / "python", ROOT / "peers" / "broken_laws.py"], input=lines, capture_output=True, text=True, check=True
    )
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in VERSIONS},
        "accepted": total["accepted"],
        "refused_on_purpose": total["refused"],
        "laws_broken_though_accepted": json.loads(judged.stdout),
        "scenarios": scenarios,
    }


def commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
