"""How strangers run the suite: by entry point, from a project of any configuration, and never green by accident."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = "geode.entrypoints.compliance"
# What a strict project sets: its own mode, no unknown mark, every warning an error.
STRICT = """
[tool.pytest.ini_options]
addopts = ["--strict-markers", "--strict-config"]
asyncio_mode = "{mode}"
asyncio_default_fixture_loop_scope = "session"
asyncio_default_test_loop_scope = "session"
filterwarnings = ["error"]
"""
CONTRACT = """
from geode.compliance import ClockContract, ClockHarness
from geode.testing import ManualClock


class Harness(ClockHarness):
    def clock(self) -> ManualClock:
        return ManualClock()


class TestClock(ClockContract):
    harness = Harness

    def test_of_my_own(self) -> None:
        assert self.made.clock().now() == 0
"""


def pytest_in(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_a_contract_runs_in_a_project_of_any_mode(mode: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(STRICT.format(mode=mode), "utf-8")
    (tmp_path / "test_clock.py").write_text(CONTRACT, "utf-8")
    code, said = pytest_in(tmp_path)
    assert (code, "7 passed" in said) == (0, True), said


def test_a_registered_adapter_is_proven_by_its_name(tmp_path: Path) -> None:
    code, said = pytest_in(tmp_path, "--pyargs", SUITE, "--geode-adapter", "clock_manual", "-W", "ignore")
    assert (code, "6 passed" in said, "skipped" in said) == (0, True, False), said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--pyargs", SUITE, "--geode-adapter", "nobody"), ("'nobody'", "anthropic_messages", "clock_manual")),
        (("--pyargs", SUITE), ("--geode-adapter NAME", "anthropic_messages")),
        (("--geode-adapter", "clock_manual", "test_other.py"), ("no test of the suite", f"--pyargs {SUITE}")),
    ],
    ids=["unknown", "unnamed", "elsewhere"],
)
def test_wrong_use_says_what_to_write(arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_it() -> None:\n    assert True\n", "utf-8")
    code, said = pytest_in(tmp_path, *arguments)
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert all(word in said for word in words), said
    assert "Traceback" not in said


def test_without_a_harness_each_test_says_what_to_write(tmp_path: Path) -> None:
    text = "from geode.compliance import ClockContract\n\n\nclass TestClock(ClockContract):\n    pass\n"
    (tmp_path / "test_clock.py").write_text(text, "utf-8")
    code, said = pytest_in(tmp_path)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "TestClock.harness must be a class that inherits ClockHarness" in said


def test_a_missing_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['pytest_asyncio'] = None\n"
        "try:\n    import geode.compliance\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'geode[compliance]'" in done.stdout


def test_the_plugin_loads_nothing_of_the_suite() -> None:
    """Everybody who installs geode has it in every run of pytest."""
    program = (
        "import sys, geode.entrypoints.pytest_plugin;"
        "print(sorted(m for m in sys.modules if m.startswith('geode.') or m in ('httpx2', 'starlette', 'pytest_asyncio')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['geode.entrypoints', 'geode.entrypoints.pytest_plugin']"
