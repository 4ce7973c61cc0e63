"""Credentials broken on purpose, each in one way, and the tests that have to notice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from pydantic import SecretStr

from geode.compliance import CredentialHarness
from geode.ports import CredentialError


class _Key:
    """A credential as it should be: one secret after another."""

    source = "the lab's safe"

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = [SecretStr(secret) for secret in secrets]

    async def secret(self) -> SecretStr:
        if not self._secrets or " " in self._secrets[0].get_secret_value():
            raise CredentialError(f"{self.source} is empty")
        return self._secrets[0]

    def refused(self, secret: SecretStr) -> None:
        if len(self._secrets) > 1 and secret == self._secrets[0]:
            self._secrets.pop(0)


class _Keys(CredentialHarness):
    renews = True
    kind: ClassVar[type[_Key]] = _Key

    @contextmanager
    def holding(self, *secrets: str) -> Iterator[_Key]:
        yield self.kind(secrets)

    @contextmanager
    def empty(self) -> Iterator[_Key]:
        yield self.kind(())


class ShowsItsKey(_Keys):
    class Key(_Key):
        def __repr__(self) -> str:
            return f"Key({self._secrets[0].get_secret_value()})" if self._secrets else "Key()"

    kind = Key


class RenewsTooOften(_Keys):
    """It does not look at which secret was refused."""

    class Key(_Key):
        def refused(self, secret: SecretStr) -> None:
            if self._secrets:
                self._secrets.pop(0)

    kind = Key


class NeverRenews(_Keys):
    class Key(_Key):
        def refused(self, secret: SecretStr) -> None:
            """It says that it renews, and does not."""

    kind = Key


class FailsAsItLikes(_Keys):
    class Key(_Key):
        async def secret(self) -> SecretStr:
            return self._secrets[0]

    kind = Key


class QuotesItsKey(_Keys):
    class Key(_Key):
        async def secret(self) -> SecretStr:
            try:
                return await super().secret()
            except CredentialError:
                found = [secret.get_secret_value() for secret in self._secrets]
                raise CredentialError(f"{self.source} has {len(found)} secrets that are no good") from None

    kind = Key


class EndsWithTheFirst(_Keys):
    """What is under way is cancelled with whoever asked first, for all."""

    class Key(_Key):
        _task: asyncio.Task[SecretStr] | None = None

        async def secret(self) -> SecretStr:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._slowly())
            return await self._task

        async def _slowly(self) -> SecretStr:
            await asyncio.sleep(0.01)
            return await super().secret()

    kind = Key


BROKEN_CREDENTIALS: Final[Mapping[type[Any], frozenset[str]]] = {
    ShowsItsKey: frozenset({"it_shows_no_secret", "a_secret_that_cannot_be_sent_is_an_error_that_does_not_tell_it"}),
    RenewsTooOften: frozenset({"a_secret_is_renewed_once_however_often_it_is_refused"}),
    NeverRenews: frozenset(
        {
            "the_secret_is_the_same_until_it_is_refused",
            "a_secret_is_renewed_once_however_often_it_is_refused",
            "all_who_ask_at_once_get_the_same",
            "one_who_is_cancelled_leaves_it_to_the_others",
            "one_event_loop_after_another_uses_it",
        }
    ),
    FailsAsItLikes: frozenset(
        {
            "a_source_without_a_secret_is_an_error_that_names_it",
            "a_secret_that_cannot_be_sent_is_an_error_that_does_not_tell_it",
        }
    ),
    QuotesItsKey: frozenset({"a_secret_that_cannot_be_sent_is_an_error_that_does_not_tell_it"}),
    EndsWithTheFirst: frozenset({"one_who_is_cancelled_leaves_it_to_the_others"}),
}
