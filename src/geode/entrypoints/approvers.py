"""Ways to ask: a function of one call, everything, or tools by name."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping

from geode.domain.approval import Approve, Decision, Deny, Question
from geode.entrypoints.settings import Answer


class AskEach:
    """Asks a function about each call of a question, one after the other."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        decisions: dict[str, Decision] = {}
        for asked in question.calls:
            decision = self._answer(asked.call)
            decisions[asked.call.id] = await decision if inspect.isawaitable(decision) else decision
        return decisions


class ApproveAll:
    """Allows every call. For tools that cannot hurt, and for tests."""

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        return {asked.call.id: Approve() for asked in question.calls}


class ApproveNamed:
    """Allows the tools of these names and denies every other."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        denied = Deny("only these tools are allowed: " + ", ".join(sorted(self._names)))
        return {asked.call.id: Approve() if asked.call.name in self._names else denied for asked in question.calls}
