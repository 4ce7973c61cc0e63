"""A few kills of the many that `make kills` does."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.kills.killing import ALL_TOLD, AS_UNDISTURBED, Undisturbed, killed_run

KILLS = 3

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a word of POSIX")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("reconciles", [True, False], ids=["with a reconciler", "without one"])
def test_a_run_that_is_killed_goes_on(undisturbed: Undisturbed, tmp_path: Path, reconciles: bool) -> None:
    """`killed_run` compares files, executions and conversation with the undisturbed run, and says what it found."""
    found: Counter[str] = Counter()
    number = 0 if reconciles else 1
    while found["kills"] < KILLS:
        folder = tmp_path / str(number)
        folder.mkdir()
        found += killed_run(number, undisturbed, folder)
        number += 2
    ended = AS_UNDISTURBED if reconciles else ALL_TOLD
    assert found[ended] == found["runs"]
