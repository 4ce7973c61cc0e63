"""The conversation and its laws (spec section 3): every call has exactly one result, in the very next
turn, in call order, before anything else.

A `Conversation` cannot be built in breach of the laws: its constructor refuses, `repaired` mends.
Only closed rounds are in it; an open round lives in the state of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from typing import Any

from geode.domain.codec import dumps, loads
from geode.domain.content import ToolResult
from geode.domain.errors import Misuse
from geode.domain.repair import repair
from geode.domain.turns import AssistantTurn, Repair, ToolResultsTurn, Transcript, Turn, says_nothing


@dataclass(frozen=True, slots=True)
class Conversation:
    """An immutable list of turns that keeps the laws; Misuse when given one that does not.

    Ids of calls are unique in the whole conversation, so every provider accepts its replay. `memo` is
    where encoders keep what they made of the turns, for conversations grown from this one to use; it
    is no part of the value.
    """

    turns: tuple[Turn, ...] = ()
    repairs: tuple[Repair, ...] = field(default=(), compare=False)
    grown_from: InitVar[Conversation | None] = None
    call_ids: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)
    memo: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False, compare=False)

    def __post_init__(self, grown_from: Conversation | None) -> None:
        start, taken, new = 0, frozenset[str](), set[str]()
        if grown_from is not None:
            start, taken = len(grown_from.turns), grown_from.call_ids
            self.memo.update(grown_from.memo)
        for index in range(start, len(self.turns)):
            self._check(index, taken, new)
        if self.turns and isinstance(self.turns[-1], AssistantTurn) and self.turns[-1].calls:
            raise Misuse("open-round", f"turn {len(self.turns) - 1} calls tools and has no results; use Conversation.repaired")
        object.__setattr__(self, "call_ids", taken | new)

    def _check(self, index: int, taken: frozenset[str], new: set[str]) -> None:
        turn, before = self.turns[index], self.turns[index - 1] if index else None
        expected = [call.id for call in before.calls] if isinstance(before, AssistantTurn) else []
        given = [result.call_id for result in turn.results] if isinstance(turn, ToolResultsTurn) else []
        if expected != given or (isinstance(turn, ToolResultsTurn) and not given):
            raise Misuse(
                "unpaired", f"turn {index} must answer the calls {expected}, it answers {given}; use Conversation.repaired"
            )
        if isinstance(turn, AssistantTurn):
            if says_nothing(turn):
                raise Misuse("empty-turn", f"turn {index} is an assistant turn that says nothing; leave it out")
            for call in turn.calls:
                if not call.id or call.id in new or call.id in taken:
                    raise Misuse("call-id", f"turn {index} has a call id that is empty or used before: {call.id!r}")
                new.add(call.id)

    def grown(self, *turns: Turn) -> Conversation:
        """This conversation with `turns` after it; only they are checked."""
        return Conversation((*self.turns, *turns), self.repairs, grown_from=self)

    def results(self) -> Iterator[ToolResult]:
        """Every tool result, in order."""
        return (result for turn in self.turns if isinstance(turn, ToolResultsTurn) for result in turn.results)

    @staticmethod
    def repaired(turns: Iterable[Turn]) -> Conversation:
        """The conversation that `turns` should have been, with what was mended in `.repairs`.

        Unanswered calls get one `interrupted` result, results without a call are dropped, results
        are put in call order before any user text. Repairing the outcome again changes nothing.
        """
        mended, repairs = repair(tuple(turns))
        return Conversation(mended, repairs)

    def dumps(self) -> str:
        """This conversation as text, for `loads`."""
        return dumps(Transcript(self.turns))

    @staticmethod
    def loads(text: str) -> Conversation:
        """The conversation in `text`, checked and repaired by the laws. CodecError if it is none."""
        return Conversation.repaired(loads(Transcript, text).turns)
