"""The models of the roles as they are configured: what can be chosen, what is stored, and storing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from geode.domain.configuration import Explained, Layer, key_named
from geode.domain.errors import Misuse
from geode.domain.models import row_of, rows_for
from geode.domain.picking import CHOSEN_NAMES, Chosen, ChosenName, ModelChoice
from geode.domain.routing import Route
from geode.domain.targets import Target
from geode.entrypoints.cli.wrong_use import in_words_of_a_terminal
from geode.entrypoints.config import Configuration, configuration
from geode.entrypoints.config_changes import change_all
from geode.entrypoints.routes.connections import find_connection
from geode.entrypoints.routes.registry import bootstrap_builtins
from geode.entrypoints.routes.snapshot import Registry

# What a command line and variables say holds for a process, and is nothing that is stored.
_STORES: Final[tuple[Layer, ...]] = ("project config.toml", "global config.toml", "routing.toml")
# Rows are for beginnings of ids: one that ends so is a family, and no model.
_FAMILY: Final = re.compile(r"-$|-\d{4}$")


# ---- what can be chosen ------------------------------------------------------------------------


def choices(own: tuple[Target, ...] = ()) -> tuple[ModelChoice, ...]:
    """Every model that something is known of and that somebody serves; those that can be used now come first."""
    registry, config = bootstrap_builtins(), configuration()
    found = [_choice(model, registry, config, own) for model in _ids(registry)]
    served = [choice for choice in found if choice.adapter]
    return tuple(sorted(served, key=lambda choice: bool(choice.unusable)))


def choice_of(model: str, own: tuple[Target, ...] = ()) -> ModelChoice:
    """What is known of a model, and why it cannot be used, if it cannot."""
    return _choice(model, bootstrap_builtins(), configuration(), own)


def _ids(registry: Registry) -> Iterable[str]:
    table = registry.table
    rows = (row.prefix for row in table.models if not _FAMILY.search(row.prefix))
    return dict.fromkeys((*table.defaults.values(), *rows, *table.prices))


def _choice(model: str, registry: Registry, config: Configuration, own: tuple[Target, ...]) -> ModelChoice:
    try:
        route = registry.route(model, own, config.sources)
    except Misuse as error:
        return ModelChoice(model, unusable=_said(error))
    row = row_of(route.model, rows_for(route.target, registry.table.models))
    why_not = _why_unusable(route, registry, config)
    return ModelChoice(model, route.target.name, row.efforts, row.default_effort, row.window, unusable=why_not)


def _why_unusable(route: Route, registry: Registry, config: Configuration) -> str:
    try:
        find_connection(route, registry, config.environment)
    except Misuse as error:
        return _said(error)
    return ""


def _said(error: Misuse) -> str:
    return in_words_of_a_terminal(str(error).removesuffix(f" [{error.id}]"))


# ---- what is stored ----------------------------------------------------------------------------


def stored() -> Chosen:
    """What the files say together, the stronger one first."""
    read = configuration()
    return Chosen(**{name: _in_files(read.explained(name)) for name in CHOSEN_NAMES})


def _in_files(explained: Explained) -> str | None:
    return next((one.value for one in explained.candidates if one.layer in _STORES and one.value is not None), None)


def save(changes: Mapping[ChosenName, str | None], *, project: bool = False) -> Iterator[str]:
    """Write all of it into one file at once, its comments and its order kept; what was done, and what hides it.

    Misuse where the file is broken, and then it stays as it is.
    """
    layer, path = change_all({key_named(name): value for name, value in changes.items()}, project=project)
    read = configuration()
    for name, value in changes.items():
        yield f"{name} is {value} in {path}" if value is not None else f"{name} is set no more in {path}"
        winner = read.explained(name).winner
        if winner is not None and winner.layer != layer:
            yield f"warning: this has no effect here: {winner.place} says {winner.value}, and wins"
