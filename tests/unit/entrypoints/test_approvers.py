"""Ways to ask: each call in turn, everything, tools by name; and one question at a time of one person."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pytest

from geode.domain.approval import Approve, Asked, Decision, Deny, Later, Question
from geode.domain.content import ToolUseBlock
from geode.domain.tiers import SafetyTier
from geode.entrypoints.approvers import ApproveAll, ApproveNamed, AskAboutOthers, AskEach, InTurn
from geode.ports.approval import Approver


def question(*names: str) -> Question:
    calls = (ToolUseBlock(f"call_{n}", name, {}) for n, name in enumerate(names))
    return Question("run_1", tuple(Asked(call, SafetyTier.WRITE, "") for call in calls))


async def test_each_call_is_asked_about_after_the_one_before() -> None:
    asked: list[str] = []

    async def answer(call: ToolUseBlock) -> Decision:
        asked.append(f"+{call.name}")
        await asyncio.sleep(0)
        asked.append(f"-{call.name}")
        return Later() if call.name == "b" else Approve()

    assert await AskEach(answer).decide(question("a", "b")) == {"call_0": Approve(), "call_1": Later()}
    assert asked == ["+a", "-a", "+b", "-b"]


async def test_a_plain_function_answers_too() -> None:
    assert await AskEach(lambda call: Deny(call.name)).decide(question("a")) == {"call_0": Deny("a")}


async def test_everything_or_by_name() -> None:
    assert await ApproveAll().decide(question("a", "b")) == {"call_0": Approve(), "call_1": Approve()}
    found = await ApproveNamed(["b", "c"]).decide(question("a", "b"))
    assert found == {"call_0": Deny("only these tools are allowed: b, c"), "call_1": Approve()}


@dataclass
class Busy:
    """Counts the questions that are open at the same time. Equal to its like, and without a hash."""

    open: int = 0
    most: int = 0

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0.001)
        self.open -= 1
        return {}

    async def ask(self, call: ToolUseBlock) -> Decision:
        await self.decide(question())
        return Approve()


async def test_one_person_is_asked_one_question_at_a_time() -> None:
    person = Busy()
    await asyncio.gather(*(InTurn(person, person).decide(question("a")) for _ in range(5)))
    assert person.most == 1


async def test_people_who_are_equal_are_not_the_same_person() -> None:
    people = [Busy() for _ in range(3)]
    shared = Busy()
    await asyncio.gather(*(InTurn(shared, person).decide(question("a")) for person in people))
    assert shared.most == 3


def test_a_person_may_be_asked_from_another_event_loop_later() -> None:
    person = Busy()
    for _ in range(2):
        asker = InTurn(person, person)

        async def both(asker: InTurn = asker) -> None:
            await asyncio.gather(*(asker.decide(question("a")) for _ in range(3)))

        asyncio.run(both())
    assert person.most == 1


async def test_an_approver_need_not_be_a_coroutine_function() -> None:
    class Plain:
        def decide(self, question: Question) -> Mapping[str, Decision]:
            return {asked.call.id: Approve() for asked in question.calls}

    assert await InTurn(cast("Approver", Plain()), "somebody").decide(question("a")) == {"call_0": Approve()}


async def test_an_approver_that_raises_lets_the_next_one_ask() -> None:
    class Breaks:
        async def decide(self, question: Question) -> Mapping[str, Decision]:
            raise ValueError

    asker = InTurn(Breaks(), "somebody")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^$"):
            await asker.decide(question("a"))


async def test_known_tools_are_allowed_and_the_others_asked_about() -> None:
    seen: list[list[str]] = []

    class Person:
        async def decide(self, question: Question) -> Mapping[str, Decision]:
            seen.append([asked.call.name for asked in question.calls])
            return {asked.call.id: Deny("no") for asked in question.calls}

    approver = AskAboutOthers({"draw"}, Person())
    both = Question("r", tuple(Asked(ToolUseBlock(n, n, {}), SafetyTier.EXPENSIVE, "") for n in ("draw", "train")))
    assert await approver.decide(both) == {"draw": Approve(), "train": Deny("no")}
    assert await approver.decide(Question("r", both.calls[:1])) == {"draw": Approve()}
    assert seen == [["train"]]
