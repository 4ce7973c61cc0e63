"""A `geode emulate` process, and what it says of the requests that reached it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).parent.parent
BIN = ROOT / ".venv" / "bin"
ENDINGS = {"/messages": "messages", "/responses": "responses", "/chat/completions": "chat"}


@dataclass
class Emulated:
    """One process. `sent` are the bodies that a client posted, with their wire; `log` is what the process printed."""

    base: str
    _log: Path
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def log(self) -> list[str]:
        """One line for each request: its wire, model, `whole` or `streamed`, `accepted` or `refused`, and why."""
        return [line.split(maxsplit=1)[1] for line in self._log.read_text().splitlines()]

    def count(self, word: str) -> int:
        return sum(f" {word} " in line for line in self.log)

    def http(self) -> httpx2.AsyncClient:
        """A client for an SDK, ordinary but that the bodies it posts are kept."""
        return httpx2.AsyncClient(event_hooks={"request": [self._seen]})

    async def _seen(self, request: httpx2.Request) -> None:
        wire = next(wire for ending, wire in ENDINGS.items() if request.url.path.endswith(ending))
        self.sent.append({"protocol": wire, "request": json.loads(await request.aread())})


@contextmanager
def emulated(script: list[dict[str, Any]], folder: Path) -> Iterator[Emulated]:
    """`geode emulate --script …` on a free port of the loopback, until the block is left."""
    steps, log = folder / "script.json", folder / "emulate.log"
    steps.write_text(json.dumps(script))
    with (
        log.open("w") as err,
        subprocess.Popen(
            [BIN / "geode", "emulate", "--script", steps, "--port", "0"], stdout=subprocess.PIPE, stderr=err, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            banner = "".join(process.stdout.readline() for _ in range(2))
            found = re.search(r"http://\S+", banner)
            assert found, f"geode emulate did not start: {banner}{log.read_text()}"
            yield Emulated(found[0], log)
        finally:
            process.terminate()
