"""Which variables reach a server, and which of them are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from geode.domain.mcp_server import McpServer

# What programs need to find their files and their words; no key of anybody's is among it. Beside these: LC_*.
INHERITED: Final = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
        *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    )
)
_NAMED: Final = re.compile(r"(?:^|(?<= ))env:([A-Za-z_][A-Za-z0-9_]*)$")


def child_environment(server: McpServer, environ: Mapping[str, str]) -> dict[str, str]:
    """All that a child of `server` finds in its environment."""
    kept = {name: value for name, value in environ.items() if name in INHERITED or name.startswith("LC_")}
    if isinstance(server.env, Mapping):
        return kept | dict(server.env)
    return kept | {name: environ[name] for name in server.env if name in environ}


def sent_headers(server: McpServer, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of each request to `server`, with the values of the variables that they name."""
    return {name: _NAMED.sub(lambda found: environ.get(found[1], ""), value) for name, value in server.headers.items()}


def unset(server: McpServer, environ: Mapping[str, str]) -> Iterator[str]:
    """The variables that `server` is to be given and that are not there, each as `NAME (where it is named)`."""
    if not isinstance(server.env, Mapping):
        yield from (f"{name} (named in env=)" for name in server.env if name not in environ)
    for header, value in server.headers.items():
        found = _NAMED.search(value)
        if found is not None and not environ.get(found[1], "").strip():
            yield f"{found[1]} (named in the header {header})"


def secrets_of(server: McpServer, environ: Mapping[str, str]) -> Iterator[str]:
    """What must not be shown where a server quotes it: what it was given and nobody else has."""
    given = server.env.values() if isinstance(server.env, Mapping) else (environ.get(name, "") for name in server.env)
    yield from given
    for value in sent_headers(server, environ).values():
        yield from (value, *value.split())
