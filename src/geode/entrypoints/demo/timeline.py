"""How a run looks to a person: round by round, what the model said, what ran side by side, and what came of it."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from geode.domain.approval import Question
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.json_value import dump_json
from geode.domain.loop.outcome import Answered, Failed, Outcome
from geode.entrypoints.cli.stdout import forget_stdout
from geode.entrypoints.cli.words import MARKS, result_text, short, size_text, time_text
from geode.entrypoints.demo.same import DELTAS
from geode.ports.events import (
    ApprovalAsked,
    Event,
    Finished,
    ModelCalled,
    ModelReplied,
    ModelSwitched,
    Nested,
    Notice,
    Retrying,
    RoundClosed,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)

Span: TypeAlias = str | tuple[str, str]
Paint: TypeAlias = Callable[[Sequence[Span]], None]

MIN_WIDTH: Final = 72
MAX_WIDTH: Final = 100
_MARGIN: Final = "    "
_LABEL: Final = 8
_NAME: Final = 12
_ARGUMENTS: Final = 28
_BAR: Final = 10
_SHOWN: Final = 48
_COLORS: Final = {"ok": "green", "failed": "red", "denied": "yellow", "interrupted": "yellow", "outcome_unknown": "yellow"}


def painter(*, color: bool) -> Paint:
    """Prints lines of spans; in colour where that is wanted, stdout is a terminal and rich is installed."""
    if color and sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            return _plain
        console = Console(highlight=False, soft_wrap=True)
        return lambda line: console.print(Text.assemble(*line))
    return _plain


def _plain(line: Sequence[Span]) -> None:
    try:
        print("".join(span if isinstance(span, str) else span[0] for span in line).rstrip(), flush=True)
    except BrokenPipeError:
        forget_stdout()


class Timeline:
    """Is told the events of one run after the other, and paints them as they come."""

    def __init__(self, paint: Paint) -> None:
        self.paint = paint
        columns = shutil.get_terminal_size((MAX_WIDTH, 24)).columns
        self.width = min(max(columns, MIN_WIDTH), MAX_WIDTH)
        self._begin()

    def _begin(self) -> None:
        self._since = time.perf_counter()
        self._thought = ""
        self._deltas = 0
        self._spans: dict[int, list[float]] = {}
        self._finished: dict[int, ToolFinished] = {}
        self._counts: Counter[str] = Counter()

    def legend(self) -> None:
        """What the marks and bars below mean."""
        marks = f"{MARKS['ok']} ok   {MARKS['failed']} failed   ⚑ a person is asked   ▕ ██ ▏ when a call ran, within its round"
        self.paint([(marks, "dim")])

    def header(self, title: str, details: str, question: str) -> None:
        """A new run begins."""
        self._begin()
        rule = "─" * max(self.width - len(title) - len(details) - 4, 2)
        self.paint([])
        self.paint([(f"── {title} ", "bold cyan"), (rule, "cyan"), f" {details}"])
        if question:
            self._say("asked", question, "")

    def event(self, event: Event) -> None:
        now = time.perf_counter()
        self._deltas += isinstance(event, DELTAS)
        match event:
            case ModelCalled(round=1, attempt=1):
                self._since = now  # before it the SDK was imported, which is no part of the run
            case ThinkingDelta(text=text):
                self._thought += text
            case ModelReplied():
                self._replied(event)
            case ApprovalAsked(question=question):
                self._asked(question)
            case ToolStarted(index=index):
                self._spans[index] = [now, now]
            case ToolFinished(index=index):
                self._spans.setdefault(index, [now, now])[1] = now
                self._finished[index] = event
            case RoundClosed():
                self._round_closed()
            case Retrying() | ModelSwitched() | Notice():
                self._trouble(event)
            case Nested():
                self._inside(event, 1)
            case Finished(outcome=outcome):
                self._ended(outcome, event.round)
            case _:
                pass

    def answered(self, answer: str) -> None:
        """What a person said to the question before."""
        self._say("answer", answer, "yellow")
        self._counts["approved"] += 1

    def _trouble(self, event: Retrying | ModelSwitched | Notice) -> None:
        match event:
            case Retrying(why=why, seconds=seconds):
                self._say("retry", f"{why}; again in {time_text(seconds)}", "yellow")
            case ModelSwitched(to_adapter=adapter, to_model=model, why=why):
                self._say("switch", f"{why}; goes on with {adapter} {model}", "yellow")
            case Notice(kind=kind, text=text):
                self._say("notice", f"{kind}: {text}", "yellow")

    def _inside(self, nested: Nested, depth: int) -> None:
        """What ran and was said in a sub-agent, as it comes, behind its name."""
        match nested.event:
            case Nested() as deeper:
                self._inside(deeper, depth + 1)
            case ToolFinished(call=call, result=result, seconds=seconds):
                name, mark = f"{'  ' * depth}{nested.call.name} │ ", MARKS[result.kind]
                room = max(self.width - len(_MARGIN) - len(name) - 30, 12)
                said = f"{mark} {call.name} {time_text(seconds)}  {result_text(result, room)}"
                self.paint([_MARGIN, (name, "dim"), (said, _COLORS[result.kind])])
            case Notice(text=text) | Retrying(why=text) | ModelSwitched(why=text):
                self._say("notice", f"{nested.call.name}: {text}", "yellow")
            case _:
                pass

    # ---- parts of a round ------------------------------------------------------------------------

    def _replied(self, reply: ModelReplied) -> None:
        thought, self._thought = self._thought, ""
        if not reply.calls:
            return
        self.paint([])
        if thought:
            self._say("thinks", thought, "dim italic", reply.round)
        self._say("says", reply.text, "", 0 if thought else reply.round)

    def _asked(self, question: Question) -> None:
        for asked in question.calls:
            call = asked.call
            self._say("⚑ asks", f"May {call.name} run? It is {asked.tier.name}. {_values_in_short(call)}", "yellow")

    def _round_closed(self) -> None:
        first = min((start for start, _ in self._spans.values()), default=0.0)
        last = max((end for _, end in self._spans.values()), default=0.0)
        for index in sorted(self._finished):
            finished = self._finished[index]
            start, end = self._spans[index]
            self._counts.update(("calls", finished.result.kind))
            self._call(finished, _bar(start - first, end - first, last - first))
        self._spans, self._finished = {}, {}

    def _call(self, finished: ToolFinished, bar: str) -> None:
        result: ToolResult = finished.result
        color = _COLORS[result.kind]
        arguments = _arguments(finished.call)
        head = f" {finished.call.name:<{_NAME}} {arguments:<{_ARGUMENTS}} "
        took = f"{time_text(finished.seconds):>7}  "
        room = self.width - len(_MARGIN) - 1 - len(head) - len(bar) - len(took)
        said = result_text(result, max(room, 12))
        self.paint(
            [_MARGIN, (MARKS[result.kind], color), head, (bar, "cyan"), took, (said, color if result.is_error else "dim")]
        )

    def _ended(self, outcome: Outcome, rounds: int) -> None:
        good = isinstance(outcome, Answered)
        self.paint([])
        self._say("answers" if good else type(outcome).__name__, outcome.text, "bold" if good else "red")
        if isinstance(outcome, Failed):
            self._say(outcome.reason, outcome.why, "red")
        self._sum_up(outcome, rounds, good=good)

    def _sum_up(self, outcome: Outcome, rounds: int, *, good: bool) -> None:
        counts, usage = self._counts, outcome.usage
        parts = [f"{rounds} rounds", f"{counts['calls']} calls ({counts['failed']} failed, {counts['approved']} approved)"]
        parts += [f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out", f"{self._deltas} deltas"]
        parts += [time_text(time.perf_counter() - self._since)]
        self.paint([_MARGIN, ("✓ " if good else "✗ ", "green" if good else "red"), (" · ".join(parts), "dim")])

    def _say(self, label: str, text: str, style: str, round: int = 0) -> None:
        """A label and a text beside it; `round` stands in front of them where a round begins."""
        lines = textwrap.wrap(text, self.width - len(_MARGIN) - _LABEL) or [""]
        for number, line in enumerate(lines):
            margin = f"{round:>2}  " if round and not number else _MARGIN
            self.paint([(margin, "bold"), (f"{'' if number else label:<{_LABEL}}", "dim"), (line, style)])


def _arguments(call: ToolUseBlock) -> str:
    """The values in a column; of a long path the end, which tells more, of other things the beginning."""
    whole = ", ".join(_value(value) for value in call.input.values())
    if len(whole) <= _ARGUMENTS or " " in whole.partition(", ")[0]:
        return short(whole, _ARGUMENTS)
    return f"…{whole[1 - _ARGUMENTS :]}"


def _values_in_short(call: ToolUseBlock) -> str:
    """Every argument, a long one by its beginning and its size."""
    shown = ((name, _value(value)) for name, value in call.input.items())
    return ", ".join(
        f"{name}: {short(text, _SHOWN)}" + (f" ({size_text(len(text))})" if len(text) > _SHOWN else "") for name, text in shown
    )


def _value(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _bar(start: float, end: float, whole: float) -> str:
    """When the call ran, within the time of its round."""
    scale = _BAR / whole if whole > 0 else 0.0
    left = min(int(start * scale), _BAR - 1)
    length = max(1, min(round((end - start) * scale), _BAR - left))
    return f"▕{' ' * left}{'█' * length}{' ' * (_BAR - left - length)}▏"
