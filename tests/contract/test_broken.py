"""The suite is itself tested: each adapter that is broken on purpose fails exactly the tests that name its fault."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.contract.broken import BROKEN

pytest_plugins = ["pytester"]

PROGRAM = """
from geode.compliance import AdapterContract
from tests.contract.broken import BROKEN, HISTORIES

for name, broken in BROKEN.items():
    globals()[f"Test{name}"] = type(f"Test{name}", (AdapterContract,), {"harness": broken.harness, "histories": HISTORIES})
"""
# Of the many tests that one function stands for the first is enough to notice a fault, and of these functions five.
NEEDED = (
    "test_a_choice_is_sent_or_refused_here",
    "test_a_kind_of_choice",
    "test_a_setting",
    "test_a_setting_is_sent_or_refused_and_never_dropped",
    "test_what_the_server_says_about_trying_again_is_a_fact",
)


class Fewer:
    """Leaves out most of the many tests that say the same of another status, reply or place."""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        same: defaultdict[tuple[Any, str], list[Any]] = defaultdict(list)
        for item in items:
            same[item.cls, item.originalname].append(item)
        kept: list[Any] = []
        for (_, name), alike in same.items():
            kept += alike[:: -(-len(alike) // 5)] if name in NEEDED else alike[:1]
        items[:] = kept


@pytest.mark.sends_broken_requests
def test_each_fault_is_noticed_by_the_tests_that_name_it(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(PROGRAM)
    done = pytester.inline_run(
        "-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:cacheprovider", "-q", str(path), plugins=[Fewer()]
    )

    found: dict[str, set[str]] = {name: set() for name in BROKEN}
    ran: dict[str, int] = dict.fromkeys(BROKEN, 0)
    for report in done.getreports("pytest_runtest_logreport"):
        _, cls, test = report.nodeid.split("::")
        assert report.outcome != "skipped"
        if report.when == "call" or report.failed:
            ran[cls.removeprefix("Test")] += 1
            if report.failed:
                found[cls.removeprefix("Test")].add(test.partition("[")[0])
    assert min(ran.values()) > 50
    unlike = {name: found[name] ^ broken.noticed for name, broken in BROKEN.items() if found[name] != broken.noticed}
    assert unlike == {}
