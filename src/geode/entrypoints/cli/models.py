"""`geode models` and `geode adapters`: what is known of models, and who serves them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from geode.adapters.environment import Environment
from geode.domain.addresses import shown_address, shown_path
from geode.domain.errors import Misuse
from geode.domain.json_value import dump_json
from geode.domain.key_sources import (
    FromCommand,
    FromFile,
    FromOAuth,
    FromVariable,
    GivenKey,
    NoKey,
    OwnCredential,
)
from geode.domain.models import ModelRow, row_of, rows_for
from geode.domain.prices import Price
from geode.domain.routing import Route, price_for, resolve
from geode.domain.targets import Target
from geode.entrypoints.cli.config import columns
from geode.entrypoints.cli.exit_codes import NOT_ALL
from geode.entrypoints.cli.words import harmless
from geode.entrypoints.cli.wrong_use import on_the_command_line
from geode.entrypoints.config import Configuration, configuration
from geode.entrypoints.routes.connections import find_connection, key_source, moved
from geode.entrypoints.routes.registry import bootstrap_builtins
from geode.entrypoints.routes.snapshot import Registry

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Known:
    """A row of `[models]`, and what belongs to it."""

    id: str
    adapter: str
    row: ModelRow
    price: Price | None
    place: str


def known_models(registry: Registry, sources: Mapping[str, str]) -> Iterator[Known]:
    """Every row, with the adapter that serves its models as things are configured ("" where nobody does)."""
    for row in registry.table.models:
        route = resolve(row.prefix, registry.table, sources=sources).value_or(None)
        served = "" if route is None else route.target.name
        price = None if route is None else price_for(route, registry.table.prices)
        yield Known(row.prefix, served, row, price, registry.place_of("models", row.prefix))


def models_command(arguments: Namespace) -> int:
    """Everything that is known, or what is known of one model. Exit code 1 for one that cannot be asked."""
    registry, config = bootstrap_builtins(), configuration()
    if arguments.id is not None:
        return _one(arguments.id, registry, config, as_json=arguments.json)
    rows = list(known_models(registry, config.sources))
    if arguments.json:
        print(dump_json([_row_json(one) for one in rows]))
        return 0
    head = ("MODEL", "ADAPTER", "WINDOW", "OUTPUT", "EFFORT", "USD IN/OUT PER MTOK", "SOURCE")
    for line in columns([head, *map(_line, rows)]):
        print(line.rstrip())
    print("\nThe longest beginning of a model's id is its row; ? is not known. geode models ID says more of one.")
    return 0


def _row_json(one: Known) -> dict[str, Any]:
    return {"id": one.id, "adapter": one.adapter or None, **_facts(one.row, one.price), "place": one.place}


def _line(one: Known) -> tuple[str, ...]:
    price = UNKNOWN if one.price is None else f"{one.price.input}/{one.price.output}"
    row = one.row
    return (
        f"{one.id}…",
        one.adapter or "nobody",
        _count(row.window),
        _count(row.output),
        _efforts(row),
        price,
        one.place,
    )


def _count(tokens: int | None) -> str:
    return UNKNOWN if tokens is None else f"{tokens:,}"


def _efforts(row: ModelRow) -> str:
    if row.efforts is None:
        return UNKNOWN
    words = [f"{word}*" if word == row.default_effort else word for word in row.efforts]
    return " ".join(words) or "none taken"


def _facts(row: ModelRow, price: Price | None) -> dict[str, Any]:
    cost = None
    if price is not None:
        cost = {
            "input": str(price.input),
            "output": str(price.output),
            "cached": None if price.cached is None else str(price.cached),
            "cache_write": None if price.cache_write is None else str(price.cache_write),
            "above": price.above or None,
            "source": price.source or None,
        }
    return {
        "window": row.window,
        "output": row.output,
        "effort": None if row.efforts is None else list(row.efforts),
        "default_effort": row.default_effort,
        "thinking": sorted(row.thinking),
        "forced_choice": row.forced_choice,
        "sampling": "any" if row.sampling else "at_none" if row.sampling_at_none else "default",
        "usd_per_mtok": cost,
    }


# ---- one model -----------------------------------------------------------------------------------


def _one(id: str, registry: Registry, config: Configuration, *, as_json: bool) -> int:
    route = registry.route(id, sources=config.sources)
    row = row_of(route.model, rows_for(route.target, registry.table.models))
    price = price_for(route, registry.table.prices)
    reached, problem = _reached(route, registry, config)
    known = row.known or price is not None
    code = NOT_ALL if problem else 0
    if as_json:
        facts = _facts(row, price) if known else None
        print(dump_json({"id": id, "model": route.model, **reached, "problem": problem, "known": facts}))
        return code
    told = [(name.replace("_", " "), "-" if value is None else harmless(str(value))) for name, value in reached.items()]
    told += [
        ("asked for as", harmless(route.model)),
        ("row", f"{_name_of(row, route.target, registry)}…" if row.known else "none: nothing is assumed of it"),
    ]
    told += [("window", _count(row.window)), ("output", _count(row.output)), ("effort", _efforts(row))]
    told += [("USD in/out per Mtok", UNKNOWN if price is None else f"{price.input}/{price.output}")]
    for line in columns(told):
        print(line.rstrip())
    if problem:
        print(f"geode models: {problem}", file=sys.stderr)
    return code


def _name_of(row: ModelRow, target: Target, registry: Registry) -> str:
    """The row's name as it is written: one of a target alone begins with the target's name, or its provider's."""
    if not row.here:
        return row.prefix
    written = {one.prefix for one in registry.table.models}
    names = [f"{namespace}/{row.prefix}" for namespace in (target.name, target.identity.id)]
    return next((name for name in names if name in written), row.prefix)


