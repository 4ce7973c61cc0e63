"""Mending a list of turns that breaks the laws: after a crash, an older version, another program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Final

from geode.domain.call_ids import with_unique_ids
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.turns import AssistantTurn, Hint, Repair, ToolResultsTurn, Turn, UserTurn, says_nothing

INTERRUPTED: Final = "interrupted: this call did not finish; it may or may not have had its effect"


def repair(turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[Repair, ...]]:
    """`turns` mended, and what was mended. Repairing what was repaired changes nothing."""
    mended: list[Turn] = []
    repairs: list[Repair] = []
    taken: set[str] = set()
    for index, turn in enumerate(turns):
        match turn:
            case UserTurn():
                mended.append(turn)
            case ToolResultsTurn() if not turn.results:
                repairs.append(Repair("empty_dropped", index))
            case ToolResultsTurn():
                pass  # placed with the calls they answer, or dropped, by `_close`
            case AssistantTurn() if says_nothing(turn):
                repairs.append(Repair("empty_dropped", index))
            case AssistantTurn():
                mended += _close(index, turn, turns, taken, repairs)
        if not _follows_assistant(index, turns):
            repairs += _orphans(index, turn)
            mended += _rescued_hints(turn)
    return tuple(mended), tuple(repairs)


def _follows_assistant(index: int, turns: tuple[Turn, ...]) -> bool:
    return any(isinstance(turn, AssistantTurn) and not says_nothing(turn) for turn in turns[:index])


def _orphans(index: int, turn: Turn) -> Iterator[Repair]:
    if isinstance(turn, ToolResultsTurn):
        yield from (Repair("orphan_dropped", index, found.call_id) for found in turn.results)


def _rescued_hints(turn: Turn) -> Iterator[Turn]:
    if isinstance(turn, ToolResultsTurn) and turn.hints:
        yield UserTurn((), turn.hints)


def _close(index: int, turn: AssistantTurn, turns: tuple[Turn, ...], taken: set[str], repairs: list[Repair]) -> Iterator[Turn]:
    """The assistant turn with fitting ids and, when it calls, the one turn of results that answers it."""
    renamed = replace(turn, items=with_unique_ids(turn.items, index, taken))
    taken.update(call.id for call in renamed.calls)
    for old, new in zip(turn.calls, renamed.calls, strict=True):
        if old.id != new.id:
            repairs.append(Repair("id_changed", index, new.id))
    yield turn if renamed == turn else renamed

    following = list(takewhile(lambda pair: not _speaks(pair[1]), enumerate(turns[index + 1 :], index + 1)))
    answers = [(at, found) for at, later in following if isinstance(later, ToolResultsTurn) for found in later.results]
    hints: tuple[Hint, ...] = tuple(
        hint for _, later in following if isinstance(later, ToolResultsTurn) for hint in later.hints
    )
    results = _match(index, turn.calls, renamed.calls, answers, repairs)
    if results:
        yield ToolResultsTurn(results, hints)
    elif hints:
        yield UserTurn((), hints)


def _speaks(turn: Turn) -> bool:
    return isinstance(turn, AssistantTurn) and not says_nothing(turn)


def _match(
    index: int,
    calls: tuple[ToolUseBlock, ...],
    renamed: tuple[ToolUseBlock, ...],
    answers: list[tuple[int, ToolResult]],
    repairs: list[Repair],
) -> tuple[ToolResult, ...]:
    """One result per call, in call order. Equal ids in one turn take their answers in order."""
    results: list[ToolResult] = []
    taken: list[int] = []
    left = dict(enumerate(answers))
    for call, new in zip(calls, renamed, strict=True):
        place = next((place for place, (_, found) in left.items() if found.call_id == call.id), None)
        if place is None:
            repairs.append(Repair("interrupted", index, new.id))
            results.append(result(new.id, "interrupted", INTERRUPTED))
            continue
        taken.append(place)
        _, found = left.pop(place)
        results.append(found if call.id == new.id else replace(found, call_id=new.id))
    answered = {call.id for call in calls}
    for at, extra in left.values():
        repairs.append(Repair("duplicate_dropped" if extra.call_id in answered else "orphan_dropped", at, extra.call_id))
    if taken != sorted(taken) or any(answers[place][0] != index + 1 for place in taken):
        repairs.append(Repair("reordered", index))
    return tuple(results)
