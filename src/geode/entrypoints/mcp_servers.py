"""The MCP servers that are configured: whose they are, which of them a run uses, and why not the others.

A server is a program that is started, or an address that is sent what a model wants. Whoever writes a project's files
does not decide that: its servers are used where the user said so, and never with more trust than a stranger's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from geode.adapters.environment import Environment, read_env_file
from geode.adapters.json_files import read_json
from geode.adapters.toml_files import read_toml
from geode.domain.configuration import Candidate, Layer, Problem
from geode.domain.errors import Misuse
from geode.domain.mcp_declarations import Declaration, LookUp, filled, mcp_table, servers_of_others
from geode.domain.mcp_server import McpServer
from geode.entrypoints.config import Configuration, folder_of
from geode.entrypoints.places import config_paths, env_paths, here, project_env, user_folder

log = logging.getLogger("geode")

State: TypeAlias = Literal["used", "disabled", "not trusted", "broken"]
_SETTING: Final = "mcp.config"
# Weakest first, and whether they are a project's.
_LAYERS: Final[tuple[tuple[Layer, bool], ...]] = (("global config.toml", False), ("project config.toml", True))
NOT_TRUSTED: Final = "a project's servers are used only where you allow it"


@dataclass(frozen=True, slots=True)
class Configured:
    """A server that is declared at `place`. `server` is there where it is used; else `why` says why not."""

    name: str
    place: str
    state: State
    server: McpServer | None = None
    why: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Servers:
    """Every server by its name, each as the strongest place declares it; and what else is to be told."""

    configured: tuple[Configured, ...]
    told: tuple[str, ...] = ()

    def usable(self) -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
        """Those that a run uses, and what is to be told of the others. Misuse for one that is broken and required."""
        broken = [one for one in self.configured if one.state == "broken"]
        for one in broken:
            if one.required:
                raise Misuse("mcp-config", f'{one.place}: MCP server "{one.name}": {one.why}')
        told = [f'{one.place}: MCP server "{one.name}" is left out: {one.why}' for one in broken]
        strangers = [one for one in self.configured if one.state == "not trusted"]
        if strangers:
            told.append(_not_trusted(", ".join(one.name for one in strangers), strangers[0].place))
        return tuple(one.server for one in self.configured if one.server is not None), (*self.told, *told)


def configured_servers(config: Configuration, files: Sequence[str] = (), *, use_project: bool = False) -> Servers:
    """Every server that is configured. `files` take the place of the setting `mcp.config`.

    `use_project` uses those of the project's own files too, as does its folder in the user's `mcp.trust_projects`; what
    these say of `trusted` and `tiers` never counts. Misuse where a file cannot be read.
    """
    trusted = use_project or is_trusted(config)
    look_up = _look_up(config.environment, with_project=trusted)
    told: list[str] = []
    found: dict[str, Configured] = {}
    for one in _declared(config, files, told, trusted=trusted):
        configured = _configured(one, look_up, trusted=trusted)
        if configured.state == "not trusted" and one.name in found:
            told.append(_not_trusted(one.name, configured.place))
            continue
        if one.of_project and trusted and one.declaration is not None and one.declaration.raises_trust:
            told.append(f'{configured.place}: what a project says of "trusted" and "tiers" does not count ({one.name})')
        found[one.name] = configured
    return Servers(tuple(found.values()), tuple(told))


def is_trusted(config: Configuration) -> bool:
    """Whether the user's own config.toml names the working directory in `mcp.trust_projects`."""
    of_user = config.files.get("global config.toml")
    named = () if of_user is None else of_user.mcp.trust_projects
    try:
        return os.path.realpath(here()) in {os.path.realpath(os.path.expanduser(one)) for one in named if one.strip()}
    except FileNotFoundError:  # the working directory is gone
        return False


def mcp_servers_from(path: str | Path) -> list[McpServer]:
    """The servers that a file declares, for `tools=[…]`: those of `[mcp.servers.NAME]` where it is a `.toml`, and else
    those of `{"mcpServers": {…}}`, as other programs write it.

    Those that are disabled are left out. Misuse for what cannot be used, and for a variable that is not set.
    """
    file = Path(path)
    look_up = _look_up(Environment([read_env_file(one) for one in env_paths()]), with_project=True)
    told: list[str] = []
    declared = list(_of_toml(file) if file.suffix == ".toml" else _of_json(file, told))
    for text in told:
        log.warning("%s", text)
    return list(Servers(tuple(_configured(one, look_up, trusted=True) for one in declared)).usable()[0])


