"""What a request is sent with reaches it behind the SDK's back.

An SDK logs the options of a call, headers among them, and shows them in tracebacks. So it never holds a secret: it
lets the finished request be changed before it is sent, and that is where the secret comes in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from geode.adapters.http_json.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2
    from pydantic import SecretStr

# What SDKs are given as a key, for they insist on one. It is replaced, or taken out, before a request leaves.
PLACEHOLDER: Final = "set-for-each-request"
_WITH: Final[ContextVar[tuple[Endpoint, SecretStr | None] | None]] = ContextVar("geode_signing", default=None)


@contextmanager
def signing(endpoint: Endpoint, secret: SecretStr | None) -> Iterator[None]:
    """The requests of the calls made inside go to `endpoint` with `secret`."""
    token = _WITH.set((endpoint, secret))
    try:
        yield
    finally:
        _WITH.reset(token)


def sign(request: httpx2.Request) -> None:
    """For the clients that are made for geode: whatever is about to be sent is signed."""
    found = _WITH.get()
    if found is not None:
        found[0].sign(request.headers, found[1])
