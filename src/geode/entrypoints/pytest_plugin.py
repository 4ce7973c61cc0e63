"""Fixtures for tests of applications, and the way to the compliance suite; pytest loads this module by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

SUITE = "geode.entrypoints.compliance"
OPTION = "--geode-adapter"
_COMMAND = f"pytest --pyargs {SUITE} {OPTION}"
_FOLDER = Path(__file__).parent / "compliance"

# Assertions of the suite explain themselves, however geode is installed: said before a conftest may import it.
pytest.register_assert_rewrite(SUITE)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("geode")
    group.addoption(
        OPTION, metavar="NAME", help=f"the contract that `--pyargs {SUITE}` runs: a name of geode.contract_harnesses"
    )


def pytest_configure(config: pytest.Config) -> None:
    """A name that nobody registered is refused."""
    name = config.getoption(OPTION)
    if name is not None:
        problem = _problem_with(name)
        if problem:
            raise pytest.UsageError(f"{OPTION}: {problem}")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """The suite by itself has nothing to prove."""
    if _is_suite(collector.path) and collector.config.getoption(OPTION) is None:
        from geode.entrypoints.compliance.registered import known

        raise pytest.UsageError(f"name what is to be proven: {_COMMAND} NAME. Registered are: {known()}")


def pytest_collection_finish(session: pytest.Session) -> None:
    """A run that was asked to prove an adapter and proves nothing is no success."""
    name = session.config.getoption(OPTION)
    if name is not None and not any(_is_suite(item.path) for item in session.items):
        raise pytest.UsageError(f"{OPTION} {name}: no test of the suite was collected; run {_COMMAND} {name}")


def _problem_with(name: str) -> str:
    try:
        from geode.entrypoints.compliance.registered import choose
    except ImportError as error:
        return str(error)
    return choose(name)


def _is_suite(path: Path) -> bool:
    return path.name == "test_registered.py" and path.parent == _FOLDER


@pytest.fixture
def no_network() -> Iterator[None]:
    """The test fails when anything in it opens a connection, loopback included."""
    from geode.entrypoints.testing import no_network as forbidden

    with forbidden():
        yield
