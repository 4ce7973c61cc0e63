"""What `geode runs` says of a recording."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from geode.domain.content import Text, ToolResult, ToolUseBlock
from geode.domain.loop.actions import CallModel, Compact, Finish, RunStage, Suspend, SwitchModel, Wait
from geode.domain.loop.inner import inner_run_id
from geode.domain.loop.outcome import Failed
from geode.domain.loop.recording import Began, Recording, Replayed, replay
from geode.domain.loop.state import State
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn
from geode.domain.usage import Usage, dollars
from geode.entrypoints.cli.words import MARKS, call_text, counted, result_text, short

_WIDTH: Final = 100
_PROMPT: Final = 40
_ID: Final = 12


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a list; `began` is in epoch seconds, `state` says where it stopped.

    `model` is the one that was asked last; `left` says why others were asked no more. `inside` is the run that it was
    a call of; `inner` are the ids that runs inside its own calls have, or would have.
    """

    run_id: str
    state: str
    began: float | None = None
    rounds: int = 0
    tool_calls: int = 0
    prompt: str = ""
    model: str = ""
    tokens: int = 0
    torn: bool = False
    left: tuple[str, ...] = ()
    inside: str = ""
    inner: frozenset[str] = field(default=frozenset(), repr=False)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "inner"}

    def cells(self) -> tuple[str, ...]:
        began = "" if self.began is None else _time(self.began)
        id = self.run_id if len(self.run_id) <= _ID else self.run_id[:_ID]
        prompt = f"(in {self.inside[:_ID]}) {self.prompt}" if self.inside else self.prompt
        return (id, began, str(self.rounds), str(self.tool_calls), self.state, short(prompt, _PROMPT))


def with_outer(lines: Sequence[RunLine]) -> list[RunLine]:
    """The same, each run of a sub-agent after the one that it was a call of."""
    outer = {id: line.run_id for line in lines for id in line.inner}
    inside: dict[str, list[RunLine]] = {}
    for line in lines:
        inside.setdefault(outer.get(line.run_id, ""), []).append(replace(line, inside=outer.get(line.run_id, "")))

    def with_inner(line: RunLine) -> Iterator[RunLine]:
        yield line
        for one in inside.get(line.run_id, ()):
            yield from with_inner(one)

    return [one for line in inside.get("", ()) for one in with_inner(line)]


def table_of(lines: Iterable[RunLine]) -> Iterator[str]:
    """The runs as lines of text, under a head."""
    shown = [("RUN", "BEGAN (UTC)", "ROUNDS", "CALLS", "STATE", "PROMPT"), *(line.cells() for line in lines)]
    widths = [max(len(row[place]) for row in shown) for place in range(5)]
    for row in shown:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]).rstrip()


def line_of(recording: Recording, run_by: str | None) -> RunLine:
    """The run on one line; `run_by`: who runs it at the moment, if anybody does."""
    found = replay(recording)
    state = found.state
    if state is None:
        return RunLine(recording.run_id, "never began", torn=recording.torn)
    first = state.closed.turns[state.terms.first_turn - 1 : state.terms.first_turn]
    owner, counters = state.terms.owner, state.counters
    return RunLine(
        recording.run_id,
        _stopped_at(found, state, run_by),
        _began(recording),
        counters.rounds,
        counters.tool_calls + (0 if state.open is None else state.open.executions),
        first[0].text if first and isinstance(first[0], UserTurn) else "",
        f"{owner.adapter} {owner.model}",
        counters.usage.total_tokens,
        recording.torn,
        state.left,
        inner=_inner_runs(state),
    )


def _cost(usage: Usage) -> str:
    """What is known of it, and that something is not."""
    known = [] if usage.cost_usd is None else [dollars(usage.cost_usd)]
    unknown = [f"{counted(usage.unpriced_calls, 'reply', 'replies')} of unknown cost"] if usage.unpriced_calls else []
    return "".join(f", {part}" for part in (*known, *unknown))


def _inner_runs(state: State) -> frozenset[str]:
    """The ids that runs inside its calls have, in whichever step of a recovery."""
    steps = range(state.terms.policy.max_recovery_executions + 1)
    calls = {*state.call_ids, *(() if state.open is None else (call.id for call in state.open.turn.calls))}
    return frozenset(inner_run_id(state.terms.run_id, id, step) for id in calls for step in steps)


def _began(recording: Recording) -> float | None:
    """When it was begun first: the state of a run that was taken up leaves out the time between."""
    return next((record.state.terms.started_at for record in recording.records if isinstance(record, Began)), None)


def _stopped_at(found: Replayed, state: State, run_by: str | None) -> str:
    if found.divergence is not None:
        return f"decided otherwise at record {found.divergence.record}"
    match state.pending:
        case Finish(outcome=outcome):
            kind = type(outcome).__name__.lower()
            return kind if outcome.reason == "natural" else f"{kind} ({outcome.reason})"
        case Suspend(asked=asked):
            return "waits for a person: " + ", ".join(state.round.call(id).name for id in asked)
        case _ if run_by is not None:
            return f"running, by {run_by}"
        case CallModel() | Wait():
            return "cut off while the model was asked"
        case SwitchModel(to=to):
            return f"cut off before {to.adapter} {to.model} was asked"
        case Compact():
            return "cut off while its conversation was compacted"
        case RunStage(start=start, ask=ask):
            names = ", ".join(state.round.call(id).name for id in (*start, *ask))
            return f"cut off during {names}"


def told_run(recording: Recording, line: RunLine) -> Iterator[str]:
    """The run as lines of text."""
    yield f"run     {recording.run_id}"
    yield f"state   {line.state}"
    found = replay(recording)
    if found.state is None or line.began is None:
        return
    yield f"began   {_time(line.began)} UTC"
    yield f"model   {line.model}"
    yield from (f"left    {why}" for why in line.left)
    yield f"spent   {line.rounds} rounds, {line.tool_calls} tool calls, {line.tokens} tokens{_cost(found.state.counters.usage)}"
    if recording.torn:
        yield "torn    the last line was cut off and is left out"
    yield ""
    names: dict[str, str] = {}
    for turn in found.state.closed.turns:
        yield from _turn(turn, names)
    if found.state.open is not None:
        yield from _turn(found.state.open.turn, names)
        yield from (_result(names, one) for one in found.state.open.results.values())
    match found.state.pending:
        case Finish(outcome=Failed(why=why)):
            yield why
        case _:
            pass


def _turn(turn: Turn, names: dict[str, str]) -> Iterator[str]:
    match turn:
        case UserTurn():
            yield f"user    {short(turn.text, _WIDTH)}"
        case AssistantTurn():
            for item in turn.items:
                if isinstance(item, Text) and item.text.strip():
                    yield f"model   {short(item.text, _WIDTH)}"
                elif isinstance(item, ToolUseBlock):
                    names[item.id] = item.name
                    yield f"→ {call_text(item, _WIDTH)}"
        case ToolResultsTurn():
            yield from (_result(names, one) for one in turn.results)
    if not isinstance(turn, AssistantTurn):
        yield from (f"hint    {short(hint.text, _WIDTH)}" for hint in turn.hints)


def _result(names: dict[str, str], one: ToolResult) -> str:
    head = f"{MARKS[one.kind]} {names.get(one.call_id, one.call_id)} {one.kind}  "
    return head + result_text(one, _WIDTH - len(head))


def conversation_json(recording: Recording) -> Any:
    """The conversation of its closed rounds, as `Conversation.loads` takes it; None where there is none."""
    state = replay(recording).state
    return None if state is None else json.loads(state.closed.dumps())


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return f"{seconds:g}"
