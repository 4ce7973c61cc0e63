"""From a route to an adapter that speaks to it."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from returns.result import Result

from geode.adapters.environment import PROCESS, Environment
from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.addresses import address_problem
from geode.domain.configuration import Found
from geode.domain.errors import Misuse
from geode.domain.key_sources import FromVariable, GivesSecrets, KeySource, NoKey, parse_key_source
from geode.domain.models import ModelRow, rows_for
from geode.domain.relay import NO_OPTIONS, RelayOptions
from geode.domain.request import Capabilities
from geode.domain.routing import Route
from geode.domain.targets import CredentialRoute, Program, ProgramWord, Target, Transport
from geode.entrypoints.places import env_paths, project_env, user_folder
from geode.entrypoints.routes.credentials import credential_of, over
from geode.entrypoints.routes.plugins import made_by
from geode.entrypoints.routes.snapshot import Entry, Registry
from geode.ports.adapters import AdapterContext
from geode.ports.credentials import Credential
from geode.ports.model import ModelAdapter

if TYPE_CHECKING:
    import httpx2

    from geode.adapters.text_cli.programs import TextProgram

# Which package speaks each wire.
SDK_OF: Final = {"messages": "anthropic", "responses": "openai", "chat": "openai"}
# What an SDK's extra installs besides it.
_BESIDE: Final = ("httpx2", "jiter")
# How a declaration that ships names the user's folder.
_USER_FOLDER: Final = "~/.geode/"
_IPV4_LOOPBACK: Final = re.compile(r"127(\.\d{1,3}){3}")


@dataclass(frozen=True, slots=True)
class Connection:
    """A route with its address and its key found, and the rows that hold for its models.

    `entry` is what makes the adapter, where another package or the host does; then there is no `endpoint` of geode's.
    `options` are a session's own for OpenRouter, before those of the declaration.
    """

    route: Route
    rows: tuple[ModelRow, ...]
    endpoint: Endpoint | None = None
    entry: Entry | None = field(default=None, repr=False)
    options: RelayOptions = NO_OPTIONS


def find_connection(route: Route, registry: Registry, environment: Environment) -> Connection:
    """The connection of a route. Misuse when its SDK is not installed or its key is nowhere; nothing is opened."""
    target = route.target
    rows = rows_for(target, registry.table.models)
    entry = registry.entries.get(target.name)
    if entry is not None and entry.factory is not None and entry.target == target:
        return Connection(route, rows, entry=entry)
    if target.program is not None:
        return Connection(route, rows, _of_program(target, target.program, environment))
    if target.transport is None:
        raise AssertionError(f"{target.name} has neither a transport nor a factory")
    sdk = SDK_OF[target.transport.wire]
    missing = next((package for package in (sdk, *_BESIDE) if find_spec(package) is None), None)
    if missing is not None:
        raise Misuse("missing-extra", f'{target.name} needs the package {missing}: pip install "geode[{sdk}]"')
    transport = moved(target.transport, environment)
    # What is known of the maker's own server need not hold for another.
    rows = rows_for(replace(target, transport=transport), registry.table.models)
    _refuse_stray_key(target, environment)
    source = transport.origin or f'Provider("{target.name}")'
    credential = _credential(target.name, target.credential, transport.base_url, environment)
    subscription = target.credential.billing == "subscription"
    endpoint = Endpoint(transport.base_url, source, credential, transport.headers, subscription=subscription)
    return Connection(route, rows, endpoint)


def _of_program(target: Target, program: Program, environment: Environment) -> Endpoint:
    """Where a program asks, and by whose account. Misuse where it is not there, or nobody is said to pay."""
    from geode.adapters.text_cli.model import no_program, program_path

    if program_path(program.bin) is None:
        raise Misuse("no-program", no_program(target.name, program.bin))
    paid = target.credential.billing
    if paid == "unknown":
        raise Misuse(
            "who-pays",
            f"{target.name}: nothing says who pays. Write into routing.toml, under [providers.{target.name}], either "
            'key = "env:VARIABLE" (an API key, for each call) or login = "FOLDER" (the plan of the login that the program '
            "keeps there)",
        )
    credential = _credential(target.name, target.credential, "https://", environment) if paid == "api" else None
    return Endpoint(program.base_url, "routing.toml", credential, subscription=paid == "subscription")


def able_of(connection: Connection) -> Capabilities | None:
    """What the adapter of the connection will carry; None for one from elsewhere, which says so itself."""
    from geode.entrypoints.routes.capabilities import capabilities_of

    transport, program = connection.route.target.transport, connection.route.target.program
    if connection.entry is None and program is not None:
        return replace(text_program(program.word).capabilities, models=connection.rows)
    if connection.entry is not None or transport is None:
        return None
    return replace(capabilities_of(transport.wire, transport.dialect), models=connection.rows)


def moved(transport: Transport, environment: Environment) -> Transport:
    """At the address that its variable names, if that names one. Misuse where what it says is no address."""
    said = environment.find(transport.moved_by) if transport.moved_by else None
    if said is None:
        return transport
    origin = transport.moved_by if said.place == PROCESS else f"{transport.moved_by} in {said.place}"
    if problem := address_problem(said.value, origin):
        raise Misuse("provider", problem)
    return replace(transport, base_url=said.value, origin=transport.moved_by)


def _refuse_stray_key(target: Target, environment: Environment) -> None:
    """Misuse where a folder that one happens to be in would have a key sent to an address of its choice.

    Whoever writes a project's `.env` may move an address for the keys that stand there too, and for no others.
    """
    moved_by = "" if target.transport is None else target.transport.moved_by
    said = environment.find(moved_by) if moved_by else None
    if said is None or not _of_project(said):
        return
    source = key_source(target.credential.key).value_or(None)
    found = environment.find(source.variable) if isinstance(source, FromVariable) else None
    if not isinstance(source, NoKey) and not (isinstance(source, FromVariable) and (found is None or _of_project(found))):
        raise Misuse(
            "address-place",
            f"{target.name}: {said.place} moves its address, and its key is not from there. Put {moved_by} where the key "
            "is, or both into that file",
        )


def _of_project(found: Found) -> bool:
    return found.place.startswith(f"{project_env()}:")


def _credential(name: str, route: CredentialRoute, base_url: str, environment: Environment) -> Credential | None:
    source = key_source(route.key)
    if problem := source.swap().value_or(""):
        raise Misuse("provider", f'Provider("{name}"): {problem}')

    def look_up(variable: str) -> str | None:
        found = environment.find(variable)
        return None if found is None else found.value

    looked_in = ", ".join(["process environment", *map(str, env_paths())])
    return credential_of(source.unwrap(), name, look_up, optional=is_loopback(base_url), looked_in=looked_in)


def key_source(key: str | GivesSecrets | None) -> Result[KeySource, str]:
    """Where the key is found, in the user's folder as it is now where the declaration names `~/.geode`."""
    if isinstance(key, str) and key.startswith(f"oauth:{_USER_FOLDER}"):
        key = f"oauth:{user_folder() / key.removeprefix(f'oauth:{_USER_FOLDER}')}"
    return parse_key_source(key)


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine; a server there needs no key."""
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or _IPV4_LOOPBACK.fullmatch(host) is not None


def text_program(word: ProgramWord) -> TextProgram:
    """The program as its adapter knows it."""
    match word:
        case "claude":
            from geode.adapters.text_cli.claude import CLAUDE

            return CLAUDE
        case "codex":
            from geode.adapters.text_cli.codex import CODEX

            return CODEX


def text_model(connection: Connection) -> ModelAdapter | None:
    """The adapter over a program, which needs no HTTP client; None where the connection is to something else."""
    target, endpoint = connection.route.target, connection.endpoint
    if connection.entry is not None or target.program is None or endpoint is None:
        return None
    from geode.adapters.text_cli.model import text_cli_model

    program = target.program
    return text_cli_model(
        target.name, text_program(program.word), program.bin, endpoint, login=program.login, rows=connection.rows
    )


async def connect(connection: Connection, http: httpx2.AsyncClient) -> ModelAdapter:
    """The adapter. What speaks its wire is imported in a thread, since that takes seconds."""
    target = connection.route.target
    if connection.entry is not None:
        return await asyncio.to_thread(made_by, connection.entry, AdapterContext(target.name, http, connection.rows))
    if (model := text_model(connection)) is not None:
        return model
    if connection.endpoint is None or target.transport is None:
        raise AssertionError(f"{target.name} has no endpoint")
    transport, endpoint = target.transport, over(connection.endpoint, http)
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
                target.name,
                endpoint,
                http,
                rows=connection.rows,
                dialect=transport.dialect,
                quirks=transport.quirks,
                options=connection.options.over(transport.options),
            )
