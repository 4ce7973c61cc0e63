"""A key that was given, and a key in a variable."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import SecretStr

from geode.domain.key_sources import key_problem
from geode.ports.credentials import CredentialError


class GivenCredential:
    """The key itself. `source` says where it was written."""

    def __init__(self, secret: SecretStr, source: str) -> None:
        self._secret, self._source = secret, source

    def __repr__(self) -> str:
        return f"GivenCredential({self._source})"

    @property
    def source(self) -> str:
        return self._source

    async def secret(self) -> SecretStr:
        if problem := key_problem(self._secret.get_secret_value()):
            raise CredentialError(f"the key from {self._source} {problem}")
        return self._secret

    def refused(self, secret: SecretStr) -> None:
        """There is no other one."""


class VariableCredential:
    """The value of a variable, looked up for each request, so that one that is set anew counts from then on.

    `look_up` gives the value, or None or "" where there is none. White space around it is not taken off: a key
    with a line end has been damaged on its way, and is said to be.
    """

    def __init__(self, variable: str, look_up: Callable[[str], str | None]) -> None:
        self._variable, self._look_up = variable, look_up

    def __repr__(self) -> str:
        return f"VariableCredential({self._variable})"

    @property
    def source(self) -> str:
        return self._variable

    @property
    def missing(self) -> bool:
        """Whether the variable has no value now."""
        return not self._look_up(self._variable)

    def problem(self) -> str:
        """What keeps the value of now from being sent; "" if nothing does."""
        return key_problem(self._look_up(self._variable) or "")

    async def secret(self) -> SecretStr:
        secret = SecretStr(self._look_up(self._variable) or "")
        if not secret:
            raise CredentialError(f"{self._variable} is not set any more: set it to the key")
        if problem := key_problem(secret.get_secret_value()):
            raise CredentialError(f"the key in {self._variable} {problem}")
        return secret

    def refused(self, secret: SecretStr) -> None:
        """Whoever sets the variable renews it."""
