"""The contract of an approver: `geode.ports.Approver`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

import geode
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.approval import Approve, Asked, Deny, Later, Question
from geode.domain.content import ToolUseBlock
from geode.domain.loop.outcome import Answered, Suspended
from geode.domain.script import Called, calls, says
from geode.domain.tiers import SafetyTier
from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.approval import Approver


class ApproverHarness(ABC):
    """An approver that answers without a person: what it asks a person with is given by the harness."""

    @abstractmethod
    def approver(self) -> Approver: ...


def question(*names: str, run_id: str = "run_1") -> Question:
    """A question about calls of tools of these names, with arguments that tell them apart."""
    blocks = [ToolUseBlock(f"call_{number}", name, {"number": number}) for number, name in enumerate(names)]
    return Question(run_id, tuple(Asked(block, SafetyTier.WRITE, f"{block.name} changes something") for block in blocks))


class ApproverContract(Contract):
    """Answers what it was asked and nothing else, call by call; and geode does what it answered."""

    @property
    def made(self) -> ApproverHarness:
        found: ApproverHarness = made(type(self), ApproverHarness)
        return found

    async def test_answers_are_decisions_by_call_id(self) -> None:
        """A call left out counts as Later; an answer to a call that was not asked about is nobody's."""
        asked = question("remove", "write", "remove")
        answers = await self.made.approver().decide(asked)

        assert set(answers) <= {one.call.id for one in asked.calls}
        assert all(isinstance(answer, Approve | Deny | Later) for answer in answers.values()), answers

    async def test_the_question_stays_as_it_is(self) -> None:
        asked = question("remove", "write")
        await self.made.approver().decide(asked)
        assert asked == question("remove", "write")

    async def test_nothing_asked_nothing_answered(self) -> None:
        assert dict(await self.made.approver().decide(question())) == {}

    async def test_one_question_after_another(self) -> None:
        approver = self.made.approver()
        for number in range(3):
            asked = question("write", run_id=f"run_{number}")
            assert set(await approver.decide(asked)) <= {"call_0"}

    async def test_sessions_that_ask_at_the_same_time_get_their_own_answers(self) -> None:
        approver = self.made.approver()
        asked = [question(*["write"] * number, run_id=f"run_{number}") for number in range(1, 5)]
        for one, answers in zip(asked, await asyncio.gather(*map(approver.decide, asked)), strict=True):
            assert set(answers) <= {call.call.id for call in one.calls}

    async def test_geode_does_what_was_answered(self) -> None:
        ran: list[int] = []

        @geode.tool(tier="write", name="write")
        def write(number: int) -> str:
            """Write something down."""
            ran.append(number)
            return "written"

        approver = self.made.approver()
        answer = (await approver.decide(question("write"))).get("call_0", Later())
        model = ScriptedModel(calls(Called("write", {"number": 0}, "call_0")), says("done"))
        async with geode.session(model=model, tools=[write], approve=approver) as loop:
            outcome = await loop.run("go")
            if isinstance(outcome, Suspended):
                outcome = await loop.resume(outcome.snapshot, {"call_0": Deny("nobody came")})

        assert isinstance(outcome, Answered), outcome
        assert len(ran) == (1 if isinstance(answer, Approve) else 0)
        kinds = [result.kind for result in outcome.conversation.results()]
        assert kinds == ["ok" if isinstance(answer, Approve) else "denied"]
