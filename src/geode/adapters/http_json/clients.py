"""The HTTP client that SDK clients share. Whoever made it closes it; an SDK client never does."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import httpx2

_POOL: Final = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)


@cache
def _tls() -> ssl.SSLContext:
    """One context for the process: making one costs tens of milliseconds."""
    return ssl.create_default_context()


def new_http_client() -> httpx2.AsyncClient:
    """A client that reads no proxy and no certificate file from the environment.

    HTTP/1.1 only: closing its socket is what stops a provider from generating on.
    """
    return httpx2.AsyncClient(verify=_tls(), trust_env=False, limits=_POOL, timeout=httpx2.Timeout(600.0, connect=10.0))


def own_headers(own: Mapping[str, Any], variable: str, omit: Any) -> Mapping[str, Any]:
    """`own`, with what an SDK takes from `variable` undone: it would replace an explicit key.

    In the spelling of the variable, for the SDK takes names that differ in case for different ones.
    """
    lines = os.environ.get(variable, "").split("\n")
    planted = (line.partition(":")[0].strip() for line in lines if ":" in line)
    kept = {name.lower(): value for name, value in own.items()}
    return {**own, **{name: kept.get(name.lower(), omit) for name in planted if name}}
