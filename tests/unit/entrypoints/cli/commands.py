"""Starting `geode` as a user does, and files for it to work with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geode.entrypoints.places import HOME

# What a user's environment may hold must not decide a test.
FROM_OUTSIDE = ("GEODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "ZAI_")
APP = '''
import time

import geode


@geode.tool(tier="safe")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("a tool that prints")
    return a + b


@geode.tool(tier="safe")
def stumble(word: str) -> str:
    """Fail on purpose."""
    raise geode.ToolError(f"no {word} today")


@geode.tool(tier="write")
def save(text: str) -> str:
    """Keep a text."""
    return f"saved {text}"


@geode.tool(tier="safe")
def hang() -> str:
    """Never return."""
    while True:
        time.sleep(60)


everything = [add, stumble, save]
settings = {"not": "a tool"}
'''


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name == HOME or not name.startswith(FROM_OUTSIDE)}
    return {**kept, **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "geode", *arguments]


def geode(*arguments: str, cwd: Path, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """`geode …` to its end."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        input=stdin,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """`geode …` while it runs; killed at the end if it still does."""
    process = subprocess.Popen(
        command(*arguments), cwd=cwd, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(text: str) -> list[dict[str, Any]]:
    """JSON lines; whatever else is there fails."""
    return [json.loads(line) for line in text.splitlines()]