def _reached(route: Route, registry: Registry, config: Configuration) -> tuple[dict[str, Any], str | None]:
    """How the model is reached, without a secret; and what keeps it from that."""
    target = route.target
    reached: dict[str, Any] = {
        "adapter": target.name,
        "provider": target.identity.id,
        "source": target.credential.source,
        "wire": None if target.transport is None else target.transport.wire,
        "program": None if target.program is None else target.program.bin,
        "address": _address(target, config.environment)[0],
        "key": None,
    }
    try:
        endpoint = find_connection(route, registry, config.environment).endpoint
    except Misuse as error:
        return reached, on_the_command_line(error).partition("\n")[0]
    if endpoint is not None:
        key = _no_key(target) if endpoint.credential is None else endpoint.credential.source
        address = shown_address(endpoint.base_url) if endpoint.base_url else None
        reached |= {"address": address, "key": _key_place(target) if target.program is not None else key}
    return reached, None


def _address(target: Target, environment: Environment) -> tuple[str | None, str]:
    """The address that is asked, as things are configured; without one, what is wrong with it, if anything is."""
    if target.program is not None:
        return shown_address(target.program.base_url) if target.program.base_url else None, ""
    if target.transport is None:
        return None, ""
    try:
        return shown_address(moved(target.transport, environment).base_url), ""
    except Misuse as error:
        return None, str(error)


def _no_key(target: Target) -> str:
    """Why none is sent. Of the keys that are declared only a variable's may be missing, and only on loopback."""
    match key_source(target.credential.key).value_or(NoKey()):
        case FromVariable(variable):
            return f"{variable} (not set; none is needed on loopback)"
        case _:
            return "none wanted"


# ---- adapters ------------------------------------------------------------------------------------


def adapters_command(arguments: Namespace) -> int:
    """Every adapter of this generation, and the entry points that were found."""
    registry, environment = bootstrap_builtins(), configuration().environment
    if arguments.json:
        print(dump_json(_adapters_json(registry, environment)))
        return 0
    print(f"generation {registry.generation}\n")
    head = ("ADAPTER", "PROVIDER", "SOURCE", "WIRE", "ADDRESS", "KEY", "ORIGIN")
    for line in columns(
        [head, *(_adapter_line(entry.target, entry.origin, environment) for entry in registry.entries.values())]
    ):
        print(line.rstrip())
    for entry in registry.entries.values():
        if entry.reason:
            replaced = f", in the place of the one of {entry.replaced}" if entry.replaced else ""
            print(f"\n{entry.target.name}: let in from {harmless(entry.origin)}{replaced}: {harmless(entry.reason)}")
    for entry in registry.entries.values():
        if entry.target.credential.limits:
            print(f"\n{entry.target.name}: {entry.target.credential.limits}")
    for entry in registry.entries.values():
        _, problem = _address(entry.target, environment)
        if problem:
            print(f"geode adapters: {entry.target.name} cannot be asked: {harmless(problem)}", file=sys.stderr)
    for one in registry.listed:
        if one.state != "allowed":
            print(f"\n{harmless(one.told)}")
    return 0


def _adapter_line(target: Target, origin: str, environment: Environment) -> tuple[str, ...]:
    transport = target.transport
    wire: str = "its own" if transport is None else transport.wire
    wire = wire if target.program is None else f"program:{harmless(target.program.bin)}"
    if transport is not None and transport.dialect != "generic":
        wire = f"{wire}:{transport.dialect}"
    return (
        target.name,
        target.identity.id,
        target.credential.source,
        wire,
        harmless(_address(target, environment)[0] or ("its own" if transport is None else "-")),
        _key_place(target),
        harmless(origin),
    )


def _key_place(target: Target) -> str:
    """Where its key is found. A command is not shown: a secret may be among its arguments."""
    if target.program is not None and target.program.login:
        return f"login:{harmless(shown_path((target.program.login,)))}"
    if target.program is not None and target.credential.key is None:
        return "not said"
    if target.program is None and target.transport is None:
        return "its own"
    match key_source(target.credential.key).value_or(NoKey()):
        case FromVariable(variable):
            return f"env:{harmless(shown_path((variable,)))}"
        case FromFile(path):
            return f"file:{harmless(shown_path((path,)))}"
        case FromOAuth(path):
            return f"oauth:{harmless(shown_path((path,)))}"
        case FromCommand():
            return "command:…"
        case GivenKey() | OwnCredential():
            return "given"
        case NoKey():
            return "none"


def _adapters_json(registry: Registry, environment: Environment) -> dict[str, Any]:
    names = ("adapter", "provider", "source", "wire", "address", "key", "origin")
    return {
        "generation": registry.generation,
        "adapters": [
            {
                **dict(zip(names, _adapter_line(entry.target, entry.origin, environment), strict=True)),
                "reason": entry.reason or None,
                "replaced": entry.replaced or None,
                "limits": entry.target.credential.limits or None,
                "problem": _address(entry.target, environment)[1] or None,
            }
            for entry in registry.entries.values()
        ],
        "entry_points": [
            {"name": one.name, "package": one.package or None, "state": one.state, "why": one.why} for one in registry.listed
        ],
    }
