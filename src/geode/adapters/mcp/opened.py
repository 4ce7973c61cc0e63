"""A server that is open."""

from __future__ import annotations

from collections.abc import Mapping

from geode.domain.mcp_server import McpServer
from geode.ports.tool_sources import Listing


class OpenServer:
    def __init__(self, server: McpServer, environ: Mapping[str, str], origin: str) -> None: ...

    async def start(self) -> None: ...

    async def listing(self) -> Listing:
        return Listing(())

    def changed(self) -> bool:
        return False

    async def close(self) -> None: ...
