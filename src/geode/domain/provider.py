"""A server of one's own, as an embedder or `routing.toml` declares it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, get_args

from geode.domain.errors import Misuse
from geode.domain.key_sources import GivesSecrets, parse_key_source
from geode.domain.naming import closest
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

_ADDRESS: Final = re.compile(
    r"https?://([^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\]+)(:\d{1,5})?(/[^\s?#\\]*)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A server that speaks one of the three wires, reached with one credential.

    Models are named `NAME/MODEL`. `base_url` is the address before the wire's own path (`/v1/messages`,
    `/responses`, `/chat/completions`). `key` is where the key is found (`"env:VARIABLE"`, `"file:PATH"`,
    `"command:PROGRAM …"`, `"oauth:PATH"`), the key itself, a `geode.ports.Credential` of yours, or None for a server
    that wants none. `dialect` tells
    compatible servers apart, `quirks` what one does otherwise than its dialect. `origin` says in messages where
    the address was taken from. What cannot work is Misuse, which never shows the key.
    """

    name: str
    wire: WireName
    base_url: str
    key: str | GivesSecrets | None = field(default=None, repr=False)
    dialect: DialectName = "generic"
    quirks: Quirks = Quirks()
    origin: str = field(default="", compare=False)

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

    def _refuse(self, problem: str) -> None:
        if problem:
            raise Misuse("provider", f'Provider("{self.name}"): {problem}')

    @property
    def target(self) -> Target:
        """The same as three declarations. One with the name of an adapter that ships takes its place: the same
        models come to it, by the same choice of a source, with the same headers where it speaks the same."""
        transport = Transport(self.wire, self.base_url, self.dialect, self.quirks, origin=self.origin)
        shipped = BUILT_IN.get(self.name)
        if shipped is not None:
            its = shipped.transport
            if its is not None and (its.wire, its.dialect) == (self.wire, self.dialect):
                transport = replace(transport, headers=its.headers)
            return replace(shipped, credential=replace(shipped.credential, key=self.key), transport=transport)
        return Target(self.name, Identity(self.name, self.name), CredentialRoute("own", self.key), transport)


def shown_path(path: Sequence[str]) -> str:
    """The keys that lead to a place of a file, without what could be a key of another kind."""
    return ".".join(_LIKE_A_KEY.sub("***", part) for part in path)


ADDRESS_FORM: Final = "base_url must be http://HOST:PORT/… or https://…, without ? and #"
_USER: Final = re.compile(r"//[^/]*@")
_LIKE_A_KEY: Final = re.compile(r"(?<![\w.-])(?=[\w-]*\d)[\w-]{20,}(?![\w.-])|\bsk-[\w-]+")


def _word_problem(what: str, word: object, known: Sequence[str]) -> str:
    if isinstance(word, str) and word in known:
        return ""
    close = closest(word, known) if isinstance(word, str) else ()
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{what} {word!r} is unknown; {hint}Accepted: {', '.join(known)}"


def address_problem(base_url: object, origin: str = "") -> str:
    """What is wrong with an address; "" if nothing is."""
    if isinstance(base_url, str) and _ADDRESS.fullmatch(base_url):
        return ""
    source = f" (it comes from {origin})" if origin else ""
    shown = repr(shown_address(base_url)) if isinstance(base_url, str) else type(base_url).__name__
    return f"{ADDRESS_FORM}, got {shown}{source}"


def shown_address(base_url: str) -> str:
    """What of an address may be shown: no user, no password, no query, and no long word that could be a key."""
    bare = _USER.sub("//", base_url).partition("?")[0]
    return _LIKE_A_KEY.sub("***", bare)
