"""`geode tools`: the tools that a run would have, and everything that is wrong with them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.errors import Misuse
from geode.domain.json_value import dump_json
from geode.domain.mcp_server import McpServer
from geode.domain.schema_profile import SchemaProfile
from geode.domain.sent_tools import sent_schema, tools_problem
from geode.domain.tools import ToolSpec
from geode.domain.wire_names import sent_name
from geode.entrypoints.cli.config import columns
from geode.entrypoints.cli.exit_codes import NOT_ALL
from geode.entrypoints.cli.schema_changes import schema_changes
from geode.entrypoints.cli.servers_looked_at import Seen, seen_servers
from geode.entrypoints.cli.tools import definitions_named, servers_of, values_named
from geode.entrypoints.cli.words import counted, harmless, short
from geode.entrypoints.cli.wrong_use import in_words_of_a_terminal
from geode.entrypoints.config import configuration
from geode.entrypoints.mcp_servers import Configured, Servers
from geode.entrypoints.routes.capabilities import capabilities_of
from geode.entrypoints.routes.registry import bootstrap_builtins
from geode.entrypoints.tools import as_tool
from geode.entrypoints.tools.build import wrong_together
from geode.entrypoints.tools.sources import is_source
from geode.ports.tool_sources import ToolSource
from geode.ports.tools import Tool

_DESCRIPTION = 80
_NONE = "there are no tools: --tools MODULE:NAME, --tools FILE.json:MODULE, or an MCP server that is configured"


def tools_command(arguments: Namespace) -> int:
    """Perform the action; exit code 1 where something is wrong."""
    own, sources, wrong = looked_at(arguments.tools)
    seen, told = _servers(arguments, own, sources)
    for text in told:
        print(f"geode tools: {text}", file=sys.stderr)
    listed = [*map(_of_tool, own), *(one for server in seen for one in _of_server(server))]
    wrong += [f"{one.configured.place}: {_why(one)}" for one in seen if one.fails]
    if arguments.action == "list":
        return _list(listed, wrong, as_json=arguments.json)
    notices = [f"{one.configured.name}: {text}" for one in seen for text in one.notices]
    changes: list[Change] = []
    if arguments.model is not None:
        refused, unknown, changes = _of_model(arguments.model, [one.spec for one in listed if one.spec is not None])
        wrong += refused
        notices += unknown
    return _check(listed, wrong, notices, changes, arguments)


def looked_at(wanted: Iterable[str]) -> tuple[tuple[Tool, ...], tuple[object, ...], list[str]]:
    """The tools and the sources that can be used, of what the arguments name; and everything that is wrong."""
    values: list[object] = []
    wrong: list[str] = []
    for text in wanted:
        try:
            defined = definitions_named(text)
            values += values_named(text) if defined is None else defined.tools
        except Misuse as error:
            wrong.append(str(error))
            continue
        wrong += [f"{one.text} [{one.id}]" for one in (() if defined is None else defined.problems)]
    tools: list[Tool] = []
    for value in values:
        try:
            tools += [] if is_source(value) else [as_tool(value)]
        except Misuse as error:
            wrong.append(str(error))
    return tuple(tools), tuple(filter(is_source, values)), [*wrong, *map(str, wrong_together(tools, JsonschemaValidator()))]


def _servers(arguments: Namespace, own: Sequence[Tool], sources: Sequence[object]) -> tuple[tuple[Seen, ...], tuple[str, ...]]:
    """Those that a run would use, or could not begin without, opened; and what is to be told of them."""
    servers = Servers(()) if arguments.no_mcp else servers_of(arguments)
    wanted = [one for one in servers.configured if one.state in ("used", "broken")]
    wanted += [Configured(one.name, "--tools", "used", one) for one in sources if isinstance(one, McpServer)]
    others = [cast("ToolSource", one) for one in sources if not isinstance(one, McpServer)]
    seen = seen_servers(wanted, [tool.spec.name for tool in own], others)
    optional = [_why(one) for one in seen if one.why and one.state != "ready" and not one.fails]
    return seen, (*servers.told, *optional)


def _why(one: Seen) -> str:
    """Why it has no tools, with its name."""
    why = in_words_of_a_terminal(one.why)
    return why if one.configured.name in why else f"{one.configured.name}: {why}"


# ---- list --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as a model sees it, and where it comes from."""

    name: str
    tier: str
    source: str
    description: str
    spec: ToolSpec | None = None


