"""The adapters of this process, as snapshots that never change (spec section 8).

A session captures the snapshot of its beginning. `reload_adapters` and `register_adapter` make the next one, which
sessions that begin later see.
"""

from __future__ import annotations

import math
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from geode.adapters.toml_files import TomlFile, read_toml
from geode.domain.addresses import shown_path
from geode.domain.errors import Misuse
from geode.domain.targets import BUILT_IN, Target
from geode.entrypoints.places import user_folder
from geode.entrypoints.routes.plugins import BUILT_IN_ORIGIN, allowed, foreign, installed, listed, missing
from geode.entrypoints.routes.snapshot import ROUTING_FILE, Entry, Registry, says
from geode.ports.adapters import AdapterAlreadyRegisteredError, AdapterFactory, AdapterNotFoundError

if TYPE_CHECKING:
    from geode.entrypoints.routes.grammar import Problem


@dataclass(frozen=True, slots=True)
class Override:
    """That an adapter takes the place of another of its name: who says so, and why."""

    origin: str
    reason: str

    def __post_init__(self) -> None:
        if not self.origin.strip() or not self.reason.strip():
            raise Misuse("adapter-override", "an Override names its origin and its reason: Override(origin=…, reason=…)")


# ---- the one of this process -------------------------------------------------------------------


class _Process:
    """The snapshot in force, what was registered by hand, and the lock of whoever makes the next one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.registry = Registry()
        self.by_hand: dict[str, Entry] = {}


_process = _Process()


def current() -> Registry:
    """The snapshot in force; the empty one where nobody has filled it."""
    return _process.registry


def bootstrap_builtins() -> Registry:
    """Fill the registry, if that has not been done in this process, and give the snapshot in force.

    Misuse for what `routing.toml` or `adapters.toml` say wrong. No SDK and no entry point is imported.
    """
    with _process.lock:
        if not _process.registry.generation:
            _process.registry = _built(1)
        return _process.registry


def reload_adapters() -> Registry:
    """Read `routing.toml`, `adapters.toml` and the installed entry points anew: the next generation.

    Sessions that are open go on with the one that they captured.
    """
    with _process.lock:
        _process.registry = _built(_process.registry.generation + 1)
        return _process.registry


def register_adapter(
    name: str, factory: AdapterFactory, *, identity: str = "", source: str = "own", override: Override | None = None
) -> Registry:
    """Register an adapter by hand: the next generation. Its models are `NAME/MODEL`, or by a prefix of `routing.toml`.

    `factory` takes an AdapterContext, or nothing. AdapterAlreadyRegisteredError for a name that is taken without an
    `override`, and for a provider and source that another one serves.
    """
    if not name or "/" in name or any(letter.isspace() for letter in name):
        raise Misuse("adapter-name", f"the name of an adapter is one word without a slash, got {name!r}")
    given: object = factory
    if not callable(given):
        raise Misuse("adapter-factory", f"what makes the adapter {name} must be a function, got {type(given).__name__}")
    with _process.lock:
        registry = _process.registry if _process.registry.generation else _built(1)
        entry = Entry(foreign(name, identity, source), "register_adapter", factory, override.reason if override else "")
        if override is None and name in registry.entries:
            taken = registry.entries[name].origin
            raise AdapterAlreadyRegisteredError(
                f"an adapter {name} is registered ({taken}); to replace it: "
                "register_adapter(…, override=Override(origin=…, reason=…))"
            )
        if override is not None and name not in registry.entries:
            raise AdapterNotFoundError(f"{name} overrides nobody: no adapter has that name")
        before = registry.entries[name].origin if name in registry.entries else ""
        _process.by_hand[name] = replace(entry, replaced=before, origin=override.origin if override else entry.origin)
        try:
            _process.registry = _built(registry.generation + 1)
        except BaseException:
            del _process.by_hand[name]
            raise
        return _process.registry


def forget_adapters() -> None:
    """Empty the registry, as in a new process; for tests."""
    with _process.lock:
        _process.registry = Registry()
        _process.by_hand.clear()


# ---- making one --------------------------------------------------------------------------------


@cache
def shipped_values() -> Mapping[str, Any]:
    """What the `routing.toml` of this version of geode says."""
    return tomllib.loads(files("geode.entrypoints.routes").joinpath(ROUTING_FILE).read_text(encoding="utf-8"))


def _built(generation: int) -> Registry:
    # Both read files with pydantic, which a run of a scripted model is spared.
    from geode.entrypoints.routes.file import merged, table_of
    from geode.entrypoints.routes.grammar import grammar_problems
    from geode.entrypoints.routes.plugin_policy import ADAPTERS_FILE, read_policy, refuse_unused

    file = read_toml(user_folder() / ROUTING_FILE)
    _refuse(grammar_problems(file.values), file)
    policy = read_policy(user_folder() / ADAPTERS_FILE)
    points = installed()
    found = (*(listed(point, policy) for point in points), *missing(points, policy))
    strangers = dict(allowed(points, policy))
    added = {**strangers, **_process.by_hand}
    table, problems = table_of(merged(shipped_values(), file.values), {name: entry.target for name, entry in added.items()})
    _refuse_two_of_one_kind(table.targets)
    _refuse(problems, file)
    own = {name: Entry(target, _origin(name, file)) for name, target in table.targets.items() if name not in added}
    refuse_unused(policy, own, [name for name in strangers if name in BUILT_IN or name in file.values.get("providers", {})])
    return Registry(generation, MappingProxyType({**own, **added}), table, found, file)


# So many problems are told one by one; more of them are counted.
_SHOWN: Final = 5


def _refuse(problems: list[Problem], file: TomlFile) -> None:
    """Misuse for the problems in their order in the file, a line each with its place."""
    if not problems:
        return
    # What does not stand in the file only follows from what does, and is told where there is nothing else.
    own = [one for one in problems if _line_of(one, file) < math.inf]
    told = [_told(one, file) for one in sorted(own or problems, key=lambda one: _line_of(one, file))]
    more = f"\n({len(told) - _SHOWN} more)" if len(told) > _SHOWN else ""
    raise Misuse("routing-file", "\n".join(told[:_SHOWN]) + more)


def _told(problem: Problem, file: TomlFile) -> str:
    keys = _said_of(problem.path, file)
    place = file.where(keys) if keys else str(file.path)
    return f"{place}: {shown_path(problem.path)}: {problem.text}"


def _line_of(problem: Problem, file: TomlFile) -> float:
    keys = _said_of(problem.path, file)
    return file.place_of(keys)[0] if len(keys) > 1 or keys == problem.path else math.inf


def _said_of(path: tuple[str, ...], file: TomlFile) -> tuple[str, ...]:
    """As much of the path as the file says something at."""
    while path and not says(file.values, path):
        path = path[:-1]
    return path


def _origin(name: str, file: TomlFile) -> str:
    declared = name in file.values.get("providers", {})
    if name in BUILT_IN:
        return f"{BUILT_IN_ORIGIN}, changed by {file.path}" if declared else BUILT_IN_ORIGIN
    return str(file.path)


def _refuse_two_of_one_kind(targets: Mapping[str, Target]) -> None:
    seen = dict[tuple[str, str], str]()
    for name, target in targets.items():
        pair = (target.identity.id, target.credential.source)
        if pair in seen:
            raise AdapterAlreadyRegisteredError(
                f"{seen[pair]} and {name} both serve {pair[0]} by the source {pair[1]!r}; give one another source"
            )
        seen[pair] = name
