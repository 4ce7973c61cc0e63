"""The same run once more, over another wire: one line for each round that tells what the first run told."""

from __future__ import annotations

from collections.abc import Sequence

from geode.entrypoints.cli.words import MARKS
from geode.entrypoints.demo.same import comparable
from geode.entrypoints.demo.timeline import Paint, Span, Timeline
from geode.ports.events import Event, Finished, RoundClosed, ToolFinished


class Again(Timeline):
    """Holds back what it would paint until the round is over, and paints it only where it differs from `first`."""

    def __init__(self, paint: Paint, first: Sequence[Event]) -> None:
        super().__init__(self._hold)
        self._shown = paint
        self._first = comparable(first)
        self._told: list[Event] = []
        self._held: list[Sequence[Span]] = []

    def header(self, title: str, details: str, question: str) -> None:
        super().header(title, details, "")
        self._let_out(self._held)

    def event(self, event: Event) -> None:
        super().event(event)
        self._told.append(event)
        if isinstance(event, RoundClosed | Finished):
            told = comparable(self._told)
            if told != self._first[: len(told)]:
                self._let_out(self._held)
            elif isinstance(event, Finished):
                self._let_out(self._held[-1:])  # the sum of the run; the answer was told before
            else:
                self._let_out([self._in_short(event.round)])

    def _hold(self, line: Sequence[Span]) -> None:
        self._held.append(line)

    def _let_out(self, lines: Sequence[Sequence[Span]]) -> None:
        self._held = []
        for line in lines:
            self._shown(line)

    def _in_short(self, round: int) -> Sequence[Span]:
        ended = [event for event in self._told if isinstance(event, ToolFinished) and event.round == round]
        calls = [f"{MARKS[one.result.kind]} {one.call.name}" for one in sorted(ended, key=lambda one: one.index)]
        return [(f"{round:>2}  ", "bold"), ("as above  ", "dim"), "  ".join(calls)]
