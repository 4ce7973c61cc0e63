"""Every place that can say what is configured, in a folder of its own, and what is written there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import pytest

from geode.domain.configuration import KEYS, Found, key_named
from geode.entrypoints import config
from geode.entrypoints import places as of_user
from geode.entrypoints.routes.registry import bootstrap_builtins

PlaceName: TypeAlias = Literal["command line", "process", ".env", "home .env", "project", "global", "routing"]
# Strongest first (spec section 8; the files of the environment by the order of near and far).
PLACES: Final[tuple[PlaceName, ...]] = get_args(PlaceName)
LAYER_OF: Final[Mapping[PlaceName, str]] = {
    "command line": "command line",
    "process": "environment",
    ".env": "environment",
    "home .env": "environment",
    "project": "project config.toml",
    "global": "global config.toml",
    "routing": "routing.toml",
}


@dataclass
class Places:
    """A working directory and a user folder, both empty, and no variable of geode's."""

    home: Path
    monkeypatch: pytest.MonkeyPatch
    command_line: dict[str, Found] = field(default_factory=dict)
    routing: dict[str, Found] = field(default_factory=dict)

    def files(self) -> dict[str, Path]:
        return {
            ".env": Path(".env"),
            "home .env": self.home / ".env",
            "project": Path(".geode/config.toml"),
            "global": self.home / "config.toml",
        }

    def write(self, place: str, text: str | bytes) -> Path:
        path = self.files()[place]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def say(self, place: PlaceName, value: str, name: str = "model") -> str:
        """Have the place say that the key is `value`; how it is told then."""
        key = key_named(name)
        match place:
            case "command line":
                self.command_line[name] = Found(value, "--model")
                return "--model"
            case "process":
                self.monkeypatch.setenv(key.variable, value)
                return f"{key.variable} in the process environment"
            case ".env" | "home .env":
                path = self.write(place, f"# a comment\n{key.variable}={value}\n")
                return f"{key.variable} in {path}:2"
            case "project" | "global":
                path = self.write(place, f"# a comment\n\n{name} = '{value}'\n")
                return f"{path}:3:1"
            case "routing":
                self.routing[name] = Found(value, "routing.toml:7:1")
                self.monkeypatch.setattr(config, "routing_values", lambda: {**bootstrap_builtins().settings, **self.routing})
                return "routing.toml:7:1"

    def configuration(self) -> config.Configuration:
        return config.configuration(self.command_line)


def new_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv(of_user.HOME, str(home))
    for key in KEYS:
        monkeypatch.delenv(key.variable, raising=False)
    return Places(home, monkeypatch)
