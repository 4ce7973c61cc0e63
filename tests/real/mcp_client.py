"""A client that the conformance suite runs: it opens the server at the address, and calls what the scenario wants.

Run as `python mcp_client.py URL`, with the scenario in MCP_CONFORMANCE_SCENARIO.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

from geode import McpServer
from geode.adapters.mcp.source import McpSource
from geode.ports.tools import ToolContext

# By scenario, the tool that is called and its arguments.
WANTED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "tools_call": ("add_numbers", {"a": 5, "b": 3}),
    "sse-retry": ("test_reconnection", {}),
}


async def main(url: str, scenario: str) -> None:
    async with McpSource(McpServer("conformance", url=url)).opened() as opened:
        tools = {tool.spec.name: tool for tool in (await opened.listing()).tools}
        if scenario in WANTED:
            name, arguments = WANTED[scenario]
            print(await tools[name].invoke(arguments, ToolContext(None, "call_1", "run/call_1", 60.0)))


asyncio.run(main(sys.argv[1], os.environ["MCP_CONFORMANCE_SCENARIO"]))
