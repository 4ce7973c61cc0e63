"""Looking at a server once: opened, asked for its tools, and closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from geode.adapters.mcp.source import McpSource, Status
from geode.domain.mcp_server import McpServer
from geode.domain.tiers import SafetyTier
from geode.ports.tool_sources import ToolSourceError


@dataclass(frozen=True, slots=True)
class InspectedTool:
    """A tool of a server under the server's own name, in the tier that a session would give it."""

    name: str
    tier: SafetyTier
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found. `status.state` is `ready`, or `failed` with `status.why`; `notices` are for operators."""

    name: str
    origin: str
    status: Status
    tools: tuple[InspectedTool, ...] = ()
    notices: tuple[str, ...] = ()


async def inspected(server: McpServer, environ: Mapping[str, str] | None = None) -> Inspection:
    """Open `server`, list its tools, close it. Never raises for what the server does; takes at most its timeouts."""
    source = McpSource(server, environ)
    try:
        async with source.opened() as opened:
            listing = await opened.listing()
            status = source.status
    except ToolSourceError as error:
        return Inspection(source.name, source.origin, replace(source.status, state="failed", why=str(error)))
    tools = tuple(InspectedTool(one.spec.name, one.tier, one.spec.description, one.spec.input_schema) for one in listing.tools)
    return Inspection(source.name, source.origin, status, tools, listing.left_out)
