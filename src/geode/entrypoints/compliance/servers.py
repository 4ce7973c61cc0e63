"""Two small servers on real sockets: one looks at what passes, one answers exactly the bytes it was given."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

LOOPBACK: Final = "127.0.0.1"
Handle: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Ends: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is broken off, with a TCP reset where `hard`."""

    hard: bool = True


# Bytes go out, a number is a pause of so many seconds, an event is waited for.
Piece: TypeAlias = bytes | float | asyncio.Event | Reset
# Tasks of this name are the suite's own.
OURS: Final = "geode-compliance-server"


@dataclass(slots=True)
class Handlers:
    """The connections of a server, each in a task; leaving the server ends them, and leaves no socket behind."""

    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    base_url: str = ""

    @asynccontextmanager
    async def listening(self, handle: Handle, path: str = "") -> AsyncIterator[None]:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if (current := asyncio.current_task()) is not None:
                current.set_name(OURS)
            task = asyncio.create_task(_closing(writer, handle(reader, writer)), name=OURS)
            self.tasks.add(task)
            await asyncio.wait((task,))

        server = await asyncio.start_server(accept, LOOPBACK, 0)
        self.base_url = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}{path}"
        try:
            yield
        finally:
            server.close()
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)


async def _closing(writer: asyncio.StreamWriter, work: Awaitable[None]) -> None:
    try:
        await work
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@dataclass(slots=True)
class Tap(Handlers):
    """Stands between a client and a server: counts connections, and keeps what the client sent on each.

    `left` is set when a client closes a connection that the server had not closed.
    """

    sent: list[bytearray] = field(default_factory=list[bytearray])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: tuple[str, int]) -> None:
        kept = bytearray()
        self.sent.append(kept)
        up_reader, up_writer = await asyncio.open_connection(*target)
        await _closing(up_writer, self._both_ways((reader, up_writer), (up_reader, writer), kept))

    async def _both_ways(self, upwards: Ends, downwards: Ends, kept: bytearray) -> None:
        self.open += 1
        up = asyncio.create_task(_pump(*upwards, kept), name=OURS)
        down = asyncio.create_task(_pump(*downwards, None), name=OURS)
        try:
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            if not down.done():
                self.left.set()
        finally:
            self.open -= 1
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            if kept is not None:
                kept += data
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def tapped(base_url: str) -> AsyncIterator[Tap]:
    """A tap before the server at `base_url`, reached at `tap.base_url`."""
    parts = urlsplit(base_url)
    target = (parts.hostname or LOOPBACK, parts.port or 80)
    tap = Tap()
    async with tap.listening(lambda reader, writer: tap.pass_on(reader, writer, target), parts.path):
        yield tap


@dataclass(slots=True)
class Canned(Handlers):
    """Answers each request with the same pieces, then closes the connection.

    `gone` is set when the client left before the last of them.
    """

    pieces: Sequence[Piece] = ()
    requests: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await request_from(reader))
        await play(self.pieces, reader, writer, self.gone)


async def request_from(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The head and the body of the next request."""
    top = await reader.readuntil(b"\r\n\r\n")
    lines = top.lower().split(b"\r\n")
    if b"transfer-encoding: chunked" in lines:
        return top, await _chunks(reader)
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    return top, await reader.readexactly(length)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def play(
    pieces: Sequence[Piece], reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gone: asyncio.Event
) -> None:
    """Answer with `pieces`; `gone` is set when the client leaves before the last one."""
    leaving = asyncio.create_task(reader.read(), name=OURS)
    try:
        for piece in pieces:
            await _play(piece, writer, leaving)
            if leaving.done():
                gone.set()
                return
    except OSError:
        gone.set()
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


async def _play(piece: Piece, writer: asyncio.StreamWriter, leaving: asyncio.Task[bytes]) -> None:
    match piece:
        case bytes():
            writer.write(piece)
            await writer.drain()
        case asyncio.Event():
            waiting = asyncio.create_task(piece.wait(), name=OURS)
            await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        case Reset():
            if piece.hard and (found := writer.get_extra_info("socket")) is not None:
                # Lingering for 0 s makes the kernel send a reset instead of an orderly end.
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        case _:
            await asyncio.wait((leaving,), timeout=piece)


@asynccontextmanager
async def canned(*pieces: Piece) -> AsyncIterator[Canned]:
    """A server that answers everything with `pieces`."""
    found = Canned(pieces=pieces)
    async with found.listening(found.answer):
        yield found


def head(content_type: str, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """The head of an answer whose body ends with its connection."""
    fields = {"content-type": content_type, "connection": "close", **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode()


STREAM: Final = head("text/event-stream")
