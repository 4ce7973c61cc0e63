"""Plays a run, whatever happens in it, and checks after every input that the loop and the book agree.

What happens next is picked by the pending action. `step` gets the input, and so does `Book`, the rules
once more; what is pending, what is in the conversation and how it ends must then be the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeVar

import pytest

from geode.domain.answers import AnswerTerms
from geode.domain.approval import Approve, Decision, Deny, Grant, Later
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.codec import dumps, loads
from geode.domain.content import Owner, ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import IllegalInput
from geode.domain.failures import RetryHint
from geode.domain.loop.actions import CallModel, Compact, Finish, RunStage, Suspend, SwitchModel, Wait
from geode.domain.loop.inputs import (
    CallChanged,
    CallRefused,
    CallVetoed,
    Checked,
    Compacted,
    Decided,
    Input,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StopRequested,
    Switched,
    TimePassed,
    ToolFinished,
    ToolsChanged,
    Waited,
)
from geode.domain.loop.outcome import Answered
from geode.domain.loop.resuming import taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.rounds import executions
from geode.domain.spent import BROKEN_OFF, Spent
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn
from geode.domain.usage import Usage
from geode.domain.verdicts import AnswerVerdict, Invalid, Unknown, Valid, Verdict
from tests.unit.domain.book import Book, Noted, breaches, meant
from tests.unit.domain.builders import OWNER, begun, failure, ok, reply

NAMES = ("t0", "t1", "t2", "t3")
# The tool by which others are found and called, in runs that have it.
SEARCH = "search_tools"
SOMETIMES: list[dict[str, ToolFacts]] = [{}, {SEARCH: ToolFacts(SafetyTier.SAFE, "digest", forwards=True)}]
INPUTS: list[dict[str, Any]] = [{}, {"p": 1}, {"p": 1.0}, {"p": True}, {"p": 2}]
# Most of what is picked lets a run go on, else runs would be short and nothing would happen in them.
STOPS_WITH_CALLS = [*[Stop.TOOL_CALLS] * 150, *Stop]
STOPS_WITHOUT = [*[Stop.PAUSE] * 4, *[Stop.END] * 4, *Stop]
VERDICTS: list[Verdict] = [*[Valid()] * 15, Invalid(("/p: bad",))]
FAULTS = [
    *[failure(503), failure(429, hint=RetryHint(5.0, False, "5")), failure(None, phase="connect"), failure(408)] * 6,
    *[failure(429, hint=RetryHint(900.0, False, "900"))] * 3,
    failure(200, phase="stream", after_output=True),
    *[replace(failure(503), usage=Usage(20, 5)), replace(failure(None, phase="connect"), usage=Usage(20, 0))] * 2,
    *(failure(400), failure(402), failure(401), *[failure(400, code="context_length_exceeded")] * 3),
]
ANSWERS: list[Decision] = [
    *[Approve()] * 6,
    *(Approve(always="tool"), Approve(always="arguments"), Deny(), Deny(), Later(), Later(), Later()),
    *(Approve({"p": 9}), Approve({"p": 9}, "tool"), Approve({"p": 9}, "arguments")),
]
# How tools do in a run: some runs are full of failures.
MOODS: list[list[ResultKind]] = [
    ["ok", "ok", "failed", "outcome_unknown", "interrupted"],
    ["ok", "failed", "failed", "failed", "failed", "denied"],
    ["failed", "failed", "failed", "failed", "failed", "failed", "failed", "failed", "failed", "ok"],
]
# What happens beside the usual, once in a while.
MOMENTS = [*["on"] * 150, "stop", "interrupt"]
SECONDS = [*[0.0] * 16, 1.0, 25.0]
# Bounds of what is picked above: of a run's rounds, of the calls of a round, and of answers put off.
MOST_ROUNDS, MOST_CALLS, MOST_PUT_OFF = 16, 5, 12
# The models that a run may switch to.
OTHERS = (Owner("other-payg", "other-1"), Owner("acme-payg", "acme-2"))

BESIDE: list[Literal["finish_tools", "early"]] = ["finish_tools", "finish_tools", "early"]
# What the answer has to fit, in runs in which it has to.
TYPED = [None, AnswerTerms("digest", "{}")]

FITTING: list[AnswerVerdict] = [Valid(), *[Invalid(("/a: bad",))] * 2]

T = TypeVar("T")


class Pick(Protocol):
    """Chooses what happens next: by chance, or by Hypothesis, which looks for the shortest run that goes wrong."""

    def __call__(self, options: Sequence[T], /) -> T: ...


def some_policy(pick: Pick) -> Policy:
    return Policy(
        max_rounds=pick([*[MOST_ROUNDS] * 6, 8, 8, 5, 4, 3, 2, 1]),
        max_seconds=pick([None, None, None, 60.0]),
        max_tool_calls=pick([*[None] * 8, 20, 8, 4, 1, 0]),
        max_total_tokens=pick([*[None] * 7, 1000, 300, 100]),
        max_cost_usd=pick([*[None] * 9, Decimal("0.05"), Decimal(1)]),
        max_pauses=pick([2, 1, 0]),
        max_empty_replies=pick([1, 0]),
        backpressure_rounds=pick([3, 3, 2, 1]),
        no_progress_rounds=pick([5, 5, 3, 2]),
        no_progress_window=pick([10, 10, 4]),
        max_no_progress_hints=pick([3, 3, 1, 0, None]),
        recovery_failures=pick([2, 2, 1]),
        recovery_seconds=pick([1.0, 1.0, 0.0]),
        max_recovery_executions=pick([3, 3, 3, 2, 1, 0]),
        answer_repairs=pick([1, 1, 2, 0]),
        answer_beside_calls=pick(BESIDE),
        compact_above=pick([None, None, 0.5, 1.0]),
        compact_keep_rounds=pick([2, 1, 0]),
        grants=tuple(Grant(pick(NAMES), pick([None, *INPUTS])) for _ in range(pick([0, 0, 1, 2]))),
    )


def some_tool(pick: Pick) -> ToolFacts:
    tiers = [*[SafetyTier.SAFE, SafetyTier.EXPENSIVE] * 2, *SafetyTier]
    stands_in = [*[None] * 2, *NAMES, "gone"]
    return ToolFacts(
        pick(tiers),
        pick([*["digest"] * 9, "another"]),
        alternative=pick(stands_in),
        fallback=pick(stands_in),
        max_calls=pick([*[None] * 8, 3, 1]),
        poller=pick([False] * 5 + [True]),
    )


class Onlooker:
    """Drives a run by what is pending. A `thorough` one also stores it before every input, and tries what is out of place."""

    def __init__(self, pick: Pick, *, thorough: bool = True) -> None:
        self.pick, self.thorough = pick, thorough
        self.tools: Mapping[str, ToolFacts] = {**{name: some_tool(pick) for name in NAMES}, **pick(SOMETIMES)}
        self.policy = some_policy(pick)
        self.can_ask = pick([True, True, True, False])
        can_compact = pick([True, False])
        self.mood = pick(MOODS)
        self.inputs_of = pick([INPUTS, INPUTS[:1], INPUTS[1:3]])
        choices: list[ToolChoice] = [*[Auto()] * 12, NoTools(), Required(), Named("t0")]
        first_choice = pick(choices)
        typed = pick(TYPED)
        self.fallbacks = OTHERS[: pick([0, 1, 2, 2])]
        models = [owner.model for owner in (OWNER, *self.fallbacks)]
        windows = pick([{}, dict.fromkeys(models, 40), dict.fromkeys(models[:1], 30)])
        self.windows = {one.name: windows[one.model] for one in (OWNER, *self.fallbacks) if one.model in windows}
        self.state = begun(
            self.policy,
            tools=self.tools,
            can_ask=self.can_ask,
            can_compact=can_compact,
            first_choice=first_choice,
            fallbacks=self.fallbacks,
            answer=typed,
            windows=self.windows,
        )
        self.book = Book(
            self.policy,
            self.tools,
            can_ask=self.can_ask,
            can_compact=can_compact,
            first_choice=first_choice,
            models=models,
            windows=windows,
            typed=typed is not None,
        )
        # A copy that goes through the codec before every input.
        self.twin = self.state
        self.now = 0.0
        self.inputs = self.put_off = self.changes_of_tools = 0
        self.used = Usage()
        self.given = set[str]()
        # The names of the rules that this run met, for whoever counts them.
        self.met: set[str] = set()

    # ---- what comes next

    def run(self) -> None:
        self.check()
        while not isinstance(self.state.pending, Finish):
            if self.thorough:
                self.refuse_what_is_out_of_place()
            self.take(self.next_input())
            # A round: a compaction ahead of it, at most three attempts with a wait after each, a switch or a compaction
            # twice in the run, and for each call four checks, answers and results.
            most = MOST_ROUNDS * (1 + 2 * 3 + 12 * MOST_CALLS) + 2 * (2 * 3 + 1) + 2 * 2
            assert self.inputs <= most + self.put_off + self.changes_of_tools + 1, "the run does not end"
        if self.thorough:
            self.refuse_what_is_out_of_place()
        self.check_the_end()

    def next_input(self) -> Input:
        self.now += self.pick(SECONDS)
        moment = self.pick(MOMENTS)
        if moment == "stop":
            return self.stop()
        if moment == "interrupt":
            return Interrupted(self.now)
        match self.state.pending:
            case CallModel():
                return self.other_tools() if self.pick([False] * 12 + [True]) else self.model_input()
            case Wait(seconds=seconds):
                self.now += seconds
                return Waited(self.now)
            case SwitchModel():
                self.met.add("switch")
                return Switched(self.now, self.pick([*[""] * 9, "no key"]))
            case Compact():
                self.met.add("compact ahead" if self.state.pending.ahead else "compact")
                return self.compaction()
            case RunStage() as stage:
                return self.stage_input(stage)
            case Suspend(asked=asked):
                if self.pick([False, True]):
                    self.resume()
                return self.answer(self.pick(asked))
            case Finish():
                raise AssertionError

    def stop(self) -> Input:
        """The model may have been asked, and may have shown something."""
        asked = isinstance(self.state.pending, CallModel) and self.pick([True, False])
        self.used += Usage(unpriced_calls=1) if asked else Usage()
        return StopRequested(self.now, self.pick(["", "hm"]), BROKEN_OFF) if asked else StopRequested(self.now)

    def stage_input(self, stage: RunStage) -> Input:
        start, ask, check = stage.start, stage.ask, stage.check
        assert start or ask or check, "a stage that waits for nothing never ends"
        id = self.pick([*start, *ask, *check])
        if self.policy.max_seconds is not None and self.pick([False] * 30 + [True]):
            self.now += self.policy.max_seconds
            return TimePassed(self.now)
        if id in check:
            return Checked(self.now, id, self.pick([*VERDICTS, Unknown(())]))
        if self.pick([False] * 12 + [True]):
            return self.step_in(id)
        return self.answer(id) if id in ask else self.finish(id)

    def other_tools(self) -> Input:
        """Tools come and go, and come back as others."""
        self.met.add("tools changed")
        self.changes_of_tools += 1
        names = [name for name in NAMES if self.pick([True] * 4 + [False])]
        found = {name: self.pick([self.tools.get(name, some_tool(self.pick)), some_tool(self.pick)]) for name in names}
        self.tools = {**found, **self.pick(SOMETIMES)}
        return ToolsChanged(self.now, self.tools)

    def model_input(self) -> Input:
        texts = ["text"] * (12 if self.book.typed else 2)
        kind = self.pick([*["calls"] * 36, *texts, "fail", "fail", "fail", "refuse"])
        if kind == "fail":
            return ModelFailed(self.now, self.pick(FAULTS), self.pick([0.0, 0.5, 0.99]))
        if kind == "refuse" and self.pick([False, True]):
            return CallRefused(self.now, "it cannot leave")
        calls = [self.some_call() for _ in range(self.pick([1, 1, *range(1, MOST_CALLS + 1)]))] if kind == "calls" else []
        stop = self.pick(STOPS_WITH_CALLS if calls else STOPS_WITHOUT)
        cost = self.pick([None, *[Decimal("0.01")] * 4]) if self.policy.max_cost_usd is not None else None
        usage = Usage(self.pick([0, 10, 30]), self.pick([0, 5]), cost)
        said = AdapterCallResult((Text(self.pick(["", " ", "hm"])), *calls), stop, usage)
        runs = [meant(one, one.id, self.tools) for one in calls]
        self.met.update("called through the search" for one, run in zip(calls, runs, strict=True) if one.name != run.name)
        known = self.tools.keys()
        verdicts = tuple(self.pick(VERDICTS) if one.name in known else Unknown(()) for one in runs)
        answer = self.pick(FITTING) if self.book.judges(said) else None
        self.met.update(["answer judged beside calls" if calls else "answer judged"] if answer is not None else [])
        return ModelReplied(self.now, said, verdicts, answer)

    def some_call(self) -> ToolUseBlock:
        name = self.pick([*NAMES * 5, *["t0"] * 12, "nope"])
        id, arguments = self.pick(["", "a", "b", "c", "call_g1_0"]), self.pick(self.inputs_of)
        if self.pick([True] * 5 + [False]):
            return ToolUseBlock(id, name, arguments)
        ways: list[dict[str, Any]] = [
            *[{"name": name, "arguments": arguments}] * 3,
            *({"name": name, "arguments": json.dumps(arguments)}, {"name": name}, {"query": "q"}, {"query": "q", "name": name}),
        ]
        return ToolUseBlock(id, SEARCH, self.pick(ways))

    def finish(self, id: str) -> Input:
        kind, recoverable = self.pick(self.mood), self.pick([True] * 9 + [False])
        spent = self.pick([None] * 9 + [Spent(Usage(20, 5, Decimal("0.01")), 1)])
        if spent is not None:
            self.used, self.met = self.used + spent.usage, self.met | {"spent inside"}
        return ToolFinished(self.now, ToolResult(id, kind, (Text(f"{kind} {self.inputs}"),), "", recoverable), spent)

    def answer(self, id: str) -> Input:
        # Nobody puts everything off for ever.
        decision = self.pick(ANSWERS) if self.put_off < MOST_PUT_OFF else Deny()
        self.put_off += isinstance(decision, Later)
        edited = isinstance(decision, Approve) and decision.input is not None
        return Decided(self.now, id, decision, self.pick(VERDICTS) if edited else None)

    def step_in(self, id: str) -> Input:
        """The application changes or forbids what is about to run."""
        if id in self.state.round.decisions or self.pick([True, False]):
            return CallVetoed(self.now, id, "not here")
        return CallChanged(self.now, id, self.pick(self.inputs_of))

    def compaction(self) -> Input:
        """What the run can go on with: one turn in the place of those before a cut that parts no call from its result."""
        turns = self.state.closed.turns
        cuts = [cut for cut in range(len(turns)) if not isinstance(turns[cut], ToolResultsTurn)]
        cut = self.pick([*cuts[-6:], None]) if cuts else None
        usage = self.pick([Usage(), Usage(20, 5, Decimal("0.01"))])
        self.used += usage
        if cut is None:
            return Compacted(self.now, None, "no idea", Spent(usage), usage)
        summary = UserTurn((Text(f"before input {self.inputs}"),))
        return Compacted(self.now, Conversation((summary, *turns[cut:])), spent=Spent(usage), last=self.pick([Usage(), usage]))

    def resume(self) -> None:
        """Take the suspended run up again with the same tools: nothing changes but the time."""
        before = self.state
        self.now += 1000.0
        answered = [call.id for call in before.round.postponed]
        self.state = taken_up(self.state, OWNER, self.tools, self.now, answered, fallbacks=self.fallbacks, windows=self.windows)
        twin = loads(State, dumps(self.twin))
        self.twin = taken_up(twin, OWNER, self.tools, self.now, answered, fallbacks=self.fallbacks, windows=self.windows)
        self.book.taken_up(self.now)
        assert (self.state.pending, self.state.open, self.state.closed) == (before.pending, before.open, before.closed)
        left = before.remaining_seconds
        assert self.state.remaining_seconds == (left if left is None else pytest.approx(left))

    # ---- taking an input

    def take(self, input: Input) -> None:
        before = self.state
        self.inputs += 1
        self.state = step(before, input)
        self.twin = step(loads(State, dumps(self.twin)) if self.thorough else self.twin, input)
        if isinstance(input, ModelReplied):
            self.used += input.reply.usage
        if isinstance(input, ModelFailed):
            self.used += input.failure.usage or Usage()
        ids = self.ids(before)
        if isinstance(input, ModelReplied):
            assert self.given.isdisjoint(ids), "an id is given once in a run, compacted or not"
            self.given.update(ids)
        self.book.take(input, ids)
        self.check()
        if not isinstance(input, Compacted):
            assert self.state.closed.turns[: len(before.closed.turns)] == before.closed.turns, "what was stored stays so"
        assert self.twin == self.state

    def ids(self, before: State) -> list[str]:
        """The ids that the calls of the round were given: the domain's to give, and the only thing the book is told."""
        turns = [self.state.open.turn] if self.state.open else self.state.closed.turns[len(before.closed.turns) :]
        return [call.id for turn in turns if isinstance(turn, AssistantTurn) for call in turn.calls]

    # ---- what must hold after every input

    def check(self) -> None:
        assert self.pending() == self.book.pending
        if not isinstance(self.state.pending, Finish):
            assert self.state.terms.owner.model == self.book.models[0], "the run stays with the model that it switched to"
        self.check_turns()
        if isinstance(self.state.pending, RunStage):
            self.check_what_runs()
        if self.thorough:
            assert breaches(self.state.closed.turns) == []

    def pending(self) -> tuple[Any, ...]:
        """What is pending, in the words of the book."""
        match self.state.pending:
            case CallModel(round, attempt, choice, cause, limit, seconds):
                assert self.state.open is None
                return ("call", round, attempt, choice, cause, limit, seconds)
            case Wait(seconds=seconds):
                return ("wait", seconds)
            case SwitchModel(to=to):
                assert self.state.open is None
                return ("switch", to.model)
            case Compact(ahead=ahead):
                return ("compact", ahead)
            case RunStage(start=start, ask=ask, check=check):
                assert len({*start, *ask, *check}) == len([*start, *ask, *check]), "each is started, asked or checked"
                runs = {one.call.id: (one.call.name, one.call.input, one.delay_seconds) for one in executions(self.state)}
                assert runs.keys() == set(start)
                return ("stage", runs, set(ask), set(check))
            case Suspend(asked=asked):
                return ("suspend", set(asked))
            case Finish(outcome=outcome):
                return ("end", type(outcome).__name__, outcome.reason, outcome.text)

    def check_turns(self) -> None:
        """Each turn is what the book has in its place."""
        turns = self.state.closed.turns
        assert len(turns) == len(self.book.turns)
        for turn, noted in zip(turns[-3:], self.book.turns[-3:], strict=True):
            match turn:
                case UserTurn(items=(), hints=hints):
                    assert noted == ("hint", [hint.kind for hint in hints])
                    self.met.update(hint.kind for hint in hints)
                case UserTurn():
                    assert noted == ("user",)
                case AssistantTurn(text=text, calls=calls):
                    assert noted == ("assistant", text, len(calls))
                case ToolResultsTurn(results=results, hints=hints):
                    assert noted[0] == "results"
                    assert [hint.kind for hint in hints] == noted[-1]
                    for found, expected in zip(results, noted[1], strict=True):
                        assert (found if isinstance(expected, ToolResult) else found.kind) == expected
                    self.met.update(hint.kind for hint in hints)

    def check_what_runs(self) -> None:
        """Whatever the book says of the order: nothing runs that nobody allowed, and no change beside anything else."""
        for one in self.book.round:
            if one.running:
                self.met.add(one.step or "plain")
                assert one.may_run(self.book.grants), "it needs an approval or a grant"
                others = [other for other in self.book.round if other.running and other is not one]
                assert not others or not self.changes(one), "a change is alone"
            if one.executed:
                assert not self.changes(one), "what changes something is not tried again"
                assert len(one.executed) <= self.policy.max_recovery_executions
                for step, found in zip(one.executed, one.executed[1:], strict=False):
                    assert step.kind == "failed", f"{found} came after {step}"

    def changes(self, one: Noted) -> bool:
        return one.tier in (SafetyTier.WRITE, SafetyTier.DANGEROUS)

    # ---- the end

    def check_the_end(self) -> None:
        assert isinstance(self.state.pending, Finish)
        outcome = self.state.pending.outcome
        self.met.add(outcome.reason)
        assert self.state.open is None
        assert outcome.conversation == self.state.closed
        assert (outcome.usage, outcome.run_id) == (self.used, "run-1")
        assert breaches(outcome.conversation.turns) == []
        executed = self.state.counters
        assert sum(executed.calls_of.values()) == len(self.book.executions)
        assert executed.tool_calls == self.book.calls_made
        # What a call spends inside, nobody here keeps within the budget.
        inside = sum(spent.tool_calls for spent in self.book.inside)
        assert self.policy.max_tool_calls is None or executed.tool_calls - inside <= self.policy.max_tool_calls
        for name, facts in {} if self.changes_of_tools else self.tools.items():
            assert facts.max_calls is None or executed.calls_of.get(name, 0) <= facts.max_calls
        if isinstance(outcome, Answered):
            assert outcome.text.strip()
        if self.book.stopping:
            assert outcome.reason == "stopped"

    # ---- what must not be

    def refuse_what_is_out_of_place(self) -> None:
        input = self.pick(self.out_of_place())
        before = dumps(self.state)
        with pytest.raises(IllegalInput):
            step(self.state, input)
        assert dumps(self.state) == before

    def out_of_place(self) -> list[Input]:
        """Inputs that what is pending does not allow."""
        pending, later = self.state.pending, self.now + 1
        model: list[Input] = [ModelReplied(later, reply("x")), ModelFailed(later, failure(503), 0.5), CallRefused(later, "no")]
        waited: list[Input] = [Waited(later)]
        ids = ["nobody", "", *(one.call.id for one in self.book.round)]
        running = pending.start if isinstance(pending, RunStage) else ()
        check = pending.check if isinstance(pending, RunStage) else ()
        about_to_be_asked = pending.ask if isinstance(pending, RunStage) else ()
        asked = pending.ask if isinstance(pending, RunStage) else ()
        asked = (*asked, *(one.call.id for one in self.book.round if one.put_off and not one.done))
        round: list[Input] = [ToolFinished(later, ok(id)) for id in ids if id not in running]
        round += [Decided(later, id, decision) for id in ids if id not in asked for decision in (Approve(), Deny(), Later())]
        round += [Decided(later, id, Approve({"p": 9})) for id in asked]
        round += [Checked(later, id, Valid()) for id in ids if id not in check]
        decided = self.state.open.decisions if self.state.open is not None else {}
        round += [CallVetoed(later, id, "no") for id in ids if id not in (*running, *about_to_be_asked)]
        entered = [id for id in ids if id in decided or id not in (*running, *about_to_be_asked)]
        round += [CallChanged(later, id, {}) for id in entered]
        if not isinstance(pending, CallModel):
            round.append(ToolsChanged(later, self.tools))
        if not isinstance(pending, SwitchModel):
            waited.append(Switched(later))
        if not isinstance(pending, Compact):
            waited.append(Compacted(later, None, "never asked"))
        match pending:
            case CallModel():
                told = reply(ToolUseBlock("a", "t0", {}))
                wrong: list[Input] = [
                    ModelReplied(later, told),
                    ModelReplied(later, reply("x"), (Valid(),)),
                    ModelReplied(later, reply(ToolUseBlock("a", "nope", {})), (Valid(),)),
                ]
                return [*waited, *round, *wrong]
            case Wait():
                return [*model, *round, *waited[1:]]
            case SwitchModel():
                return [*model, *waited, *round]
            case Compact():
                alone = Conversation((UserTurn((Text("all of it"),)),))
                return [*model, *waited, *round, Compacted(later, self.state.closed), Compacted(later, alone)]
            case RunStage() | Suspend():
                return [*model, *waited, *round]
            case Finish():
                return [*model, *waited, *round, StopRequested(later), Interrupted(later)]
