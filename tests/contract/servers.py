"""Two small servers on real sockets: one looks at what passes, one answers exactly the bytes it was given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

LOOPBACK: Final = "127.0.0.1"


@dataclass(slots=True)
class Tap:
    """Stands between a client and a server: counts connections, and keeps what the client sent on each.

    `left` is set when a client closes a connection that the server had not closed.
    """

    sent: list[bytearray] = field(default_factory=list[bytearray])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0
    base_url: str = ""

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: tuple[str, int]) -> None:
        kept = bytearray()
        self.sent.append(kept)
        self.open += 1
        up_reader, up_writer = await asyncio.open_connection(*target)
        down = asyncio.create_task(_pump(up_reader, writer, None))
        up = asyncio.create_task(_pump(reader, up_writer, kept))
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        if up.done() and not down.done():
            self.left.set()
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)
        for one in (writer, up_writer):
            one.close()
        self.open -= 1


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray | None) -> None:
    try:
        while data := await reader.read(65536):
            if kept is not None:
                kept += data
            writer.write(data)
            await writer.drain()
    except OSError:
        return


@asynccontextmanager
async def tapped(base_url: str) -> AsyncIterator[Tap]:
    """A tap before the server at `base_url`, reached at `tap.base_url`."""
    parts = urlsplit(base_url)
    target = (parts.hostname or LOOPBACK, parts.port or 80)
    tap = Tap()
    server = await asyncio.start_server(lambda reader, writer: tap.pass_on(reader, writer, target), LOOPBACK, 0)
    tap.base_url = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}{parts.path}"
    try:
        yield tap
    finally:
        server.close()


Piece = bytes | float | asyncio.Event


@dataclass(slots=True)
class Canned:
    """Answers each request with the same pieces: bytes go out, a number is a pause, an event is waited for.

    After the last piece the connection is closed. `gone` is set when the client left before that.
    """

    pieces: Sequence[Piece]
    requests: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    base_url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        self.requests.append((head, await reader.readexactly(length)))
        leaving = asyncio.create_task(reader.read())
        try:
            for piece in self.pieces:
                await self._play(piece, writer, leaving)
                if leaving.done():
                    self.gone.set()
                    return
        except OSError:
            self.gone.set()
        finally:
            leaving.cancel()
            writer.close()

    async def _play(self, piece: Piece, writer: asyncio.StreamWriter, leaving: asyncio.Task[bytes]) -> None:
        match piece:
            case bytes():
                writer.write(piece)
                await writer.drain()
            case asyncio.Event():
                waiting = asyncio.create_task(piece.wait())
                await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
            case _:
                await asyncio.wait((leaving,), timeout=piece)


@asynccontextmanager
async def canned(*pieces: Piece) -> AsyncIterator[Canned]:
    """A server that answers everything with `pieces`."""
    found = Canned(pieces)
    server = await asyncio.start_server(found.answer, LOOPBACK, 0)
    found.base_url = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    try:
        yield found
    finally:
        server.close()


def head(content_type: str, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """The head of an answer whose body ends with its connection."""
    fields = {"content-type": content_type, "connection": "close", **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode()


STREAM: Final = head("text/event-stream")
