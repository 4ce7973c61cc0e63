"""The programs of others are there, in the versions that the tests were written for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

DECLARED = json.loads((Path(__file__).parent / "package.json").read_text())["dependencies"]
INSTALLED = Path(__file__).parents[2] / ".real" / "node_modules"


@pytest.mark.parametrize("package", sorted(DECLARED))
def test_each_package_has_the_declared_version(package: str) -> None:
    assert json.loads((INSTALLED / package / "package.json").read_text())["version"] == DECLARED[package]


@pytest.mark.parametrize(
    "program", ["claude", "codex", "conformance", "mcp-server-everything", "mcp-server-filesystem", "mcp-server-memory"]
)
def test_each_program_can_be_started(program: str, npm_program: Callable[[str], Path]) -> None:
    assert npm_program(program).stat().st_mode & 0o111
