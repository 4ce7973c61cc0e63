"""Whatever goes wrong on the way: spec section 7."""

from __future__ import annotations

import time
from typing import Any

import pytest

from geode.adapters.journal_memory import MemoryJournal
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.inputs import ModelFailed
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.policy import Policy
from geode.domain.script import drops, fails, hangs, malformed, says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import ModelContract
from geode.entrypoints.compliance.playing import AT_ONCE, STREAMED, class_of, failure_of, visible


class FaultContract(ModelContract):
    """A failure is a value with its facts, after one attempt; and nothing that is no answer ends as one."""

    @STREAMED
    @pytest.mark.parametrize(("status", "wanted"), specification.STATUSES)
    async def test_a_refused_call_is_a_value_after_one_attempt(self, status: int, wanted: FailureClass, streamed: bool) -> None:
        async with self.playing(fails(status, message="as scripted"), says("never")) as playing:
            answer = await playing.ask(streamed=streamed)

        failure = failure_of(answer)
        known = None if status in self.made.withheld.statuses else status
        assert (failure.status, failure.phase, failure.timed_out) == (known, "response", False)
        assert class_of(answer) is self._class(status, wanted)
        assert playing.count == 1, "an adapter makes one attempt, retries are geode's"

    @STREAMED
    @pytest.mark.parametrize(("status", "wanted"), specification.STATUSES)
    async def test_the_server_sees_as_many_requests_as_the_policy_has_attempts(
        self, status: int, wanted: FailureClass, streamed: bool
    ) -> None:
        """It ends with the fault, after three attempts or one; and is well again when the second attempt is."""
        wanted = self._class(status, wanted)
        retried, step = wanted in specification.RETRIED, fails(status)
        attempts = 3 if retried else 1
        for script in ((step,) * attempts, (step, says("well"))[: 2 if retried else 1]):
            journal = MemoryJournal()
            async with self.playing(*script) as playing:
                outcome = await playing.run(streamed=streamed, journal=journal)

            failures = [one.failure for inputs in journal.inputs.values() for one in inputs if isinstance(one, ModelFailed)]
            assert {classify_retry_error(one) for one in failures} == {wanted}
            assert playing.count == len(script)
            assert isinstance(outcome, Answered) == (script[-1] == says("well"))

    def _class(self, status: int, wanted: FailureClass) -> FailureClass:
        if status in self.made.withheld.statuses:
            return FailureClass.UNKNOWN
        return specification.class_of_status(status, wanted, plan=self.made.plan_ends_at_429)

    @pytest.mark.parametrize(("at", "streamed", "wanted"), specification.DROPS)
    async def test_a_cut_connection_is_a_failure(self, at: Any, streamed: bool, wanted: FailureClass) -> None:
        async with self.playing(drops(at), says("never")) as playing:
            answer = await playing.ask(streamed=streamed)

        shown = any(visible(delta) for delta in playing.deltas)
        assert class_of(answer, shown=shown) is (wanted if self.made.streams else FailureClass.CONNECTION)
        assert playing.count == 1

    @STREAMED
    @pytest.mark.parametrize("kind", specification.MALFORMED_KINDS)
    async def test_a_200_that_is_no_answer_never_ends_as_one(self, kind: Any, streamed: bool) -> None:
        async with self.playing(*[malformed(kind)] * 3) as playing:
            outcome = await playing.run(streamed=streamed)

        assert isinstance(outcome, Failed), outcome

    async def test_a_server_that_says_nothing_is_a_timeout(self) -> None:
        """The deadline of the whole call is kept by geode, and is one failure like any other."""
        async with self.playing(hangs(), hangs(), hangs()) as playing:
            started = time.monotonic()
            outcome = await playing.run(policy=Policy(retry=AT_ONCE, call_timeout_seconds=0.2))

        assert time.monotonic() - started < 10
        assert isinstance(outcome, Failed)
        assert playing.count == 3
