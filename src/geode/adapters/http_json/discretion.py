"""Secrets are taken out of what others say."""

from __future__ import annotations

import base64
import html
import json
import re
import string
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
_BASE64: Final = frozenset(string.ascii_letters + string.digits + "+/_-")


class Discretion:
    """Hides every secret that it was told, as it is and as it may be quoted.

    As JSON, `repr`, a URL, HTML and base64 have it, beside other text too: `Authorization: Basic` holds the key
    behind a name. Short secrets are hidden only where they stand alone.
    """

    def __init__(self) -> None:
        self._known: set[SecretStr] = set()
        # The long forms by how they begin, and what finds a beginning.
        self._long = dict[str, list[str]]()
        self._heads = re.compile("(?!)")
        self._short = re.compile("(?!)")
        self._short_forms = set[str]()
        self._cores = list[str]()

    def __contains__(self, secret: SecretStr) -> bool:
        return secret in self._known

    def add(self, secret: SecretStr) -> None:
        """Hide it from now on. Costs nothing for one that is known."""
        if secret in self._known or not secret:
            return
        self._known.add(secret)
        for form in dict.fromkeys(_forms(secret)):
            if len(form) >= _LONG:
                self._long.setdefault(form[:_LONG], []).append(form)
            elif form:
                self._short_forms.add(form)
        self._heads = re.compile("|".join(map(re.escape, self._long)) or "(?!)")
        longest_first = "|".join(map(re.escape, sorted(self._short_forms, key=len, reverse=True)))
        self._short = re.compile(rf"(?<![A-Za-z0-9])(?:{longest_first or '(?!)'})(?![A-Za-z0-9])")
        self._cores += _cores(secret)

    def cleaned(self, text: str, *, alone: bool = True) -> str:
        """`text`, whoever wrote it, without the secrets; without `alone` short ones are left where they stand.

        It takes time by the length of the text, whatever stands in it.
        """
        for core in self._cores:
            text = _without_encoded(core, text)
        text = self._without_long(text)
        return self._short.sub(HIDDEN, text) if alone else text

    def _without_long(self, text: str) -> str:
        """Without the long forms, and without any beginning of one that is long enough to be told."""
        pieces, end = list[str](), 0
        while (found := self._heads.search(text, end)) is not None:
            pieces += (text[end : found.start()], HIDDEN)
            # Forms that begin alike: the one that goes on longest is what was quoted.
            end = found.start() + max(_common(form, text, found.start()) for form in self._long[found[0]])
        return "".join((*pieces, text[end:])) if pieces else text


def _common(form: str, text: str, start: int) -> int:
    """How much of `form` stands in `text` from `start` on."""
    length = min(len(form), len(text) - start)
    return next((place for place in range(length) if form[place] != text[start + place]), length)


def _without_encoded(core: str, text: str) -> str:
    """Without the run of base64 around each place where the `core` of a secret stands."""
    pieces, end = list[str](), 0
    while (found := text.find(core, end)) >= 0:
        start, stop = found, found + len(core)
        while start > end and text[start - 1] in _BASE64:
            start -= 1
        while stop < len(text) and text[stop] in _BASE64:
            stop += 1
        while stop < len(text) and text[stop] == "=":
            stop += 1
        pieces += (text[end:start], HIDDEN)
        end = stop
    return "".join((*pieces, text[end:])) if pieces else text


def _forms(secret: SecretStr) -> Iterator[str]:
    for plain in (secret.get_secret_value(), secret.get_secret_value().strip()):
        yield plain
        yield repr(plain)[1:-1]
        yield repr(plain.encode())[2:-1]
        yield json.dumps(plain)[1:-1]
        yield json.dumps(plain, ensure_ascii=False)[1:-1]
        yield json.dumps(plain)[1:-1].replace("/", "\\/")
        yield json.dumps(json.dumps(plain)[1:-1])[1:-1]
        yield html.escape(plain)
        for escaped in (quote(plain), quote(plain, safe=""), quote_plus(plain)):
            yield escaped
            yield re.sub("%[0-9A-F]{2}", lambda sign: sign[0].lower(), escaped)
        yield base64.b64encode(plain.encode()).decode().rstrip("=")
        yield base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _cores(secret: SecretStr) -> Iterator[str]:
    """What base64 makes of the secret whatever stands before and after it: three ways, by where it begins."""
    data = secret.get_secret_value().encode()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        core = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(core) >= _ENCODED:
            yield from dict.fromkeys((core, core.replace("+", "-").replace("/", "_")))
