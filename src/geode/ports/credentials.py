"""The credential port: what a provider's requests are sent with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from geode.domain.errors import GeodeError

if TYPE_CHECKING:
    from pydantic import SecretStr


class CredentialError(GeodeError):
    """There is no secret to send: the message names the source, what is wrong with it, and the way out, never the secret."""


class CredentialUnavailable(CredentialError):
    """There is no secret now, for a reason that passes by itself: whoever gives it out was not reached, or is busy."""


@runtime_checkable
class Credential(Protocol):
    """One source of one secret.

    `secret` gives what the next request is sent with, or raises CredentialError, and CredentialUnavailable where trying
    again may do; it is asked for each request, so it keeps what is costly to find. It is printable ASCII without
    spaces. `refused` says that the server answered 401 to that secret: one that can be renewed is, when it is next
    asked for; nothing else happens, and no request is sent again. It is a plain call, so that no cancellation comes
    before it. `source` is how messages name it: "OPENAI_API_KEY", "file ~/key", "command pass …".

    The secret is in no repr, log record, exception, traceback with locals, file of geode's own or URL: it is a
    `pydantic.SecretStr` wherever it has a name. Any number of tasks may ask at the same time: what can be done
    once is done once for all of them, and one that is cancelled leaves it to the others. One event loop uses it
    at a time, several may after another; it never blocks them.
    """

    @property
    def source(self) -> str: ...

    async def secret(self) -> SecretStr: ...

    def refused(self, secret: SecretStr) -> None: ...
