"""Harnesses of the MCP source: two servers that are written by hand, and so know nothing of the client."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

from geode.adapters.mcp.source import McpSource
from geode.domain.mcp_server import McpServer
from geode.entrypoints.compliance.server import whole
from geode.entrypoints.compliance.servers import Handlers, head, request_from
from geode.entrypoints.compliance.tool_sources import Called, ToolSourceHarness
from geode.ports.tool_sources import ToolSource

# A server on its standard input and output. It tells of a change, and has one tool more, once the file SWITCH is there.
_PROGRAM: Final = """
import json, os, sys, threading, time

def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

def watch():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    send(method="notifications/tools/list_changed")

def answer(method, params):
    if method == "initialize":
        told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}}
        return {**told, "serverInfo": {"name": "by hand", "version": "1"}}
    if method == "tools/list":
        names = ["say", "fail", "hang"] + (["more"] if os.path.exists(sys.argv[1]) else [])
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    if params["name"] == "hang":
        return None
    text = params["arguments"].get("text", "no such thing")
    return {"content": [{"type": "text", "text": text}], "isError": params["name"] == "fail"}

threading.Thread(target=watch, daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    result = answer(message["method"], message.get("params")) if "id" in message else None
    if result is not None:
        send(id=message["id"], result=result)
"""


class _McpHarness(ToolSourceHarness):
    answers: ClassVar[tuple[str, Mapping[str, Any], str]] = ("say", {"text": "hello from far"}, "hello from far")
    fails: ClassVar[Called | None] = ("fail", {})
    hangs: ClassVar[Called | None] = ("hang", {})
    changes: ClassVar[bool] = True


class McpChildHarness(_McpHarness):
    """A server that is started."""

    _switch: Path | None = None

    @asynccontextmanager
    async def source(self) -> AsyncIterator[ToolSource]:
        with tempfile.TemporaryDirectory() as folder:
            self._switch = Path(folder) / "switch"
            command = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(self._switch)]
            yield McpSource(McpServer("lab", command=command))

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[ToolSource]:
        yield McpSource(McpServer("lab", command=[sys.executable, "-I", "-S", "-c", "raise SystemExit('no licence')"]))

    async def change(self, source: ToolSource) -> None:
        if self._switch is not None:
            self._switch.touch()


class McpHttpHarness(_McpHarness):
    """A server that has an address."""

    _server: _Server | None = None

    @asynccontextmanager
    async def source(self) -> AsyncIterator[ToolSource]:
        server = self._server = _Server()
        async with server.listening(server.answer, "/mcp"):
            yield McpSource(McpServer("lab", url=server.base_url))

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[ToolSource]:
        server = _Server()
        async with server.listening(server.answer, "/mcp"):
            url = server.base_url
        yield McpSource(McpServer("lab", url=url))

    async def change(self, source: ToolSource) -> None:
        if self._server is not None:
            self._server.has_more.set()


class _Server(Handlers):
    """The same over HTTP, one connection for each request; a GET is the stream on which it tells of the change."""

    def __init__(self) -> None:
        super().__init__()
        self.has_more = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            top, body = await request_from(reader)
        except (asyncio.IncompleteReadError, OSError):
            return
        if not top.startswith(b"POST"):
            await self._tell(writer) if top.startswith(b"GET") else writer.writelines(whole(b""))
            return
        message = json.loads(body)
        if "id" not in message:
            writer.writelines(whole(b"", status=202))
        elif message.get("params", {}).get("name") == "hang":
            await reader.read()
        else:
            result = {"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)}
            writer.writelines(whole(json.dumps(result).encode(), headers={"mcp-session-id": "one"}))
        await writer.drain()

    async def _tell(self, writer: asyncio.StreamWriter) -> None:
        writer.write(head("text/event-stream"))
        await writer.drain()
        await self.has_more.wait()
        told = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        writer.write(f"event: message\ndata: {told}\n\n".encode())
        await writer.drain()
        await asyncio.Event().wait()

    def _result(self, message: Mapping[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}}
                return {**told, "serverInfo": {"name": "by hand", "version": "1"}}
            case "tools/list":
                names = ("say", "fail", "hang", *(("more",) if self.has_more.is_set() else ()))
                return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
            case _:
                text = message["params"]["arguments"].get("text", "no such thing")
                return {"content": [{"type": "text", "text": text}], "isError": message["params"]["name"] == "fail"}
