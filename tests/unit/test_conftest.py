"""The guard that watches all tests notices what it is there for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import SECRETS, pytest_runtest_makereport


def judged(when: Any, outcome: Any, text: str) -> pytest.TestReport:
    """The report of a test that printed `text`, as the guard hands it on."""
    sections = [("Captured stdout call", text), ("Captured log call", "")]
    report = pytest.TestReport("id", ("file", 1, "test"), {}, outcome, None, when, sections)
    item: Any = None
    call: Any = SimpleNamespace(when=when)
    guard: Any = pytest_runtest_makereport(item, call)
    next(guard)
    with pytest.raises(StopIteration) as ended:
        guard.send(report)
    found: pytest.TestReport = ended.value.value
    return found


@pytest.mark.parametrize("secret", SECRETS)
def test_a_test_that_tells_a_secret_fails_once(secret: str) -> None:
    assert judged("call", "passed", f"it is {secret}").outcome == "passed"
    report = judged("teardown", "passed", f"it is {secret}")
    assert (report.outcome, report.longrepr) == ("failed", "a secret was told: Captured stdout call")


def test_a_discreet_one_and_one_that_failed_are_left_alone() -> None:
    assert judged("teardown", "passed", "it is ***").outcome == "passed"
    assert judged("teardown", "skipped", SECRETS[0]).outcome == "skipped"
