"""The file of an OAuth credential as a value, with its secrets out of sight."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import SecretBytes, SecretStr

from geode.domain.key_sources import key_problem

# The token endpoint is told the refresh token: nothing in between may read it, and no log shows what is in an address.
_TOKEN_URL: Final = re.compile(
    r"https://[^\s/?#@\\]+(/[^\s?#\\]*)?|http://(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?(/[^\s?#\\]*)?", re.IGNORECASE
)
# Later than any time in seconds that is meant: it is one in milliseconds.
_TOO_LATE: Final = 1e11


class Unusable(Exception):
    """What a file or an answer says is no token: says why, as the rest of a sentence about it, and quotes nothing."""


class Tokens:
    """An access token, when it expires, and what it is renewed with; fields that geode does not know are kept.

    `access` is None where the file has only a refresh token, `refresh` where it has none. `expires_at` is in
    epoch seconds; None is not known.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Unusable where the document is none of those."""
        self._document = dict(document)
        self.refresh = self._secret("refresh_token")
        self.access = self._secret("access_token")
        self.expires_at = _time(document.get("expires_at"))
        self.token_url = self._text("token_url")
        self.client_id = self._text("client_id")
        if self.access is None and self.refresh is None:
            raise Unusable("has neither an access_token nor a refresh_token")
        if self.refresh is None:
            return
        if not self.client_id:
            raise Unusable("has no client_id, which the refresh_token was given to")
        if not _TOKEN_URL.fullmatch(self.token_url):
            raise Unusable("has no token_url of the form https://HOST/PATH, without credentials and query")

    def __repr__(self) -> str:
        return f"Tokens(expires_at={self.expires_at})"

    def is_like(self, other: Tokens) -> bool:
        """Whether they are the same tokens, whatever else stands beside them."""
        return (self.access, self.refresh) == (other.access, other.refresh)

    def form(self) -> dict[str, str]:
        """What is posted to `token_url` to renew them (RFC 6749 section 6)."""
        scope = self._text("scope")
        return {
            "grant_type": "refresh_token",
            "refresh_token": self.refresh.get_secret_value() if self.refresh else "",
            "client_id": self.client_id,
            **({"scope": scope} if scope else {}),
        }

    def renewed(self, answer: Mapping[str, Any], now: float) -> Tokens:
        """These with what the token endpoint answered (RFC 6749 section 5.1); Unusable where that is no token."""
        if not isinstance(answer.get("access_token"), str) or not answer["access_token"]:
            raise Unusable("answered without an access_token")
        kept = {name: value for name, value in self._document.items() if name not in ("access_token", "expires_at")}
        given = {name: answer[name] for name in ("access_token", "refresh_token") if answer.get(name)}
        seconds = _seconds(answer.get("expires_in"))
        return Tokens({**kept, **given, **({} if seconds is None else {"expires_at": now + seconds})})

    def dumped(self) -> SecretBytes:
        """The file."""
        return SecretBytes(json.dumps(self._document, indent=2).encode() + b"\n")

    def _text(self, name: str) -> str:
        value = self._document.get(name)
        if value is not None and not isinstance(value, str):
            raise Unusable(f"has {_a(name)} that is no text")
        return value or ""

    def _secret(self, name: str) -> SecretStr | None:
        secret = SecretStr(self._text(name))
        if secret and (problem := key_problem(secret.get_secret_value())):
            raise Unusable(f"has {_a(name)} that {problem}")
        return secret or None


def _a(name: str) -> str:
    return f"an {name}" if name.startswith("a") else f"a {name}"


def _time(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _TOO_LATE:
        raise Unusable("has an expires_at that is no time in epoch seconds")
    return float(value)


def _seconds(value: object) -> float | None:
    """How long a token lives; None where the answer does not say so in a way that can be read."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        return None
    return seconds if 0 < seconds < _TOO_LATE else None
