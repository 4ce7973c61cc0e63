"""Performing a stage: calls run and questions wait side by side, and whatever comes first is the next input."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from geode.application.admission import Admission
from geode.application.announcer import Announcer
from geode.application.catalog import Checks
from geode.application.contents import Contents
from geode.application.foreign import explained, handed_question, text_of, warn
from geode.application.guard import ResultGuard
from geode.application.hooking import Hooking
from geode.application.nesting import Nesting
from geode.application.processor import GRACE_SECONDS, ToolCallProcessor
from geode.application.tools_in_force import ToolsInForce
from geode.domain.approval import Approve, Decision, Deny, Later, Question
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.errors import Misuse
from geode.domain.loop.answering import askable
from geode.domain.loop.inputs import CallChanged, CallVetoed, Checked, Decided, Input, TimePassed, ToolFinished
from geode.domain.loop.stages import NOT_STARTED
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.rounds import asked_about, edited, executions
from geode.domain.spent import Spent
from geode.ports import events
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.results import StoredResults
from geode.ports.tools import NothingStored

# Added to the deadline of a run: epoch seconds are too coarse to tell the moment itself.
_PAST: Final = 0.001


_Asking: TypeAlias = asyncio.Task[list[Decided] | BaseException]


class StagePerformer:
    """Gives the inputs of the stages of one run, as they happen.

    What a stage wants started or asked is started or asked once, however often the stage changes.
    """

    def __init__(
        self,
        *,
        tools: ToolsInForce,
        policy: Policy,
        deps: Any,
        clock: Clock,
        announcer: Announcer,
        approver: Approver | None,
        hooking: Hooking,
        guard: ResultGuard | None = None,
        results: StoredResults = NothingStored(),
        contents: Contents | None = None,
        nesting: Nesting,
    ) -> None:
        self._nesting = nesting
        self._tools, self._clock, self._announcer, self._approver = tools, clock, announcer, approver
        self._inputs: deque[Input] = deque()
        self._news = asyncio.Event()
        self._processor = ToolCallProcessor(
            catalog=tools,
            policy=policy,
            deps=deps,
            clock=clock,
            announcer=announcer,
            finished=self._tool_finished,
            review=hooking.after_result if hooking.after_results else None,
            guard=guard,
            results=results,
            contents=contents,
            nesting=nesting,
        )
        self._admission = Admission(hooking, clock, announcer, self._came, self._news.set)
        self._ending: list[asyncio.Task[Any]] = []
        # Calls by id, with the step of their recovery: each step is started, and asked about, once.
        self._started: set[tuple[str, int]] = set()
        self._asked: set[tuple[str, int]] = set()
        # Open questions, and the tasks of those that were withdrawn and have not ended yet.
        self._asking: dict[_Asking, Question] = {}
        self._withdrawn: set[_Asking] = set()

    async def next_input(self, state: State) -> Input | None:
        """Start and ask what the pending stage wants and was not yet, then wait for whatever comes first; None if woken."""
        stage, round = state.stage, state.round
        self._nesting.at(state)
        held = self._admission.held(state, self._started)
        unstarted = {id for id in stage.start if (id, round.step_of(id)) not in self._started}
        if state.stopping:
            self._leave_out(unstarted, state)
        else:
            self._start(unstarted - held, state)
        unasked = [id for id in stage.ask if (id, round.step_of(id)) not in self._asked]
        if unasked and held.isdisjoint(unasked):
            self._question(unasked, state)
        if stage.check:
            return Checked(self._clock.now(), stage.check[0], self._tools.check(round.call(stage.check[0])))
        await self._news.wait()
        found = self._inputs.popleft() if self._inputs else None
        if not self._inputs:
            self._news.clear()
        return found if found is not None and _in_time(found, state) else None

    def fit(self, contents: Contents) -> None:
        """Results are made so from here on."""
        self._processor.fit(contents)

    def wake(self) -> None:
        """The run is to stop: end the waiting for an input, and that of calls which are to be tried again."""
        self._processor.stop_waiting()
        self._nesting.stop()
        self._news.set()

    def _question(self, unasked: list[str], state: State) -> None:
        """Ask about these calls, for as long as the run has time."""
        terms, round = state.terms, state.round
        self._asked.update((id, round.step_of(id)) for id in unasked)
        question = Question(terms.run_id, tuple(asked_about(state, id) for id in unasked))
        task = asyncio.create_task(self._ask(question))
        self._asking[task] = question
        task.add_done_callback(self._answered)
        if terms.policy.max_seconds is not None:
            deadline = terms.started_at + terms.policy.max_seconds
            left = max(deadline - self._clock.now(), 0.0)
            timer = asyncio.get_running_loop().call_later(left, self._out_of_time, task, deadline + _PAST)
            task.add_done_callback(lambda _: timer.cancel())

    def _start(self, unstarted: set[str], state: State) -> None:
        if not unstarted:
            return
        for execution in executions(state):
            call = execution.call
            if call.id in unstarted:
                self._started.add((call.id, execution.step))
                if why := self._tools.left(call.name, state.counters.rounds):
                    self._came(CallVetoed(self._clock.now(), call.id, why))
                else:
                    self._processor.start(execution, state.stage.timeout_seconds)

    def _leave_out(self, unstarted: set[str], state: State) -> None:
        """The run is being stopped: what was not started yet never is."""
        for id in unstarted:
            self._started.add((id, state.round.step_of(id)))
            self._tool_finished(result(id, "interrupted", NOT_STARTED))

    def close(self) -> list[ToolFinished]:
        """Cancel everything that runs and every open question, now; the results that were in time."""
        shown = self._admission.cancel()
        for task in tuple(self._asking):
            self._withdraw(task)
        self._ending = [*self._processor.cancel(), *shown]
        left = [input for input in self._inputs if isinstance(input, ToolFinished)]
        self._inputs.clear()
        return left

    async def ended(self) -> None:
        """Wait, boundedly, until what was cancelled has ended and what happened was told."""
        ending = (*self._ending, *self._withdrawn)
        if ending:
            await asyncio.wait(ending, timeout=GRACE_SECONDS)
        await self._announcer.told(GRACE_SECONDS)

    def _came(self, input: Input) -> None:
        self._inputs.append(input)
        self._news.set()

    def _tool_finished(self, result: ToolResult, spent: Spent | None = None) -> None:
        self._came(ToolFinished(self._clock.now(), result, spent))

    async def _ask(self, question: Question) -> list[Decided] | BaseException:
        """The answers, or what kept them from coming. Nobody to ask in this process means: later."""
        if self._announcer.heard:
            await self._announcer.tell(events.ApprovalAsked, question=handed_question(question))
        try:
            approver = self._approver
            answers = {} if approver is None else checked_answers(await approver.decide(handed_question(question)))
            return [decided(self._tools, asked.call, answers, self._clock.now()) for asked in question.calls]
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # whatever it is, the calls are owed an answer
            return error

    def _answered(self, task: _Asking) -> None:
        """The task has ended, however: each of its calls gets its answer, unless the question was withdrawn."""
        self._withdrawn.discard(task)
        question = self._asking.pop(task, None)
        if question is None:
            return
        broken = asyncio.CancelledError() if task.cancelled() else task.exception()
        found = task.result() if broken is None else broken
        for input in found if isinstance(found, list) else self._denied(question, found):
            self._came(input)

    def _denied(self, question: Question, error: BaseException) -> list[Decided]:
        """An approver that breaks denies; a wrong answer says what a right one is, and needs no traceback."""
        told = isinstance(error, Misuse)
        text = text_of(error) if told else f"the approver raised {explained(error)}"
        warn(f"the approver failed in run {question.run_id}: {text}", None if told else error)
        self._announcer.soon(self._announcer.notice("approver_failed", text))
        deny = Deny("the approval could not be obtained")
        return [Decided(self._clock.now(), asked.call.id, deny) for asked in question.calls]

    def _withdraw(self, task: _Asking) -> None:
        if self._asking.pop(task, None) is not None:
            self._withdrawn.add(task)
            task.cancel()

    def _out_of_time(self, task: _Asking, at: float) -> None:
        """The run's time is used up and nobody has answered."""
        self._withdraw(task)
        self._came(TimePassed(max(at, self._clock.now())))


