"""Where a provider is reached, and with what."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from geode.adapters.http_json.discretion import Discretion
from geode.domain.key_sources import key_problem
from geode.ports.credentials import Credential, CredentialError

if TYPE_CHECKING:
    from pydantic import SecretStr

# Up to the last sign that may end credentials: rather too much is hidden than a part of a password shown.
_CREDENTIALS: Final = re.compile(r"//(.*)@", re.DOTALL)
_USER: Final = re.compile(r"(https?://)([^\s/?#@]*)@", re.IGNORECASE)
# Headers that somebody may have put a secret into by hand.
_SECRET_HEADER: Final = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


@dataclass(frozen=True)
class Endpoint:
    """A base address, the place it was taken from (for messages), and the credential that is sent there.

    `credential` is None for a server that wants none. `headers` go with each request. `key_header` names one that
    carries the bare key too, for proxies that do not look at `Authorization`: `x-api-key`.

    `subscription`: what pays is a plan, for a span of time and not for each call.
    """

    base_url: str = field(repr=False)
    source: str
    credential: Credential | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    key_header: str = ""
    subscription: bool = False

    @property
    def address(self) -> str:
        """What messages show of the base address: no credentials and no query."""
        return _CREDENTIALS.sub("//", self.base_url).partition("?")[0]

    @cached_property
    def url(self) -> str:
        """The base address for an HTTP client, which logs addresses: its credentials go with `sign`."""
        return _USER.sub(r"\1", self.base_url, count=1)

    async def secret(self) -> SecretStr | None:
        """What the next request is to be signed with. CredentialError where it is not to be had, or cannot be sent."""
        if self.credential is None:
            return None
        secret = await self.credential.secret()
        if secret not in self._discretion:
            if problem := key_problem(secret.get_secret_value()):
                raise CredentialError(f"the key from {self.credential.source} {problem}")
            self._discretion.add(secret)
        return secret

    def refused(self, secret: SecretStr | None) -> None:
        """The server answered 401 to it."""
        if self.credential is not None and secret is not None:
            self.credential.refused(secret)

    def sign(self, headers: MutableMapping[str, str], secret: SecretStr | None) -> None:
        """Put in what goes with each request, and `secret`, or the credentials of the address in its place."""
        headers.pop("Authorization", None)
        for name, value in self.headers.items():
            headers[name] = value
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret.get_secret_value()}"
            if self.key_header:
                headers[self.key_header] = secret.get_secret_value()
        if self._basic is not None:
            headers["Authorization"] = f"Basic {self._basic.get_secret_value()}"

    def discreet(self, text: str, *, alone: bool = True) -> str:
        """`text`, whoever wrote it, without the credentials of the address and any secret that was sent there."""
        return self._discretion.cleaned(text, alone=alone)

    @cached_property
    def _basic(self) -> SecretStr | None:
        from pydantic import SecretStr

        found = _USER.match(self.base_url)
        if found is None or not found[2].strip(":"):
            return None
        user, _, password = found[2].partition(":")
        return SecretStr(base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode())

    @cached_property
    def _discretion(self) -> Discretion:
        from pydantic import SecretStr

        known = Discretion()
        own = [value for name, value in self.headers.items() if _SECRET_HEADER.search(name)]
        if found := _CREDENTIALS.search(self.base_url):
            own += (found[1], found[1].partition(":")[2], unquote(found[1].partition(":")[2]))
        for text in (*own, self.base_url.partition("?")[2]):
            known.add(SecretStr(text))
        return known
