"""A text of 200 MB and a JSON of 50 MB as results of a tool: what the model reads of them, and in how much memory.

    make big-results

Each runs in a process of its own, over each store. The model finds a needle by two calls of
recall_tool_result. Memory is what the process holds at most, as Linux tells it: of a text beyond what it held
before the tool was called, the text itself included; of a value that is rendered as JSON beyond the value,
which is the tool's. The figures go to `docs/evidence/big_results.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

import geode
from geode.adapters.results_file import FileResults
from geode.adapters.results_memory import MemoryResults
from geode.domain.content import ToolResult
from geode.domain.loop.outcome import Answered
from geode.domain.offload import RECALL
from geode.domain.script import calls, says
from tests.fuzz.marathon import EVIDENCE, commit
from tests.unit.application.recalls import AT, Reader, recalls
from tests.unit.application.rig import heartbeat

Form = Literal["text", "JSON text", "JSON value"]
Store = Literal["memory", "file"]

MB: Final = 1_000_000
SIZES: Final[dict[Form, int]] = {"text": 200 * MB, "JSON text": 50 * MB, "JSON value": 50 * MB}
MOST_TIMES: Final = 3.0
NEEDLE: Final = "needle 4711 in the hay"
PATIENCE_SECONDS: Final = 900.0


@dataclass(frozen=True)
class Figures:
    """Of one run. `held_mb` is the tool's value, `peak_mb` everything; `times` is what counts of it, by the result's size."""

    form: str
    store: str
    result_mb: float
    held_mb: float
    peak_mb: float
    times: float
    seconds: float
    longest_pause_ms: float
    summary_characters: int
    sent_characters: int
    recalls: int
    found: bool
    left: int

    @property
    def wrong(self) -> list[str]:
        told = {
            f"the peak is {self.times} times the result": self.times > MOST_TIMES,
            f"the model was sent {self.sent_characters} characters": self.sent_characters > 10_000,
            "the needle was not found": not self.found,
            f"{self.left} things are left in the store": self.left > 0,
        }
        return [f"{self.form} over {self.store}: {what}" for what, is_so in told.items() if is_so]


# ---- one run, in a process of its own --------------------------------------------------------------


def _text(size: int) -> str:
    line = "a line of a log that nobody will ever read to its end\n"
    half = line * (size // 2 // len(line))
    return f"{half}{NEEDLE}\n{half}"


def _json(size: int) -> str:
    row = '{"id":17,"note":"nothing to be seen here","ok":true},'
    half = row * (size // 2 // len(row))
    return f'{{"rows":[{half}{{"id":4711,"note":"{NEEDLE}","ok":true}},{half}null]}}'


def _rows(size: int) -> list[dict[str, Any]]:
    """Rows of a table, with texts of a kilobyte that are all different."""
    rows = [{"id": number, "note": f"{number:09}" + "x" * 1_000, "ok": True} for number in range(size // 1_045)]
    rows[len(rows) * 2 // 3]["note"] = NEEDLE
    return rows


MADE: Final[dict[Form, Callable[[int], Any]]] = {
    "text": _text,
    "JSON text": _json,
    "JSON value": _rows,
}


def _memory(name: Literal["VmRSS", "VmHWM"]) -> int:
    """What the process holds, or held at most, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _forget_the_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


async def _run(form: Form, store: Store, size: int) -> Figures:
    before = held = 0

    @geode.tool(tier="safe", blocking=True)
    def big() -> Any:
        nonlocal before, held
        _forget_the_peak()
        before = _memory("VmRSS")
        value = MADE[form](size)
        held = _memory("VmRSS")
        return value

    @geode.tool(tier="safe")
    def small() -> str:
        return "small"

    with tempfile.TemporaryDirectory() as folder:
        kept = MemoryResults() if store == "memory" else FileResults(Path(folder) / "kept")
        model = Reader(
            calls(("small", {})),
            calls(("big", {})),
            recalls(pattern=r"needle \d+"),
            recalls(offset=AT, limit=40),
            says("found"),
        )
        running = asyncio.get_running_loop().time
        started = running()
        outcome, pause = await heartbeat(geode.run("find it", model=model, tools=[big, small], results=kept))
        peak, seconds = _memory("VmHWM"), running() - started
        left = len(kept.ref_ids) if isinstance(kept, MemoryResults) else len(os.listdir(kept.folder))
    assert isinstance(outcome, Answered), outcome
    _, shown, search, part = outcome.conversation.results()
    calls_made = [call for turn in outcome.conversation.turns for call in getattr(turn, "calls", ())]
    result_size = int(shown.text.split(": ", 1)[1].split(" ", 1)[0])
    return Figures(
        form,
        store,
        round(result_size / MB, 1),
        round((held - before) / MB, 1),
        round((peak - before) / MB, 1),
        round((peak - (held if form == "JSON value" else before)) / result_size, 2),
        round(seconds, 1),
        round(pause * 1_000, 1),
        len(shown.text),
        max(_sent(request.conversation.results()) for request in model.requests),
        len([call for call in calls_made if call.name == RECALL]),
        "1 match" in search.text and part.text.split("\n", 1)[1].startswith(NEEDLE),
        left,
    )


def _sent(results: Any) -> int:
    found: list[ToolResult] = list(results)
    return sum(len(result.text) for result in found)


# ---- all of them ---------------------------------------------------------------------------------


def measured(form: Form, store: Store, size: int) -> Figures:
    """The figures of one run, in a process of its own."""
    command = [sys.executable, "-m", "tests.big_results", "--one", form, store, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{form} over {store} ended with {done.returncode}: {done.stderr[-2_000:]}")
    return Figures(**json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.big_results", description=__doc__)
    parser.add_argument("--one", nargs=3, help="one run in this process: form, store, bytes")
    given = parser.parse_args()
    if given.one is not None:
        form, store, size = given.one
        print(json.dumps(asdict(asyncio.run(_run(form, store, int(size))))))
        return 0
    figures = [measured(form, store, SIZES[form]) for form in get_args(Form) for store in get_args(Store)]
    wrong = [problem for one in figures for problem in one.wrong]
    report = {"commit": commit(), "python": platform.python_version(), "most_times": MOST_TIMES, "wrong": wrong}
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**report, "runs": [asdict(one) for one in figures]}, indent=2)
    (EVIDENCE / "big_results.json").write_text(text + "\n")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