def _in_time(input: Input, state: State) -> bool:
    """Whether it still counts: the time may have run out meanwhile, or the run is being stopped."""
    match input:
        case Decided(call_id=id):
            return id in askable(state)
        case CallChanged(call_id=id) | CallVetoed(call_id=id):
            return id in (*state.stage.start, *state.stage.ask)
        case ToolFinished(result=found):
            return found.call_id in state.stage.start
        case _:
            return True


def checked_answers(decisions: object) -> Mapping[str, Decision]:
    """Answers by call id. Misuse for anything else: what is no answer must never count as one."""
    if not isinstance(decisions, Mapping):
        raise Misuse("answer-type", f"answers are a mapping of call ids, got {type(decisions).__name__}")
    for answer in cast("Mapping[object, object]", decisions).values():
        if not isinstance(answer, Approve | Deny | Later):
            got = text_of(answer, repr)
            raise Misuse("answer-type", f"an answer is Approve(), Deny(…) or Later(), got {got:.80}")
    return cast("Mapping[str, Decision]", decisions)


def decided(catalog: Checks, call: ToolUseBlock, decisions: Mapping[str, Decision], at: float) -> Decided:
    """The answer for one call as an input; edited arguments are checked again."""
    decision = decisions.get(call.id, Later())
    if not isinstance(decision, Approve) or decision.input is None:
        return Decided(at, call.id, decision)
    return Decided(at, call.id, decision, catalog.check(edited(call, decision)))
