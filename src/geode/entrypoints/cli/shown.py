"""What `geode run` shows of a run: the answer alone, text as it comes, or every event as JSON."""

from __future__ import annotations

import sys
from typing import Protocol, TextIO

from geode.domain.json_value import dump_json
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Outcome, Suspended
from geode.entrypoints.cli.jsonl import event_line
from geode.entrypoints.cli.words import MARKS, call_text, name_text, result_text, short, time_text
from geode.ports.events import (
    Event,
    ModelCalled,
    ModelSwitched,
    Nested,
    Notice,
    Retrying,
    TextDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)

_WIDTH = 100


class Shown(Protocol):
    """Is told every event of the run, then how it ended."""

    def event(self, event: Event) -> None: ...
    def end(self, outcome: Outcome) -> None: ...


class AnswerOnly:
    """The answer on `out` when it is whole; `typed`: as the JSON that it is."""

    def __init__(self, out: TextIO, *, typed: bool = False) -> None:
        self._out, self._typed = out, typed

    def event(self, event: Event) -> None:
        _tell_trouble(event)

    def end(self, outcome: Outcome) -> None:
        if isinstance(outcome, Answered) and self._typed:
            print(dump_json(outcome.value), file=self._out)
        elif outcome.text:
            print(outcome.text, file=self._out)
        tell_reason(outcome)


class AsItComes:
    """Text on `out` while it is said, the texts of two rounds apart; calls and results as lines on stderr.

    Those inside a sub-agent are indented behind its name; what it says is no part of the answer.
    """

    def __init__(self, out: TextIO, command: str = "geode run") -> None:
        self._out, self._command = out, command
        self._unended = False
        self._running: set[tuple[str, int, int]] = set()

    def event(self, event: Event) -> None:
        self._event(event, "")

    def _event(self, event: Event, inside: str) -> None:
        match event:
            case Nested(call=call, event=inner):
                self._event(inner, f"{inside}  {name_text(call)} │ ")
            case TextDelta(text=text) if not inside:
                self._out.write(text)
                self._out.flush()
                self._unended = not text.endswith("\n") if text else self._unended
            case ModelCalled() if not inside:
                self._end_line()
            case ToolStarted(call=call):
                self._running.add((event.run_id, event.round, event.index))
                self._tell(f"{inside}→ {call_text(call, _WIDTH)}")
            case ToolProgressed(call=call, message=message):
                self._tell(f"{inside}… {name_text(call)}: {short(message, _WIDTH)}")
            case ToolFinished(call=call, result=result, seconds=seconds):
                ran = (event.run_id, event.round, event.index) in self._running
                if not ran:  # denied, or never fit to run
                    self._tell(f"{inside}→ {call_text(call, _WIDTH)}")
                head = f"{inside}{MARKS[result.kind]} {name_text(call)} {time_text(seconds) if ran else result.kind}  "
                self._tell(head + result_text(result, _WIDTH - len(head)))
            case _:
                if isinstance(event, Retrying | ModelSwitched | Notice):
                    self._end_line()
                _tell_trouble(event, inside)

    def end(self, outcome: Outcome) -> None:
        self.pause()
        tell_reason(outcome, self._command)

    def pause(self, *, unended: bool = False) -> None:
        """Something else is written now; `unended`: the line that the cursor is in is not empty."""
        self._unended = self._unended or unended
        self._end_line()

    def _tell(self, line: str) -> None:
        self._end_line()
        print(line, file=sys.stderr)

    def _end_line(self) -> None:
        if self._unended:
            print(file=self._out, flush=True)
            self._unended = False


class AsJsonLines:
    """One JSON object a line on `out`, and nothing else there."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def event(self, event: Event) -> None:
        print(event_line(event), file=self._out, flush=True)

    def end(self, outcome: Outcome) -> None:
        tell_reason(outcome)


def tell_reason(outcome: Outcome, command: str = "geode run") -> None:
    """One line on stderr, unless the model simply answered."""
    match outcome:
        case Answered():
            return
        case Failed(reason=reason, why=why) | Exhausted(reason=reason, why=why) if why:
            text = f"{reason}: {why}"
        case Suspended(asked=asked):
            text = "no answer yet for " + ", ".join(call.name for call in asked)
        case _:
            text = outcome.reason
    print(f"{command}: {type(outcome).__name__} ({text})", file=sys.stderr)


def _tell_trouble(event: Event, inside: str = "") -> None:
    """`inside`: in which sub-agent it is."""
    match event:
        case Nested(call=call, event=inner):
            _tell_trouble(inner, f"{inside}  {name_text(call)} │ ")
        case Retrying(seconds=seconds, why=why, attempt=attempt):
            print(f"{inside}attempt {attempt} failed: {why}; again in {time_text(seconds)}", file=sys.stderr)
        case ModelSwitched(to_adapter=adapter, to_model=model, why=why):
            print(f"{inside}goes on with {adapter} {model}: {why}", file=sys.stderr)
        case Notice(kind="wrap_up"):
            print(f"{inside}a limit is near: the model is asked to conclude", file=sys.stderr)
        case Notice(kind=kind, text=text) if kind != "tools_denied":  # said before the run, with the option that helps
            print(f"{inside}{text}", file=sys.stderr)
        case _:
            pass
