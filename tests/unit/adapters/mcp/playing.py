"""What the tests of the MCP source have in common: servers that misbehave as told, and calls as the processor makes them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from geode import McpServer
from geode.adapters.mcp.opened import OpenServer
from geode.adapters.mcp.source import McpSource
from geode.domain.content import Text
from geode.domain.results import render
from geode.entrypoints.compliance.server import whole
from geode.entrypoints.compliance.servers import Handlers, request_from
from geode.ports.tool_sources import Listing
from geode.ports.tools import Tool, ToolContext

PROGRAM = Path(__file__).with_name("child.py")
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "by hand", "version": "7"},
}


def named(*names: str) -> list[dict[str, Any]]:
    """Tools of these names, as a server lists them."""
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


def child(plan: Mapping[str, Any], name: str = "demo", **settings: Any) -> McpServer:
    """A server that is `child.py`, which does as `plan` says."""
    return McpServer(name, command=[sys.executable, "-I", "-S", str(PROGRAM), json.dumps(plan)], **settings)


@asynccontextmanager
async def opened(server: McpServer, **environ: str) -> AsyncIterator[OpenServer]:
    async with McpSource(server, {**os.environ, **environ}).opened() as found:
        yield found


@asynccontextmanager
async def listed(server: McpServer, **environ: str) -> AsyncIterator[tuple[OpenServer, Listing]]:
    async with opened(server, **environ) as found:
        yield found, await found.listing()


def tool(listing: Listing, name: str) -> Tool:
    return next(one for one in listing.tools if one.spec.name == name)


async def called(listing: Listing, name: str, progress: Callable[[str], None] = lambda _: None, **arguments: Any) -> str:
    """The text that a model would read of the call."""
    context = ToolContext(None, "call_1", "run/call_1", 60.0, progress=progress)
    value = await tool(listing, name).invoke(arguments, context)
    return "\n".join(part.text for part in render(value) if isinstance(part, Text))


def diary(path: Path) -> list[dict[str, Any]]:
    """What a child that was told to keep a diary was told, in its order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 — it is looked at from outside
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


Headers: TypeAlias = Mapping[str, str]
Answer: TypeAlias = tuple[int, Mapping[str, Any] | bytes, Headers]


@dataclass(slots=True)
class Web(Handlers):
    """A server at an address: `replies` says what is answered to a message with these headers, None to wait for ever."""

    replies: Callable[[dict[str, Any], Headers], Answer | None] = lambda message, _: answered(message)
    received: list[tuple[dict[str, Any], dict[str, str]]] = field(default_factory=list[tuple[dict[str, Any], dict[str, str]]])

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            top, body = await request_from(reader)
        except (asyncio.IncompleteReadError, OSError):
            return
        if not top.startswith(b"POST"):
            writer.writelines(whole(b"", status=405))
            return
        lines = [line.decode().partition(":") for line in top.split(b"\r\n")[1:] if line]
        message, headers = json.loads(body), {name.lower(): value.strip() for name, _, value in lines}
        headers["path"] = top.split(b" ")[1].decode()
        self.received.append((message, headers))
        if await self.answered(message, headers, writer):
            return
        found = self.replies(message, headers)
        if found is None:
            await reader.read()
            return
        status, said, more = found
        content = said if isinstance(said, bytes) else json.dumps(said).encode()
        kind = more.get("content-type", "application/json")
        writer.writelines(whole(content, kind, status=status, headers={k: v for k, v in more.items() if k != "content-type"}))

    async def answered(self, message: dict[str, Any], headers: Headers, writer: asyncio.StreamWriter) -> bool:
        """Whether it was answered in a way of its own, which a kind of server may have."""
        return False

    @property
    def methods(self) -> list[str]:
        return [message.get("method", "") for message, _ in self.received]


def answered(message: Mapping[str, Any], **headers: str) -> Answer:
    """As a server does that has one tool, `add`, which gives 5."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    results: dict[str, dict[str, Any]] = {
        "initialize": GREETING,
        "tools/list": {"tools": named("add")},
        "tools/call": {"content": [{"type": "text", "text": "5"}]},
    }
    if "id" not in message:
        return 202, b"", more
    return 200, {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}, more


@asynccontextmanager
async def web(replies: Callable[[dict[str, Any], Headers], Answer | None]) -> AsyncIterator[Web]:
    found = Web(replies=replies)
    async with found.listening(found.answer, "/mcp"):
        yield found
