"""Answers that are no success, seen as soon as their head is there.

Both SDKs read the body of such an answer before they say its status, and lose the status if the body is
cut, damaged or does not come. So the HTTP client itself is asked to show the answers to geode's calls.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Final

import httpx2

# The body of a refusal comes with its head; one that does not is not waited for.
BODY_SECONDS: Final = 1.0
_SEEN: Final[ContextVar[list[httpx2.Response] | None]] = ContextVar("geode_refusals", default=None)


def watch(http: httpx2.AsyncClient) -> None:
    """Have `Refusals` see the answers that `http` gets. Calls that are not geode's are left alone."""
    hooks = http.event_hooks
    if _see not in hooks["response"]:
        http.event_hooks = {**hooks, "response": [*hooks["response"], _see]}


class Refusals:
    """Inside `with Refusals() as seen`: the refusals of the calls made there, each with what could be read of its body."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[httpx2.Response]:
        seen = list[httpx2.Response]()
        self._token = _SEEN.set(seen)
        return seen

    def __exit__(self, *_raised: object) -> None:
        _SEEN.reset(self._token)


def body_of(response: httpx2.Response) -> bytes | None:
    """The body, or None if it could not be read."""
    try:
        return response.content
    except httpx2.StreamError:
        return None


async def _see(response: httpx2.Response) -> None:
    seen = _SEEN.get()
    if seen is None or response.status_code < 400:
        return
    seen.append(response)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            await response.aread()
    except (TimeoutError, httpx2.HTTPError, httpx2.StreamError, OSError):
        await response.aclose()
