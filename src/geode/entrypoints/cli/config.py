"""`geode config`: what is set, where, and setting it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geode.domain.configuration import Candidate, Explained, Found, Layer, key_named
from geode.domain.json_value import dump_json
from geode.entrypoints.cli.exit_codes import NOT_ALL
from geode.entrypoints.cli.words import harmless
from geode.entrypoints.config import configuration
from geode.entrypoints.places import config_paths, env_paths, routing_path


def config_command(arguments: Namespace) -> int:
    """Perform the action and give its exit code."""
    match arguments.action:
        case "get":
            return _get(arguments.key, as_json=arguments.json)
        case "set":
            return _set(arguments.key, arguments.value, project=arguments.project, as_json=arguments.json)
        case "unset":
            return _unset(arguments.key, project=arguments.project, as_json=arguments.json)
        case "explain":
            return _explain(arguments.key, given_in(arguments), as_json=arguments.json)
        case _:
            return _path(as_json=arguments.json)


def given_in(arguments: Namespace) -> Mapping[str, Found]:
    """The layer of the command line: the options that stand for keys."""
    options = {name: getattr(arguments, name) for name in ("model", "effort", "journal")}
    return {name: Found(value, f"--{name}") for name, value in options.items() if value}


def files() -> Sequence[tuple[str, Path]]:
    """Every file that is looked at, with its layer, strongest first."""
    of_environment = [("environment", path) for path in env_paths()]
    return [*of_environment, *config_paths().items(), ("routing.toml", routing_path())]


def file_json(layer: str, path: Path) -> dict[str, Any]:
    return {"layer": layer, "path": str(path.absolute()), "exists": path.is_file()}


def _get(name: str, *, as_json: bool) -> int:
    found = configuration().found(name)
    if as_json:
        print(dump_json({"key": name, "value": found and found.value, "place": found and found.place}))
    elif found is None:
        print(f"geode config: nothing sets {name}; geode config explain {name} says where it could be set", file=sys.stderr)
    else:
        print(harmless(found.value))
    return NOT_ALL if found is None else 0


def _set(name: str, value: str, *, project: bool, as_json: bool) -> int:
    from geode.entrypoints.config_changes import change

    key = key_named(name)
    layer, path, changed = change(key, value, project=project)
    hiding = _hiding(configuration(mending=(key,)).explained(name), layer)
    if as_json:
        hidden_by = hiding and {"layer": hiding.layer, "place": hiding.place, "value": hiding.value}
        print(dump_json({"key": name, "value": value.strip(), "file": str(path), "changed": changed, "hidden_by": hidden_by}))
    else:
        print(f"{name} is {harmless(value.strip())} in {path}")
    if hiding is not None:
        wins = f"{hiding.place} says {harmless(hiding.value or '')}, and wins"
        print(f"geode config: this has no effect here: {wins}; see geode config explain {name}", file=sys.stderr)
    return 0


def _hiding(explained: Explained, layer: Layer) -> Candidate | None:
    """What wins, if that is not what the layer says."""
    winner = explained.winner
    return None if winner is None or winner.layer == layer else winner


def _unset(name: str, *, project: bool, as_json: bool) -> int:
    from geode.entrypoints.config_changes import change

    key = key_named(name)
    _, path, changed = change(key, None, project=project)
    found = configuration(mending=(key,)).found(name)
    if as_json:
        print(dump_json({"key": name, "file": str(path), "changed": changed, "value": found and found.value}))
        return 0
    print(f"{name} is set no more in {path}" if changed else f"{name} was not set in {path}")
    if found is not None:
        print(f"geode config: {found.place} still says {harmless(found.value)}", file=sys.stderr)
    return 0


# ---- explain -----------------------------------------------------------------------------------


def _explain(name: str, given: Mapping[str, Found], *, as_json: bool) -> int:
    explained = configuration(given).explained(name)
    if as_json:
        print(dump_json(_as_json(explained)))
        return 0
    for line in _told(explained):
        print(line.rstrip())
    return 0


def _state(explained: Explained, one: Candidate) -> str:
    return "winner" if one is explained.winner else "hidden" if one.value is not None else ""


def _as_json(explained: Explained) -> dict[str, Any]:
    key = explained.key
    return {
        "key": key.name,
        "variable": key.variable,
        "type": key.type,
        "meaning": key.meaning,
        "value": explained.value,
        "place": explained.place,
        "candidates": [
            {"layer": one.layer, "value": one.value, "place": one.place or None, "state": _state(explained, one) or None}
            for one in explained.candidates
        ],
        "hidden": len(explained.hidden),
    }


def _told(explained: Explained) -> list[str]:
    key, value = explained.key, explained.value
    head = [
        ("setting", key.name, key.meaning),
        ("variable", key.variable, ""),
        ("TOML key", key.name, ""),
        ("value", shown(value), "" if value else "nothing sets it"),
    ]
    rows = [
        (one.layer, shown(one.value), harmless(one.place) or "-", _state(explained, one).upper())
        for one in explained.candidates
    ]
    count = len(explained.hidden)
    closing = "nothing is hidden" if not count else f"{count} {'value is' if count == 1 else 'values are'} hidden"
    return [*columns(head), "", *columns([("LAYER", "VALUE", "PLACE", ""), *rows]), "", closing]


def shown(value: str | None) -> str:
    return "-" if value is None else harmless(value)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows, one a line, each column as wide as it has to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _path(*, as_json: bool) -> int:
    if as_json:
        print(dump_json([file_json(layer, path) for layer, path in files()]))
        return 0
    for line in columns(file_rows()):
        print(line)
    return 0


def file_rows() -> list[tuple[str, str, str]]:
    """Layer, state and path of every file."""
    told = [file_json(layer, path) for layer, path in files()]
    return [(one["layer"], "exists" if one["exists"] else "missing", one["path"]) for one in told]
