"""The harness of an adapter over a command line program: a shell script stands in its place, and keeps what it was asked."""

from __future__ import annotations

import json
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import SecretStr

from geode.adapters.credentials_static import GivenCredential
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.text_cli.model import text_cli_model
from geode.adapters.text_cli.programs import TextProgram
from geode.adapters.text_cli.transcript import HEADING
from geode.domain.json_value import dump_json
from geode.domain.models import ModelRow
from geode.domain.script import Drops, Fails, Hangs, Malformed, Reply, Step
from geode.entrypoints.compliance.harness import Row, SendingHarness
from geode.entrypoints.compliance.playing import Playing
from geode.entrypoints.compliance.server import RAN_OUT, neutral
from geode.ports.model import ModelAdapter

KEY: Final = "the-key-of-the-lab"
# Takes the next step, keeps its arguments, its variables, its files and what it reads, and prints what the step says.
_STAND_IN: Final = """#!/bin/sh
kept='{folder}'
n=1
while ! mkdir "$kept/asked-$n" 2>/dev/null; do n=$((n + 1)); done
asked="$kept/asked-$n"
printf '%s\\0' "$@" > "$asked/arguments"
env -0 > "$asked/environment"
cp ../*.txt ../*.md ../*.json "$asked/" 2>/dev/null
cat > "$asked/prompt"
: > "$asked/whole"
step="$kept/step-$n"
[ -d "$step" ] || step="$kept/ran-out"
[ -f "$step/hangs" ] && exec sleep 600
sleep '{pace_seconds}'
cat "$step/errors" >&2
cat "$step/prints"
exit "$(cat "$step/code")"
"""


@dataclass(frozen=True, slots=True)
class Printed:
    """How a run of the program ends: what it prints, a JSON value on each line or a text as it is, and its code."""

    lines: tuple[Mapping[str, Any] | str, ...]
    code: int = 0

    @property
    def text(self) -> str:
        return "".join(line if isinstance(line, str) else f"{dump_json(line)}\n" for line in self.lines)


@dataclass(frozen=True, slots=True)
class StandIn:
    """A script in the place of a program, and the folder in which it keeps what it was asked."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "program"

    def runs(self) -> list[bytes]:
        """Each run as JSON: its arguments, its files, its variables, and its prompt; of one that has only begun, nothing."""
        asked = sorted(self.folder.glob("asked-*"), key=lambda path: int(path.name.partition("-")[2]))
        return [_run(path) if (path / "whole").exists() else b"" for path in asked]


def _run(asked: Path) -> bytes:
    files = {path.name: path.read_text("utf-8") for path in sorted(asked.glob("*.*"))}
    variables = (one.partition("=") for one in _pieces(asked / "environment"))
    environment = {name: value for name, _, value in variables}
    prompt = (asked / "prompt").read_text("utf-8")
    return dump_json(
        {"arguments": _pieces(asked / "arguments"), "files": files, "environment": environment, "prompt": prompt}
    ).encode()


def _pieces(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\0")[:-1]


def stand_in(folder: Path, steps: Sequence[Printed | None], *, ran_out: Printed, pace_seconds: float = 0.0) -> StandIn:
    """A program in `folder` that does one step for each run; None hangs."""
    for name, step in (("ran-out", ran_out), *((f"step-{number}", step) for number, step in enumerate(steps, 1))):
        place = folder / name
        place.mkdir()
        if step is None:
            (place / "hangs").touch()
            continue
        (place / "prints").write_text(step.text, "utf-8")
        (place / "errors").write_text("" if step.code == 0 else "it ended badly\n", "utf-8")
        (place / "code").write_text(str(step.code), "utf-8")
    made = StandIn(folder)
    made.path.write_text(_STAND_IN.format(folder=folder, pace_seconds=pace_seconds), "utf-8")
    made.path.chmod(0o755)
    return made


class ProgramHarness(SendingHarness):
    """`program` is what the adapter knows of it, `rows` what is known of its models. What it prints is written from
    recordings of the program."""

    name: ClassVar[str]
    program: ClassVar[TextProgram]
    rows: ClassVar[tuple[ModelRow, ...]] = ()

    @abstractmethod
    def says(self, reply: Mapping[str, Any]) -> Printed:
        """`reply` as for `HttpHarness.render`."""

    @abstractmethod
    def fails(self, status: int, message: str) -> Printed:
        """The server refused the request."""

    @abstractmethod
    def loses(self) -> Printed:
        """The connection broke."""

    @abstractmethod
    def settings(self, arguments: Sequence[str], files: Mapping[str, str]) -> dict[str, Any]:
        """The model, the system text and other settings of a run."""

    def adapter(self, program: Path) -> ModelAdapter:
        """The adapter over the file `program`, paid by a key."""
        credential = GivenCredential(SecretStr(KEY), "the lab")
        endpoint = Endpoint("http://lab.test", credential.source, credential)
        return text_cli_model(self.name, self.program, str(program), endpoint, rows=self.rows)

    def read(self, sent: bytes) -> dict[str, Any]:
        """What a run says to the model, without where its files were; nothing of one that was ended while it began."""
        if not sent:
            return {"prompt": ""}
        run = json.loads(sent)
        return {**self.settings(run["arguments"], run["files"]), "prompt": run["prompt"]}

    def view(self, body: Mapping[str, Any]) -> Sequence[Row]:
        prompt: str = body["prompt"]
        heading, _, lines = prompt.partition("\n\n")
        if heading != HEADING:
            return [{"who": "human", "say": prompt}]
        who = {"user": "human", "assistant": "bot"}
        return [{"who": who[one], "say": text} for line in lines.split("\n") for one, text in json.loads(line).items()]

    @asynccontextmanager
    async def playing(self, *script: Step, pace_seconds: float = 0.0) -> AsyncIterator[Playing]:
        folder = Path(tempfile.mkdtemp())
        try:
            steps = [self._printed(step, number) for number, step in enumerate(script, 1)]
            ran_out = self.fails(RAN_OUT.status, RAN_OUT.message)
            made = stand_in(folder, steps, ran_out=ran_out, pace_seconds=pace_seconds)
            playing = Playing(self.adapter(made.path), self.model, made.runs)
            yield playing
            # Tests look at them afterwards too.
            kept = made.runs()
            playing.bodies = lambda: kept
            self.judge(playing)
        finally:
            shutil.rmtree(folder)

    def _printed(self, step: Step, number: int) -> Printed | None:
        match step:
            case Reply():
                return self.says(neutral(step, number))
            case Fails():
                return self.fails(step.status, step.message)
            case Hangs():
                return None
            case Drops():
                return self.loses()
            case Malformed(kind="html"):
                return Printed(("<html><body><h1>Bad gateway</h1></body></html>",))
            case Malformed(kind="not_json"):
                return Printed(('{"type": "result", "is_err',), 1)
            case Malformed(kind="empty"):
                return Printed(())
            case Malformed(kind="wrong_shape"):
                return Printed(({"hello": "world"}, {"type": ["result"]}))
            case Malformed():
                return self.fails(500, "the server had an error")
