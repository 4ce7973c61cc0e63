"""What an address of a server has to be, and what of one may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ADDRESS: Final = re.compile(
    r"https?://([^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\]+)(:(?P<port>[0-9]{1,5}))?(/[^\s?#\\]*)?", re.IGNORECASE
)
ADDRESS_FORM: Final = "base_url must be http://HOST:PORT/… or https://…, without ? and #"
PORT_FORM: Final = "the port of base_url must be from 1 to 65535"
_MAX_PORT: Final = 65535
_SCHEME: Final = re.compile(r"(?:https?|wss?|ftp|file|unix)://", re.IGNORECASE)
# Up to the last sign that may end credentials, written as itself or escaped: in a password there may be any other.
_CREDENTIALS: Final = re.compile(r"\A.*(?:@|%40)", re.DOTALL)
_LIKE_A_KEY: Final = re.compile(r"(?<![\w.-])(?=[\w-]*\d)[\w-]{20,}(?![\w.-])|\bsk-[\w-]+")


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


def shown_path(path: Sequence[str]) -> str:
    """The keys that lead to a place of a file, without what could be a key of another kind."""
    return ".".join(_LIKE_A_KEY.sub("***", part) for part in path)
