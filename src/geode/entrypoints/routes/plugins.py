"""Adapters of other packages: listed without an import, and made when the operator's policy lets them in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from geode.domain.targets import BUILT_IN, IDENTITIES, CredentialRoute, Identity, Target
from geode.entrypoints.routes.snapshot import Entry, Listed
from geode.ports.adapters import AdapterAlreadyRegisteredError, AdapterContext, AdapterError, AdapterNameMismatchError
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    from geode.entrypoints.routes.plugin_policy import AdapterPolicy, AllowedAdapter

GROUP: Final = "geode.llm_adapters"
BUILT_IN_ORIGIN: Final = "geode"


def installed() -> Sequence[EntryPoint]:
    """The entry points of all installed packages, none of them imported."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point)))


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown"


def _of_package(point: EntryPoint, one: AllowedAdapter) -> bool:
    return not one.package or (point.dist is not None and _normal(point.dist.name) == _normal(one.package))


def _normal(package: str) -> str:
    """The name of a distribution as all its spellings have it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def listed(point: EntryPoint, policy: AdapterPolicy) -> Listed:
    """What becomes of an entry point."""
    one = policy.allowed.get(point.name)
    package = _package(point)
    if one is None:
        return Listed(point.name, package, "not allowed", f"{policy.place} does not name it")
    if not one.enabled:
        return Listed(point.name, package, "disabled", f"{policy.place} says enabled = false ({one.reason})")
    if not _of_package(point, one):
        return Listed(point.name, package, "not allowed", f"{policy.place} wants it from the package {one.package}")
    return Listed(point.name, package, "allowed", one.reason)


def missing(points: Sequence[EntryPoint], policy: AdapterPolicy) -> Iterator[Listed]:
    """Those that are let in and that no installed package has."""
    there = {point.name for point in points}
    for name, one in policy.allowed.items():
        if one.enabled and name not in there:
            wanted = f"no installed package has it; {policy.place} says: {one.reason}"
            yield Listed(name, one.package, "not installed", wanted, one.identity)


def allowed(points: Sequence[EntryPoint], policy: AdapterPolicy) -> Iterator[tuple[str, Entry]]:
    """Those that are let in, by name. AdapterAlreadyRegisteredError where it is not clear which is meant."""
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
        yield name, Entry(foreign(name, one.identity, one.source), origin, _Loaded(found[0]), one.reason, replaced)


def foreign(name: str, identity: str, source: str) -> Target:
    """The declaration of an adapter that brings its own transport."""
    owner = IDENTITIES.get(identity) or Identity(identity or name, identity or name)
    shipped = BUILT_IN.get(name)
    if shipped is not None and not identity:
        return replace(shipped, transport=None)
    return Target(name, owner, CredentialRoute(source, None), None)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The factory of an entry point, which is imported when its adapter is made."""

    point: EntryPoint

    def __call__(self, context: AdapterContext) -> Any:
        return _called(self.point.load(), context)


def _called(factory: Any, context: AdapterContext) -> Any:
    """What the factory makes: of the context, or of nothing."""
    return factory(context) if inspect.signature(factory).parameters else factory()


@runtime_checkable
class IsAdapter(ModelAdapter, Protocol):
    """What can be seen of an adapter from outside."""


def made_by(entry: Entry, context: AdapterContext) -> ModelAdapter:
    """The adapter that a factory makes. AdapterError where it makes none, and for one of another name than it was
    registered under."""
    if entry.factory is None:
        raise AssertionError(f"{context.name} is geode's own")
    try:
        adapter: object = _called(entry.factory, context)
    except Exception as error:
        raise AdapterError(
            f"the adapter {context.name} ({entry.origin}) cannot be made: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(adapter, IsAdapter):
        raise AdapterError(
            f"the factory of the adapter {context.name} ({entry.origin}) gave {type(adapter).__name__}, no adapter"
        )
    if adapter.name != context.name:
        raise AdapterNameMismatchError(
            f'{entry.origin} made an adapter called "{adapter.name}" where it is registered as "{context.name}"; '
            "conversations are kept under the name, so the two have to be the same"
        )
    return adapter
