"""McpSource: a server as a source of tools."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from geode.adapters.mcp.opened import OpenServer
from geode.adapters.mcp.variables import child_environment, unset
from geode.domain.errors import Misuse
from geode.domain.mcp_server import McpServer
from geode.ports.tool_sources import ToolSourceError

State: TypeAlias = Literal["closed", "connecting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class Status:
    """How it stands with a server. `why` it failed; the rest is what the server said of itself, once it is ready."""

    state: State
    why: str = ""
    server_name: str = ""
    server_version: str = ""
    protocol_version: str = ""
    tools: int = 0


class McpSource:
    """See `geode.ports.tool_sources.ToolSource`.

    `environ` stands for the variables of this process, which are looked at when the source is opened. `origin` is a
    digest of the command with its working directory, or of the address.
    """

    def __init__(self, server: McpServer, environ: Mapping[str, str] | None = None) -> None:
        self.server = server
        self._environ = os.environ if environ is None else environ
        self._origin = _origin_of(server)
        self._open: OpenServer | None = None
        self._opening, self._failed = False, ""

    def __repr__(self) -> str:
        return f"McpSource({self.server!r})"

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def origin(self) -> str:
        return self._origin

    @property
    def required(self) -> bool:
        return self.server.required

    @property
    def status(self) -> Status:
        """How it stands with the server now; of several openings with the last one."""
        if self._opening:
            return Status("connecting")
        if self._failed:
            return Status("failed", self._failed)
        if self._open is None or self._open.is_closed:
            return Status("closed")
        greeting, why = self._open.greeting, self._open.lost
        state: State = "failed" if why else "ready"
        return Status(state, why, greeting.name, greeting.version, greeting.protocol, self._open.tools)

    def check(self) -> None:
        """Misuse for what can be known before it is opened, with the way out."""
        problem = self._problem()
        if problem:
            raise Misuse("mcp-start", f'MCP server "{self.name}": {problem}{self._without()}')
        if find_spec("mcp") is None:
            raise Misuse("missing-extra", f'MCP server "{self.name}" needs the package mcp: pip install "geode[mcp]"')

    def _problem(self) -> str:
        missing = ", ".join(unset(self.server, self._environ))
        if missing:
            return f"not set: {missing}"
        if self.server.command and not _found(self.server, child_environment(self.server, self._environ)):
            return f'command "{self.server.command[0]}" not found on PATH'
        return ""

    def _without(self) -> str:
        return f'. McpServer("{self.name}", required=False) goes on without it' if self.required else ""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OpenServer]:
        try:
            self.check()
        except Misuse as error:
            self._failed = str(error)
            raise ToolSourceError(self._failed) from None
        self._opening, self._failed = True, ""
        found = self._open = OpenServer(self.server, self._environ, self._origin)
        try:
            await found.start()
        except ToolSourceError as error:
            self._failed = str(error)
            raise
        finally:
            self._opening = False
        try:
            yield found
        finally:
            await found.close()


def _origin_of(server: McpServer) -> str:
    """Arguments and addresses may hold a token: only a digest of them is told."""
    what = {"url": server.url} if server.url else {"command": list(server.command), "cwd": server.cwd}
    return f"mcp:{hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]}"


def _found(server: McpServer, environment: Mapping[str, str]) -> str | None:
    """Where the program of the command is."""
    program = server.command[0]
    if server.cwd is not None and not Path(program).is_absolute() and Path(program).name != program:
        program = str(Path(server.cwd) / program)
    return shutil.which(program, path=environment.get("PATH"))
