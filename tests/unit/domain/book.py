"""The rules of a round and of a conversation once more, naively, from the specification alone.

Nothing here shares a line with the domain: it is the second opinion that the property tests compare with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from geode.domain.approval import Grant
from geode.domain.content import Text, ToolUseBlock
from geode.domain.tiers import SafetyTier
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn

FREE = (SafetyTier.SAFE, SafetyTier.MCP_TRUSTED)
BARRIERS = (SafetyTier.WRITE, SafetyTier.DANGEROUS)


@dataclass
class Noted:
    """One call of a round as an onlooker knows it."""

    call: ToolUseBlock
    tier: SafetyTier | None
    done: bool = False
    running: bool = False
    # Asked and not answered yet; then the answer.
    asked: bool = False
    allowed: bool = False
    put_off: bool = False

    def may_run(self, grants: Iterable[Grant]) -> bool:
        if self.tier in FREE or self.allowed:
            return True
        if self.asked or self.put_off:
            return False
        return any(g.tool == self.call.name and g.arguments in (None, self.call.input) for g in grants)


def running_by_the_book(round: Sequence[Noted], grants: Sequence[Grant]) -> set[str]:
    """The calls that run now: every one that may, unless a barrier is in the way."""
    waiting_for_later = any(one.put_off and not one.done for one in round)
    running = set[str]()
    for place, one in enumerate(round):
        before = round[:place]
        if one.done or not one.may_run(grants):
            continue
        if any(other.tier in BARRIERS and not other.done for other in before):
            continue
        if one.tier in BARRIERS and not all(other.done for other in before):
            continue
        if one.tier in BARRIERS and waiting_for_later and not one.running:
            continue
        running.add(one.call.id)
    return running


def asked_by_the_book(round: Sequence[Noted], grants: Sequence[Grant]) -> set[str]:
    """The calls that a person is asked about now: all EXPENSIVE ones at once, a barrier when its turn comes."""
    unanswered = [one for one in round if not (one.done or one.put_off or one.may_run(grants))]
    expensive = {one.call.id for one in unanswered if one.tier is SafetyTier.EXPENSIVE}
    if expensive or running_by_the_book(round, grants) or any(one.put_off and not one.done for one in round):
        return expensive
    first = next(one for one in round if not one.done)
    return {first.call.id}


def breaches(turns: Sequence[Turn]) -> list[str]:
    """What is wrong with a conversation, in words; nothing, for a lawful one."""
    wrong: list[str] = []
    ids: list[str] = []
    for place, turn in enumerate(turns):
        after = turns[place + 1] if place + 1 < len(turns) else None
        before = turns[place - 1] if place else None
        if isinstance(turn, AssistantTurn):
            ids += [item.id for item in turn.items if isinstance(item, ToolUseBlock)]
            if all(isinstance(item, Text) and not item.text.strip() for item in turn.items):
                wrong.append(f"turn {place} says nothing")
            called = [item.id for item in turn.items if isinstance(item, ToolUseBlock)]
            answered = [one.call_id for one in after.results] if isinstance(after, ToolResultsTurn) else []
            if called != answered:
                wrong.append(f"turn {place} calls {called} and is answered {answered}")
        if isinstance(turn, ToolResultsTurn) and not isinstance(before, AssistantTurn):
            wrong.append(f"turn {place} answers nothing")
    if "" in ids or len(set(ids)) != len(ids):
        wrong.append(f"ids are missing or used twice: {ids}")
    return wrong
