"""Ways to ask: a function of one call, everything, or tools by name; and one question at a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Collection, Mapping
from typing import Final
from weakref import WeakValueDictionary

from geode.domain.approval import Approve, Decision, Deny, Question
from geode.entrypoints.settings import Answer
from geode.ports.approval import Approver


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


# The lock of each approver on each event loop, for as long as any session holds it.
_TURNS: Final[WeakValueDictionary[tuple[int, object], asyncio.Lock]] = WeakValueDictionary()


class InTurn:
    """Asks `approver` one question at a time, whichever sessions ask. `who` is the person behind it."""

    def __init__(self, approver: Approver, who: object) -> None:
        self._approver, self._who = approver, who
        self._turn: asyncio.Lock | None = None

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        if self._turn is None:
            self._turn = _TURNS.setdefault((id(asyncio.get_running_loop()), _key(self._who)), asyncio.Lock())
        async with self._turn:
            return await self._approver.decide(question)


def _key(who: object) -> object:
    """Equal for the same method of the same object, which is a new value each time it is named."""
    try:
        hash(who)
    except TypeError:
        return id(who)
    return who
