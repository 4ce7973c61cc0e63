"""Every MCP server that is configured, opened once: what came of it, and what its tools would be called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from geode.adapters.mcp.inspection import InspectedTool, Inspection, inspected
from geode.domain.mcp_server import McpServer
from geode.domain.offload import RECALL
from geode.domain.tool_names import OwnName, visible_names
from geode.entrypoints.mcp_servers import Configured

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


def seen_servers(configured: Sequence[Configured], taken: Iterable[str] = (), inspect: Inspect = inspected) -> tuple[Seen, ...]:
    """Each of them, in their order, opened side by side where it is used. `taken` are the names of tools that a run has."""
    found = asyncio.run(_inspected([one.server for one in configured if one.server is not None], inspect))
    by_name = {one.name: one for one in found}
    own = [OwnName(one.name, tool.name) for one in found for tool in one.tools]
    prefixed = [one.name for one in configured if one.server is not None and one.server.prefix]
    names = visible_names({RECALL, *taken}, own, prefixed)
    return tuple(
        Seen(one, one.state, one.why) if one.server is None else _seen(one, one.server, by_name[one.name], names)
        for one in configured
    )


async def _inspected(servers: Iterable[McpServer], inspect: Inspect) -> list[Inspection]:
    return list(await asyncio.gather(*(inspect(server) for server in servers)))


def _seen(configured: Configured, server: McpServer, found: Inspection, names: Mapping[OwnName, str]) -> Seen:
    def of(tool: InspectedTool) -> SeenTool:
        sent = names.get(OwnName(server.name, tool.name))
        return SeenTool(tool.name, sent, tool.tier.name, _why(server, tool.name), tool.description, tool.input_schema)

    said = " ".join(filter(None, (found.status.server_name, found.status.server_version)))
    return Seen(configured, found.status.state, found.status.why, said, tuple(map(of, found.tools)), found.notices)


def _why(server: McpServer, name: str) -> str:
    if name in server.tiers:
        return "tiers says so"
    return "the server says so, and is trusted" if server.trusted else "the server is not trusted"