def _of_tool(tool: Tool) -> Listed:
    return Listed(tool.spec.name, tool.tier.name, tool.place or "a Tool", tool.spec.description, tool.spec)


def _of_server(seen: Seen) -> Iterator[Listed]:
    for tool in seen.tools:
        if tool.sent is not None:
            own = f" as {tool.name}" if tool.name != tool.sent else ""
            spec = ToolSpec(tool.sent, tool.description, tool.input_schema)
            kind = "source" if seen.configured.server is None else "MCP server"
            yield Listed(tool.sent, tool.tier, f"{kind} {seen.configured.name}{own}", tool.description, spec)


def _list(listed: Sequence[Listed], wrong: Sequence[str], *, as_json: bool) -> int:
    if as_json:
        print(dump_json([_json_of(one) for one in listed]))
    else:
        rows = [
            (one.name, one.tier, harmless(one.source), short(one.description.strip().partition("\n")[0], _DESCRIPTION))
            for one in listed
        ]
        for line in columns([("TOOL", "TIER", "SOURCE", "DESCRIPTION"), *rows]) if rows else ():
            print(line)
    for text in wrong or ([_NONE] if not listed and not as_json else []):
        print(f"geode tools: {harmless(text)}", file=sys.stderr)
    return NOT_ALL if wrong else 0


def _json_of(one: Listed) -> dict[str, Any]:
    return {"name": one.name, "tier": one.tier.lower(), "source": one.source, "description": one.description}


# ---- check -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """Something of a tool that a model's server is told otherwise."""

    tool: str
    at: str
    what: str


def _of_model(id: str, specs: Sequence[ToolSpec]) -> tuple[list[str], list[str], list[Change]]:
    """What the server of that model would refuse of the tools, what is not known of it, and what it is told otherwise.

    Misuse for a model that nobody serves.
    """
    registry, config = bootstrap_builtins(), configuration()
    target = registry.route(id, sources=config.sources).target
    transport = target.transport
    able = None if transport is None else capabilities_of(transport.wire, transport.dialect)
    if transport is None or able is None or able.schemas is None:
        return [], [f"{id}: what {target.name} takes of a schema is its own affair, and is not looked at"], []
    if not able.supports_tools or transport.quirks.tools is False:
        return ([f"{id}: {target.name} takes no tools"] if specs else []), [], []
    profile = able.schemas
    refused = [problem for spec in specs if (problem := tools_problem([spec], profile))]
    if not refused and (problem := tools_problem(specs, profile)):
        refused = [problem]
    return [f"{id}: {problem}" for problem in refused], [], [one for spec in specs for one in _changes(spec, profile)]


def _changes(spec: ToolSpec, profile: SchemaProfile) -> Iterator[Change]:
    if sent_name(spec.name) != spec.name:
        yield Change(spec.name, "name", f"goes out as {sent_name(spec.name)}")
    if tools_problem([spec], profile) is None:
        yield from (Change(spec.name, at, what) for at, what in schema_changes(spec.input_schema, sent_schema(spec, profile)))


def _check(
    listed: Sequence[Listed], wrong: Sequence[str], notices: Sequence[str], changes: Sequence[Change], arguments: Namespace
) -> int:
    if arguments.json:
        told = [{"tool": one.tool, "at": one.at, "what": one.what} for one in changes]
        print(dump_json({"tools": len(listed), "problems": [*wrong], "notices": [*notices], "changes": told}))
        return NOT_ALL if wrong else 0
    for text in wrong:
        print(f"problem: {harmless(text)}")
    for text in notices:
        print(f"notice: {harmless(text)}")
    for one in changes:
        print(f"{arguments.model} is told otherwise: tool {one.tool}: {harmless(one.at)} {harmless(one.what)}")
    found = counted(len(wrong), "problem", "problems") if wrong else "nothing is wrong"
    print(f"{counted(len(listed), 'tool', 'tools')}: {found}")
    return NOT_ALL if wrong else 0
