"""Which adapters there are in this process, as snapshots that never change (spec section 8).

A session captures the snapshot of its beginning. `reload_adapters` and `register_adapter` make the next one, which
sessions that begin later see.
"""

from __future__ import annotations

import inspect
import math
import threading
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from geode.adapters.toml_files import TomlFile, read_toml
from geode.domain.configuration import Found
from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.routing import Route, RoutingTable, resolve, target_of
from geode.domain.targets import BUILT_IN, IDENTITIES, CredentialRoute, Identity, Target
from geode.entrypoints.places import user_folder
from geode.ports.adapters import (
    AdapterAlreadyRegisteredError,
    AdapterContext,
    AdapterFactory,
    AdapterNameMismatchError,
    AdapterNotFoundError,
)
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    from geode.entrypoints.adapter_policy import AdapterPolicy, AllowedAdapter
    from geode.entrypoints.routing_file import Problem

GROUP: Final = "geode.llm_adapters"
ROUTING_FILE: Final = "routing.toml"
BUILT_IN_ORIGIN: Final = "geode"


@dataclass(frozen=True, slots=True)
class Entry:
    """An adapter that can be made. `origin` says whose it is; `factory` is None for geode's own, made of the target.

    `reason` is why it was let in, where it replaces one of the same name or comes from another package.
    """

    target: Target
    origin: str
    factory: AdapterFactory | None = field(default=None, repr=False)
    reason: str = ""
    replaced: str = ""


State: TypeAlias = Literal["allowed", "not allowed", "disabled"]


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry point that some installed package has; it was not imported for that."""

    name: str
    package: str
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Override:
    """That an adapter takes the place of another of its name: who says so, and why."""

    origin: str
    reason: str

    def __post_init__(self) -> None:
        if not self.origin.strip() or not self.reason.strip():
            raise Misuse("adapter-override", "an Override names its origin and its reason: Override(origin=…, reason=…)")


@dataclass(frozen=True, slots=True)
class Registry:
    """A snapshot. Generation 0 is the empty one, of a process in which nobody has called `bootstrap_builtins`.

    `file` is the user's `routing.toml`.
    """

    generation: int = 0
    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    table: RoutingTable = field(default_factory=lambda: RoutingTable(targets={}))
    listed: tuple[Listed, ...] = ()
    file: TomlFile | None = field(default=None, repr=False)

    def place_of(self, *keys: str) -> str:
        """Where it is said: `FILE:LINE:COLUMN` of the user's `routing.toml`, or the one of geode."""
        said = self.file is not None and _says(self.file.values, keys)
        return self.file.where(keys) if self.file is not None and said else f"{ROUTING_FILE} of geode"

    @property
    def settings(self) -> Mapping[str, Found]:
        """What `routing.toml` says of the keys of the configuration, and where."""
        primary = self.table.defaults.get("primary")
        said = {f"sources.{name}": Found(word, self.place_of("sources", name)) for name, word in self.table.sources.items()}
        return said if primary is None else {**said, "model": Found(primary, self.place_of("model", "defaults", "primary"))}

    def adapter(self, name: str) -> Entry:
        """The adapter of that name; AdapterNotFoundError says how to come by it."""
        self._refuse_empty()
        if name in self.entries:
            return self.entries[name]
        waiting = next((one for one in self.listed if one.name == name), None)
        if waiting is not None:
            raise AdapterNotFoundError(f"the adapter {name} of the package {waiting.package} is {waiting.state}: {waiting.why}")
        close = closest(name, self.entries)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise AdapterNotFoundError(f'no adapter is called "{name}"{hint} Registered: {", ".join(self.entries)}')

    def resolve_for(self, identity: str, source: str) -> Entry:
        """The one adapter that serves `identity` by `source`; AdapterNotFoundError names what there is."""
        self._refuse_empty()
        found = target_of(identity, source, self.table.targets)
        problem = found.swap().value_or(None)
        if problem is not None:
            raise AdapterNotFoundError(problem)
        return self.adapter(found.unwrap().name)

    def route(self, model: str, own: tuple[Target, ...] = (), sources: Mapping[str, str] | None = None) -> Route:
        """Who serves `model`. AdapterNotFoundError where nothing is registered, Misuse where nobody serves it."""
        self._refuse_empty()
        found = resolve(model, self.table, own, sources)
        problem = found.swap().value_or(None)
        if problem is None:
            return found.unwrap()
        waiting = next((one for one in self.listed if model.startswith(f"{one.name}/") and one.state != "allowed"), None)
        if waiting is not None:
            problem = f'"{model}": the adapter {waiting.name} of {waiting.package} is {waiting.state}: {waiting.why}'
        raise Misuse("unknown-model", problem)

    def _refuse_empty(self) -> None:
        if not self.generation:
            raise AdapterNotFoundError(
                "no adapters are registered in this process: call geode.registry.bootstrap_builtins() first. "
                "session, run, Runtime and the container do so; whoever makes an AgenticLoop itself, as in a worker "
                "process, has to"
            )


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
    with _process.lock:
        registry = _process.registry if _process.registry.generation else _built(1)
        entry = Entry(_foreign(name, identity, source), "register_adapter", factory, override.reason if override else "")
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
    return tomllib.loads(files("geode.entrypoints").joinpath(ROUTING_FILE).read_text(encoding="utf-8"))