def _look_up(environment: Environment, *, with_project: bool) -> LookUp:
    """A folder that one happens to be in gives no values to servers that are not its own."""
    seen = environment if with_project else Environment([one for one in environment.files if one.path != project_env()])

    def look_up(name: str) -> str | None:
        found = seen.find(name)
        return None if found is None else found.value

    return look_up


# ---- where they are declared -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Declared:
    """A server at its place; without a declaration, what is wrong with it."""

    name: str
    place: str
    declaration: Declaration | None = None
    wrong: str = ""
    of_project: bool = False


def _declared(config: Configuration, files: Sequence[str], told: list[str], *, trusted: bool) -> Iterator[_Declared]:
    """Weakest first: what a file of others says, then what the config.toml says that names it; the user's, the project's."""
    named = None if files else _named_file(config, told, trusted=trusted)
    for layer, of_project in _LAYERS:
        if named is not None and named.layer == layer:
            yield from _of_json(_path_of(named), told, of_project=of_project)
        file = config.files.get(layer)
        if file is not None:
            for one in file.mcp.servers:
                yield _Declared(one.name, file.file.where(("mcp", "servers", one.name)), one, of_project=of_project)
    if named is not None and named.layer == "environment":
        yield from _of_json(_path_of(named), told, of_project=_of_project(named))
    for path in files:
        yield from _of_json(Path(path), told)


def _named_file(config: Configuration, told: list[str], *, trusted: bool) -> Candidate | None:
    """The strongest place that names a file, of those that may."""
    for one in config.explained(_SETTING).candidates:
        if one.value is None:
            continue
        if trusted or not _of_project(one):
            return one
        told.append(_not_trusted(one.value, one.place))
    return None


def _of_project(candidate: Candidate) -> bool:
    return candidate.layer == "project config.toml" or f" in {project_env()}:" in candidate.place


def _path_of(candidate: Candidate) -> Path:
    """A relative path is in the folder of the file that says it."""
    path = folder_of(candidate.value or "")
    return user_folder() / path if candidate.layer == "global config.toml" else path


def _of_json(path: Path, told: list[str], *, of_project: bool = False) -> Iterator[_Declared]:
    file = read_json(path)
    declarations, problems = servers_of_others(file.value)
    for problem in problems:
        place = file.where(problem.path)
        if problem.kind == "key":
            told.append(f"{place}: {problem.text}")
        elif len(problem.path) < 2:
            raise Misuse("mcp-config", f"{place}: {problem.text}")
        else:
            yield _Declared(problem.path[1], place, wrong=problem.text, of_project=of_project)
    for one in declarations:
        yield _Declared(one.name, file.where(("mcpServers", one.name)), one, of_project=of_project)


def _of_toml(path: Path) -> Iterator[_Declared]:
    file = read_toml(path)
    if not file.exists:
        raise Misuse("mcp-config", f"{path} is not there")
    table, problems = mcp_table(file.values)
    if problems:
        raise Misuse("mcp-config", _told_of(file.where(problems[0].path), problems))
    for one in table.servers:
        yield _Declared(one.name, file.where(("mcp", "servers", one.name)), one)


def _told_of(place: str, problems: Sequence[Problem]) -> str:
    more = f"; and {len(problems) - 1} more" if problems[1:] else ""
    return f"{place}: {problems[0].text}{more}"


# ---- whether they are used ---------------------------------------------------------------------


def _configured(one: _Declared, look_up: LookUp, *, trusted: bool) -> Configured:
    if one.of_project and not trusted:
        return Configured(one.name, one.place, "not trusted", why=f"{NOT_TRUSTED}: {_way_out()}", required=False)
    if one.declaration is None:
        return Configured(one.name, one.place, "broken", why=one.wrong)
    declaration = one.declaration.without_trust() if one.of_project else one.declaration
    if declaration.disabled:
        return Configured(one.name, one.place, "disabled", why="its declaration says so", required=False)
    made = filled(declaration, look_up).map(_at_home)
    server, why = made.value_or(None), made.swap().value_or("")
    state: State = "broken" if server is None else "used"
    return Configured(one.name, one.place, state, server, why, declaration.required)


def _at_home(server: McpServer) -> McpServer:
    """A folder may begin with `~`."""
    return server if server.cwd is None else replace(server, cwd=str(folder_of(server.cwd)))


def _not_trusted(names: str, place: str) -> str:
    return f"{place}: MCP servers of this project are not used ({names}): {_way_out()}"


def _way_out() -> str:
    try:
        folder = os.path.realpath(here())
    except FileNotFoundError:
        folder = "FOLDER"
    of_user = config_paths()["global config.toml"]
    return f'--mcp-project uses them once, trust_projects = ["{folder}"] below [mcp] in {of_user} always'
