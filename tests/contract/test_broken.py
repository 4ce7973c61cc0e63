"""The suite is itself tested: whatever is broken on purpose fails exactly the tests that name its fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.broken import BROKEN
from tests.contract.broken_ports import BROKEN_PORTS

pytest_plugins = ["pytester"]

ADAPTERS = """
from geode.compliance import AdapterContract
from tests.contract.broken import BROKEN, HISTORIES

for name, broken in BROKEN.items():
    members = {"harness": broken.harness, "histories": HISTORIES}
    globals()[f"Test{name}"] = type(f"Test{name}", (AdapterContract,), members)
"""
PORTS = """
from geode.entrypoints.compliance.registered import contract_of
from tests.contract.broken_ports import BROKEN_PORTS

for harness in BROKEN_PORTS:
    name = f"Test{harness.__name__}"
    globals()[name] = type(name, (contract_of(harness),), {"harness": harness})
"""
# Of the many tests that one function stands for the first is enough to notice a fault, and of these functions five.
NEEDED = (
    "test_a_choice_is_sent_or_refused_here",
    "test_a_kind_of_choice",
    "test_a_setting",
    "test_a_setting_is_sent_or_refused_and_never_dropped",
    "test_a_form_of_media",
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


def unlike(pytester: pytest.Pytester, program: str, noticed: Mapping[str, set[str]], *plugins: object) -> dict[str, set[str]]:
    """By class, the tests that failed and should not, or should and did not."""
    path = pytester.makepyfile(program)
    quietly = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
    done = pytester.inline_run(*quietly, str(path), plugins=list(plugins))
    failed: dict[str, set[str]] = {name: set() for name in noticed}
    ran: dict[str, int] = dict.fromkeys(noticed, 0)
    for report in done.getreports("pytest_runtest_logreport"):
        _, cls, test = report.nodeid.split("::")
        assert report.outcome != "skipped"
        ran[cls.removeprefix("Test")] += report.when == "call"
        if report.failed:
            failed[cls.removeprefix("Test")].add(test.partition("[")[0])
    assert min(ran.values()) > 2
    return {name: failed[name] ^ wanted for name, wanted in noticed.items() if failed[name] != wanted}


@pytest.mark.sends_broken_requests
def test_each_broken_adapter_is_noticed_by_the_tests_that_name_its_fault(pytester: pytest.Pytester) -> None:
    noticed = {name: set(broken.noticed) for name, broken in BROKEN.items()}
    assert unlike(pytester, ADAPTERS, noticed, Fewer()) == {}


def test_each_broken_port_is_noticed_by_the_tests_that_name_its_fault(pytester: pytest.Pytester) -> None:
    noticed = {harness.__name__: {f"test_{test}" for test in tests} for harness, tests in BROKEN_PORTS.items()}
    assert unlike(pytester, PORTS, noticed) == {}
