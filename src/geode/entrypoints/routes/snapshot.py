"""The adapters of a process as a value: what is registered, what was found, and what `routing.toml` says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from geode.adapters.toml_files import TomlFile
from geode.domain.configuration import Found
from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.routing import Route, RoutingTable, resolve, target_of
from geode.domain.targets import Target
from geode.ports.adapters import AdapterFactory, AdapterNotFoundError

ROUTING_FILE: Final = "routing.toml"


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


State: TypeAlias = Literal["allowed", "not allowed", "disabled", "not installed"]


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry point that some installed package has, not imported for that, or one that is let in and that none has.

    `identity` is whose models it would serve; `package` is "" where none is known.
    """

    name: str
    package: str
    state: State
    why: str
    identity: str = ""

    @property
    def told(self) -> str:
        """What keeps it from being used, or lets it be."""
        if self.state == "not installed":
            return f"{self.name} is let in, but not installed: {self.why}"
        return f"{self.name} of the package {self.package} is {self.state}: {self.why}"


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
        said = self.file is not None and says(self.file.values, keys)
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
            raise AdapterNotFoundError(f"the adapter {waiting.told}")
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
        waiting = self._waiting_for(model.partition("/")[0])
        if waiting is not None:
            problem = f'"{model}": the adapter {waiting.told}'
        raise Misuse("unknown-model", problem)

    def _waiting_for(self, namespace: str) -> Listed | None:
        """What would serve the namespace, by its own name or for an identity that nobody else serves."""
        waiting = [one for one in self.listed if one.state != "allowed"]
        served = {target.identity.id for target in self.table.targets.values()}
        return next((one for one in waiting if namespace in (one.name, *({one.identity} - served))), None)

    def _refuse_empty(self) -> None:
        if not self.generation:
            raise AdapterNotFoundError(
                "no adapters are registered in this process: call geode.registry.bootstrap_builtins() first. "
                "session, run, Runtime and the container do so; whoever makes an AgenticLoop itself, as in a worker "
                "process, has to"
            )


def says(values: Any, keys: Sequence[str]) -> bool:
    """Whether something is said at the path."""
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True
