"""Secrets are taken out of what others say."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from pydantic import SecretStr

HIDDEN: Final = "***"
# A form of this length is hidden wherever it stands, and so is its beginning, which a cut may have left.
_LONG: Final = 12
# As much of a secret as others that are encoded with it cannot be taken for.
_ENCODED: Final = 8
_BASE64: Final = "[A-Za-z0-9+/_-]*"


class Discretion:
    """Hides every secret that it was told, as it is and as it may be quoted.

    As JSON, `repr`, a URL, HTML and base64 have it, beside other text too: `Authorization: Basic` holds the key
    behind a name. Short secrets are hidden only where they stand alone.
    """

    def __init__(self) -> None:
        self._known: set[SecretStr] = set()
        self._long = list[str]()
        self._short = re.compile("(?!)")
        self._short_forms = set[str]()
        self._encoded = list[re.Pattern[str]]()

    def __contains__(self, secret: SecretStr) -> bool:
        return secret in self._known

    def add(self, secret: SecretStr) -> None:
        """Hide it from now on. Costs nothing for one that is known."""
        if secret in self._known or not secret:
            return
        self._known.add(secret)
        forms = set(_forms(secret))
        self._long = sorted({*self._long, *(form for form in forms if len(form) >= _LONG)}, key=len, reverse=True)
        self._short_forms |= {form for form in forms if form and len(form) < _LONG}
        longest_first = "|".join(map(re.escape, sorted(self._short_forms, key=len, reverse=True)))
        self._short = re.compile(rf"(?<![A-Za-z0-9])(?:{longest_first or '(?!)'})(?![A-Za-z0-9])")
        self._encoded += [re.compile(f"{_BASE64}{re.escape(core)}{_BASE64}=*") for core in _cores(secret)]

    def cleaned(self, text: str, *, alone: bool = True) -> str:
        """`text`, whoever wrote it, without the secrets; without `alone` short ones are left where they stand."""
        # Whole ones first: the beginning of an escaped form is that of the plain one too.
        for form in self._long:
            text = text.replace(form, HIDDEN)
        for form in self._long:
            text = _without(form, text)
        for pattern in self._encoded:
            text = pattern.sub(HIDDEN, text)
        return self._short.sub(HIDDEN, text) if alone else text


def _without(form: str, text: str) -> str:
    """`text` without `form`, and without any beginning of it that is long enough to be told."""
    head, end = form[:_LONG], 0
    pieces = list[str]()
    while (found := text.find(head, end)) >= 0:
        pieces += (text[end:found], HIDDEN)
        end = found + _LONG
        while end - found < len(form) and text[end : end + 1] == form[end - found]:
            end += 1
    return "".join((*pieces, text[end:]))


def _forms(secret: SecretStr) -> Iterator[str]:
    for plain in (secret.get_secret_value(), secret.get_secret_value().strip()):
        yield plain
        yield repr(plain)[1:-1]
        yield repr(plain.encode())[2:-1]
        yield json.dumps(plain)[1:-1]
        yield json.dumps(plain, ensure_ascii=False)[1:-1]
        yield json.dumps(plain)[1:-1].replace("/", "\\/")
        yield html.escape(plain)
        for escaped in (quote(plain), quote(plain, safe=""), quote_plus(plain)):
            yield escaped
            yield re.sub("%[0-9A-F]{2}", lambda sign: sign[0].lower(), escaped)
        yield base64.b64encode(plain.encode()).decode().rstrip("=")


def _cores(secret: SecretStr) -> Iterator[str]:
    """What base64 makes of the secret whatever stands before and after it: three ways, by where it begins."""
    data = secret.get_secret_value().encode()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        core = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(core) >= _ENCODED:
            yield from dict.fromkeys((core, core.replace("+", "-").replace("/", "_")))
