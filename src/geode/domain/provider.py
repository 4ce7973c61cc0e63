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
    r"https?://([^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\]+)(:(?P<port>[0-9]{1,5}))?(/[^\s?#\\]*)?", re.IGNORECASE
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
PORT_FORM: Final = "the port of base_url must be from 1 to 65535"
_MAX_PORT: Final = 65535
_SCHEME: Final = re.compile(r"(?:https?|wss?|ftp|file|unix)://", re.IGNORECASE)
# Up to the last sign that may end credentials, written as itself or escaped: in a password there may be any other.
_CREDENTIALS: Final = re.compile(r"\A.*(?:@|%40)", re.DOTALL)
_LIKE_A_KEY: Final = re.compile(r"(?<![\w.-])(?=[\w-]*\d)[\w-]{20,}(?![\w.-])|\bsk-[\w-]+")


def _word_problem(what: str, word: object, known: Sequence[str]) -> str:
    if isinstance(word, str) and word in known:
        return ""
    close = closest(word, known) if isinstance(word, str) else ()
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{what} {word!r} is unknown; {hint}Accepted: {', '.join(known)}"


def address_rule(base_url: object) -> str:
    """The rule that an address breaks, without the address; "" if it breaks none."""
    found = _ADDRESS.fullmatch(base_url) if isinstance(base_url, str) else None
    if found is None:
        return ADDRESS_FORM
    return "" if found["port"] is None or 1 <= int(found["port"]) <= _MAX_PORT else PORT_FORM


def address_problem(base_url: object, origin: str = "") -> str:
    """What is wrong with an address; "" if nothing is."""
    rule = address_rule(base_url)
    if not rule:
        return ""
    source = f" (it comes from {origin})" if origin else ""
    shown = repr(shown_address(base_url)) if isinstance(base_url, str) else type(base_url).__name__
    return f"{rule}, got {shown}{source}"


def shown_address(base_url: str) -> str:
    """What of an address may be shown, whatever is wrong with it: no user, no password, no query and no fragment,
    and no long word that could be a key. `***` stands where something is left out."""
    found = _SCHEME.match(base_url)
    scheme = found[0] if found else ""
    bare, sign, more = _cut(base_url[len(scheme) :])
    if _CREDENTIALS.match(more):  # what is before the sign may be half a password, what is after the @ half a value
        return f"{scheme}***"
    return _LIKE_A_KEY.sub("***", scheme + _CREDENTIALS.sub("***@", bare)) + sign + ("***" if more else "")


def _cut(text: str) -> tuple[str, str, str]:
    """What is before a query or a fragment, the sign that begins it, and the rest."""
    at = next((at for at, sign in enumerate(text) if sign in "?#"), len(text))
    return text[:at], text[at : at + 1], text[at + 1 :]
