"""One connection to a server, from its handshake to its end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Protocol

from geode.adapters.mcp.child import Child
from geode.adapters.mcp.ends import End, Lost, Refused, Trouble
from geode.adapters.mcp.remote import Remote
from geode.adapters.mcp.variables import child_environment, sent_headers
from geode.adapters.mcp.words import discretion_of, one_line
from geode.domain.mcp_server import McpServer

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

# Longer than a child takes that has to be killed.
CLOSE_SECONDS: Final = 4.0
_END_SECONDS: Final = 2.0
_SHOWN: Final = 500
# What the protocol's client says itself of an answer that will not come, with a code that servers use as well.
_CUT_OFF: Final = ("Connection closed", "SSE stream")

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server says of itself."""

    name: str = ""
    version: str = ""
    protocol: str = ""


class _Way(Protocol):
    """A way to a server: see Child and Remote."""

    is_silent: bool

    def streams(self) -> AbstractAsyncContextManager[TransportStreams]: ...

    def trouble_of(self, id: int, said: str, /) -> Trouble | None: ...

    async def end(self) -> End: ...

    def last_words(self) -> str: ...


class Connection:
    """A connection lives in a task of its own: what breaks in it neither touches nor cancels who opened it or asks.

    `heard` is called when the server says that its tools have changed.
    """

    def __init__(self, server: McpServer, environ: Mapping[str, str], heard: Callable[[], None]) -> None:
        self._server, self._heard = server, heard
        self._discretion = discretion_of(server, environ)
        self._leave = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Greeting] = loop.create_future()
        self._over: asyncio.Future[End] = loop.create_future()
        self._way: _Way = self._way_to(server, environ)
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        # Above what the handshake uses.
        self._ids, self._asking, self._retired = itertools.count(1001), 0, False
        self._task: asyncio.Task[None] | None = None

    def _way_to(self, server: McpServer, environ: Mapping[str, str]) -> _Way:
        if server.url:
            return Remote(server.url, sent_headers(server, environ))
        return Child(server, child_environment(server, environ), self._discretion, self._leave.set)

    @property
    def is_over(self) -> bool:
        return self._leave.is_set() or self._over.done()

    @property
    def is_done(self) -> bool:
        """Whether nothing of it is left."""
        return self._task is not None and self._task.done()

    async def open(self) -> Greeting:
        """Shake hands. Lost if that fails, or is not done within the server's start timeout."""
        task = self._task = asyncio.create_task(self._live())
        seconds = self._server.start_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                waited: tuple[asyncio.Future[Any], ...] = (task, self._ready)
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            await self._cut()
            raise Lost(End(f"did not start within {seconds:g} s", self._way.last_words())) from None
        except BaseException:
            await self._cut()
            raise
        if self._ready.done():
            return self._ready.result()
        raise Lost(self._over.result())

    async def request(self, method: str, params: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """The result. Refused, Expired or Lost if there is none. What is cancelled is cancelled at the server too."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        if self._dispatcher is None or self.is_over:
            raise Lost(await self._end(), sent=False)
        id = next(self._ids)
        self._asking += 1
        try:
            options: Any = {"request_id": id, **({"on_progress": progress} if progress else {})}
            return await self._dispatcher.send_raw_request(method, params, options)
        except MCPError as error:
            found = self._way.trouble_of(id, error.message)
            if found is not None:
                raise self._discreet(found) from None
            if error.code == CONNECTION_CLOSED and (self._leave.is_set() or error.message.startswith(_CUT_OFF)):
                raise Lost(await self._end()) from None
            raise Refused(error.code, self.shown(error.message)) from None
        finally:
            self._asking -= 1
            if self._retired and not self._asking:
                self._leave.set()

    def retire(self) -> None:
        """Close it once nothing that was asked waits for an answer."""
        self._retired = True
        if not self._asking:
            self._leave.set()

    def leave(self) -> asyncio.Task[None] | None:
        """Begin to close it; the task ends soon."""
        self._leave.set()
        return self._task

    def shown(self, text: str) -> str:
        """What the server says, bounded and without what it was given."""
        return one_line(self._discretion.cleaned(text), _SHOWN)

    def _discreet(self, found: Trouble) -> Trouble:
        if isinstance(found, Lost):
            return Lost(End(self.shown(found.end.how), found.end.last_words), sent=found.sent)
        return found

    async def _end(self) -> End:
        """How it ended, known soon after it did."""
        if self.is_over:
            await asyncio.wait({self._over}, timeout=_END_SECONDS)
        return self._over.result() if self._over.done() else await self._way.end()

    async def _cut(self) -> None:
        """Kill it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)

    async def _live(self) -> None:
        try:
            # It takes a second the first time, and nobody else waits for that. The same module for every server: two threads
            # that enter the package by different ones would wait for each other, which Python ends with an error.
            await asyncio.to_thread(import_module, "mcp.client")
            async with self._way.streams() as streams:
                await self._speak(streams)
            self._is_over(End("was closed"))
        except asyncio.CancelledError:
            self._is_over(End("was closed"))
            raise
        except BaseException as error:  # whatever breaks in there is how this connection ended
            self._is_over(
                await self._way.end() if self._way.is_silent else End(self.shown(_why(error)), self._way.last_words())
            )
        finally:
            self._leave.set()

    def _is_over(self, end: End) -> None:
        if not self._over.done():
            self._over.set_result(end)

    async def _speak(self, streams: TransportStreams) -> None:
        from mcp.client.session import ClientSession
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
        from mcp_types import Implementation

        dispatcher = JSONRPCDispatcher[Any](*streams)
        ours = Implementation(name="geode", version=version("geode"))
        async with ClientSession(dispatcher=dispatcher, client_info=ours, message_handler=self._told) as session:
            self._dispatcher = dispatcher
            self._ready.set_result(await self._greeted(session))
            await self._leave.wait()
            if self._way.is_silent:
                self._is_over(await self._way.end())

    async def _greeted(self, session: ClientSession) -> Greeting:
        from mcp.shared.exceptions import MCPError

        try:
            said = await session.initialize()
        except MCPError as error:
            # The handshake has the first id.
            found = self._way.trouble_of(1, error.message)
            raise error if found is None else found from None
        name, of = self.shown(said.server_info.name), self.shown(said.server_info.version)
        return Greeting(name, of, said.protocol_version)

    async def _told(self, message: object) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._heard()


def _why(error: BaseException) -> str:
    """What broke, as it follows the name of the server."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, Lost):
        return error.end.how
    if isinstance(error, Trouble):
        return str(error) or "answered 404"
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot be started: {error.strerror}"
    return f"is not understood: {str(error) or type(error).__name__}"
