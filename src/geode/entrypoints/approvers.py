"""Ways to ask: a function of one call, everything, or tools by name; and one question at a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

from geode.domain.approval import Approve, Decision, Deny, Later, Question
from geode.domain.errors import Misuse
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
            decisions[asked.call.id] = self._checked(await decision if inspect.isawaitable(decision) else decision)
        return decisions

    def _checked(self, decision: object) -> Decision:
        if not isinstance(decision, Approve | Deny | Later):
            who, got = getattr(self._answer, "__qualname__", type(self._answer).__name__), type(decision).__name__
            raise Misuse("answer-type", f"approve={who} answered with {got}: return Approve(), Deny(…) or Later()")
        return decision


class ApproveAll:
    """Allows every call. For tools that cannot hurt, and for tests."""

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        return {asked.call.id: Approve() for asked in question.calls}


class ApproveNamed:
    """Allows the tools of these names and denies every other."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)

    def allows(self, name: str) -> bool:
        """Whether calls of this tool run without a question."""
        return name in self._names

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        denied = Deny("only these tools are allowed: " + ", ".join(sorted(self._names)))
        return {asked.call.id: Approve() if asked.call.name in self._names else denied for asked in question.calls}


class AskAboutOthers:
    """Allows the tools of these names and has `others` asked about every other."""

    def __init__(self, names: Collection[str], others: Approver) -> None:
        self._names, self._others = frozenset(names), others

    def allows(self, name: str) -> bool:
        """Whether calls of this tool run without a question."""
        return name in self._names

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        known = {asked.call.id: Approve() for asked in question.calls if asked.call.name in self._names}
        unknown = tuple(asked for asked in question.calls if asked.call.id not in known)
        return {**known, **(await self._others.decide(replace(question, calls=unknown)) if unknown else {})}


# The lock of each approver on each event loop, for as long as somebody asks or waits to ask.
_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[object, asyncio.Lock]]] = WeakKeyDictionary()


class InTurn:
    """Asks `approver` one question at a time, whichever sessions of an event loop ask. `who` is the person behind it."""

    def __init__(self, approver: Approver, who: object) -> None:
        self._approver, self._key = approver, _key(who)

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        turns = _TURNS.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        turn = turns.setdefault(self._key, asyncio.Lock())
        async with turn:
            found: object = self._approver.decide(question)
            # One that is no coroutine function is understood too, as a function of one call is.
            answers = await found if inspect.isawaitable(found) else found
            return cast("Mapping[str, Decision]", answers)


def takes_one(function: Callable[..., object]) -> bool:
    """Whether `function` can be called with one argument; what hides its signature is believed."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _key(who: object) -> object:
    """Equal for the same method of the same object, which is a new value each time it is named."""
    try:
        hash(who)
    except TypeError:
        return id(who)
    return who
