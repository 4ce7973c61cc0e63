"""A run whose answer has to fit a schema, over an adapter that can be asked for one, and over one that cannot.

Spec section 11.
"""

from __future__ import annotations

from typing import Any, Final

from geode.domain.loop.outcome import Answered, Exhausted, Failed, Outcome, Refused
from geode.domain.script import Step, cut, refuses, says
from geode.entrypoints.compliance.capabilities import ANSWER
from geode.entrypoints.compliance.contract import ModelContract
from geode.entrypoints.compliance.playing import READER, STREAMED

FITS: Final = '{"city":"Kiel"}'
WRONG: Final = '{"city":5}'


class ResponseSchemaContract(ModelContract):
    """An adapter that declares `response_schema` gets typed answers; any other is not asked, and the run says why."""

    @STREAMED
    async def test_a_typed_answer(self, streamed: bool) -> None:
        """Also beside tools, where there are any."""
        outcome, count = await self._ran(says(FITS), streamed=streamed)
        if self._refused(outcome, count):
            return
        assert isinstance(outcome, Answered), outcome
        assert (outcome.value, count) == ({"city": "Kiel"}, 1)

    async def test_one_in_a_fence(self) -> None:
        outcome, count = await self._ran(says(f"```json\n{FITS}\n```"))
        if self._refused(outcome, count):
            return
        assert isinstance(outcome, Answered), outcome
        assert (outcome.value, count) == ({"city": "Kiel"}, 1)

    async def test_one_that_does_not_fit_is_sent_back_once(self) -> None:
        outcome, count = await self._ran(says(WRONG), says(FITS))
        if self._refused(outcome, count):
            return
        assert isinstance(outcome, Answered), outcome
        assert (outcome.value, count) == ({"city": "Kiel"}, 2)

    async def test_wrong_twice(self) -> None:
        outcome, count = await self._ran(says(WRONG), says("Kiel it is"))
        if self._refused(outcome, count):
            return
        assert isinstance(outcome, Failed), outcome
        assert (outcome.reason, outcome.text, count) == ("answer_invalid", "Kiel it is", 2)

    async def test_a_refusal_is_not_read(self) -> None:
        if "refusal" not in self.made.stops:
            return
        outcome, count = await self._ran(refuses("I cannot"))
        if self._refused(outcome, count):
            return
        assert isinstance(outcome, Refused), outcome
        assert count == 1

    async def test_what_was_cut_off_is_not_read(self) -> None:
        if "max_tokens" not in self.made.stops:
            return
        outcome, count = await self._ran(cut(says('{"city":')))
        if self._refused(outcome, count):
            return
        assert isinstance(outcome, Exhausted), outcome
        assert (outcome.reason, count) == ("answer_truncated", 1)

    def _refused(self, outcome: Outcome, count: int) -> bool:
        """Whether the adapter declares that it cannot be asked for a typed answer; then nothing left, and the run says so."""
        if self.able.response_schema:
            return False
        assert isinstance(outcome, Failed), outcome
        assert (outcome.reason, count) == ("request_error", 0)
        assert "response_schema" in outcome.why
        return True

    async def _ran(self, *script: Step, streamed: bool = False) -> tuple[Outcome, int]:
        more: dict[str, Any] = {"tools": [READER] if self.able.supports_tools else []}
        async with self.playing(*script) as playing:
            outcome = await playing.run(streamed=streamed, answer=ANSWER, **more)
        return outcome, playing.count
