"""A server that is a program: started, spoken to over its pipes, and ended with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import shutil
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from geode.adapters.child_processes import gone, kill, let_go
from geode.adapters.http_json.discretion import Discretion
from geode.adapters.mcp.ends import End, Trouble
from geode.adapters.mcp.words import one_line
from geode.domain.mcp_server import McpServer

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

Pipe = TypeVar("Pipe", asyncio.StreamReader, asyncio.StreamWriter)
_CHUNK: Final = 64 * 1024
# One message is one line; a longer one ends the connection.
MAX_LINE: Final = 64 * 1024 * 1024
# How long it may take to end once its input was closed, once it was asked to, and once it was killed.
_GRACE_SECONDS: Final = 1.0
_ASKED_SECONDS: Final = 0.5
_KILLED_SECONDS: Final = 1.0
_WATCH_SECONDS: Final = 0.1
# What was printed last is read within this time once the program is gone.
_REST_SECONDS: Final = 0.2
_KEPT_LINES: Final = 5
_SHOWN: Final = 300
_LOGGED_LINES: Final = 20
_LOG: Final = logging.getLogger("geode.mcp")


class Child:
    """The program of one connection. `ended` is called when it has stopped talking, before anybody learns it otherwise.

    What it prints that is no message is skipped and logged, at most 20 lines of it; its standard error is read
    and forgotten but for its last lines.
    """

    def __init__(
        self, server: McpServer, environment: Mapping[str, str], discretion: Discretion, ended: Callable[[], None]
    ) -> None:
        self._server, self._environment = server, environment
        self._discretion, self._ended = discretion, ended
        self._process: asyncio.subprocess.Process | None = None
        self._errors, self._listening = deque[str](maxlen=_KEPT_LINES), list[asyncio.Task[None]]()
        self._logged, self.is_silent, self._too_long = 0, False, False

    def trouble_of(self, _id: int, _said: str) -> Trouble | None:
        """What went wrong with one request alone: nothing ever."""
        return None

    async def end(self) -> End:
        """How it ended; asked once it is silent. Takes a second at most."""
        process = self._process
        if process is None:
            return End("was not started")
        await gone(process, _GRACE_SECONDS)
        await asyncio.wait(self._listening, timeout=_REST_SECONDS)
        return End(self._how(process), self.last_words())

    def last_words(self) -> str:
        """The last line of its standard error."""
        return self._errors[-1] if self._errors else ""

    def _how(self, process: asyncio.subprocess.Process) -> str:
        if self._too_long:
            return f"sent a line of more than {MAX_LINE:,} bytes"
        if process.returncode is None:
            return "closed its output"
        if process.returncode < 0:
            return f"was ended by signal {-process.returncode}"
        return f"ended with code {process.returncode}"

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """What it says and is told, as messages. It ends with this block: killed at once if the block raises."""
        import anyio

        process = self._process = await self._started()
        read_in, read = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        # A child that does not read must not hold up who is cancelled while telling it something.
        write, written = anyio.create_memory_object_stream["SessionMessage"](math.inf)
        self._listening = [asyncio.create_task(self._listen(process))]
        reading = asyncio.create_task(self._read(process, read_in))
        pumps = [reading, asyncio.create_task(self._write(process, written))]
        pumps.append(asyncio.create_task(self._watch(process, reading, read_in)))
        calm = False
        try:
            yield read, write
            calm = True
        finally:
            try:
                if calm:
                    await _asked_to_end(process)
            finally:
                kill(process)
                for task in (*pumps, *self._listening):
                    task.cancel()
                for stream in (read_in, read, write, written):
                    stream.close()
            await gone(process, _KILLED_SECONDS)
            let_go(process)
            await asyncio.gather(*pumps, *self._listening, return_exceptions=True)

    async def _started(self) -> asyncio.subprocess.Process:
        name = self._server.command[0]
        program = shutil.which(name, path=self._environment.get("PATH")) or name
        return await asyncio.create_subprocess_exec(
            program,
            *self._server.command[1:],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(self._environment),
            cwd=self._server.cwd,
            start_new_session=True,
        )

    def _is_over(self) -> None:
        if not self.is_silent:
            self.is_silent = True
            self._ended()

    async def _read(
        self, process: asyncio.subprocess.Process, told: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Its messages are told until it says no more, or nobody listens; then the rest is read and forgotten."""
        import anyio

        with contextlib.suppress(OSError):
            async for line in self._lines(_pipe(process.stdout)):
                message = message_of(line)
                if message is None:
                    self._skipped(line)
                    continue
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await told.send(message)
        self._is_over()
        told.close()

    async def _watch(
        self,
        process: asyncio.subprocess.Process,
        reading: asyncio.Task[None],
        told: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        """What it had started may hold its output open for ever: when the program itself is gone, it is over soon."""
        await gone(process, math.inf, _WATCH_SECONDS)
        await asyncio.wait({reading}, timeout=_REST_SECONDS)
        self._is_over()
        told.close()

    async def _lines(self, output: asyncio.StreamReader) -> AsyncIterator[bytes]:
        pieces, size = list[bytes](), 0
        while chunk := await output.read(_CHUNK):
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                yield b"".join((*pieces, line))
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)
            if size > MAX_LINE:
                self._too_long = True
                return
        if pieces:
            yield b"".join(pieces)

    async def _write(self, process: asyncio.subprocess.Process, told: MemoryObjectReceiveStream[SessionMessage]) -> None:
        pipe = _pipe(process.stdin)
        try:
            async for one in told:
                data = one.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                pipe.write(json.dumps(data, separators=(",", ":")).encode() + b"\n")
                await pipe.drain()
        except OSError:
            # It reads no more. What it still has to say is read; that it has ended is learnt there.
            kill(process, ask=True)

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        pipe, rest = _pipe(process.stderr), b""
        with contextlib.suppress(OSError):
            while chunk := await pipe.read(_CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                rest = rest[-_CHUNK:]
                self._keep(whole[-_KEPT_LINES:])
        self._keep([rest])

    def _keep(self, lines: Sequence[bytes]) -> None:
        shown = (self._shown(line) for line in lines)
        self._errors.extend(line for line in shown if line)

    def _shown(self, line: bytes) -> str:
        return one_line(self._discretion.cleaned(line[:_CHUNK].decode("utf-8", "replace")), _SHOWN)

    def _skipped(self, line: bytes) -> None:
        if line.strip() and self._logged < _LOGGED_LINES:
            self._logged += 1
            _LOG.info('MCP server "%s" printed what is no message: %s', self._server.name, self._shown(line))


def _pipe(pipe: Pipe | None) -> Pipe:
    """One of its pipes, with which it was started."""
    if pipe is None:
        raise OSError("it was started without pipes")
    return pipe


def message_of(line: bytes) -> SessionMessage | None:
    """The message that a line holds; None if it holds none."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        value: Any = json.loads(line.decode("utf-8", "replace").lstrip("\ufeff"))
        if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
            return None
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except (ValueError, RecursionError):
        return None


async def _asked_to_end(process: asyncio.subprocess.Process) -> None:
    """Its input is closed, which is how a server learns that it may go; then it is told so."""
    if process.stdin is not None:
        process.stdin.close()
    if not await gone(process, _GRACE_SECONDS):
        kill(process, ask=True)
        await gone(process, _ASKED_SECONDS)
