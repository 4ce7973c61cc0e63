"""Writing what is configured: only what can be used, and only into files that are whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from geode.adapters.toml_edits import edit_toml, edit_toml_at_once
from geode.domain.configuration import KEYS, Key, Layer, value_problem
from geode.domain.effort import effort_problem, inherited
from geode.domain.errors import Misuse
from geode.domain.models import row_of, rows_for
from geode.domain.routing import resolve
from geode.entrypoints.config import Configuration, configuration, source_problem
from geode.entrypoints.places import HOME, config_paths
from geode.entrypoints.routes.registry import bootstrap_builtins


def change(key: Key, value: str | None, *, project: bool) -> tuple[Layer, Path, bool]:
    """Write the value, or with None take it out: the layer, its file, and whether the file changed.

    Misuse for a value that cannot be used, and where anything else that is configured is broken; then nothing is written.
    """
    wanted = None if value is None else value.strip()
    config = configuration(mending=(key,))
    if wanted is not None:
        refuse_value(key, wanted, config)
    layer, path = _file_of(project=project)
    return layer, path, edit_toml(path, key.path, wanted, shared=layer == "project config.toml")


def change_all(changes: Mapping[Key, str | None], *, project: bool) -> tuple[Layer, Path]:
    """Write several values at once, that were found to fit together: the layer and its file.

    Misuse where anything else that is configured is broken; then nothing is written.
    """
    configuration(mending=changes)
    for key, value in changes.items():
        if value is not None and (problem := value_problem(key.name, value)):
            raise Misuse("config-value", problem)
    layer, path = _file_of(project=project)
    edit_toml_at_once(path, {key.path: value for key, value in changes.items()}, shared=layer == "project config.toml")
    return layer, path


def _file_of(*, project: bool) -> tuple[Layer, Path]:
    paths = config_paths()
    layer: Layer = "project config.toml" if project and "project config.toml" in paths else "global config.toml"
    if str(paths[layer]).startswith("~"):
        raise Misuse("config-file", f"it is not known where your home folder is: set {HOME} to a folder")
    return layer, paths[layer]


def refuse_value(key: Key, value: str, config: Configuration) -> None:
    """Misuse for a value that could never be used, alone or beside what is in force."""
    if problem := value_problem(key.name, value):
        raise Misuse("config-value", problem)
    if key.type == "model id":
        bootstrap_builtins().route(value, sources=config.sources)
        if (effort := config.found("effort")) is not None:
            _refuse_pair(value, effort.value, f"the effort comes from {effort.place}", config)
    elif key.name == "effort":
        for name in (other.name for other in KEYS if other.type == "model id"):
            if (model := config.found(name)) is not None:
                _refuse_pair(model.value, value, f"{name} comes from {model.place}", config)
    elif key.path[0] == "sources" and (problem := source_problem(key.path[1], value)):
        raise Misuse("config-value", problem)


def _refuse_pair(model: str, effort: str, origin: str, config: Configuration) -> None:
    """Misuse for an effort that the model is known not to take; one that it inherits a model without control goes without."""
    registry = bootstrap_builtins()
    route = resolve(model, registry.table, sources=config.sources).value_or(None)
    if route is None:
        return  # nobody serves it, which another change mends
    efforts = row_of(route.model, rows_for(route.target, registry.table.models)).efforts
    if problem := effort_problem(f"model {route.model}", efforts, inherited(efforts, effort)):
        raise Misuse("effort", f"{problem}; {origin}")
