"""From a route to an adapter that speaks to it."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import sys
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.errors import Misuse
from geode.domain.models import ModelRow, rows_for
from geode.domain.provider import address_problem, key_problem
from geode.domain.routing import Route
from geode.domain.targets import Transport
from geode.entrypoints.registry import Entry, Registry, made_by
from geode.ports.adapters import AdapterContext
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    import httpx2

# Which package speaks each wire.
SDK_OF: Final = {"messages": "anthropic", "responses": "openai", "chat": "openai"}
# What an SDK's extra installs besides it.
_BESIDE: Final = ("httpx2", "jiter")
_NO_KEY: Final = "no-key"
_IPV4_LOOPBACK: Final = re.compile(r"127(\.\d{1,3}){3}")


@dataclass(frozen=True, slots=True)
class Connection:
    """A route with its address and its key found, and the rows that hold for its models.

    `entry` is what makes the adapter, where another package or the host does; then there is no `endpoint` of geode's.
    """

    route: Route
    rows: tuple[ModelRow, ...]
    endpoint: Endpoint | None = None
    entry: Entry | None = field(default=None, repr=False)


def find_connection(route: Route, registry: Registry) -> Connection:
    """The connection of a route. Misuse when its SDK is not installed or its key is nowhere; nothing is opened."""
    target = route.target
    rows = rows_for(target, registry.table.models)
    entry = registry.entries.get(target.name)
    if entry is not None and entry.factory is not None and entry.target == target:
        return Connection(route, rows, entry=entry)
    if target.transport is None:
        raise AssertionError(f"{target.name} has neither a transport nor a factory")
    sdk = SDK_OF[target.transport.wire]
    missing = next((package for package in (sdk, *_BESIDE) if find_spec(package) is None), None)
    if missing is not None:
        raise Misuse("missing-extra", f'{target.name} needs the package {missing}: pip install "geode[{sdk}]"')
    transport = _moved(target.transport)
    source = transport.origin or f'Provider("{target.name}")'
    key = _key(target.name, target.credential.key, transport.base_url)
    return Connection(route, rows, Endpoint(transport.base_url, source, key))


def _moved(transport: Transport) -> Transport:
    """At the address that its variable names, if that names one."""
    moved = os.environ.get(transport.moved_by, "") if transport.moved_by else ""
    if moved and (problem := address_problem(moved, transport.moved_by)):
        raise Misuse("provider", problem)
    return replace(transport, base_url=moved, origin=transport.moved_by) if moved else transport


def _key(name: str, key: str | None, base_url: str) -> str:
    if key is None:
        return _NO_KEY
    if not key.startswith("env:"):
        return key
    variable = key.removeprefix("env:")
    found = os.environ.get(variable, "")
    if not found and is_loopback(base_url):
        return _NO_KEY
    if not found:
        raise Misuse(
            "no-key",
            f"{name} has no key: set {variable}, or session(providers=…), or try model=ScriptedModel(…). "
            "Looked in: process environment",
        )
    problem = key_problem(found)
    if problem:
        raise Misuse("key-form", f"{name}: the key in {variable} {problem}")
    return found


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine; a server there needs no key."""
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or _IPV4_LOOPBACK.fullmatch(host) is not None


async def connect(connection: Connection, http: httpx2.AsyncClient) -> ModelAdapter:
    """The adapter. What speaks its wire is imported in a thread, since that takes seconds."""
    target, endpoint = connection.route.target, connection.endpoint
    if connection.entry is not None:
        return await asyncio.to_thread(made_by, connection.entry, AdapterContext(target.name, http, connection.rows))
    if endpoint is None or target.transport is None:
        raise AssertionError(f"{target.name} has no endpoint")
    transport = target.transport
    if SDK_OF[transport.wire] not in sys.modules:
        await asyncio.to_thread(importlib.import_module, SDK_OF[transport.wire])
    match transport.wire:
        case "messages":
            from geode.adapters.anthropic_messages.model import messages_model

            return messages_model(target.name, endpoint, http, rows=connection.rows)
        case "responses":
            from geode.adapters.openai_responses.model import responses_model

            return responses_model(target.name, endpoint, http, rows=connection.rows, dialect=transport.dialect)
        case "chat":
            from geode.adapters.chat_completions.model import chat_model

            return chat_model(
                target.name, endpoint, http, rows=connection.rows, dialect=transport.dialect, quirks=transport.quirks
            )
