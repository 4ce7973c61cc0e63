"""Running an emulator on a loopback socket: in this event loop, in a thread, or until interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from geode.entrypoints.emulator.broken import TRANSPORT
from geode.entrypoints.emulator.server import Emulator, build_app

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Running:
    """A running emulator and where it listens."""

    emulator: Emulator
    host: str
    port: int

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT`, without `/v1`."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}"


class _Connection(H11Protocol):
    """uvicorn's connection, which hands its transport to the app and lets go at once on shutdown."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        own = cast("asyncio.Transport", transport)
        self.app_state = {**self.app_state, TRANSPORT: own}
        super().connection_made(own)

    def shutdown(self) -> None:
        self.transport.abort()


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves the signals to its host and stops soon."""

    def __init__(self, config: uvicorn.Config, *, owns_signals: bool) -> None:
        super().__init__(config)
        self._owns_signals = owns_signals

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals() if self._owns_signals else contextlib.nullcontext():
            yield

    async def main_loop(self) -> None:
        tick = 0
        while not await self.on_tick(tick):
            tick += 1
            await asyncio.sleep(0.02)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn's own shutdown is patient with clients; a test that is over has none worth waiting for.
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            await asyncio.wait(set(self.server_state.tasks), timeout=0.5)
        for task in self.server_state.tasks:
            task.cancel()


@contextlib.asynccontextmanager
async def running(emulator: Emulator, port: int = 0) -> AsyncIterator[Running]:
    """Serve `emulator` in the current event loop; port 0 takes a free one.

    No signal handler is installed. Leaving closes every connection at once, hanging ones included.
    """
    listener = _listen(LOOPBACK, port)
    server = _server(build_app(emulator), owns_signals=False)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield Running(emulator, LOOPBACK, listener.getsockname()[1])
    finally:
        server.should_exit = True
        await asyncio.shield(task)
        listener.close()


@contextlib.contextmanager
def running_in_thread(emulator: Emulator, port: int = 0) -> Iterator[Running]:
    """Serve `emulator` in a thread of its own, for code that has no event loop."""
    with app_in_thread(build_app(emulator), port) as found:
        yield Running(emulator, LOOPBACK, found)


@contextlib.contextmanager
def app_in_thread(app: ASGIApp, port: int = 0) -> Iterator[int]:
    """Serve any app in a thread of its own, at the port that is given back."""
    listener = _listen(LOOPBACK, port)
    server = _server(app, owns_signals=False)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True, name="geode-emulator")
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=5)
        listener.close()


def serve(
    emulator: Emulator, host: str = LOOPBACK, port: int = 8787, *, listening: Callable[[int], None] = lambda _: None
) -> None:
    """Serve until interrupted. Raises ValueError off the loopback, OSError when the port is taken.

    `listening` is told the port as soon as whoever connects will be answered.
    """
    listener = _listen(host, port)
    listening(int(listener.getsockname()[1]))
    try:
        asyncio.run(_server(build_app(emulator), owns_signals=True).serve(sockets=[listener]))
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()


def _server(app: ASGIApp, *, owns_signals: bool) -> _Server:
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    return _Server(config, owns_signals=owns_signals)


def _listen(host: str, port: int) -> socket.socket:
    address = LOOPBACK if host == "localhost" else host
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ValueError(f"the emulator answers anyone who asks, so it listens on a loopback address only, not on {host!r}")
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"the emulator cannot listen on {address}:{port}: {error.strerror}") from error
    return listener
