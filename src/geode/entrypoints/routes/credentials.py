"""From the place where a key is found to the credential that gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Never, Protocol, cast, runtime_checkable

from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.errors import Misuse
from geode.domain.key_sources import FromCommand, FromFile, FromOAuth, FromVariable, GivenKey, KeySource, NoKey, OwnCredential
from geode.ports.credentials import Credential, CredentialError

if TYPE_CHECKING:
    import httpx2


@runtime_checkable
class NeedsHttp(Protocol):
    """A credential that sends requests of its own."""

    def over(self, http: httpx2.AsyncClient) -> Credential: ...


class _Checkable(Credential, Protocol):
    def check(self) -> None: ...


def credential_of(
    source: KeySource,
    provider: str,
    look_up: Callable[[str], str | None],
    *,
    optional: bool = False,
    looked_in: str = "process environment",
) -> Credential | None:
    """The credential of `provider` that comes from `source`; None for a server that wants none.

    `look_up` gives the value of a variable, and is asked again for each request; `looked_in` says where it looks.
    `optional`: where the variable is missing there is no credential. Misuse where the source cannot be used; no
    command is run, and nothing is sent.
    """
    match source:
        case NoKey():
            return None
        case OwnCredential(credential):
            return cast("Credential", credential)
        case GivenKey():
            from pydantic import SecretStr

            from geode.adapters.credentials_static import GivenCredential

            return GivenCredential(SecretStr(source.key), f'Provider("{provider}")')
        case FromVariable(variable):
            from geode.adapters.credentials_static import VariableCredential

            found = VariableCredential(variable, look_up)
            if found.missing:
                return None if optional else _no_key(variable, provider, looked_in)
            if problem := found.problem():
                raise Misuse("key-form", f"{provider}: the key in {variable} {problem}")
            return found
        case FromFile(path):
            from geode.adapters.credentials_file import FileCredential

            return _checked(FileCredential(path), provider)
        case FromCommand():  # not by name: in a traceback with the values of variables there may be a secret in it
            from geode.adapters.clock_system import SystemClock
            from geode.adapters.credentials_command import CommandCredential

            return _checked(CommandCredential(source.command, SystemClock().now), provider)
        case FromOAuth(path):
            from geode.adapters.clock_system import SystemClock
            from geode.adapters.credentials_oauth import OAuthCredential

            return _checked(OAuthCredential(path, SystemClock().now), provider)


def over(endpoint: Endpoint, http: httpx2.AsyncClient) -> Endpoint:
    """The endpoint, its credential ready to be used: what has to be asked of a server is asked over `http`."""
    credential: object = endpoint.credential
    return replace(endpoint, credential=credential.over(http)) if isinstance(credential, NeedsHttp) else endpoint


def _no_key(variable: str, provider: str, looked_in: str) -> Never:
    raise Misuse(
        "no-key",
        f"{provider} has no key: set {variable}, or session(providers=…), or try model=ScriptedModel(…). "
        f"Looked in: {looked_in}",
    )


def _checked(credential: _Checkable, provider: str) -> Credential:
    try:
        credential.check()
    except CredentialError as error:
        raise Misuse("key-place", f"{provider}: {error}") from None
    return credential
