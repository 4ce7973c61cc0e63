"""The rules of a run once more, naively, from the specification alone.

Nothing here shares a line with the domain: it is the second opinion that random runs are compared with.
What happened is kept in lists, and every rule walks them from the end or from the beginning, each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeAlias

from geode.domain.approval import Approve, Deny, Later
from geode.domain.choice import Auto, NoTools, ToolChoice
from geode.domain.content import Text, ToolResult, ToolUseBlock
from geode.domain.failures import CallFailure
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
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.spent import Spent
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn
from geode.domain.usage import Usage
from geode.domain.verdicts import Valid, Verdict

FREE = (SafetyTier.SAFE, SafetyTier.MCP_TRUSTED)
BARRIERS = (SafetyTier.WRITE, SafetyTier.DANGEROUS)
STEPS = ("retry", "alternative", "fallback", "escalate")


@dataclass(eq=False)
class Noted:
    """One call as an onlooker knows it: as it was made, and as what it runs."""

    call: ToolUseBlock
    tool: str
    input: Mapping[str, Any]
    facts: ToolFacts | None
    # The tool that was called, whatever stands in for it.
    own: ToolFacts | None
    # What it was answered with: the result as it came, or its kind where the words are the domain's.
    result: ToolResult | str | None = None
    recoverable: bool = True
    running: bool = False
    # Asked and not answered yet; then the answer.
    asked: bool = False
    allowed: bool = False
    put_off: bool = False
    # The step of its recovery, whether that is still to be checked, what a person put in for the call, and what
    # was executed before.
    step: str = ""
    unchecked: bool = False
    edited: Mapping[str, Any] | None = None
    executed: list[ToolResult] = field(default_factory=list[ToolResult])

    @property
    def tier(self) -> SafetyTier | None:
        return None if self.facts is None else self.facts.tier

    @property
    def polls(self) -> bool:
        return self.own is not None and self.own.poller

    @property
    def done(self) -> bool:
        return self.result is not None

    @property
    def kind(self) -> str:
        assert self.result is not None
        return self.result.kind if isinstance(self.result, ToolResult) else self.result

    def answered(self, found: ToolResult | str, *, recoverable: bool = True) -> None:
        assert not self.done
        self.result, self.recoverable = found, recoverable
        self.running = self.asked = self.put_off = self.unchecked = False

    def may_run(self, grants: Iterable[Given]) -> bool:
        if self.allowed:
            return True
        if self.asked or self.put_off or self.step == "escalate":
            return False
        return self.covered(grants)

    def covered(self, grants: Iterable[Given]) -> bool:
        """A person allowed the tool that was shown: not one of the name with another schema, tier or server."""
        return self.tier in FREE or any(
            tool == self.tool
            and (then is None or seen_by_a_person(then) == seen_by_a_person(self.facts))
            and (arguments is None or equal(arguments, self.input))
            for tool, arguments, then in grants
        )


# A grant: for which tool, with which arguments, and the tool as it was; None where the policy gave it.
Given: TypeAlias = tuple[str, "Mapping[str, Any] | None", "ToolFacts | None"]


def seen_by_a_person(facts: ToolFacts | None) -> tuple[object, ...]:
    return () if facts is None else (facts.schema_digest, facts.tier, facts.origin)


@dataclass
class Closed:
    """A round that is over."""

    number: int
    calls: list[Noted]


def usage_or(failure: CallFailure) -> Usage:
    return failure.usage or Usage()


class Book:
    """Follows a run by its inputs alone, and knows what must be pending after each."""

    def __init__(
        self,
        policy: Policy,
        tools: Mapping[str, ToolFacts],
        *,
        can_ask: bool,
        can_compact: bool,
        first_choice: ToolChoice,
        models: Sequence[str] = ("first",),
        typed: bool = False,
        windows: Mapping[str, int] | None = None,
    ) -> None:
        self.windows = windows or {}
        # The round before which the conversation was to be made shorter last, without the provider asking for it.
        self.compacted_ahead: int | None = None
        # The models that are left to be asked; the first of them is.
        self.models = list(models)
        # Whether the answer has to fit a schema, and how often it was sent back.
        self.typed, self.repairs = typed, 0
        self.can_compact = can_compact
        self.policy, self.tools, self.can_ask, self.first_choice = policy, tools, can_ask, first_choice
        self.now = self.began = 0.0
        self.turns: list[tuple[Any, ...]] = [("user",)]
        self.rounds: list[Closed] = []
        self.round: list[Noted] = []
        self.text = ""
        self.usages: list[Usage] = []
        # Of the last reply, or else of the first summary: what the next call is expected to take.
        self.last = Usage()
        # Of attempts that came to nothing.
        self.lost: list[Usage] = []
        self.executions: list[str] = []
        # What calls have spent beside their execution: they may be runs themselves.
        self.inside: list[Spent] = []
        self.grants: list[Given] = [(grant.tool, grant.arguments, None) for grant in policy.grants]
        self.no_progress_hints: list[tuple[int, ToolUseBlock]] = []
        self.pauses = self.empty = self.calls_under_none = self.compactions = 0
        # Texts in turns that a compaction took out.
        self.gone: list[str] = []
        self.stopping = False
        self.pending: tuple[Any, ...] = ()
        self.last_call: tuple[Any, ...] = ()
        self.call_model()

    def take(self, input: Input, ids: Sequence[str] = ()) -> None:
        """`ids` are those that the calls of a reply were given."""
        self.now = max(self.now, input.at)
        match input:
            case ModelReplied(reply=reply, verdicts=verdicts, answer=answer):
                self.replied(reply, verdicts, ids, fits=None if answer is None else isinstance(answer, Valid))
            case ModelFailed(failure=failure, jitter=jitter):
                self.lost += [failure.usage] if failure.usage is not None else []
                dearness = (usage_or(failure).cost_usd or Decimal(0), usage_or(failure).total_tokens)
                if not failure.broke_off and dearness > (self.last.cost_usd or Decimal(0), self.last.total_tokens):
                    self.last = usage_or(failure)
                self.failed(failure, jitter)
            case CallRefused():
                self.end("Failed", "request_error")
            case Switched(refused=refused):
                self.models.pop(0)
                self.end("Failed", "model_error") if refused else self.call_model(attempt=1, again=True)
            case ToolsChanged(tools=tools):
                self.tools = tools
            case Compacted(conversation=shorter, spent=Spent(usage=usage), last=last):
                self.lost.append(usage)
                self.last = last if self.last == Usage() else self.last
                self.compacted(None if shorter is None else len(shorter.turns))
            case Waited():
                self.call_model(attempt=self.last_call[2] + 1)
            case TimePassed():
                self.look()
            case StopRequested(partial=partial, spent=spent):
                self.lost.append(spent.usage)
                self.stopped(shown=partial)
            case Interrupted(spent=spent):
                self.lost.append(spent.usage)
                self.stopped(cancelled=True)
            case _:
                self.came_of_a_call(input)
                self.look()

    def came_of_a_call(self, input: Decided | Checked | CallChanged | CallVetoed | ToolFinished) -> None:
        match input:
            case Decided(call_id=id):
                self.decided(self.noted(id), input)
            case Checked(call_id=id, verdict=verdict):
                self.checked(self.noted(id), verdict)
            case CallChanged(call_id=id, input=arguments):
                self.changed(self.noted(id), arguments)
            case CallVetoed(call_id=id):
                self.noted(id).running = False
                self.not_run(self.noted(id), "denied")
            case ToolFinished(result=found, spent=spent):
                self.inside.append(spent or Spent())
                self.finished(self.noted(found.call_id), found)

    def taken_up(self, now: float) -> None:
        """A suspended run goes on: the time between does not count."""
        self.began += now - self.now
        self.now = now

    # ---- the model

    @property
    def remaining(self) -> float | None:
        return None if self.policy.max_seconds is None else self.policy.max_seconds - (self.now - self.began)

    @property
    def tokens(self) -> int:
        all = (*self.usages, *self.lost, *(spent.usage for spent in self.inside))
        return sum(usage.input_tokens + usage.output_tokens for usage in all)

    @property
    def calls_made(self) -> int:
        return len(self.executions) + sum(spent.tool_calls for spent in self.inside)

    def used_up(self) -> str:
        policy, last = self.policy, self.last
        tokens = self.tokens
        if len(self.usages) >= policy.max_rounds:
            return "max_rounds"
        if self.remaining is not None and self.remaining <= 0:
            return "time_budget"
        if policy.max_total_tokens is not None and tokens + last.total_tokens >= policy.max_total_tokens:
            return "token_budget"
        if policy.max_cost_usd is not None:
            all = (*self.usages, *self.lost, *(spent.usage for spent in self.inside))
            costs = [usage.cost_usd for usage in all if usage.cost_usd is not None]
            spent = sum(costs, Decimal(0))
            if not self.usages and last == Usage():
                return "cost_budget" if costs and spent >= policy.max_cost_usd else ""
            if last.cost_usd is None or spent >= policy.max_cost_usd or spent + last.cost_usd > policy.max_cost_usd:
                return "cost_budget"
        return ""

    def wrap_up(self) -> str | None:
        policy, rounds = self.policy, len(self.usages)
        if rounds == 0:
            return None
        if policy.max_tool_calls is not None and self.calls_made >= policy.max_tool_calls:
            return "tool_budget"
        last = max(1, min(2, policy.max_rounds // 4)) if policy.max_rounds > 1 else 0
        if rounds >= policy.max_rounds - last:
            return "max_rounds"
        if policy.max_seconds is not None and self.remaining is not None and self.remaining <= min(30, policy.max_seconds / 10):
            return "time_budget"
        return None

    def call_model(self, hints: Sequence[str] = (), attempt: int = 1, *, again: bool = False) -> None:
        """`hints` are for the results that a round closed with, if one did."""
        reason = self.used_up()
        if reason:
            return self.end("Exhausted", reason)
        seconds = 600.0 if self.remaining is None else min(600.0, self.remaining)
        if attempt > 1 or again:
            self.pending = self.last_call = (*self.last_call[:2], attempt, *self.last_call[3:6], seconds)
            return None
        cause = self.wrap_up()
        told = any("wrap_up" in (turn[-1] or ()) for turn in self.turns if turn[0] in ("results", "hint"))
        if cause is not None and not told:
            hints = (*hints, "wrap_up")
        if self.turns[-1][0] == "results" and self.turns[-1][-1] is None:
            self.turns[-1] = (*self.turns[-1][:-1], list(hints))
        elif hints:
            self.turns.append(("hint", list(hints)))
        choice: ToolChoice = self.first_choice if not self.usages else Auto()
        if cause is not None or self.calls_under_none:
            choice = NoTools()
        limits = [2048 if cause else None, self.policy.max_output_tokens]
        if self.policy.max_total_tokens is not None:
            limits.append(self.policy.max_total_tokens - self.tokens - self.last.total_tokens)
        least = min((limit for limit in limits if limit is not None), default=None)
        self.pending = self.last_call = ("call", len(self.usages) + 1, 1, choice, cause, least, seconds)
        if cause is None and self.crowded():
            self.compacted_ahead, self.pending = len(self.usages) + 1, ("compact", True)
        return None

    def crowded(self) -> bool:
        """Whether the last call filled more of the window than the policy allows, and something could be left out."""
        share, window = self.policy.compact_above, self.windows.get(self.models[0])
        if share is None or window is None or not self.usages or self.usages[-1].total_tokens <= share * window:
            return False
        if self.compacted_ahead is not None and len(self.usages) + 1 - self.compacted_ahead <= self.policy.compact_keep_rounds:
            return False
        kinds = [{"hint": "user"}.get(turn[0], turn[0]) for turn in self.turns]
        ends = (("results", "assistant"), ("results", "user"), ("assistant", "user"))
        kept = [kinds[place:].count("assistant") for place, pair in enumerate(pairwise(kinds), 1) if pair in ends]
        return kinds[-1] != "assistant" and any(count >= self.policy.compact_keep_rounds for count in kept)

    def judges(self, reply: AdapterCallResult) -> bool:
        """Whether the text has to fit: what ends the run with a text, and beside calls what would end it early."""
        if not self.typed or reply.stop not in (Stop.END, Stop.TOOL_CALLS) or not reply.text.strip():
            return False
        return not reply.calls or (self.policy.answer_beside_calls == "early" and self.last_call[4] is None)

    def replied(
        self, reply: AdapterCallResult, verdicts: Sequence[Verdict], ids: Sequence[str], *, fits: bool | None = None
    ) -> None:
        *_, cause, _, _ = self.last_call
        self.usages.append(reply.usage)
        self.last = reply.usage
        if reply.stop in (Stop.REFUSAL, Stop.CONTENT_FILTER):
            return self.end("Refused", "model_refusal", self.said_and(reply.text))
        if reply.stop is Stop.ERROR:
            return self.end("Failed", "model_error")
        if reply.stop is Stop.CONTEXT_EXCEEDED:
            return self.out_of_window(reply)
        if reply.calls and fits:
            return self.ended_early(reply.text, len(ids))
        if reply.calls:
            return self.opened(reply, verdicts, ids)
        nothing = not reply.text.strip()
        if reply.stop is Stop.PAUSE and self.pauses < self.policy.max_pauses:
            self.pauses += 1
            self.store(reply.text)
            return self.call_model()
        if reply.stop in (Stop.END, Stop.TOOL_CALLS) and nothing:
            self.empty += 1
            if self.empty <= self.policy.max_empty_replies:
                return self.call_model()
            return self.end("Exhausted", cause) if cause else self.end("Failed", "model_error")
        self.store(reply.text)
        if reply.stop is Stop.MAX_TOKENS:
            return self.end("Exhausted", "answer_truncated", self.answer() or self.said())
        if fits is False and not cause:
            return self.not_fitting()
        if reply.stop in (Stop.END, Stop.TOOL_CALLS):
            return self.end("Exhausted", cause, self.answer()) if cause else self.end("Answered", "natural", self.answer())
        return self.end("Failed", "model_error")

    def ended_early(self, text: str, calls: int) -> None:
        """The text fits, and what was called beside it is not run."""
        answer = self.answer() + text
        self.turns += [("assistant", text, calls), ("results", ["interrupted"] * calls, [])]
        return self.end("Answered", "natural", answer)

    def not_fitting(self) -> None:
        """What was said last is sent back, as often as the policy says."""
        if self.repairs >= self.policy.answer_repairs or self.used_up():
            return self.end("Failed", "answer_invalid", self.answer())
        self.repairs += 1
        return self.call_model(["answer"])

    def compacted(self, left: int | None) -> None:
        """The same call, the same attempt, over what is left: one turn in the place of those that are gone."""
        if left is None and self.pending[1]:
            return self.call_model(attempt=self.last_call[2], again=True)
        if left is None:
            return self.end("Exhausted", self.used_up() or "context_exhausted")
        gone = len(self.turns) - (left - 1)
        self.gone += [turn[1] for turn in self.turns[:gone] if turn[0] == "assistant"]
        self.turns = [("user",), *self.turns[gone:]]
        return self.call_model(attempt=self.last_call[2], again=True)

    def out_of_window(self, reply: AdapterCallResult) -> None:
        """Where nothing was said the round was none."""
        if not reply.text.strip() and not reply.calls:
            self.lost.append(self.usages.pop())
            return self.overflowed()
        self.store(reply.text)
        return self.end("Exhausted", "context_exhausted")

    def overflowed(self) -> None:
        """At most two compactions in a run, and none that no budget has room for."""
        if reason := self.used_up():
            return self.end("Exhausted", reason)
        if not self.can_compact or self.compactions >= 2:
            return self.end("Exhausted", "context_exhausted")
        self.compactions += 1
        self.pending = ("compact", False)
        return None

    def failed(self, failure: CallFailure, jitter: float) -> None:
        """Transient failures are tried three times in all of each model, others never again, and of no other model."""
        attempt, remaining = self.last_call[2], self.remaining
        transient = failure.status in (None, 408, 429, 503) and not failure.after_output
        delay = max(jitter * min(2.0 * 2 ** (attempt - 1), 30.0), failure.hint.seconds or 0.0)
        again = transient and attempt < 3 and delay <= 60
        other = transient and not again and len(self.models) > 1
        late = remaining is not None and remaining <= 0
        if (late and (failure.status == 408 or other)) or (again and remaining is not None and delay >= remaining):
            return self.end("Exhausted", "time_budget")
        if again:
            self.pending = ("wait", delay)
            return None
        if other:
            self.pending = ("switch", self.models[1])
            return None
        if failure.error_code == "context_length_exceeded":
            return self.overflowed()
        reasons = {400: "request_error", 401: "auth_error", 402: "billing_error"}
        return self.end("Failed", reasons.get(failure.status or 0, "model_error"), self.said_and(failure.partial))

    # ---- the round

    def opened(self, reply: AdapterCallResult, verdicts: Sequence[Verdict], ids: Sequence[str]) -> None:
        policy, self.text = self.policy, reply.text
        self.round = [
            Noted(call, call.name, call.input, self.tools.get(call.name), self.tools.get(call.name))
            for call in (meant(one, id, self.tools) for id, one in zip(ids, reply.calls, strict=True))
        ]
        forbidden = isinstance(self.last_call[3], NoTools)
        self.calls_under_none += forbidden
        before = self.calls_made
        will_run: list[str] = []
        for one, verdict in zip(self.round, verdicts, strict=True):
            limit = self.tools[one.tool].max_calls if one.tool in self.tools else None
            if forbidden:
                one.answered("denied")
            elif (
                reply.stop is Stop.MAX_TOKENS
                or not isinstance(verdict, Valid)
                or (policy.max_tool_calls is not None and before + len(will_run) >= policy.max_tool_calls)
                or (limit is not None and self.executions.count(one.tool) + will_run.count(one.tool) >= limit)
            ):
                one.answered("failed")
            elif not self.can_ask and not one.may_run(self.grants):
                one.answered("denied")
            else:
                will_run.append(one.tool)
                if self.keeps_failing(one.tool) and one.tier not in BARRIERS and policy.max_recovery_executions:
                    one.step = "retry"
        self.look()

    def noted(self, id: str) -> Noted:
        return next(one for one in self.round if one.call.id == id)

    def decided(self, one: Noted, input: Decided) -> None:
        one.asked = one.put_off = False
        match input.decision:
            case Deny():
                self.not_run(one, "denied")
            case Later():
                one.put_off = True
            case Approve() if input.verdict is not None and not isinstance(input.verdict, Valid):
                self.not_run(one, "failed")
            case Approve(input=edited, always=always):
                one.allowed = True
                one.edited = one.edited if edited is None else edited
                one.input = one.input if edited is None else edited
                if always == "tool":
                    self.grants.append((one.tool, None, one.facts))
                if always == "arguments":
                    self.grants.append((one.tool, one.input, one.facts))

    def changed(self, one: Noted, arguments: Mapping[str, Any]) -> None:
        """What a grant or its tier allows goes on; anything else is asked about, if there is somebody and time."""
        one.input = arguments
        if one.covered(self.grants):
            return
        one.running = False
        if not self.can_ask:
            self.not_run(one, "denied")
        elif self.stopping:
            self.left_off(one, "interrupted")

    def not_run(self, one: Noted, kind: str) -> None:
        if one.executed:
            self.go_on(one)
        else:
            one.answered(kind)

    def checked(self, one: Noted, verdict: Verdict) -> None:
        one.unchecked = False
        if not isinstance(verdict, Valid) or (not self.can_ask and not one.may_run(self.grants)):
            self.go_on(one)

    def finished(self, one: Noted, found: ToolResult) -> None:
        self.executions.append(one.tool)
        one.running = False
        if not one.step:
            return one.answered(found, recoverable=found.recoverable)
        one.executed.append(found)
        if one.step == "retry" and found.kind != "failed":
            return one.answered(found)
        return self.go_on(one)

    def go_on(self, one: Noted) -> None:
        """The next step of a recovery that there is, or its end."""
        last, facts = one.executed[-1], self.tools[one.call.name]
        stand_ins = {"alternative": facts.alternative, "fallback": facts.fallback, "escalate": one.call.name}
        over = last.kind != "failed" or not last.recoverable or self.stopping
        for step in STEPS[STEPS.index(one.step) + 1 :]:
            name = stand_ins[step]
            if over or len(one.executed) >= self.policy.max_recovery_executions or name is None:
                continue
            if step == "escalate" and not self.can_ask:
                continue
            if name not in self.tools or self.tools[name].tier in BARRIERS or not self.has_room(name, one):
                continue
            one.step, one.tool, one.facts, one.unchecked = step, name, self.tools[name], True
            one.allowed = one.asked = one.put_off = False
            one.input = one.call.input if one.edited is None else one.edited
            return
        self.left_off(one)

    def left_off(self, one: Noted, kind: str = "") -> None:
        """The call does not run any more: its last execution is its result, if there was one."""
        if one.executed:
            one.answered(one.executed[-1].kind, recoverable=one.executed[-1].recoverable)
        else:
            one.answered(kind)

    def has_room(self, name: str, one: Noted) -> bool:
        """Each other call that is not done has one execution to come, or under way."""
        others = [other.tool for other in self.round if not other.done and other is not one]
        most, limit = self.policy.max_tool_calls, self.tools[name].max_calls
        if most is not None and self.calls_made + len(others) >= most:
            return False
        return limit is None or self.executions.count(name) + others.count(name) < limit

    def stopped(self, *, cancelled: bool = False, shown: str = "") -> None:
        self.stopping = True
        if not self.round:
            return self.end("Stopped", "stopped", self.said_and(shown))
        for one in self.round:
            if cancelled and one.running:
                one.answered("interrupted")
            elif not one.done and not one.running:
                self.left_off(one, "interrupted")
        return self.look()

    def look(self) -> None:
        """What the open round needs next."""
        running = {one.call.id for one in self.round if one.running}
        late = self.remaining is not None and self.remaining <= 0
        if late and not self.stopping:
            for one in self.round:
                if not one.done and not one.running:
                    self.left_off(one, "failed")
        if all(one.done for one in self.round):
            return self.close()
        if self.stopping or late:
            return self.stage(running, set(), set())
        start, ask = self.running_by_the_book(), self.asked_by_the_book()
        check = {one.call.id for one in self.round if one.unchecked}
        if start or ask or check:
            return self.stage(start, ask, check)
        self.pending = ("suspend", {one.call.id for one in self.round if one.put_off})
        return None

    def stage(self, start: set[str], ask: set[str], check: set[str]) -> None:
        runs: dict[str, tuple[Any, ...]] = {}
        for id in start:
            one = self.noted(id)
            one.running = True
            wait = self.policy.recovery_seconds
            waits = one.step == "retry" and (self.remaining is None or self.remaining > wait)
            runs[id] = (one.tool, one.input, wait if waits else 0.0)
        for id in ask:
            self.noted(id).asked = True
        self.pending = ("stage", runs, ask, check)

    def running_by_the_book(self) -> set[str]:
        """The calls that run now: every one that may, unless a barrier is in the way."""
        waiting_for_later = any(one.put_off and not one.done for one in self.round)
        running = set[str]()
        for place, one in enumerate(self.round):
            before = self.round[:place]
            if one.done or one.unchecked or not one.may_run(self.grants):
                continue
            if any(other.tier in BARRIERS and not other.done for other in before):
                continue
            if one.tier in BARRIERS and not all(other.done for other in before):
                continue
            if one.tier in BARRIERS and waiting_for_later and not one.running:
                continue
            running.add(one.call.id)
        return running

    def asked_by_the_book(self) -> set[str]:
        """The calls that a person is asked about now: all EXPENSIVE ones at once, and which may be tried once
        more; a barrier when its turn comes."""
        unanswered = [one for one in self.round if not (one.done or one.unchecked or one.put_off or one.may_run(self.grants))]
        early = {one.call.id for one in unanswered if one.tier is SafetyTier.EXPENSIVE or one.step == "escalate"}
        waits = any((one.put_off or one.unchecked) and not one.done for one in self.round)
        if early or waits or self.running_by_the_book():
            return early
        return {next(one for one in self.round if not one.done).call.id}

    def close(self) -> None:
        over = Closed(len(self.usages), self.round)
        self.turns += [("assistant", self.text, len(self.round)), ("results", [one.result for one in self.round], None)]
        self.rounds.append(over)
        self.round = []
        if self.stopping:
            return self.end("Stopped", "stopped")
        if self.calls_under_none > self.policy.max_calls_under_none:
            cause = self.last_call[4]
            return self.end("Exhausted", cause) if cause else self.end("Failed", "model_error")
        if self.calls_under_none:
            return self.call_model()
        repeated = self.repeated(over)
        most = self.policy.max_no_progress_hints
        earlier = [[1 for _, call in self.no_progress_hints if same(call, one)] for one in repeated]
        if most is not None and any(len(hints) >= most for hints in earlier):
            return self.end("Exhausted", "no_progress")
        self.no_progress_hints += [(over.number, one) for one in repeated]
        hints = ["backpressure"] if self.pressed() else []
        return self.call_model([*hints, *(["no_progress"] if repeated else [])])

    # ---- what a run does again and again

    def keeps_failing(self, name: str) -> bool:
        """Whether the last calls of the tool failed, each in a way that may be mended; what did neither is passed over."""
        in_a_row = 0
        for over in reversed(self.rounds):
            for one in reversed(over.calls):
                if one.call.name != name or one.own is None or one.kind not in ("ok", "failed"):
                    continue
                if one.kind == "ok" or not one.recoverable:
                    return False
                in_a_row += 1
                if in_a_row == self.policy.recovery_failures:
                    return True
        return False

    def pressed(self) -> bool:
        """Whether the last round failed, and enough others in a row with it."""
        in_a_row = 0
        for place, over in enumerate(reversed(self.rounds)):
            kinds = [one.kind for one in over.calls]
            if "ok" in kinds:
                break
            if "failed" in kinds:
                in_a_row += 1
            elif place == 0:
                return False
        return in_a_row >= self.policy.backpressure_rounds

    def repeated(self, over: Closed) -> list[ToolUseBlock]:
        """The calls of this round that were made in too many of the last rounds, since the last hint about each."""
        found: list[ToolUseBlock] = []
        for one in over.calls:
            if one.polls:
                continue
            if any(same(one.call, other) for other in found):
                continue
            since = max((number for number, call in self.no_progress_hints if same(call, one.call)), default=0)
            first = max(since + 1, over.number - self.policy.no_progress_window + 1)
            made = [
                earlier.number
                for earlier in self.rounds
                if earlier.number >= first and any(same(other.call, one.call) and not other.polls for other in earlier.calls)
            ]
            if len(made) >= self.policy.no_progress_rounds:
                found.append(one.call)
        return found

    # ---- the end

    def end(self, outcome: str, reason: str, text: str | None = None) -> None:
        if self.turns[-1][0] == "results" and self.turns[-1][-1] is None:
            self.turns[-1] = (*self.turns[-1][:-1], [])
        self.pending = ("end", outcome, reason, self.said() if text is None else text)

    def store(self, text: str) -> None:
        if text.strip():
            self.turns.append(("assistant", text, 0))

    def said(self) -> str:
        texts = (*self.gone, *(turn[1] for turn in self.turns if turn[0] == "assistant"))
        return "\n".join(text for text in texts if text.strip())

    def said_and(self, shown: str) -> str:
        """With what was shown of a reply that is stored nowhere."""
        return "\n".join(text for text in (self.said(), shown) if text.strip())

    def answer(self) -> str:
        """What was said since the last turn of anybody else; geode's own hints aside, but for one about it."""
        texts: list[str] = []
        for turn in reversed(self.turns):
            if turn[0] not in ("assistant", "hint") or "answer" in (turn[1] if turn[0] == "hint" else ()):
                break
            texts += [turn[1]] if turn[0] == "assistant" else []
        return "".join(reversed(texts))


