"""A server of the Model Context Protocol, as an application declares it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from geode.domain.addresses import shown_address
from geode.domain.errors import Misuse
from geode.domain.tiers import SafetyTier, TierName, tier_of

# `env:NAME` at the end of a value, alone or after a space.
NAMED_VARIABLE: Final = re.compile(r"(?:^|(?<= ))env:([A-Za-z_][A-Za-z0-9_]*)$")
_VARIABLE: Final = re.compile(r"[^\W\d]\w*", re.ASCII)
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TIMEOUTS: Final = ("start_timeout_seconds", "list_timeout_seconds", "call_timeout_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server that is started (`command`) or reached (`url`), one of both.

    `env`: names of variables that the child is given beside PATH, HOME and the like, or a mapping of values of its
    own; nothing else of this process's environment reaches it. `headers` go with each request to a `url`; a value
    that is `env:NAME`, or ends with it after a space, gets what the variable holds.
    `required=False`: a session goes on without it where it cannot be had.
    `trusted=True`: what it says of its tools is believed, so that those it calls read-only are MCP_TRUSTED, those it
    calls not destructive WRITE, and all others DANGEROUS; without it each is DANGEROUS. `tiers` says it by the
    server's own names of its tools, whatever the server says.
    `prefix=True` puts the server's name in front of the names of all its tools; else only where names clash.
    `deferred=False` keeps its tools in every request, however many tools there are. `framed=True` puts what its tools
    say between marks that it cannot forge. `descriptions=False` hides what the server says of its tools from the model.
    Timeouts are for starting it, for one listing of all its tools, and for one call; seconds, above 0.

    Misuse for what cannot work. Values of variables, of headers and of the command's `--options` are never shown, also
    where the server quotes them; other arguments are, for without them nobody could tell why a program does not start.
    """

    name: str = field(kw_only=False)
    command: Sequence[str] = ()
    url: str = ""
    env: Sequence[str] | Mapping[str, str] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    required: bool = True
    trusted: bool = False
    tiers: Mapping[str, SafetyTier | TierName] = field(default_factory=dict[str, SafetyTier | TierName])
    prefix: bool = False
    deferred: bool = True
    framed: bool = False
    descriptions: bool = True
    start_timeout_seconds: float = 30.0
    list_timeout_seconds: float = 30.0
    call_timeout_seconds: float = 120.0

    def __post_init__(self) -> None:
        _check_name(self.name)
        if bool(self.command) == bool(self.url):
            self._refuse('takes command=["PROGRAM", …] or url="https://…", one of both')
        self._check_command()
        self._check_url()
        self._check_env()
        self._check_tiers()
        for setting in _TIMEOUTS:
            self._check_seconds(setting, getattr(self, setting))

    def __repr__(self) -> str:
        where = f"url={shown_address(self.url)!r}" if self.url else f"command=[{self.command[0]!r}, …]"
        return f"McpServer({self.name!r}, {where})"

    def _check_command(self) -> None:
        if not self.command:
            return
        given: object = self.command
        if isinstance(given, str):
            self._refuse('command is a list, the program and its arguments: command=["npx", "-y", …]')
        words: Sequence[object] = self.command
        if not all(isinstance(word, str) and "\0" not in word for word in words):
            self._refuse("command is a list of str, the program and its arguments")
        if not self.command[0].strip():
            self._refuse("command begins with the name of a program, and that is blank")
        if self.headers:
            self._refuse("headers go with requests to a url; a command is given variables: env=")
        object.__setattr__(self, "command", tuple(self.command))

    def _check_url(self) -> None:
        if not self.url:
            return
        if not self.url.startswith(("http://", "https://")):
            self._refuse(f"url is an http or https address, got {shown_address(self.url)!r}")
        if self.env or self.cwd is not None:
            self._refuse("env and cwd are for a command; a url takes headers=")
        for name, value in dict(self.headers).items():
            given: object = value
            if not isinstance(given, str) or not given.isprintable() or not given.isascii() or not _HEADER.fullmatch(name):
                self._refuse(f"headers is a mapping of names to one line of ASCII text each; {name!r} is none")
        object.__setattr__(self, "headers", dict(self.headers))

    def _check_env(self) -> None:
        given: object = self.env
        if isinstance(given, str):
            self._refuse(f"env is a list of names: env=[{given!r}], or a mapping of values")
        for name in self.env:
            if not _VARIABLE.fullmatch(name):
                self._refuse("env names variables, and one of its words is no name; values are given as a mapping")
        if isinstance(self.env, Mapping):
            values: Mapping[str, Any] = self.env
            if not all(isinstance(value, str) and "\0" not in value for value in values.values()):
                self._refuse("the values of env are str")
            object.__setattr__(self, "env", dict(self.env))
        else:
            object.__setattr__(self, "env", tuple(self.env))

    def _check_tiers(self) -> None:
        for tier in self.tiers.values():
            try:
                tier_of(tier)
            except Misuse as error:
                raise error.said_of(f'tiers= of McpServer("{self.name}")') from None
        object.__setattr__(self, "tiers", dict(self.tiers))

    def _check_seconds(self, setting: str, seconds: object) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds <= 0:
            self._refuse(f"{setting} is a number of seconds above 0, got {seconds!r:.40}")

    def _refuse(self, why: str) -> NoReturn:
        raise Misuse("mcp-server", f'MCP server "{self.name}": {why}')


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 64:
        raise Misuse("mcp-server", f"the name of an MCP server is one line of at most 64 letters, got {name!r:.80}")
