"""Answers that are none: over a real socket, as responses of the ASGI app.

uvicorn offers no way to break a connection on purpose. The server's own protocol class puts the
connection's transport into the scope (see `run.py`); these responses close it in the right moment.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

TRANSPORT = "geode_transport"


class Hang(Response):
    """Says nothing until the client goes away or the server stops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _until_gone(receive)


class Cut(Response):
    """Sends `head` (a status and some chunks), then breaks the connection.

    With no chunks and no status nothing is sent at all. `reset` breaks it with a TCP reset, which a
    client sees as a failed connection; otherwise the connection is closed after the sent bytes.
    """

    def __init__(
        self,
        chunks: Sequence[bytes] = (),
        *,
        started: bool = True,
        reset: bool = False,
        headers: dict[str, str] | None = None,
        length: int | None = None,
        pause: float = 0.0,
    ) -> None:
        super().__init__(status_code=200, headers=headers)
        self._chunks = tuple(chunks)
        self._started = started
        self._reset = reset
        self._length = length
        self._pause = pause

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._started:
            await send(self._start())
            for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(self._pause)
        transport = scope.get("state", {}).get(TRANSPORT)
        if not isinstance(transport, asyncio.Transport):
            raise RuntimeError("a connection can be cut only by a server started with geode.entrypoints.emulator.run")
        if self._reset:
            _reset(transport)
        else:
            transport.close()
        await _until_gone(receive)

    def _start(self) -> Message:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        if self._length is not None:
            headers.append((b"content-length", str(self._length).encode()))
        return {"type": "http.response.start", "status": 200, "headers": headers}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _reset(transport: asyncio.Transport) -> None:
    found = transport.get_extra_info("socket")
    if found is not None:
        # Lingering for 0 s makes the kernel send a reset instead of an orderly end.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
