"""Two observers that are ready to use: lines of a logger, and lines in colour on a terminal."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from geode.domain.approval import Approve, Deny, Later
from geode.domain.errors import Misuse
from geode.domain.usage import dollars
from geode.entrypoints.cli.words import MARKS, call_text, harmless, name_text, result_text, short, time_text
from geode.ports.events import (
    Aborted,
    ApprovalAnswered,
    ApprovalAsked,
    CallDelta,
    Event,
    Finished,
    Hooked,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    ModelSwitched,
    Nested,
    Notice,
    Retrying,
    RoundClosed,
    Summarised,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)

if TYPE_CHECKING:
    from rich.console import Console

Tone: TypeAlias = Literal["plain", "quiet", "good", "warning", "bad"]

_OfCalls: TypeAlias = ApprovalAsked | ApprovalAnswered | Hooked | ToolStarted | ToolProgressed | ToolFinished

_WIDTH: Final = 160
_TONES: Final[dict[str, Tone]] = {
    "ok": "good",
    "failed": "bad",
    "denied": "warning",
    "interrupted": "warning",
    "outcome_unknown": "bad",
}
_STYLES: Final[dict[Tone, str]] = {"plain": "", "quiet": "dim", "good": "green", "warning": "yellow", "bad": "red"}
_LEVELS: Final[dict[Tone, int]] = {
    "plain": logging.INFO,
    "quiet": logging.DEBUG,
    "good": logging.INFO,
    "warning": logging.WARNING,
    "bad": logging.WARNING,
}


@dataclass(frozen=True, slots=True)
class Line:
    """An event in words, on one line that no terminal obeys."""

    text: str
    tone: Tone = "plain"


class LogObserver:
    """Writes every event but deltas to `logger`: trouble as WARNING, requests that leave as DEBUG, the rest as INFO.

    Each record begins with the first letters of the run's id and has the whole event as `record.geode_event`.
    """

    def __init__(self, logger: logging.Logger | str = "geode.run") -> None:
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger

    def __call__(self, event: Event) -> None:
        line = line_of(event)
        if line is not None:
            self._logger.log(_LEVELS[line.tone], "%.8s %s", event.run_id, line.text, extra={"geode_event": event})


class RichObserver:
    """Shows a run on a terminal, in colours: `console` is a rich Console, by default one on stderr.

    With a stream, text as it is said. Misuse where rich is not installed: it comes with the extra `cli`.
    """

    def __init__(self, console: Console | None = None) -> None:
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            raise Misuse("missing-extra", "RichObserver needs rich: pip install 'geode[cli]'") from None
        self._console = console or Console(stderr=True)
        self._text = Text
        self._unended = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            said = "\n".join(harmless(line.expandtabs()) for line in event.text.split("\n"))
            self._print(said, "", end="")
            self._unended = not said.endswith("\n") if said else self._unended
            return
        line = line_of(event)
        if line is not None:
            if self._unended:
                self._print("", "", end="\n")
                self._unended = False
            self._print(line.text, _STYLES[line.tone], end="\n")

    def _print(self, text: str, style: str, *, end: str) -> None:
        self._console.print(self._text(text, style=style, end=""), end=end, soft_wrap=True)


def line_of(event: Event) -> Line | None:
    """What is told of the event; None for deltas, and for the end of a round, whose results were told."""
    match event:
        case Nested(call=call, event=inner):
            line = line_of(inner)
            return line and replace(line, text=f"  {name_text(call)} │ {line.text}")
        # A failed attempt is told by what follows from it.
        case TextDelta() | ThinkingDelta() | CallDelta() | RoundClosed() | ModelFailed() | Summarised():
            return None  # of a summary a Notice says what became of it
        case ModelCalled(model=model, adapter=adapter, tool_choice=choice, wrap_up=wrap_up):
            return Line(f"round {event.round}: asks {adapter} {model} ({choice}{', to conclude' if wrap_up else ''})", "quiet")
        case ModelReplied(calls=calls, usage=usage, stop=stop, route=route):
            wants = f"calls {', '.join(call.name for call in calls)}" if calls else stop.value
            cost = "" if usage.cost_usd is None else f", {dollars(usage.cost_usd)}"
            said = f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}{f', by {route}' if route else ''}"
            return Line(f"round {event.round}: {short(wants, _WIDTH)}; {said}")
        case Retrying(seconds=seconds, why=why):
            return Line(f"attempt {event.attempt} failed: {short(why, _WIDTH)}; again in {time_text(seconds)}", "warning")
        case ModelSwitched(to_adapter=adapter, to_model=model, why=why):
            return Line(f"goes on with {adapter} {model}: {short(why, _WIDTH)}", "warning")
        case Notice(kind=kind, text=text):
            return Line(f"{kind}: {short(text, _WIDTH)}", "warning")
        case Finished(outcome=outcome):
            why = getattr(outcome, "why", "") or outcome.reason
            return Line(f"{type(outcome).__name__}: {short(why, _WIDTH)}", "good" if outcome.reason == "natural" else "bad")
        case Aborted(why=why):
            return Line(f"Aborted: {why}", "bad")
        case _:
            return _of_calls(event)


def _of_calls(event: _OfCalls) -> Line:
    match event:
        case ApprovalAsked(question=question):
            names = ", ".join(asked.call.name for asked in question.calls)
            return Line(f"asks a person about {short(names, _WIDTH)}", "warning")
        case ApprovalAnswered():
            return _answer(event)
        case Hooked(point=point, call=call, changes=changes, veto=veto):
            of = "" if call is None else f" of {call_text(call, _WIDTH)}"
            did = f"changed {', '.join(changes)}" if veto is None else "vetoed"
            return Line(f"hook {point}: {did}{of}{'' if veto is None else f': {short(veto, _WIDTH)}'}", "warning")
        case ToolStarted(call=call):
            return Line(f"→ {call_text(call, _WIDTH)}")
        case ToolProgressed(call=call, message=message):
            return Line(f"… {name_text(call)}: {short(message, _WIDTH)}", "quiet")
        case ToolFinished(call=call, result=result, seconds=seconds):
            head = f"{MARKS[result.kind]} {name_text(call)} {time_text(seconds)}  "
            return Line(head + result_text(result, _WIDTH), _TONES[result.kind])


def _answer(event: ApprovalAnswered) -> Line:
    call = call_text(event.call, _WIDTH)
    match event.decision:
        case Approve(input=edited, always=always):
            how = f", always for this {'tool' if always == 'tool' else 'call'}" if always else ""
            return Line(f"allowed {call}{', with other arguments' if edited is not None else ''}{how}", "good")
        case Deny(why=why):
            return Line(f"denied {call}: {short(why, _WIDTH)}", "warning")
        case Later():
            return Line(f"put off {call}", "warning")
