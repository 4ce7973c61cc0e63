"""Where the programs of others are that `make real` installs. Nothing here belongs to one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

INSTALLED: Final = Path(__file__).parents[2] / ".real" / "node_modules"


@pytest.fixture(scope="session")
def npm_program() -> Callable[[str], Path]:
    """By the name of a program (`claude`, `mcp-server-memory`): the file that starts it."""

    def found(name: str) -> Path:
        program = INSTALLED / ".bin" / name
        assert program.exists(), f"{program} is not there: make real installs it"
        return program.resolve()

    return found
