"""Kill a run with SIGKILL at random moments, go on with it, and look what became of it.

    make kills N=300

Each run is killed once to three times. Half of them have a tool that can tell what became of a call, and
have to end like a run that nobody killed; the others cannot know, and have to say so to the model. The
counts go to `docs/evidence/kills.json`; a search that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.wire import Wire
from geode.adapters.journal_file import FileJournal
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Owner, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.loop.inputs import ToolFinished
from geode.domain.loop.recording import Happened, replay
from geode.domain.request import AdapterCallRequest
from geode.domain.tools import ToolSpec
from geode.entrypoints.emulator import Dialect, Protocol, check, laws
from tests.fuzz.marathon import commit
from tests.kills.undertaking import FILES, WRITES, begun_runs, lines, undertake

ROOT: Final = Path(__file__).parents[2]
EVIDENCE: Final = ROOT / "docs" / "evidence" / "kills.json"
SEED: Final = 20_250
# How a run can have ended that is as it must be.
AS_UNDISTURBED: Final = "runs that reconcile, and end like one that nobody killed"
ALL_TOLD: Final = "runs that cannot reconcile, with every doubt told to the model"
# How long a run may take that is not killed, on a machine that does much else.
PATIENCE: Final = 120.0
TOOLS: Final = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in ("read", "add"))
WIRES: Final[Mapping[Protocol, tuple[Wire, Dialect, str]]] = {
    "messages": (MessagesWire(), "anthropic", "claude-sonnet-4-5"),
    "responses": (ResponsesWire(), "openai", "gpt-5.2"),
    "chat": (ChatWire(DIALECTS["openai"]), "openai", "gpt-4o"),
}

_processes: Final = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.kills.undertaking", "geode.entrypoints.runtime", "jsonschema"])


class Undisturbed:
    """A run that nobody kills: what it leaves behind, and how long it takes."""

    def __init__(self, folder: Path) -> None:
        self.seconds = min(_to_its_end(folder / str(number), reconciles=True) for number in range(3))
        self.files = files_of(folder / "0")
        self.conversation = conversation_of(folder / "0")


def _to_its_end(folder: Path, *, reconciles: bool) -> float:
    folder.mkdir(parents=True)
    return started(folder, reconciles=reconciles).to_its_end()


class Started:
    """The run, under way in a process of its own."""

    def __init__(self, process: Any, folder: Path) -> None:
        self._process, self._folder = process, folder
        self._since = time.monotonic()

    def to_its_end(self) -> float:
        """The seconds that it took."""
        self._process.join(PATIENCE)
        self.killed()
        assert self._process.exitcode == 0, f"the run in {self._folder} ended with {self._process.exitcode}"
        return time.monotonic() - self._since

    def killed_after(self, seconds: float) -> bool:
        """Whether it was killed, or had come to its end by then."""
        self._process.join(seconds)
        self.killed()
        assert self._process.exitcode in (0, -signal.SIGKILL), f"the run in {self._folder} failed"
        return bool(self._process.exitcode)

    def killed(self) -> None:
        self._process.kill()
        self._process.join()


def started(folder: Path, *, reconciles: bool) -> Started:
    """Begin the run in `folder`, or go on with it."""
    ready = _processes.Event()
    process = _processes.Process(target=undertake, args=(str(folder), reconciles, ready))
    process.start()
    assert ready.wait(PATIENCE)
    return Started(process, folder)


def files_of(folder: Path) -> dict[str, list[str]]:
    return {name: lines(folder / name) for name in FILES}


def conversation_of(folder: Path) -> Conversation:
    return Conversation.loads((folder / "conversation").read_text())


def results_written(folder: Path) -> tuple[str, dict[str, ToolResult]]:
    """What was pending when the process ended, and the results that its journal has."""
    journal = FileJournal(folder / "runs")
    begun = begun_runs(journal)
    if not begun:
        return "nothing had begun", {}
    recording = journal.recorded(begun[0])
    found = replay(recording)
    assert found.divergence is None, found.divergence
    assert found.state is not None
    inputs = (record.input for record in recording.records if isinstance(record, Happened))
    results = {input.result.call_id: input.result for input in inputs if isinstance(input, ToolFinished)}
    return type(found.state.pending).__name__, results


def rules_broken(conversation: Conversation) -> list[str]:
    """What servers, or the laws of the conversation, have against it."""
    found: list[str] = []
    for protocol, (wire, dialect, model) in WIRES.items():
        asked = AdapterCallRequest(model, conversation, tools=TOOLS)
        body = json.loads(wire.encode(asked, Owner("planned", model)))
        violations = (*check(protocol, body, dialect), *laws(protocol, body))
        found += [f"{protocol}: {one.rule} at {one.at}: {one.message}" for one in violations]
    return found


def killed_run(number: int, undisturbed: Undisturbed, folder: Path, *, seed: int = SEED) -> Counter[str]:
    """One run, killed and gone on with to its end; AssertionError where anything is not as it must be."""
    random = Random(f"{seed} {number}")
    reconciles, planned = number % 2 == 0, random.choice((1, 1, 2, 3))
    counts: Counter[str] = Counter({"runs": 1})
    written: dict[str, ToolResult] = {}
    for _ in range(planned):
        if not started(folder, reconciles=reconciles).killed_after(random.uniform(0.0, undisturbed.seconds)):
            break
        counts["kills"] += 1
        pending, results = results_written(folder)
        counts[f"killed while pending: {pending}"] += 1
        written |= results
    else:
        started(folder, reconciles=reconciles).to_its_end()

    conversation, files = conversation_of(folder), files_of(folder)
    results = {one.call_id: one for one in conversation.results()}
    executed = [line for name in FILES for line in files[name]]
    unknown = {id for id, one in results.items() if one.kind == "outcome_unknown"}
    assert len(executed) == len(set(executed)), f"executed twice: {executed}"
    assert {id: results[id] for id in written} == written, "a finished result was lost or changed"
    assert rules_broken(conversation) == []
    assert unknown <= set(lines(folder / "seen")), "the model was not told of a doubt"
    if reconciles:
        assert unknown == set()
        assert files == undisturbed.files
        assert conversation == undisturbed.conversation
        counts[AS_UNDISTURBED] += 1
    else:
        sure = {id for id, one in results.items() if one.kind == "ok" and one.text == f"added {id}"}
        assert sure <= set(executed) <= sure | unknown
        assert len(sure | unknown) == WRITES
        counts[ALL_TOLD] += 1
        counts["unknown outcomes that had an effect"] += len(unknown & set(executed))
        counts["unknown outcomes without one"] += len(unknown - set(executed))
    return counts


def so_far(head: Mapping[str, Any]) -> dict[str, Any]:
    """What the evidence has already of this commit and seed."""
    found: dict[str, Any] = json.loads(EVIDENCE.read_text("utf-8")) if EVIDENCE.exists() else {}
    same = all(found.get(name) == value for name, value in head.items())
    return found if same else {**head, "counts": {}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    evidence = so_far({"commit": commit(), "python": platform.python_version(), "seed": given.seed})
    counts = Counter[str](evidence["counts"])
    with tempfile.TemporaryDirectory() as place:
        undisturbed = Undisturbed(Path(place) / "undisturbed")
        while counts["kills"] < given.kills:
            folder = Path(place) / str(counts["runs"])
            folder.mkdir()
            counts += killed_run(counts["runs"], undisturbed, folder, seed=given.seed)
            evidence["counts"] = dict(sorted(counts.items()))
            EVIDENCE.write_text(json.dumps(evidence, indent=2) + "\n", "utf-8")
    print(EVIDENCE.read_text("utf-8"), end="")


if __name__ == "__main__":
    main()
