"""Performing a stage: calls run and questions wait side by side, and whatever comes first is the next input."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from geode.application.announcer import Announcer, being_cancelled
from geode.application.catalog import Catalog
from geode.application.processor import GRACE_SECONDS, ToolCallProcessor
from geode.domain.approval import Approve, Asked, Decision, Deny, Later, Question
from geode.domain.arguments import tool_use
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.errors import Misuse
from geode.domain.loop.inputs import Decided, Input, ToolFinished
from geode.domain.loop.state import State
from geode.domain.loop.step import askable
from geode.domain.policy import Policy
from geode.domain.rounds import as_decided
from geode.ports import events
from geode.ports.approval import Approver
from geode.ports.clock import Clock

log = logging.getLogger("geode")


class StagePerformer:
    """Gives the inputs of the stages of one run, as they happen.

    What a stage wants started or asked is started or asked once, however often the stage changes.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        policy: Policy,
        deps: Any,
        clock: Clock,
        announcer: Announcer,
        approver: Approver | None,
    ) -> None:
        self._catalog, self._clock, self._announcer, self._approver = catalog, clock, announcer, approver
        self._inputs: deque[Input] = deque()
        self._news = asyncio.Event()
        self._processor = ToolCallProcessor(
            catalog=catalog, policy=policy, deps=deps, clock=clock, announcer=announcer, finished=self._tool_finished
        )
        self._started: set[str] = set()
        self._asked: set[str] = set()
        self._asking: set[asyncio.Task[None]] = set()

    async def next_input(self, state: State) -> Input | None:
        """Start and ask what the pending stage wants and was not yet, then wait for whatever comes first; None if woken."""
        stage = state.stage
        self._start([id for id in stage.start if id not in self._started], state)
        unasked = [id for id in stage.ask if id not in self._asked]
        if unasked:
            self._asked.update(unasked)
            calls = [state.round.call(id) for id in unasked]
            asked = (Asked(call, state.terms.tools[call.name].tier, _reason(state, call.name)) for call in calls)
            task = asyncio.create_task(self._ask(Question(state.terms.run_id, tuple(asked))))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        await self._news.wait()
        found = self._inputs.popleft() if self._inputs else None
        if not self._inputs:
            self._news.clear()
        # An answer may come too late: the time ran out, or the run is being stopped.
        return None if isinstance(found, Decided) and found.call_id not in askable(state) else found

    def wake(self) -> None:
        """End the waiting for an input."""
        self._news.set()

    def _start(self, unstarted: list[str], state: State) -> None:
        if not unstarted:
            return
        self._started.update(unstarted)
        round, seconds = state.round, state.stage.timeout_seconds
        for index, call in enumerate(round.turn.calls):
            if call.id in unstarted:
                self._processor.start(as_decided(call, round), index, seconds)

    async def cancel(self) -> list[ToolFinished]:
        """Cancel everything that runs and every open question; the results that were still in time."""
        asking = tuple(self._asking)
        for task in asking:
            task.cancel()
        await self._processor.cancel()
        if asking:
            await asyncio.wait(asking, timeout=GRACE_SECONDS)
        left = [input for input in self._inputs if isinstance(input, ToolFinished)]
        self._inputs.clear()
        return left

    def _came(self, input: Input) -> None:
        self._inputs.append(input)
        self._news.set()

    def _tool_finished(self, result: ToolResult) -> None:
        self._came(ToolFinished(self._clock.now(), result))

    async def _ask(self, question: Question) -> None:
        await self._announcer.tell(events.ApprovalAsked, question=question)
        decisions = await self._decisions(question)
        for asked in question.calls:
            self._came(decided(self._catalog, asked.call, decisions, self._clock.now()))

    async def _decisions(self, question: Question) -> Mapping[str, Decision]:
        """The approver's answers. Nobody to ask in this process means: later; an approver that breaks denies."""
        if self._approver is None:
            return {}
        try:
            return checked_answers(await self._approver.decide(question))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return await self._denied(question, error)
        except Exception as error:
            return await self._denied(question, error)

    async def _denied(self, question: Question, error: BaseException) -> Mapping[str, Decision]:
        log.warning("the approver failed in run %s", question.run_id, exc_info=error)
        await self._announcer.notice("approver_failed", f"the approver raised {type(error).__name__}: {error}")
        return {asked.call.id: Deny("the approval could not be obtained") for asked in question.calls}


def checked_answers(decisions: object) -> Mapping[str, Decision]:
    """Answers by call id. Misuse for anything else: what is no answer must never count as one."""
    if not isinstance(decisions, Mapping):
        raise Misuse("answer-type", f"answers are a mapping of call ids, got {type(decisions).__name__}")
    answers = cast("Mapping[str, Decision]", decisions)
    for answer in answers.values():
        if not isinstance(answer, Approve | Deny | Later):
            raise Misuse("answer-type", f"an answer is Approve(), Deny(…) or Later(), got {answer!r}")
    return answers


def decided(catalog: Catalog, call: ToolUseBlock, decisions: Mapping[str, Decision], at: float) -> Decided:
    """The answer for one call as an input; edited arguments are checked again."""
    decision = decisions.get(call.id, Later())
    if not isinstance(decision, Approve) or decision.input is None:
        return Decided(at, call.id, decision)
    edited = tool_use(call.id, call.name, decision.input)
    return Decided(at, call.id, replace(decision, input=edited.input), catalog.check(edited))


def _reason(state: State, name: str) -> str:
    return f"{name} is {state.terms.tools[name].tier.name}"
