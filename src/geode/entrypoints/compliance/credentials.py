"""The contract of a credential: `geode.ports.Credential`."""

from __future__ import annotations

import asyncio
import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import ClassVar, Final

import pytest
from pydantic import SecretStr

from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.credentials import Credential, CredentialError

FIRST: Final = "sk-canary-7f3a9c51d2e8"
SECOND: Final = "sk-canary-b04e6d7719aa"
# A secret of the kind that cannot be sent, since it was damaged on its way.
DAMAGED: Final = "sk-canary 5c8810f6e3b2"
CANARIES: Final = (FIRST, SECOND, DAMAGED, *DAMAGED.split())


class CredentialHarness(ABC):
    """A source of secrets that the suite makes up. `renews`: after one was refused it gives another one."""

    renews: ClassVar[bool] = False

    @abstractmethod
    def holding(self, *secrets: str) -> AbstractContextManager[Credential]:
        """A credential whose source has the first of `secrets`, and the next one each time that it is renewed."""

    @abstractmethod
    def empty(self) -> AbstractContextManager[Credential]:
        """A credential whose source has no secret."""


class CredentialContract(Contract):
    """It gives the secret to whoever asks, renews it if it can, and never tells it."""

    @property
    def made(self) -> CredentialHarness:
        found: CredentialHarness = made(type(self), CredentialHarness)
        return found

    @property
    def next(self) -> str:
        """What is given after the first was refused."""
        return SECOND if self.made.renews else FIRST

    async def test_it_gives_the_secret_out_of_sight(self) -> None:
        with self.made.holding(FIRST, SECOND) as credential:
            secret = await credential.secret()
        assert isinstance(secret, SecretStr)
        assert secret.get_secret_value() == FIRST

    async def test_the_secret_is_the_same_until_it_is_refused(self) -> None:
        with self.made.holding(FIRST, SECOND) as credential:
            assert [await _text(credential) for _ in range(3)] == [FIRST] * 3
            credential.refused(await credential.secret())
            assert [await _text(credential) for _ in range(3)] == [self.next] * 3

    async def test_a_secret_is_renewed_once_however_often_it_is_refused(self) -> None:
        """Many requests may be on their way with it, and each is refused; one that has gone before is no news."""
        with self.made.holding(FIRST, SECOND) as credential:
            secret = await credential.secret()
            for _ in range(3):
                credential.refused(secret)
            assert await _text(credential) == self.next
            credential.refused(SecretStr("another"))
            if self.made.renews:
                credential.refused(secret)
            assert await _text(credential) == self.next

    async def test_all_who_ask_at_once_get_the_same(self) -> None:
        with self.made.holding(FIRST, SECOND) as credential:
            assert set(await asyncio.gather(*(_text(credential) for _ in range(20)))) == {FIRST}
            credential.refused(await credential.secret())
            assert set(await asyncio.gather(*(_text(credential) for _ in range(20)))) == {self.next}

    async def test_one_who_is_cancelled_leaves_it_to_the_others(self) -> None:
        with self.made.holding(FIRST, SECOND) as credential:
            credential.refused(await credential.secret())
            tasks = [asyncio.create_task(_text(credential)) for _ in range(6)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            tasks[-1].cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert found[1:-1] == [self.next] * 4
            assert await _text(credential) == self.next

    async def test_whoever_comes_after_a_cancellation_gets_it(self) -> None:
        with self.made.holding(FIRST, SECOND) as credential:
            task = asyncio.create_task(_text(credential))
            for _ in range(2):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await _text(credential) in (FIRST, self.next)

    def test_one_event_loop_after_another_uses_it(self) -> None:
        with self.made.holding(FIRST, SECOND) as credential:
            assert asyncio.run(_text(credential)) == FIRST
            credential.refused(SecretStr(FIRST))
            assert asyncio.run(_text(credential)) == self.next

    async def test_a_source_without_a_secret_is_an_error_that_names_it(self) -> None:
        with self.made.empty() as credential:
            with pytest.raises(CredentialError) as caught:
                await credential.secret()
            assert credential.source
            assert credential.source in str(caught.value)

    async def test_it_shows_no_secret(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG), self.made.holding(FIRST, SECOND) as credential:
            credential.refused(await credential.secret())
            await credential.secret()
            shown = (repr(credential), str(credential), credential.source, repr(getattr(credential, "__dict__", "")))
        assert not _told(*shown, caplog.text)

    async def test_a_secret_that_cannot_be_sent_is_an_error_that_does_not_tell_it(self) -> None:
        """Nor does anything it came of, or the traceback with the values of its variables."""
        with self.made.holding(DAMAGED) as credential:
            with pytest.raises(CredentialError) as caught:
                await credential.secret()
            assert credential.source in str(caught.value)
            assert not _told(*said_by(caught.value, lambda file: file != __file__))


async def _text(credential: Credential) -> str:
    return (await credential.secret()).get_secret_value()


def _told(*texts: str) -> bool:
    return any(canary in text for text in texts for canary in CANARIES)


def said_by(error: BaseException, looked_into: Callable[[str], bool]) -> Iterator[str]:
    """All that can be read of an exception: its words, what it came of, its traceback with the values of variables.

    `looked_into`: whether the frames of a file are; a test knows what it made up.
    """
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield from (str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ())), repr(vars(one)))
        for frame in traceback.TracebackException.from_exception(one, capture_locals=True).stack:
            if looked_into(frame.filename):
                yield f"{frame.filename}:{frame.lineno} {frame.locals}"
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
