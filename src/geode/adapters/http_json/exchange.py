"""One request through an SDK's client: pre-encoded bytes out, a JSON body or raw events in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx2
from returns.result import Failure, Result, Success

from geode.adapters.http_json.answer import CallBroken, Payloads, object_of
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.facts import failure_of_error, failure_of_response, not_sent, quotas_of, request_id
from geode.adapters.http_json.reading import string
from geode.adapters.http_json.refusals import Refusals, body_of
from geode.adapters.http_json.signing import signing
from geode.adapters.http_json.wire import Body
from geode.domain.failures import CallFailure
from geode.ports.credentials import CredentialError, CredentialUnavailable

if TYPE_CHECKING:
    from pydantic import SecretStr

_CONNECT_SECONDS: Final = 10.0
_DRAIN_SECONDS: Final = 0.1
_UNAUTHORIZED: Final = 401
# The type of error that a server would name for a request without a credential that it accepts.
_NO_CREDENTIAL: Final = "authentication_error"
# What the HTTP client raises where a call fails.
HTTP_ERRORS: Final = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, UnicodeEncodeError, OSError)


class SdkClient(Protocol):
    """The public methods of both SDKs; with `cast_to=httpx2.Response` it gives the plain response."""

    def is_closed(self) -> bool: ...

    def post(self, path: str, *, cast_to: Any, content: Any, options: Any, stream: Any = False) -> Any: ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """A path of one provider, reached through an SDK client made with no retries of its own.

    `errors` are the exceptions that mean a failed call; anything else is a bug and passes.
    """

    client: SdkClient
    path: str
    endpoint: Endpoint
    errors: tuple[type[Exception], ...]

    async def whole(self, body: bytes, seconds: float) -> Result[Body, CallFailure]:
        """The JSON body of a 200, or the facts of the failure. `seconds` bounds the silence before the answer."""
        try:
            response = await self._post(body, seconds, stream=False)
            return Success(object_of(response, response.content))
        except CallBroken as broken:
            return Failure(broken.failure)
        except self.errors as error:
            return Failure(failure_of_error(error, self.endpoint))

    async def events(
        self, body: bytes, idle: float, heartbeats: frozenset[str], over: Callable[[], bool]
    ) -> AsyncGenerator[Body, None]:
        """The JSON objects of the event stream, as they come. Raises CallBroken.

        `idle` seconds may pass between events that say something; heartbeats and comments do not
        count, nor does the time the reader takes. `over` says, after each event, whether more can
        come. A 200 that is no event stream is given as one whole body.
        Close the iterator (`aclosing`): that frees the connection.
        """
        try:
            async with self._answer(body, idle) as (response, chunks):
                if "event-stream" not in response.headers.get("content-type", ""):
                    yield replace(object_of(response, await _read(chunks)), whole=True)
                    return
                request, quota = request_id(response), quotas_of(response)
                async with aclosing(_payloads(chunks, idle, heartbeats)) as events:
                    async for event in events:
                        yield Body(event, request, quota=quota)
                        if over():
                            break
                await _drain(chunks)
        except TimeoutError as error:
            message = f"{self.endpoint.address}: nothing came for {idle:g} s (read)"
            facts = CallFailure(None, "stream", message, timed_out=True, way_out="Policy(idle_timeout_seconds=…)")
            raise CallBroken(facts) from error
        except self.errors as error:
            raise CallBroken(failure_of_error(error, self.endpoint)) from error

    @asynccontextmanager
    async def _answer(self, body: bytes, seconds: float) -> AsyncIterator[tuple[httpx2.Response, AsyncIterator[bytes]]]:
        """The answer, and the chunks of its body."""
        response = await self._post(body, seconds, stream=True)
        chunks = response.aiter_bytes()
        try:
            yield response, chunks
        finally:
            # In this order: the other one leaves tasks of the generator behind for some turns of the loop.
            await asyncio.shield(response.aclose())
            await _close(chunks)

    async def _post(self, body: bytes, seconds: float, *, stream: bool) -> httpx2.Response:
        """The response. A status that came wins over whatever became of its body: CallBroken."""
        if self.client.is_closed():
            raise CallBroken(not_sent("the HTTP client is closed"))
        secret = await self._secret()
        with Refusals() as seen, signing(self.endpoint, secret):
            try:
                response: httpx2.Response = await self.client.post(
                    self.path, cast_to=httpx2.Response, content=body, stream=stream, options=self._options(seconds)
                )
            except self.errors as error:
                if not seen:
                    raise
                if seen[-1].status_code == _UNAUTHORIZED:
                    self.endpoint.refused(secret)
                raise CallBroken(failure_of_response(seen[-1], body_of(seen[-1]))) from error
        return response

    def _options(self, seconds: float) -> dict[str, object]:
        # Only `Authorization` is left out where a client of the host's follows to another server.
        alone = {"follow_redirects": False} if self.endpoint.key_header else {}
        return {"timeout": _timeout(seconds), **alone}

    async def _secret(self) -> SecretStr | None:
        """What the request is signed with; CallBroken where there is nothing to sign it with."""
        try:
            return await self.endpoint.secret()
        except CredentialUnavailable as error:
            raise CallBroken(CallFailure(None, "connect", str(error))) from error
        except CredentialError as error:
            raise CallBroken(CallFailure(None, "connect", str(error), _NO_CREDENTIAL)) from error


async def _read(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def _payloads(
    chunks: AsyncIterator[bytes], idle: float, heartbeats: frozenset[str]
) -> AsyncGenerator[dict[str, Any], None]:
    """The JSON objects in the chunks; TimeoutError after `idle` seconds without one that is no heartbeat."""
    now = asyncio.get_running_loop().time
    payloads, deadline = Payloads(), now() + idle
    while not payloads.over:
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            break
        for event in payloads.feed(chunk):
            yield event
            if string(event.get("type")) not in heartbeats:
                deadline = now() + idle
    for event in payloads.end():
        yield event


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, briefly: a connection read to its end can be used again."""
    with contextlib.suppress(TimeoutError, httpx2.TransportError, httpx2.StreamError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass


async def _close(chunks: AsyncIterator[bytes]) -> None:
    if isinstance(chunks, AsyncGenerator):
        await chunks.aclose()


@lru_cache(maxsize=64)
def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
