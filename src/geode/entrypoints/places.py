"""Where what concerns geode is kept, by its user and by a project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from geode.domain.configuration import Layer

HOME: Final = "GEODE_HOME"
FileOf = Mapping[Layer, Path]


def here() -> Path:
    """The folder whose `.env` and `.geode` count: the working directory, as it is when it is asked for."""
    return Path()


def user_folder() -> Path:
    """`~/.geode`, or where the variable GEODE_HOME says."""
    return Path(os.path.expanduser(os.environ.get(HOME, "").strip() or "~/.geode"))


def project_folder() -> Path:
    """`.geode` in the working directory."""
    return here() / ".geode"


def project_env() -> Path:
    """`.env` in the working directory."""
    return here() / ".env"


def env_paths() -> tuple[Path, ...]:
    """The `.env` files, strongest first."""
    return tuple(_different(project_env(), user_folder() / ".env"))


def routing_path() -> Path:
    """The user's routing.toml."""
    return user_folder() / "routing.toml"


def config_paths() -> FileOf:
    """The config.toml of each layer that has one. In the home folder the project's would be the user's own: it is that."""
    of_user = user_folder() / "config.toml"
    of_project = project_folder() / "config.toml"
    both: FileOf = {"project config.toml": of_project, "global config.toml": of_user}
    return both if len(list(_different(of_project, of_user))) > 1 else {"global config.toml": of_user}


def _different(first: Path, second: Path) -> Iterator[Path]:
    try:
        same = os.path.realpath(first) == os.path.realpath(second)
    except FileNotFoundError:  # the working directory is gone
        same = False
    if not same:
        yield first
    yield second
