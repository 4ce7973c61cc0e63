"""A server that has an address: Streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from geode.adapters.mcp.ends import End, Expired, Lost, Refused, Trouble

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

_CONNECT_SECONDS: Final = 10.0
# What a server is only told, and saying goodbye, must not hold up what it is asked.
_TOLD_SECONDS: Final = 2.0
_GOODBYE_SECONDS: Final = 2.0
# What the protocol's client says where the server did not speak the protocol.
_STAND_INS: Final = ("Server returned an error response", "Session terminated", "Not Found")
_UNREADABLE: Final = "Failed to parse JSON response"
MAX_EVENT: Final = 64 * 1024 * 1024


class Remote:
    """The requests of one session with a server. Redirects to other hosts are not followed, and so carry no header."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url, self._headers = url, headers
        self._troubles: dict[int, Trouble] = {}
        self.is_silent, self.has_expired = False, False

    def trouble_of(self, id: int, said: str) -> Trouble | None:
        """What went wrong with one request, below the protocol; told once. `said` is the error of the protocol."""
        found = self._troubles.pop(id, None)
        if said.startswith(_UNREADABLE):
            # It has answered, and so it may have done what it was asked.
            return found or Lost(End("gave an answer that cannot be read"))
        return found if isinstance(found, Expired) or said in _STAND_INS else None

    async def end(self) -> End:
        return End("was lost")

    def last_words(self) -> str:
        return ""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        direct = httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False, limits=httpx2.Limits(max_connections=None))
        # What of the address may be secret is added below the client, which logs each address.
        whole = httpx2.URL(self._url)
        bare = str(whole.copy_with(userinfo=b"", query=None, fragment=None))
        client = httpx2.AsyncClient(
            transport=_watched(direct, self, whole.query),
            auth=httpx2.BasicAuth(whole.username, whole.password) if whole.userinfo else None,
            headers=dict(self._headers),
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            trust_env=False,
        )
        async with client, streamable_http_client(bare, http_client=client, max_sse_event_size=MAX_EVENT) as streams:
            yield streams

    def looked_at(self, id: int | None, request: httpx2.Request, response: httpx2.Response) -> None:
        """What the status alone says."""
        status, in_session = response.status_code, "mcp-session-id" in request.headers
        if status == 404 and in_session:
            self.has_expired = True
        if id is None or status < 400:
            return
        if status == 404 and in_session:
            self._troubles[id] = Expired()
        else:
            self._troubles[id] = Lost(End(f"answered {status}")) if status >= 500 else Refused(status, f"answered {status}")

    def is_too_long(self, id: int) -> None:
        """Its answer was cut off."""
        self._troubles[id] = Lost(End(f"gave an answer of more than {MAX_EVENT:,} bytes"))

    def failed(self, id: int, error: Exception, *, sent: bool) -> None:
        """It was not answered at all."""
        self._troubles[id] = Lost(End(f"was lost ({type(error).__name__}{f': {error}' if str(error) else ''})"), sent=sent)


def _watched(direct: httpx2.AsyncBaseTransport, remote: Remote, query: bytes) -> httpx2.AsyncBaseTransport:
    """`direct`, whose failures touch the request that failed and no other: the protocol's client would drop them all."""
    import httpx2

    class Watched(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            id, told = _asked(request)
            if query and not request.url.query:
                url, headers, how = request.url.copy_with(query=query), request.headers, request.extensions
                request = httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=how)
            if request.method == "DELETE" or told:
                return await self._briefly(request, told)
            try:
                response = await direct.handle_async_request(request)
            except httpx2.TransportError as error:
                if id is None:
                    raise
                unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                remote.failed(id, error, sent=not unsent)
                return httpx2.Response(502, request=request)
            remote.looked_at(id, request, response)
            if id is not None:
                _bound(response, id, remote)
            return response

        async def _briefly(self, request: httpx2.Request, told: bool) -> httpx2.Response:
            if not told and remote.has_expired:
                return httpx2.Response(204, request=request)
            try:
                async with asyncio.timeout(_TOLD_SECONDS if told else _GOODBYE_SECONDS):
                    return await direct.handle_async_request(request)
            except (TimeoutError, httpx2.TransportError):
                return httpx2.Response(202, request=request)

        async def aclose(self) -> None:
            await direct.aclose()

    return Watched()


def _bound(response: httpx2.Response, id: int, remote: Remote) -> None:
    """An answer in one piece is kept whole by the protocol's client: one that is longer than an event may be is cut off."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                if size > MAX_EVENT:
                    remote.is_too_long(id)
                    raise httpx2.StreamError("too long")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        response.stream = Bounded(response.stream)


def _asked(request: httpx2.Request) -> tuple[int | None, bool]:
    """The id of the request of the protocol that this carries, and whether it is one to which nothing is answered."""
    if request.method != "POST":
        return None, False
    body: Any = json.loads(request.content)
    if not isinstance(body, dict):
        return None, False
    message = cast("dict[str, Any]", body)
    id = message.get("id")
    return (id if isinstance(id, int) and "method" in message else None), "method" not in message or "id" not in message


@cache
def _tls() -> ssl.SSLContext:
    """One context for the process: making one costs tens of milliseconds."""
    return ssl.create_default_context()
