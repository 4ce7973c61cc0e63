"""Every MCP server that is configured, opened once: what came of it, and what its tools would be called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from geode.adapters.mcp.inspection import InspectedTool, Inspection, inspected
from geode.adapters.mcp.source import Status
from geode.domain.mcp_server import McpServer
from geode.domain.offload import RECALL
from geode.domain.tool_names import OwnName, visible_names
from geode.entrypoints.mcp_servers import Configured
from geode.ports.tool_sources import ToolSource, ToolSourceError

Inspect: TypeAlias = Callable[[McpServer], Coroutine[Any, Any, Inspection]]


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool of a server: under its own name, the one that a model sees (None: it has none), its tier, and why that one."""

    name: str
    sent: str | None
    tier: str
    why: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """A server that is configured, and what came of opening it. `state` is `ready`, or says why it has no tools."""

    configured: Configured
    state: str
    why: str = ""
    version: str = ""
    tools: tuple[SeenTool, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether a run could not begin because of it."""
        return self.configured.required and self.state in ("failed", "broken")


def seen_servers(
    configured: Sequence[Configured],
    taken: Iterable[str] = (),
    sources: Sequence[ToolSource] = (),
    inspect: Inspect = inspected,
) -> tuple[Seen, ...]:
    """Each of them, in their order, opened side by side where it is used; then the other sources.

    `taken` are the names of tools that a run has.
    """
    servers = [one.server for one in configured if one.server is not None]
    looking = [*map(inspect, servers), *map(_looked_at, sources)]
    found = {one.name: one for one in asyncio.run(_together(looking))}
    own = [OwnName(one.name, tool.name) for one in found.values() for tool in one.tools]
    names = visible_names({RECALL, *taken}, own, [server.name for server in servers if server.prefix])
    others = [Configured(source.name, "--tools", "used", required=source.required) for source in sources]
    return tuple(
        _seen(one, found[one.name], names) if one.name in found else Seen(one, one.state, one.why)
        for one in (*configured, *others)
    )


async def _together(looking: Iterable[Coroutine[Any, Any, Inspection]]) -> list[Inspection]:
    return list(await asyncio.gather(*looking))


async def _looked_at(source: ToolSource) -> Inspection:
    """The same of a source that is no MCP server."""
    try:
        async with source.opened() as opened:
            listing = await opened.listing()
    except ToolSourceError as error:
        return Inspection(source.name, source.origin, Status("failed", str(error)))
    tools = tuple(InspectedTool(one.spec.name, one.tier, one.spec.description, one.spec.input_schema) for one in listing.tools)
    return Inspection(source.name, source.origin, Status("ready"), tools, listing.left_out)


def _seen(configured: Configured, found: Inspection, names: Mapping[OwnName, str]) -> Seen:
    def of(tool: InspectedTool) -> SeenTool:
        sent = names.get(OwnName(configured.name, tool.name))
        why = _why(configured.server, tool.name)
        return SeenTool(tool.name, sent, tool.tier.name, why, tool.description, tool.input_schema)

    said = " ".join(filter(None, (found.status.server_name, found.status.server_version)))
    return Seen(configured, found.status.state, found.status.why, said, tuple(map(of, found.tools)), found.notices)


def _why(server: McpServer | None, name: str) -> str:
    if server is None:
        return "its source says so"
    if name in server.tiers:
        return "tiers says so"
    return "the server says so, and is trusted" if server.trusted else "the server is not trusted"
