"""A server of one's own, as an embedder or `routing.toml` declares it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from geode.domain.addresses import address_problem
from geode.domain.errors import Misuse
from geode.domain.key_sources import GivesSecrets, parse_key_source
from geode.domain.naming import closest
from geode.domain.relay import relay_options
from geode.domain.targets import (
    BUILT_IN,
    SPOKEN_IN,
    CredentialRoute,
    DialectName,
    Identity,
    Quirks,
    Target,
    Transport,
    WireName,
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A server that speaks one of the three wires, reached with one credential.

    Models are named `NAME/MODEL`. `base_url` is the address before the wire's own path (`/v1/messages`,
    `/responses`, `/chat/completions`). `key` is where the key is found (`"env:VARIABLE"`, `"file:PATH"`,
    `"command:PROGRAM …"`, `"oauth:PATH"`), the key itself, a `geode.ports.Credential` of yours, or None for a server
    that wants none. `dialect` tells
    compatible servers apart, `quirks` what one does otherwise than its dialect. `options` are those of OpenRouter, for its
    dialect (docs/openrouter.md). `origin` says in messages where
    the address was taken from. What cannot work is Misuse, which never shows the key.
    """

    name: str
    wire: WireName
    base_url: str
    key: str | GivesSecrets | None = field(default=None, repr=False)
    dialect: DialectName = "generic"
    quirks: Quirks = Quirks()
    origin: str = field(default="", compare=False)
    options: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not re.fullmatch(r"[^\s/]+", name):
            raise Misuse("provider", f"Provider: name must be one word without a slash, got {name!r}. Models are NAME/MODEL")
        for problem in (
            _word_problem("wire", self.wire, get_args(WireName)),
            address_problem(self.base_url, self.origin),
            _word_problem("dialect", self.dialect, get_args(DialectName)),
            parse_key_source(self.key).swap().value_or(""),
        ):
            self._refuse(problem)
        self._refuse(_word_problem(f"{self.wire} dialect", self.dialect, SPOKEN_IN[self.wire]))
        quirks: object = self.quirks
        if not isinstance(quirks, Quirks):
            self._refuse(f"quirks must be Quirks(…), got {type(quirks).__name__}")
        if quirks != Quirks() and self.wire != "chat":
            self._refuse("quirks are of compatible Chat servers; this wire has none")
        self._refuse(relay_options(self.options).swap().value_or(""))
        if self.options and self.dialect != "openrouter":
            self._refuse('options are those of the dialect "openrouter"')

    def _refuse(self, problem: str) -> None:
        if problem:
            raise Misuse("provider", f'Provider("{self.name}"): {problem}')

    @property
    def target(self) -> Target:
        """The same as three declarations. One with the name of an adapter that ships takes its place: the same
        models come to it, by the same choice of a source, with the same headers where it speaks the same."""
        options = relay_options(self.options).unwrap()
        transport = Transport(self.wire, self.base_url, self.dialect, self.quirks, origin=self.origin, options=options)
        shipped = BUILT_IN.get(self.name)
        if shipped is not None:
            its = shipped.transport
            if its is not None and (its.wire, its.dialect) == (self.wire, self.dialect):
                transport = replace(transport, headers=its.headers)
            credential = replace(shipped.credential, key=self.key)
            return replace(shipped, credential=credential, transport=transport, program=None)
        return Target(self.name, Identity(self.name, self.name), CredentialRoute("own", self.key), transport)


def _word_problem(what: str, word: object, known: Sequence[str]) -> str:
    if isinstance(word, str) and word in known:
        return ""
    close = closest(word, known) if isinstance(word, str) else ()
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{what} {word!r} is unknown; {hint}Accepted: {', '.join(known)}"