def _built(generation: int) -> Registry:
    # Both read files with pydantic, which a run of a scripted model is spared.
    from geode.entrypoints.adapter_policy import ADAPTERS_FILE, policy_of, refuse_unused
    from geode.entrypoints.routing_file import grammar_problems, merged, table_of

    file = read_toml(user_folder() / ROUTING_FILE)
    _refuse(grammar_problems(file.values), file)
    policy = policy_of(read_toml(user_folder() / ADAPTERS_FILE))
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point)))
    listed = tuple(_listed(point, policy) for point in points)
    strangers = dict(_allowed(points, policy))
    added = {**strangers, **_process.by_hand}
    table, problems = table_of(merged(shipped_values(), file.values), {name: entry.target for name, entry in added.items()})
    _refuse_two_of_one_kind(table.targets)
    _refuse(problems, file)
    own = {name: Entry(target, _origin(name, file)) for name, target in table.targets.items() if name not in added}
    refuse_unused(policy, own, [name for name in strangers if name in BUILT_IN or name in file.values.get("providers", {})])
    return Registry(generation, {**own, **added}, table, listed, file)


def _refuse(problems: list[Problem], file: TomlFile) -> None:
    """Misuse for the first of the problems, with the place in the file."""
    if not problems:
        return
    # What the file itself says comes first, as it stands there: what ships only follows from it.
    first, *others = sorted(problems, key=lambda one: _line_of(one, file))
    keys = _said_of(first.path, file)
    place = file.where(keys) if keys else str(file.path)
    more = f" ({len(others)} more)" if others else ""
    raise Misuse("routing-file", f"{place}: {'.'.join(first.path)}: {first.text}{more}")


def _line_of(problem: Problem, file: TomlFile) -> float:
    keys = _said_of(problem.path, file)
    return file.place_of(keys)[0] if len(keys) > 1 or keys == problem.path else math.inf


def _said_of(path: tuple[str, ...], file: TomlFile) -> tuple[str, ...]:
    """As much of the path as the file says something at."""
    while path and not _says(file.values, path):
        path = path[:-1]
    return path


def _says(values: Any, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True


def _origin(name: str, file: TomlFile) -> str:
    declared = name in file.values.get("providers", {})
    if name in BUILT_IN:
        return f"{BUILT_IN_ORIGIN}, moved by {file.path}" if declared else BUILT_IN_ORIGIN
    return str(file.path)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown"


def _of_package(point: EntryPoint, one: AllowedAdapter) -> bool:
    return not one.package or (point.dist is not None and point.dist.name == one.package)


def _listed(point: EntryPoint, policy: AdapterPolicy) -> Listed:
    one = policy.allowed.get(point.name)
    package = _package(point)
    if one is None:
        return Listed(point.name, package, "not allowed", f"{policy.place} does not name it")
    if not one.enabled:
        return Listed(point.name, package, "disabled", f"{policy.place} says enabled = false ({one.reason})")
    if not _of_package(point, one):
        return Listed(point.name, package, "not allowed", f"{policy.place} wants it from the package {one.package}")
    return Listed(point.name, package, "allowed", one.reason)


def _allowed(points: list[EntryPoint], policy: AdapterPolicy) -> Iterator[tuple[str, Entry]]:
    for name, one in policy.allowed.items():
        found = [point for point in points if point.name == name and _of_package(point, one)]
        if not one.enabled or not found:
            continue
        if len(found) > 1:
            packages = ", ".join(map(_package, found))
            raise AdapterAlreadyRegisteredError(
                f'several packages have an adapter {name}: {packages}. Choose in {policy.place}: adapters.{name}.package = "…"'
            )
        if name in BUILT_IN and not one.override:
            raise AdapterAlreadyRegisteredError(
                f"{_package(found[0])} has an adapter {name}, as geode has; to replace geode's: "
                f"adapters.{name}.override = true in {policy.place}"
            )
        origin = f"package {_package(found[0])}"
        replaced = BUILT_IN_ORIGIN if name in BUILT_IN else ""
        yield name, Entry(_foreign(name, one.identity, one.source), origin, _Loaded(found[0]), one.reason, replaced)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The factory of an entry point, which is imported when its adapter is made."""

    point: EntryPoint

    def __call__(self, context: AdapterContext) -> ModelAdapter:
        return _called(self.point.load(), context)


def _called(factory: Any, context: AdapterContext) -> ModelAdapter:
    """What the factory makes: of the context, or of nothing."""
    takes = inspect.signature(factory).parameters
    made: ModelAdapter = factory(context) if takes else factory()
    return made


def made_by(entry: Entry, context: AdapterContext) -> ModelAdapter:
    """The adapter that a factory makes; AdapterNameMismatchError where it has another name than it was registered under."""
    if entry.factory is None:
        raise AssertionError(f"{context.name} is geode's own")
    adapter = _called(entry.factory, context)
    if adapter.name != context.name:
        raise AdapterNameMismatchError(
            f'{entry.origin} made an adapter called "{adapter.name}" where it is registered as "{context.name}"; '
            "conversations are kept under the name, so the two have to be the same"
        )
    return adapter


def _foreign(name: str, identity: str, source: str) -> Target:
    """The declaration of an adapter that brings its own transport."""
    owner = IDENTITIES.get(identity) or Identity(identity or name, identity or name)
    shipped = BUILT_IN.get(name)
    if shipped is not None and not identity:
        return replace(shipped, transport=None)
    return Target(name, owner, CredentialRoute(source, None), None)


def _refuse_two_of_one_kind(targets: Mapping[str, Target]) -> None:
    seen = dict[tuple[str, str], str]()
    for name, target in targets.items():
        pair = (target.identity.id, target.credential.source)
        if pair in seen:
            raise AdapterAlreadyRegisteredError(
                f"{seen[pair]} and {name} both serve {pair[0]} by the source {pair[1]!r}; give one another source"
            )
        seen[pair] = name
