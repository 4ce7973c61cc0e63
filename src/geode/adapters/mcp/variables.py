"""Which variables reach a server, and which of them are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import unquote_plus, urlsplit

from geode.adapters.child_processes import inherited
from geode.domain.mcp_server import NAMED_VARIABLE, McpServer

# What stands before the sign in `--name=value` and in `NAME=value`.
_OPTION: Final = re.compile(r"-{0,2}[A-Za-z0-9_][A-Za-z0-9_.-]*")


def child_environment(server: McpServer, environ: Mapping[str, str]) -> dict[str, str]:
    """All that a child of `server` finds in its environment."""
    kept = inherited(environ)
    if isinstance(server.env, Mapping):
        return kept | dict(server.env)
    return kept | {name: environ[name] for name in server.env if name in environ}


def sent_headers(server: McpServer, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of each request to `server`, with the values of the variables that they name."""
    return {name: NAMED_VARIABLE.sub(lambda found: environ.get(found[1], ""), value) for name, value in server.headers.items()}


def unset(server: McpServer, environ: Mapping[str, str]) -> Iterator[str]:
    """The variables that `server` is to be given and that are not there, each as `NAME (where it is named)`."""
    if not isinstance(server.env, Mapping):
        yield from (f"{name} (named in env=)" for name in server.env if name not in environ)
    for header, value in server.headers.items():
        found = NAMED_VARIABLE.search(value)
        if found is not None and not environ.get(found[1], "").strip():
            yield f"{found[1]} (named in the header {header})"


def secrets_of(server: McpServer, environ: Mapping[str, str]) -> Iterator[str]:
    """What must not be shown where a server quotes it: what it was given and nobody else has."""
    given = server.env.values() if isinstance(server.env, Mapping) else (environ.get(name, "") for name in server.env)
    yield from given
    for value in sent_headers(server, environ).values():
        yield from (value, *value.split())
    yield from _secrets_of_address(server.url)
    yield from _secrets_of_command(server.command)


def _secrets_of_command(command: Sequence[str]) -> Iterator[str]:
    """Values of long options and of `NAME=VALUE`, and what is secret in addresses.

    Not each argument: without the name of a package or a script nobody could tell why a program does not start.
    """
    for before, word in pairwise(command):
        name, sign, value = word.partition("=")
        if before.startswith("--") and "=" not in before and not word.startswith("-"):
            yield word
        elif sign and _OPTION.fullmatch(name):
            yield value
        yield from _secrets_of_address(value if sign and _OPTION.fullmatch(name) else word)


def _secrets_of_address(address: str) -> Iterator[str]:
    """The password of an address and the values of its query, as they are written and as they are meant."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    if not parts.scheme or not parts.netloc:
        return
    query = (one.partition("=")[2] or one for one in parts.query.split("&"))
    for written in (parts.password or parts.username or "", *query):
        yield from (written, unquote_plus(written))
