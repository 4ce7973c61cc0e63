"""From a route to an adapter that speaks to it."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.errors import Misuse
from geode.domain.key_sources import parse_key_source
from geode.domain.routing import SHIPPED, Provider, Route
from geode.entrypoints.credentials import credential_of, over
from geode.ports.credentials import Credential
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    import httpx2

# Which package speaks each wire.
SDK_OF: Final = {"messages": "anthropic", "responses": "openai", "chat": "openai"}
# What an SDK's extra installs besides it.
_BESIDE: Final = ("httpx2", "jiter")
# The addresses of the providers that ship may be moved by these variables, as their own SDKs allow.
_ADDRESS_VARIABLES: Final[Mapping[str, str]] = {"anthropic-payg": "ANTHROPIC_BASE_URL", "openai-payg": "OPENAI_BASE_URL"}
_IPV4_LOOPBACK: Final = re.compile(r"127(\.\d{1,3}){3}")


@dataclass(frozen=True, slots=True)
class Connection:
    """A route with its address and the credential that is sent there."""

    route: Route
    endpoint: Endpoint


def find_connection(route: Route) -> Connection:
    """The connection of a route. Misuse when its SDK is not installed or its key is nowhere; nothing is opened."""
    provider = route.provider
    sdk = SDK_OF[provider.wire]
    missing = next((package for package in (sdk, *_BESIDE) if find_spec(package) is None), None)
    if missing is not None:
        raise Misuse("missing-extra", f'{provider.name} needs the package {missing}: pip install "geode[{sdk}]"')
    variable = _ADDRESS_VARIABLES.get(provider.name, "") if provider is SHIPPED.get(provider.name) else ""
    moved = os.environ.get(variable, "") if variable else ""
    base_url = moved or provider.base_url
    source = variable if moved else provider.origin or f'Provider("{provider.name}")'
    found = replace(provider, base_url=base_url, origin=source if moved else provider.origin)
    return Connection(route, Endpoint(base_url, source, _credential(found)))


def _credential(provider: Provider) -> Credential | None:
    source = parse_key_source(provider.key)
    if problem := source.swap().value_or(""):
        raise Misuse("provider", f'Provider("{provider.name}"): {problem}')
    return credential_of(source.unwrap(), provider.name, os.environ.get, optional=is_loopback(provider.base_url))


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine; a server there needs no key."""
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or _IPV4_LOOPBACK.fullmatch(host) is not None


async def connect(connection: Connection, http: httpx2.AsyncClient) -> ModelAdapter:
    """The adapter. Its SDK is imported in a thread, since that takes seconds."""
    provider, endpoint = connection.route.provider, over(connection.endpoint, http)
    if SDK_OF[provider.wire] not in sys.modules:
        await asyncio.to_thread(importlib.import_module, SDK_OF[provider.wire])
    match provider.wire:
        case "messages":
            from geode.adapters.anthropic_messages.model import messages_model

            return messages_model(provider.name, endpoint, http)
        case "responses":
            from geode.adapters.openai_responses.model import responses_model

            return responses_model(provider.name, endpoint, http)
        case "chat":
            from geode.adapters.chat_completions.model import chat_model

            return chat_model(provider.name, endpoint, http, dialect=provider.dialect)
