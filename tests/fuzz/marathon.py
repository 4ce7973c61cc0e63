"""Long runs of numbered steps: they go on where they were interrupted, say how far they are, and leave evidence."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
EVIDENCE: Final = ROOT / "docs" / "evidence"
_SHOWN: Final = 50
_SAVED_EVERY_SECONDS: Final = 10.0


@dataclass
class Tally:
    """What the steps so far came to. `key` says of what: with another one they count for nothing."""

    key: dict[str, Any]
    done: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    slowest: dict[str, Any] = field(default_factory=dict[str, Any])

    def fail(self, what: str) -> None:
        self.counts["wrong"] += 1
        if len(self.wrong) < _SHOWN:
            self.wrong.append(what)


@dataclass(frozen=True)
class Marathon:
    """`step` does one numbered step and tells the tally; `about` is what the evidence says of the numbers."""

    name: str
    steps: int
    about: dict[str, Any]
    step: Callable[[int, Tally], None]

    @property
    def state(self) -> Path:
        return ROOT / ".marathon" / f"{self.name}.json"

    def run(self) -> Tally:
        """All steps that are not done yet. Ctrl-C keeps what is done."""
        tally = self._resumed()
        started, saved = time.monotonic() - tally.seconds, time.monotonic()
        try:
            while tally.done < self.steps:
                self.step(tally.done, tally)
                tally.done += 1
                if time.monotonic() - saved > _SAVED_EVERY_SECONDS:
                    saved, tally.seconds = time.monotonic(), time.monotonic() - started
                    self._save(tally)
                    self._say(tally)
        finally:
            tally.seconds = time.monotonic() - started
            self._save(tally)
        self._say(tally)
        self._testify(tally)
        return tally

    def _resumed(self) -> Tally:
        key = {"commit": commit(), "python": platform.python_version(), **self.about}
        try:
            kept = json.loads(self.state.read_text())
        except (OSError, ValueError):
            return Tally(key)
        if kept.get("key") != key:
            return Tally(key)
        return Tally(**{**kept, "counts": Counter(kept["counts"])})

    def _save(self, tally: Tally) -> None:
        self.state.parent.mkdir(exist_ok=True)
        written = self.state.with_suffix(".new")
        written.write_text(json.dumps(vars(tally)))
        written.replace(self.state)

    def _say(self, tally: Tally) -> None:
        wrong = f", {tally.counts['wrong']} wrong" if tally.wrong else ""
        print(f"{self.name}: {tally.done} of {self.steps} in {tally.seconds:.0f} s{wrong}", file=sys.stderr, flush=True)

    def _testify(self, tally: Tally) -> None:
        EVIDENCE.mkdir(parents=True, exist_ok=True)
        report = {
            **tally.key,
            "steps": tally.done,
            "seconds": round(tally.seconds, 1),
            "wrong": tally.wrong,
            "counts": dict(sorted(tally.counts.items())),
            **({"slowest": tally.slowest} if tally.slowest else {}),
        }
        (EVIDENCE / f"{self.name}.json").write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def commit() -> str:
    """The commit that is checked out, with a mark if sources were changed since."""
    head = _git("rev-parse", "--short", "HEAD") or "none"
    return f"{head}+changes" if _git("status", "--porcelain", "--", "src", "tests") else head


def _git(*words: str) -> str:
    found = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return found.stdout.strip()