def meant(call: ToolUseBlock, id: str, tools: Mapping[str, ToolFacts]) -> ToolUseBlock:
    """What the model wants run: it may call a tool by way of the one that finds tools."""
    says = {key for key in ("query", "name") if call.input.get(key)}
    if call.name not in tools or not tools[call.name].forwards or says != {"name"}:
        return ToolUseBlock(id, call.name, call.input)
    arguments = call.input.get("arguments", {})
    return ToolUseBlock(id, call.input["name"], json.loads(arguments) if isinstance(arguments, str) else arguments)


def same(one: ToolUseBlock, other: ToolUseBlock) -> bool:
    return one.name == other.name and equal(one.input, other.input)


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return sorted(one) == sorted(other) and all(equal(one[key], other[key]) for key in one)
    return bool(one == other)


def breaches(turns: Sequence[Turn]) -> list[str]:
    """What is wrong with a conversation, in words; nothing, for a lawful one."""
    wrong: list[str] = []
    ids: list[str] = []
    for place, turn in enumerate(turns):
        after = turns[place + 1] if place + 1 < len(turns) else None
        before = turns[place - 1] if place else None
        if isinstance(turn, AssistantTurn):
            ids += [item.id for item in turn.items if isinstance(item, ToolUseBlock)]
            if all(isinstance(item, Text) and not item.text.strip() for item in turn.items):
                wrong.append(f"turn {place} says nothing")
            called = [item.id for item in turn.items if isinstance(item, ToolUseBlock)]
            answered = [one.call_id for one in after.results] if isinstance(after, ToolResultsTurn) else []
            if called != answered:
                wrong.append(f"turn {place} calls {called} and is answered {answered}")
        if isinstance(turn, ToolResultsTurn) and not isinstance(before, AssistantTurn):
            wrong.append(f"turn {place} answers nothing")
    if "" in ids or len(set(ids)) != len(ids):
        wrong.append(f"ids are missing or used twice: {ids}")
    return wrong
