"""`geode about`: what is in force."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geode import __version__
from geode.domain.configuration import KEYS, Explained
from geode.domain.errors import Misuse
from geode.domain.json_value import dump_json
from geode.entrypoints.cli.config import columns, file_json, file_rows, files, given_in, shown
from geode.entrypoints.cli.words import harmless
from geode.entrypoints.cli.wrong_use import on_the_command_line
from geode.entrypoints.config import Configuration, configuration
from geode.entrypoints.places import project_folder, user_folder
from geode.entrypoints.routes.registry import bootstrap_builtins


def about_command(arguments: Namespace) -> int:
    """Say it. What is broken is Misuse, with its place."""
    read = configuration(given_in(arguments))
    explained = [read.explained(key.name) for key in KEYS]
    adapter, problem = adapter_of(read)
    if arguments.json:
        print(dump_json({**_as_json(explained), "adapter": adapter, "problem": problem}))
        return 0
    folders = {"user folder": user_folder(), "project folder": project_folder()}
    print(f"geode {__version__}\n")
    for line in columns([*_settings(explained), ("adapter", shown(adapter), harmless(problem or ""))]):
        print(line)
    print()
    for line in columns([*[_folder(name, path) for name, path in folders.items()], *file_rows()]):
        print(line)
    for warning in _warnings(explained):
        print(f"warning: {harmless(warning)}")
    return 0


def adapter_of(config: Configuration) -> tuple[str | None, str | None]:
    """What serves the model in force, and why nothing does."""
    model = config.value("model")
    if model is None:
        return None, None
    try:
        return bootstrap_builtins().route(model, sources=config.sources).target.name, None
    except Misuse as error:
        return None, on_the_command_line(error).partition("\n")[0]


def _settings(explained: Sequence[Explained]) -> list[tuple[str, str, str]]:
    return [(one.key.name, shown(one.value), harmless(one.place or "")) for one in explained]


def _folder(name: str, path: Path) -> tuple[str, str, str]:
    return name, "exists" if path.is_dir() else "missing", str(path.absolute())


def _warnings(explained: Sequence[Explained]) -> list[str]:
    return [
        f"{one.key.name}: {one.place} hides {shown(hidden.value)} in {hidden.place}"
        for one in explained
        for hidden in one.hidden
    ]


def _as_json(explained: Sequence[Explained]) -> dict[str, Any]:
    return {
        "version": __version__,
        "settings": {one.key.name: {"value": one.value, "place": one.place} for one in explained},
        "user_folder": str(user_folder().absolute()),
        "project_folder": str(project_folder().absolute()),
        "files": [file_json(layer, path) for layer, path in files()],
        "warnings": _warnings(explained),
    }
