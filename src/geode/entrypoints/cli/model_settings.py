"""The models of the roles as they are configured: what can be chosen, what is stored, and storing it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from geode.adapters.private_files import private_folder, replace_private
from geode.domain.configuration import Explained, Layer
from geode.domain.errors import Misuse
from geode.domain.models import CLAUDE, GPT, row_of
from geode.domain.picking import Chosen, ChosenName, ModelChoice
from geode.domain.routing import Provider, Route, resolve
from geode.domain.windows import window_of
from geode.entrypoints.cli.extras import needs
from geode.entrypoints.config import configuration, project_folder, read_config, user_folder
from geode.entrypoints.providers import find_connection

_NAMES: Final[tuple[ChosenName, ...]] = ("model", "effort", "reflection_model", "summary_model")
# What a command line and variables say holds for a process, and is nothing that is stored.
_STORES: Final[tuple[Layer, ...]] = ("project config.toml", "global config.toml", "routing.toml")


# ---- what can be chosen ------------------------------------------------------------------------


def choices(providers: Sequence[Provider] = ()) -> tuple[ModelChoice, ...]:
    """Every model that something is known of."""
    return tuple(choice_of(row.prefix, providers) for row in (*CLAUDE, *GPT))


def choice_of(model: str, providers: Sequence[Provider] = ()) -> ModelChoice:
    """What is known of a model, and why it cannot be used, if it cannot."""
    found = resolve(model, providers)
    problem = found.swap().value_or(None)
    if problem is not None:
        return ModelChoice(model, unusable=problem)
    route = found.unwrap()
    row = row_of(route.model, (*CLAUDE, *GPT))
    return ModelChoice(model, route.provider.name, row.efforts, window=window_of(route.model), unusable=_why_unusable(route))


def _why_unusable(route: Route) -> str:
    try:
        find_connection(route)
    except Misuse as error:
        return str(error).removesuffix(f" [{error.id}]")
    return ""


# ---- what is stored ----------------------------------------------------------------------------


def stored() -> Chosen:
    """What the files say together, the stronger one first."""
    read = configuration()
    return Chosen(**{name: _in_files(read.explained(name)) for name in _NAMES})


def _in_files(explained: Explained) -> str | None:
    return next((one.value for one in explained.candidates if one.layer in _STORES and one.value is not None), None)


def save(changes: Mapping[ChosenName, str | None], *, project: bool = False) -> Iterator[str]:
    """Write all of it into one file at once, its comments and its order kept; what was done, and what hides it.

    Misuse where the file is broken, and then it stays as it is.
    """
    path = (project_folder() if project else user_folder()) / "config.toml"
    _write(path, changes)
    layer: Layer = "project config.toml" if project else "global config.toml"
    read = configuration()
    for name, value in changes.items():
        yield f"{name} is {value} in {path}" if value is not None else f"{name} is not set in {path} any more"
        winner = read.explained(name).winner
        if winner is not None and (winner.layer != layer or winner.value != value):
            yield f"warning: {winner.place} says {winner.value}, which is stronger"


def _write(path: Path, changes: Mapping[ChosenName, str | None]) -> None:
    needs("tomlkit", "storing a setting", "cli")
    import tomlkit

    read_config(path)
    there = Path(os.path.realpath(path))
    text = there.read_text("utf-8") if there.exists() else ""
    document = tomlkit.parse(text)
    for name, value in changes.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = value
    private_folder(there.parent)
    replace_private(there, tomlkit.dumps(document).encode())
