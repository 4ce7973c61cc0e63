"""What an adapter reports of a failure, so that the domain can judge it and the operator understand it: spec section 7."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from geode.domain.failures import FailureClass, RetryHint
from geode.domain.request import Limits
from geode.domain.script import fails, hangs, malformed, says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import ModelContract
from geode.entrypoints.compliance.playing import STREAMED, class_of, failure_of


class FactsContract(ModelContract):
    """The server's own words, what it says about trying again, and that it was too late. Whatever it sends is a value."""

    @STREAMED
    @pytest.mark.parametrize("status", [status for status, _ in specification.STATUSES])
    async def test_the_operator_reads_the_servers_words(self, status: int, streamed: bool) -> None:
        async with self.playing(fails(status, message="as scripted")) as playing:
            failure = failure_of(await playing.ask(streamed=streamed))

        assert failure.message
        assert ("as scripted" in failure.message) == (status not in self.made.withheld.words)

    @pytest.mark.parametrize("name", specification.HINTS)
    async def test_what_the_server_says_about_trying_again_is_a_fact(self, name: str) -> None:
        hinted = specification.HINTS[name]
        async with self.playing(hinted.failure, says("never")) as playing:
            failure = failure_of(await playing.ask())

        hint = failure.hint
        if self.made.withheld.hints:
            assert hint == RetryHint(), "an unexpected success: what the server says about it is withheld"
            return
        assert hint.forbidden or (hint.seconds or 0.0) >= hinted.seconds
        assert hinted.shown in hint.raw

    @STREAMED
    @pytest.mark.parametrize("kind", specification.MALFORMED_KINDS)
    async def test_a_200_without_an_answer_is_a_failure(self, kind: Any, streamed: bool) -> None:
        """A value, and no exception: a page of HTML, half an object, nothing, an object of another shape, an error."""
        async with self.playing(malformed(kind), says("never")) as playing:
            answer = await playing.ask(streamed=streamed)

        assert failure_of(answer).message
        assert playing.count == 1

    async def test_silence_is_a_timeout(self) -> None:
        """`idle_timeout_seconds` is kept between bytes where a reply is streamed; a whole one comes when it comes."""
        if not self.live:
            return await self._a_whole_reply_may_take_its_time()
        async with self.playing(hangs()) as playing:
            try:
                async with asyncio.timeout(2):
                    answer = await playing.ask(streamed=True, limits=Limits(64, 5.0, 0.1))
            except TimeoutError:
                pytest.fail("the server was silent for 2 s, and idle_timeout_seconds=0.1 ended nothing")

        assert failure_of(answer).timed_out
        assert class_of(answer) is FailureClass.TIMEOUT
        return None

    async def _a_whole_reply_may_take_its_time(self) -> None:
        async with self.playing(says("ok"), pace_seconds=0.1) as playing:
            answer = await playing.ask(limits=Limits(64, 5.0, 0.05))
        assert answer.map(lambda reply: reply.text).value_or(None) == "ok"
