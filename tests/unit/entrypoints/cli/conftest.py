"""A folder with a user's module of tools, and no settings from outside."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from geode.entrypoints.places import HOME
from tests.unit.entrypoints.cli.commands import APP, FROM_OUTSIDE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with `app.py` in it; modules that a test imports from it are forgotten again."""
    for name in list(os.environ):
        if name.startswith(FROM_OUTSIDE) and name != HOME:
            monkeypatch.delenv(name)
    (tmp_path / "app.py").write_text(APP, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def unused_port() -> int:
    """A port where nobody listens, on the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
