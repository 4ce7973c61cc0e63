"""Where a provider is reached, and with what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

_HIDDEN: Final = "***"
# Up to the last sign that may end credentials: rather too much is hidden than a part of a password shown.
_CREDENTIALS: Final = re.compile(r"//(.*)@", re.DOTALL)


@dataclass(frozen=True)
class Endpoint:
    """A base address, the place it was taken from (for messages), and the key that is sent there.

    `subscription`: the key is that of a plan, which pays for a span of time and not for each call.
    """

    base_url: str = field(repr=False)
    source: str
    api_key: str = field(repr=False)
    subscription: bool = False

    @property
    def address(self) -> str:
        """What messages show of the base address: no credentials and no query."""
        return _CREDENTIALS.sub("//", self.base_url).partition("?")[0]

    def discreet(self, text: str) -> str:
        """`text`, whoever wrote it, without the key and the credentials of the address."""
        return self._secrets.sub(_HIDDEN, text)

    @cached_property
    def _secrets(self) -> re.Pattern[str]:
        """Each secret as it is, and as exceptions quote it; short ones only where they stand alone."""
        forms = {form for secret in self._hidden() for form in (secret, repr(secret)[1:-1], repr(secret.encode())[2:-1])}
        longest_first = sorted(filter(None, forms), key=len, reverse=True)
        return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})(?![A-Za-z0-9])")

    def _hidden(self) -> Iterator[str]:
        yield from (self.api_key, self.api_key.strip())
        if found := _CREDENTIALS.search(self.base_url):
            yield from (found[1], found[1].partition(":")[2])
        yield self.base_url.partition("?")[2]
