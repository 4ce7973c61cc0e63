"""What a model keeps doing: rounds that fail, tools that fail, calls that repeat (spec section 6)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.json_value import canonical_json
from geode.domain.naming import first_of, shown_name
from geode.domain.policy import Policy
from geode.domain.tools import ToolFacts
from geode.domain.turns import Hint

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Repeat:
    """One call, known by its signature: the rounds of the window that made it since the last hint, and the hints so far."""

    rounds: tuple[int, ...] = ()
    hints: int = 0


@dataclass(frozen=True, slots=True)
class Habits:
    """What the rules remember of a run.

    `failed_rounds` in a row; `failures` of each tool in a row, at most as many as the recovery chain
    needs; `repeats` by the signature of a call.
    """

    failed_rounds: int = 0
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    repeats: Mapping[str, Repeat] = field(default_factory=dict[str, Repeat])


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a closed round adds up to. `no_progress` tells the operator why the run has to end; "" if it goes on."""

    habits: Habits
    hints: tuple[Hint, ...] = ()
    no_progress: str = ""


def judge_round(
    habits: Habits,
    calls: Sequence[ToolUseBlock],
    results: Sequence[ToolResult],
    *,
    round: int,
    tools: Mapping[str, ToolFacts],
    policy: Policy,
) -> Judgement:
    """The habits after the round with this number, and what the model is told about them."""
    failed, failed_rounds = round_failed(results), failed_in_a_row(habits.failed_rounds, results)
    repeats, overdue = repeated(habits.repeats, calls, round, tools, policy)
    after = Habits(failed_rounds, failures_in_a_row(habits.failures, calls, results, tools, policy), repeats)
    most = policy.max_no_progress_hints
    stuck = [call for call in overdue if most is not None and repeats[signature(call)].hints > most]
    if stuck:
        return Judgement(after, (), f"the same call of {_names(stuck)} came again, after {most} hints")
    hints: list[Hint] = []
    if failed and failed_rounds >= policy.backpressure_rounds:
        hints.append(Hint("backpressure", backpressure_text(failed_rounds)))
    if overdue:
        hints.append(Hint("no_progress", no_progress_text(overdue, policy)))
    return Judgement(after, tuple(hints))


def round_failed(results: Iterable[ToolResult]) -> bool | None:
    """Whether a round failed: something did and nothing succeeded. None where it did neither."""
    kinds = {one.kind for one in results}
    if "ok" in kinds:
        return False
    return True if "failed" in kinds else None


def failed_in_a_row(before: int, results: Iterable[ToolResult]) -> int:
    """Failed rounds in a row; a round that neither failed nor succeeded leaves the count as it is."""
    match round_failed(results):
        case True:
            return before + 1
        case False:
            return 0
        case None:
            return before


def failures_in_a_row(
    before: Mapping[str, int],
    calls: Sequence[ToolUseBlock],
    results: Sequence[ToolResult],
    tools: Mapping[str, ToolFacts],
    policy: Policy,
) -> Mapping[str, int]:
    """Failures of each tool in a row, in call order.

    A success and an error marked not recoverable begin anew; what is neither counts for nothing. It
    stays at what the recovery chain needs, so that an exhausted chain leaves it there.
    """
    after = dict(before)
    for call, found in zip(calls, results, strict=True):
        if call.name not in tools or found.kind not in ("ok", "failed"):
            continue
        counts = found.kind == "failed" and found.recoverable
        after[call.name] = min(after.get(call.name, 0) + 1, policy.recovery_failures) if counts else 0
    return after


def repeated(
    before: Mapping[str, Repeat],
    calls: Iterable[ToolUseBlock],
    round: int,
    tools: Mapping[str, ToolFacts],
    policy: Policy,
) -> tuple[Mapping[str, Repeat], tuple[ToolUseBlock, ...]]:
    """The repeats after this round, and its calls that are due for a hint, each once.

    Only the rounds of the window count, and a call that is due begins anew. Pollers are exempt.
    """
    made = {signature(call): call for call in calls if not _polls(call, tools)}
    first = round - policy.no_progress_window + 1
    # Most stay as they are from round to round; none of those is made anew.
    after = {key: known if _within(known, first) else _since(known, first) for key, known in before.items() if key not in made}
    after = {key: known for key, known in after.items() if known.rounds or known.hints}
    overdue: list[ToolUseBlock] = []
    for key, call in made.items():
        known = _since(before.get(key, Repeat()), first)
        if len(known.rounds) + 1 >= policy.no_progress_rounds:
            overdue.append(call)
            after[key] = Repeat((), known.hints + 1)
        else:
            after[key] = Repeat((*known.rounds, round), known.hints)
    return after, tuple(overdue)


def _within(known: Repeat, first: int) -> bool:
    return not known.rounds or known.rounds[0] >= first


def _since(known: Repeat, first: int) -> Repeat:
    return Repeat(tuple(number for number in known.rounds if number >= first), known.hints)


def signature(call: ToolUseBlock) -> str:
    """The same for the same tool with equal arguments (`same_json`), and short however long these are."""
    arguments = canonical_json(call.input) if call.unparsed is None else f"unparsed {canonical_json(call.unparsed)}"
    return hashlib.sha256(f"{canonical_json(call.name)} {arguments}".encode()).hexdigest()[:32]


def _polls(call: ToolUseBlock, tools: Mapping[str, ToolFacts]) -> bool:
    return call.name in tools and tools[call.name].poller


def backpressure_text(failed_rounds: int) -> str:
    """What the model is told when its rounds keep failing."""
    return (
        f"All calls of the last {failed_rounds} rounds with results failed. Do not go on in the same way: "
        "take another approach, or say what keeps you from going on."
    )


def no_progress_text(overdue: Sequence[ToolUseBlock], policy: Policy) -> str:
    """What the model is told when it repeats itself."""
    return (
        f"In {policy.no_progress_rounds} of the last {policy.no_progress_window} rounds you called {_names(overdue)} "
        "with the same arguments. The same call again brings nothing new: change its arguments, use another tool, "
        "or answer with what you have."
    )


def _names(calls: Sequence[ToolUseBlock]) -> str:
    return first_of(list(dict.fromkeys(shown_name(call.name) for call in calls)), _NAMED)
