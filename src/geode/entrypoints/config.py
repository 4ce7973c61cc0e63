"""The configuration as it stands in the environment and in files, layer by layer (spec section 8)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from geode.adapters.environment import Environment, read_env_file
from geode.adapters.toml_files import TomlFile, read_toml
from geode.domain.configuration import Candidate, Explained, Found, Key, Layer, explain, key_named, values_in
from geode.domain.errors import Misuse
from geode.domain.mcp_declarations import McpTable, mcp_table
from geode.domain.routing import target_of
from geode.domain.targets import IDENTITIES
from geode.entrypoints.places import config_paths, env_paths, routing_path
from geode.entrypoints.routes.registry import bootstrap_builtins


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A config.toml: its values by the names of their keys, and the MCP servers that it declares."""

    file: TomlFile
    values: Mapping[str, str]
    mcp: McpTable = field(default=McpTable(), repr=False)

    def candidate(self, layer: Layer, key: Key) -> Candidate:
        value = self.values.get(key.name)
        return Candidate(layer, str(self.file.path) if value is None else self.file.where(key.path), value)


def read_config(path: Path, mending: Collection[Key] = ()) -> ConfigFile:
    """The file, checked. Misuse names the file, the line and the column of what is wrong.

    A wrong value at one of the keys that are `mending` is no value; a table there is more than one, and stays Misuse.
    """
    file = read_toml(path)
    values, problems = values_in(file.values)
    mcp, more = mcp_table(file.values)
    replaced = {key.path for key in mending if not _is_table(file.values, key.path)}
    for problem in (*problems, *more):
        if problem.path in replaced:
            continue
        said = f"{file.where(problem.path)}: {problem.text}"
        if problem.kind == "key":
            raise Misuse("config-key", said)
        raise Misuse("config-value", said)
    return ConfigFile(file, values, mcp)


def _is_table(values: object, path: Sequence[str]) -> bool:
    for key in path:
        values = cast("Mapping[str, object]", values).get(key) if isinstance(values, Mapping) else None
    return isinstance(values, Mapping)


class Configuration:
    """Everything that is configured, as it was read once."""

    def __init__(
        self,
        command_line: Mapping[str, Found],
        environment: Environment,
        files: Mapping[Layer, ConfigFile],
        routing: Mapping[str, Found],
    ) -> None:
        self.environment = environment
        self.files = files
        self._command_line = command_line
        self._routing = routing

    def explained(self, name: str) -> Explained:
        """What every layer says of the key. Misuse for a key that does not exist."""
        key = key_named(name)
        return explain(key, self._candidates(key))

    def found(self, name: str) -> Found | None:
        """The value in force and its place; None where nothing says it."""
        explained = self.explained(name)
        return None if explained.value is None else Found(explained.value, explained.place or "")

    def value(self, name: str) -> str | None:
        """The value in force; None where nothing says it."""
        return self.explained(name).value

    @property
    def sources(self) -> Mapping[str, str]:
        """The credential source in force for each identity."""
        said = {identity: self.value(f"sources.{identity}") for identity in IDENTITIES}
        return {identity: source for identity, source in said.items() if source is not None}

    def _candidates(self, key: Key) -> Iterator[Candidate]:
        yield from _given("command line", key, self._command_line, "")
        yield from self.environment.candidates(key.variable)
        for layer, file in self.files.items():
            yield file.candidate(layer, key)
        yield from _given("routing.toml", key, self._routing, str(routing_path()))


def _given(layer: Layer, key: Key, given: Mapping[str, Found], otherwise: str) -> Iterator[Candidate]:
    found = given.get(key.name)
    yield Candidate(layer, otherwise) if found is None else Candidate(layer, found.place, found.value)


def routing_values() -> Mapping[str, Found]:
    """What routing.toml says of the keys: the weakest layer."""
    return bootstrap_builtins().settings


def configuration(
    command_line: Mapping[str, Found] | None = None,
    routing: Mapping[str, Found] | None = None,
    mending: Collection[Key] = (),
) -> Configuration:
    """The configuration of this moment, below what was given on the command line, or as an argument.

    A few small files are read. Misuse names the place of what is broken in any of them. `routing` stands for what
    routing.toml says. What is wrong at the keys that are `mending` is no obstacle to whoever writes another value there.
    """
    for name in command_line or {}:
        key_named(name)
    found = Configuration(
        command_line or {},
        Environment([read_env_file(path) for path in env_paths()]),
        {layer: read_config(path, mending) for layer, path in config_paths().items()},
        routing_values() if routing is None else routing,
    )
    _refuse_sources(found, {key.name for key in mending})
    _refuse_self_trust(found)
    return found


def _refuse_self_trust(config: Configuration) -> None:
    """Misuse for a project that says of itself, or of others, that it can be trusted."""
    project = config.files.get("project config.toml")
    if project is not None and project.mcp.trust_projects:
        of_user = config_paths()["global config.toml"]
        place = project.file.where(("mcp", "trust_projects"))
        raise Misuse("config-key", f"{place}: mcp.trust_projects belongs into {of_user}: no project can trust itself")


def _refuse_sources(config: Configuration, mending: Collection[str]) -> None:
    """Misuse for a credential source in force that its identity does not have: said here, it is told where it stands."""
    for identity in IDENTITIES:
        name = f"sources.{identity}"
        source = config.found(name)
        if source is None or name in mending:
            continue
        if problem := source_problem(identity, source.value):
            raise Misuse("config-value", f"{source.place}: {problem}")


def source_problem(identity: str, source: str) -> str:
    """What keeps the identity from being paid by that source; "" if nothing does."""
    return target_of(identity, source, bootstrap_builtins().table.targets).swap().value_or("")


def folder_of(value: str) -> Path:
    """The folder that a value of that type names; `~` is the home folder, and a relative one is in the working directory."""
    return Path(os.path.expanduser(value))


def no_model() -> Misuse:
    """Nothing names a model: where it can be named."""
    places = ["process environment", *env_paths(), *config_paths().values(), routing_path()]
    looked = ", ".join(str(place) for place in places)
    said = "no model is named: give model=…, or set GEODE_MODEL, or geode config set model ID"
    return Misuse("no-model", f"{said}. Looked in: {looked}")
