"""Where a user keeps what concerns geode."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

HOME_VARIABLE: Final = "GEODE_HOME"


def user_folder() -> Path:
    """`~/.geode`, or what the variable GEODE_HOME names."""
    return Path(os.environ.get(HOME_VARIABLE) or "~/.geode").expanduser()


def project_folder() -> Path:
    """`.geode` in the working directory."""
    return Path.cwd() / ".geode"
