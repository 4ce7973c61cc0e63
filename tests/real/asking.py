"""Asking a real program through geode, with an emulator at the other end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.outcome import Failed
from geode.domain.retry import RetryPolicy
from geode.domain.script import Step
from geode.entrypoints.emulator import Emulator, running_in_thread
from geode.entrypoints.routes.registry import forget_adapters
from geode.errors import ModelCallError
from geode.registry import reload_adapters

KEY = "the-key-of-the-lab"
# Keys and tokens of the process that asks.
PLANTED = "sk-planted-in-the-environment"
# Nothing is tried again: what the program does with one attempt is what is looked at.
ONCE = geode.Policy(retry=RetryPolicy(attempts=1), call_timeout_seconds=60.0)
ANSWER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@geode.tool(tier="safe")
def look_around(place: str) -> str:
    """A tool that no program may hear of."""
    return f"it is dark in {place}"


@dataclass
class Lab:
    """A program in its place, and the settings that name it; `path` goes behind the address of the emulator."""

    word: str
    program: Path
    model: str
    home: Path
    monkeypatch: pytest.MonkeyPatch
    path: str = ""

    @contextmanager
    def serving(self, *script: Step, login: Path | None = None, **options: Any) -> Iterator[Emulator]:
        emulator = Emulator(script, **options)
        with running_in_thread(emulator) as found:
            pays = {"key": "env:LAB_KEY"} if login is None else {"login": str(login)}
            keys = {"bin": str(self.program), "base_url": f"{found.base_url}{self.path}", **pays}
            table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
            (self.home / "routing.toml").write_text(f"[providers.{self.word}-cli]\n{table}")
            self.monkeypatch.setenv("GEODE_HOME", str(self.home))
            self.monkeypatch.setenv("LAB_KEY", KEY)
            reload_adapters()
            yield emulator

    async def run(self, prompt: str = "hello", **settings: Any) -> geode.Outcome:
        policy = settings.pop("policy", ONCE)
        return await geode.run(prompt, model=f"{self.word}-cli/{self.model}", policy=policy, **settings)

    async def ask(self, text: str, **settings: Any) -> Any:
        async with geode.Runtime(model=f"{self.word}-cli/{self.model}", policy=ONCE) as runtime:
            return await runtime.ask(text, **settings)

    def left(self) -> list[str]:
        """The programs that still run, those that it started too, waited for up to 5 s."""
        installed = str(self.program).partition("node_modules")[0]
        found: list[str] = []
        for _ in range(500):
            found = [line for line in _commands() if installed in line and "pytest" not in line]
            if not found:
                return []
            time.sleep(0.01)
        return found


@contextmanager
def lab_of(word: str, program: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Nothing runs and no folder is left when it is over."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY"):
        monkeypatch.setenv(name, PLANTED)
    found = Lab(word, program, model, home, monkeypatch)
    try:
        yield found
        assert found.left() == []
        assert os.listdir(temporary) == []
    finally:
        monkeypatch.undo()
        forget_adapters()


def failure_of(outcome: geode.Outcome) -> tuple[int | None, FailureClass]:
    assert isinstance(outcome, Failed), outcome
    assert isinstance(outcome.error, ModelCallError)
    assert outcome.error.failure is not None
    return outcome.error.failure.status, classify_retry_error(outcome.error.failure)


def _commands() -> Iterator[str]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            yield Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def texts(value: Any) -> Iterator[str]:
    """Every text in a request."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from texts(item)
        case list():
            for item in value:
                yield from texts(item)
        case _:
            return
