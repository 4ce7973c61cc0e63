"""Plays a run, whatever happens in it, and checks after every input what must hold.

What happens next is picked by the pending action; what may be expected of it is noted from the inputs
alone, and compared with `book`, the rules once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import pytest

from geode.domain.approval import Approve, Decision, Deny, Grant, Later
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.codec import dumps, loads
from geode.domain.content import ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.errors import IllegalInput
from geode.domain.failures import RetryHint
from geode.domain.loop.actions import CallModel, Finish, RunStage, Suspend, Wait
from geode.domain.loop.inputs import (
    CallRefused,
    Decided,
    Input,
    Interrupted,
    ModelFailed,
    ModelReplied,
    StopRequested,
    ToolFinished,
    Waited,
)
from geode.domain.loop.outcome import Answered, Exhausted
from geode.domain.loop.resuming import taken_up
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop, Usage
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn, ToolResultsTurn
from geode.domain.verdicts import Invalid, Unknown, Valid, Verdict
from tests.unit.domain.book import BARRIERS, FREE, Noted, asked_by_the_book, breaches, running_by_the_book
from tests.unit.domain.builders import OWNER, begun, failure, ok, reply

NAMES = ("t0", "t1", "t2", "t3")
INPUTS: list[dict[str, Any]] = [{}, {"p": 1}, {"p": 2}]
# Most of what is picked lets a run go on, else runs would be short and nothing would happen in them.
STOPS_WITH_CALLS = [*[Stop.TOOL_CALLS] * 60, *Stop]
STOPS_WITHOUT = [*[Stop.PAUSE] * 4, *[Stop.END] * 4, *Stop]
VERDICTS: list[Verdict] = [*[Valid()] * 15, Invalid(("/p: bad",))]
FAULTS = [
    *[failure(503), failure(429, hint=RetryHint(5.0, False, "5")), failure(None, phase="connect"), failure(408)] * 6,
    *(failure(400), failure(402), failure(401), failure(400, code="context_length_exceeded")),
]
ANSWERS: list[Decision] = [
    *[Approve()] * 6,
    *(Approve(always="tool"), Approve(always="arguments"), Deny(), Deny(), Later(), Later(), Later()),
    *(Approve({"p": 9}), Approve({"p": 9}, "tool"), Approve({"p": 9}, "arguments")),
]
# What happens beside the usual, once in a while.
MOMENTS = [*["on"] * 100, "stop", "interrupt"]
SECONDS = [*[0.0] * 12, 1.0, 25.0]
# Bounds of what is picked above: of a run's rounds, of the calls of a round, and of answers put off.
MOST_ROUNDS, MOST_CALLS, MOST_PUT_OFF = 6, 5, 12

T = TypeVar("T")


class Pick(Protocol):
    """Chooses what happens next: by chance, or by Hypothesis, which looks for the shortest run that goes wrong."""

    def __call__(self, options: Sequence[T], /) -> T: ...


def some_policy(pick: Pick) -> Policy:
    return Policy(
        max_rounds=pick([*[MOST_ROUNDS] * 6, 5, 4, 3, 2, 1]),
        max_seconds=pick([None, None, None, 60.0]),
        max_tool_calls=pick([*[None] * 8, 20, 8, 4, 1, 0]),
        max_total_tokens=pick([*[None] * 5, 1000, 300, 100]),
        max_pauses=pick([2, 1, 0]),
        max_empty_replies=pick([1, 0]),
        grants=tuple(Grant(pick(NAMES), pick([None, *INPUTS])) for _ in range(pick([0, 0, 1, 2]))),
    )


class Onlooker:
    """Drives a run by what is pending, and notes what it may expect from the inputs alone."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.tools = {name: ToolFacts(pick(list(SafetyTier)), "digest") for name in NAMES}
        self.policy = some_policy(pick)
        self.can_ask = pick([True, True, True, False])
        choices: list[ToolChoice] = [*[Auto()] * 6, NoTools(), Required(), Named("t0")]
        self.state = begun(self.policy, tools=self.tools, can_ask=self.can_ask, first_choice=pick(choices))
        # A copy that goes through the codec before every input.
        self.twin = self.state
        self.now = 0.0
        self.round: list[Noted] = []
        self.results: dict[str, ToolResult | str] = {}
        self.grants: list[Grant] = list(self.policy.grants)
        self.stopping = False
        self.executed = self.inputs = self.put_off = self.replies = 0
        self.used = Usage()
        self.last_call = self.state.pending

    # ---- what comes next

    def run(self) -> None:
        while not isinstance(self.state.pending, Finish):
            self.refuse_what_is_out_of_place()
            self.take(self.next_input())
            # A round: at most three attempts with a wait after each, and for each call an answer and a result.
            assert self.inputs <= MOST_ROUNDS * (2 * 3 + 2 * MOST_CALLS) + self.put_off + 1, "the run does not end"
        self.refuse_what_is_out_of_place()
        self.check_the_end()

    def next_input(self) -> Input:
        self.now += self.pick(SECONDS)
        moment = self.pick(MOMENTS)
        if moment == "stop":
            return StopRequested(self.now)
        if moment == "interrupt":
            return Interrupted(self.now)
        match self.state.pending:
            case CallModel():
                return self.model_input()
            case Wait(seconds=seconds):
                self.now += seconds
                return Waited(self.now)
            case RunStage(start=start, ask=ask):
                assert start or ask, "a stage that waits for nothing never ends"
                id = self.pick([*start, *ask])
                return self.answer(id) if id in ask else self.finish(id)
            case Suspend(asked=asked):
                if self.pick([False, True]):
                    self.resume()
                return self.answer(self.pick(asked))
            case Finish():
                raise AssertionError

    def model_input(self) -> Input:
        kind = self.pick([*["calls"] * 30, "text", "text", "fail", "fail", "fail", "refuse"])
        if kind == "fail":
            return ModelFailed(self.now, self.pick(FAULTS), self.pick([0.0, 0.5, 0.99]))
        if kind == "refuse" and self.pick([False, True]):
            return CallRefused(self.now, "it cannot leave")
        calls = [self.some_call() for _ in range(self.pick(range(1, MOST_CALLS + 1)))] if kind == "calls" else []
        stop = self.pick(STOPS_WITH_CALLS if calls else STOPS_WITHOUT)
        usage = Usage(self.pick([0, 10, 30]), self.pick([0, 5]))
        said = AdapterCallResult((Text(self.pick(["", " ", "hm"])), *calls), stop, usage)
        known = self.tools.keys()
        return ModelReplied(self.now, said, tuple(self.pick(VERDICTS) if one.name in known else Unknown(()) for one in calls))

    def some_call(self) -> ToolUseBlock:
        name = self.pick([*NAMES * 5, "nope"])
        return ToolUseBlock(self.pick(["", "a", "b", "c", "call_g1_0"]), name, self.pick(INPUTS))

    def finish(self, id: str) -> Input:
        kinds: list[ResultKind] = ["ok", "ok", "failed", "outcome_unknown", "interrupted"]
        kind = self.pick(kinds)
        return ToolFinished(self.now, ToolResult(id, kind, (Text(f"{kind} {self.inputs}"),)))

    def answer(self, id: str) -> Input:
        # Nobody puts everything off for ever.
        decision = self.pick(ANSWERS) if self.put_off < MOST_PUT_OFF else Deny()
        edited = isinstance(decision, Approve) and decision.input is not None
        return Decided(self.now, id, decision, self.pick(VERDICTS) if edited else None)

    def resume(self) -> None:
        """Take the suspended run up again with the same tools: nothing changes but the time."""
        before = self.state
        self.now += 1000.0
        answered = [call.id for call in before.round.postponed]
        self.state = taken_up(self.state, OWNER, self.tools, self.now, answered)
        self.twin = taken_up(loads(State, dumps(self.twin)), OWNER, self.tools, self.now, answered)
        assert (self.state.pending, self.state.open, self.state.closed) == (before.pending, before.open, before.closed)
        left = before.remaining_seconds
        assert self.state.remaining_seconds == (left if left is None else pytest.approx(left))

    # ---- taking an input

    def take(self, input: Input) -> None:
        before = self.state
        self.inputs += 1
        self.state = step(before, input)
        self.twin = step(loads(State, dumps(self.twin)), input)
        self.note(before, input)
        self.check(before)
        assert self.twin == self.state

    def note(self, before: State, input: Input) -> None:
        """What the input itself says about the calls of the round."""
        match input:
            case ModelReplied():
                self.note_reply(before, input)
            case ToolFinished(result=found):
                self.executed += 1
                self.settle(found.call_id, found)
            case Decided(call_id=id, decision=decision, verdict=verdict):
                self.note_answer(self.noted(id), decision, verdict)
            case StopRequested() | Interrupted() if before.open is not None:
                self.stopping = True
                for one in self.round:
                    if not one.done and (isinstance(input, Interrupted) or not one.running):
                        self.settle(one.call.id, "interrupted")
            case _:
                pass

    def note_reply(self, before: State, input: ModelReplied) -> None:
        call, said = before.pending, input.reply
        assert isinstance(call, CallModel)
        self.used, self.last_call, self.replies = self.used + said.usage, call, self.replies + 1
        self.round, self.results = [], {}
        ended = (Stop.REFUSAL, Stop.CONTENT_FILTER, Stop.ERROR, Stop.CONTEXT_EXCEEDED)
        if not said.calls or said.stop in ended:
            assert self.state.open is None
            return
        # The ids are the domain's to give; the rest of the calls is as it came.
        turn = self.state.open.turn if self.state.open else self.state.closed.turns[-2]
        assert isinstance(turn, AssistantTurn)
        assert [(one.name, one.input) for one in turn.calls] == [(one.name, one.input) for one in said.calls]
        self.round = [Noted(one, self.tools[one.name].tier if one.name in self.tools else None) for one in turn.calls]
        left = self.policy.max_tool_calls
        left = None if left is None else left - self.executed
        for one, verdict in zip(self.round, input.verdicts, strict=True):
            if isinstance(call.tool_choice, NoTools):
                self.settle(one.call.id, "denied")
            elif said.stop is Stop.MAX_TOKENS or not isinstance(verdict, Valid) or left == 0:
                self.settle(one.call.id, "failed")
            elif not self.can_ask and not one.may_run(self.grants):
                self.settle(one.call.id, "denied")
            elif left is not None:
                left -= 1

    def note_answer(self, one: Noted, decision: Decision, verdict: Verdict | None) -> None:
        one.asked = one.put_off = False
        match decision:
            case Deny():
                self.settle(one.call.id, "denied")
            case Later():
                one.put_off = True
                self.put_off += 1
            case Approve() if verdict is not None and not isinstance(verdict, Valid):
                self.settle(one.call.id, "failed")
            case Approve(input=edited, always=always):
                one.allowed = True
                if always == "tool":
                    self.grants.append(Grant(one.call.name))
                if always == "arguments":
                    self.grants.append(Grant(one.call.name, one.call.input if edited is None else edited))

    def noted(self, id: str) -> Noted:
        return next(one for one in self.round if one.call.id == id)

    def settle(self, id: str, result: ToolResult | str) -> None:
        one = self.noted(id)
        assert not one.done
        one.done, one.running, one.asked, one.put_off = True, False, False, False
        self.results[id] = result

    # ---- what must hold after every input

    def check(self, before: State) -> None:
        state = self.state
        self.check_what_was_settled(before)
        match state.pending:
            case RunStage():
                self.check_stage(state.pending)
            case Suspend(asked=asked):
                assert set(asked) == {one.call.id for one in self.round if one.put_off and not one.done}
                assert not any(one.running for one in self.round)
            case CallModel() as call:
                assert state.open is None
                assert self.replies == call.round - 1 < self.policy.max_rounds
                assert self.policy.max_total_tokens is None or self.used.total_tokens < self.policy.max_total_tokens
                assert self.policy.max_seconds is None or 0 < call.timeout_seconds <= self.policy.max_seconds
                assert call.wrap_up is None or (isinstance(call.tool_choice, NoTools) and call.round > 1)
                assert isinstance(call.tool_choice, Auto | NoTools) or call.round == 1
            case Wait() | Finish():
                pass
        assert breaches(state.closed.turns) == []

    def check_stage(self, pending: RunStage) -> None:
        start, ask = set(pending.start), set(pending.ask)
        assert len(start) == len(pending.start)
        assert len(ask) == len(pending.ask)
        assert start.isdisjoint(ask)
        running = {one.call.id for one in self.round if one.running}
        assert running <= start, "what has been started stays so"
        for id in start - running:
            self.check_start(self.noted(id), start)
            self.noted(id).running = True
        out_of_time = (remaining := self.state.remaining_seconds) is not None and remaining <= 0
        if self.stopping or out_of_time:
            assert start == running, "nothing new starts"
        else:
            assert start == running_by_the_book(self.round, self.grants)
            assert ask == asked_by_the_book(self.round, self.grants)
        for id in ask:
            self.noted(id).asked = True

    def check_start(self, one: Noted, start: set[str]) -> None:
        before = self.round[: self.round.index(one)]
        after = self.round[self.round.index(one) + 1 :]
        assert not one.done
        assert one.tier in FREE or one.allowed or one.may_run(self.grants), "it needs an approval or a grant"
        assert all(other.done for other in before if other.tier in BARRIERS), "a barrier comes before it"
        if one.tier in BARRIERS:
            assert start == {one.call.id}, "a change is alone"
            assert all(other.done for other in before)
            assert not any(other.running for other in after)

    def check_what_was_settled(self, before: State) -> None:
        """Results are those that were noted, never change, and are in call order when the round closes."""
        state = self.state
        assert state.closed.turns[: len(before.closed.turns)] == before.closed.turns
        if state.open is not None:
            given = dict(state.open.results)
        elif self.round and len(state.closed.turns) >= len(before.closed.turns) + 2:
            turn = state.closed.turns[-1]
            assert isinstance(turn, ToolResultsTurn)
            assert [one.call_id for one in turn.results] == [one.call.id for one in self.round]
            given = {one.call_id: one for one in turn.results}
        else:
            return
        for id in given.keys() - self.results.keys():
            # Only the time budget settles a call without an input that says so.
            remaining = state.remaining_seconds
            assert remaining is not None
            assert remaining <= 0
            assert not self.noted(id).running
            self.settle(id, "failed")
        assert given.keys() == self.results.keys()
        for id, noted in self.results.items():
            assert (given[id] if isinstance(noted, ToolResult) else given[id].kind) == noted

    # ---- the end

    def check_the_end(self) -> None:
        assert isinstance(self.state.pending, Finish)
        outcome = self.state.pending.outcome
        assert self.state.open is None
        assert outcome.conversation == self.state.closed
        assert (outcome.usage, outcome.run_id) == (self.used, "run-1")
        assert self.replies <= self.policy.max_rounds
        assert self.policy.max_tool_calls is None or self.executed <= self.policy.max_tool_calls
        assert isinstance(self.twin.pending, Finish)
        assert self.twin.pending.outcome == outcome
        if isinstance(outcome, Answered):
            assert isinstance(self.last_call, CallModel)
            assert self.last_call.wrap_up is None
            assert outcome.text.strip()
        if isinstance(outcome, Exhausted) and outcome.reason == "max_rounds":
            assert self.replies >= self.policy.max_rounds - 2
        if self.stopping:
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
        ids = ["nobody", "", *(one.call.id for one in self.round)]
        running = pending.start if isinstance(pending, RunStage) else ()
        asked = pending.ask if isinstance(pending, RunStage) else ()
        asked = (*asked, *(one.call.id for one in self.round if one.put_off and not one.done))
        round: list[Input] = [ToolFinished(later, ok(id)) for id in ids if id not in running]
        round += [Decided(later, id, decision) for id in ids if id not in asked for decision in (Approve(), Deny(), Later())]
        round += [Decided(later, id, Approve({"p": 9})) for id in asked]
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
                return [*model, *round]
            case RunStage() | Suspend():
                return [*model, *waited, *round]
            case Finish():
                return [*model, *waited, *round, StopRequested(later), Interrupted(later)]
