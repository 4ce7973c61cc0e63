"""Mending a list of turns that breaks the laws: after a crash, an older version, another program."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from geode.domain.call_ids import with_unique_ids
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.turns import AssistantTurn, Hint, Repair, ToolResultsTurn, Turn, UserTurn, says_nothing

INTERRUPTED: Final = "interrupted: this call did not finish; it may or may not have had its effect"


def repair(turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[Repair, ...]]:
    """`turns` mended, and what was mended. Repairing what was repaired changes nothing."""
    mended: list[Turn] = []
    repairs: list[Repair] = []
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    rounds = _rounds(turns)
    first = next(iter(rounds), len(turns))
    for index, turn in enumerate(turns):
        match turn:
            case UserTurn():
                mended.append(turn)
            case ToolResultsTurn():
                if not turn.results:
                    repairs.append(Repair("empty_dropped", index))
                # Results of later on are placed with the calls they answer, or dropped, by `_close`.
                if index < first:
                    repairs += (Repair("orphan_dropped", index, found.call_id) for found in turn.results)
                    mended += [UserTurn((), turn.hints)] if turn.hints else []
            case AssistantTurn() if index not in rounds:
                repairs.append(Repair("empty_dropped", index))
            case AssistantTurn():
                mended += _close(index, turn, rounds[index], (taken, numbers), repairs)
    return tuple(mended), tuple(repairs)


class _Round(NamedTuple):
    """What belongs to a turn of the model: for the places of its calls their answers, each with its turn; what
    came until the model spoke again and answers no call; the hints of that time."""

    answers: dict[int, tuple[int, ToolResult]]
    dropped: list[Repair]
    hints: list[Hint]


def _rounds(turns: tuple[Turn, ...]) -> dict[int, _Round]:
    """The rounds by the turns that begin them.

    A result answers the latest call with its id, also after the model has spoken again; equal ids in one turn
    take their answers in order.
    """
    rounds: dict[int, _Round] = {}
    waiting: dict[str, tuple[_Round, deque[int]]] = {}
    current: _Round | None = None
    for at, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn) and not says_nothing(turn):
            current = rounds[at] = _Round({}, [], [])
            for place, call in enumerate(turn.calls):
                if call.id not in waiting or waiting[call.id][0] is not current:
                    waiting[call.id] = (current, deque())
                waiting[call.id][1].append(place)
        elif isinstance(turn, ToolResultsTurn) and current is not None:
            current.hints.extend(turn.hints)
            for found in turn.results:
                asked, places = waiting.get(found.call_id, (None, ()))
                if asked is not None and places:
                    asked.answers[places.popleft()] = (at, found)
                    continue
                twice = asked is current
                current.dropped.append(Repair("duplicate_dropped" if twice else "orphan_dropped", at, found.call_id))
    return rounds


def _close(
    index: int, turn: AssistantTurn, round: _Round, ids: tuple[set[str], dict[str, int]], repairs: list[Repair]
) -> Iterator[Turn]:
    """The assistant turn with fitting ids and, when it calls, the one turn of results that answers it."""
    taken, numbers = ids
    renamed = replace(turn, items=with_unique_ids(turn.items, index, taken, numbers))
    taken.update(call.id for call in renamed.calls)
    for old, new in zip(turn.calls, renamed.calls, strict=True):
        if old.id != new.id:
            repairs.append(Repair("id_changed", index, new.id))
    yield turn if renamed == turn else renamed

    results, hints = tuple(_answers(index, renamed.calls, round, repairs)), tuple(round.hints)
    if results:
        yield ToolResultsTurn(results, hints)
    elif hints:
        yield UserTurn((), hints)


def _answers(index: int, calls: tuple[ToolUseBlock, ...], round: _Round, repairs: list[Repair]) -> Iterator[ToolResult]:
    """One result per call, in call order."""
    for place, call in enumerate(calls):
        if place not in round.answers:
            repairs.append(Repair("interrupted", index, call.id))
            yield result(call.id, "interrupted", INTERRUPTED)
            continue
        _, found = round.answers[place]
        yield replace(found, call_id=call.id)
    repairs += round.dropped
    came = list(round.answers)
    if came != sorted(came) or any(at != index + 1 for at, _ in round.answers.values()):
        repairs.append(Repair("reordered", index))
