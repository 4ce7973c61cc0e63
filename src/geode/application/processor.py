"""ToolCallProcessor: runs the calls of a round and gives exactly one result for each."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from geode.application.announcer import Announcer
from geode.application.catalog import Catalog
from geode.application.finishing import Finishing, Review
from geode.application.foreign import copied, handed, kind_of, text_of, trace_of, warn
from geode.application.guard import ResultGuard
from geode.application.threads import DaemonThreads, RaisedInThread
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.policy import Policy
from geode.domain.results import Unrenderable, render
from geode.domain.rounds import Execution
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.results import StoredResults
from geode.ports.tools import NothingStored, Tool, ToolContext, ToolError

# How long a coroutine may take to end once it was cancelled, before it is left behind.
GRACE_SECONDS: Final = 1.0


@dataclass(slots=True, eq=False)
class _Call:
    """One execution under way: of which tool, the seconds it may take, and how far it is.

    `delayed`: its time to begin has not come; `entered`: its handler was; `overdue`: its deadline passed
    before it ended; `cancelled`: with the run, before it ended; `settled`: it has its result, or never will.
    """

    tool: Tool
    execution: Execution
    deadline: float
    task: asyncio.Task[ToolResult] | None = None
    started_at: float | None = None
    ended_at: float | None = None
    timer: asyncio.TimerHandle | None = None
    delayed: bool = False
    has_slot: bool = False
    entered: bool = False
    overdue: bool = False
    cancelled: bool = False
    blocked: bool = False
    settled: bool = False

    @property
    def block(self) -> ToolUseBlock:
        return self.execution.call


class ToolCallProcessor:
    """Runs calls side by side, at most `policy.max_parallel` at once, each within its deadline.

    `finished` is called exactly once for each started call, in the order in which they end, unless the
    call is cancelled first. A tool that raises, hangs or cancels itself never touches its siblings.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        policy: Policy,
        deps: Any,
        clock: Clock,
        announcer: Announcer,
        finished: Callable[[ToolResult], None],
        review: Review | None = None,
        guard: ResultGuard | None = None,
        results: StoredResults = NothingStored(),
    ) -> None:
        self._catalog, self._policy, self._deps = catalog, policy, deps
        self._clock, self._announcer = clock, announcer
        self._finished, self._results = finished, results
        self._finishing = Finishing[_Call](review=review, guard=guard, announcer=announcer, deliver=self._deliver)
        self._slots = asyncio.Semaphore(policy.max_parallel)
        self._threads = DaemonThreads(policy.max_parallel)
        self._working: dict[asyncio.Task[ToolResult], _Call] = {}
        # Calls of WRITE and DANGEROUS tools whose handler was entered and not left.
        self._alive: dict[str, str] = {}

    def start(self, execution: Execution, seconds: float | None) -> None:
        """Begin the execution; `seconds` is what the run's own budget leaves."""
        tool = self._catalog.tools[execution.call.name]
        own = tool.timeout_seconds or self._policy.tool_timeout_seconds
        left = own if seconds is None else min(own, seconds - execution.delay_seconds)
        call = _Call(tool, execution, left, delayed=execution.delay_seconds > 0)
        task = call.task = asyncio.create_task(self._work(call))
        self._working[task] = call
        task.add_done_callback(self._ended)

    def stop_waiting(self) -> None:
        """Give up what has not begun because its time has not come."""
        for task, call in tuple(self._working.items()):
            if call.delayed and not call.settled and task.cancel():
                name = call.block.name
                self._settle(call, result(call.block.id, "interrupted", f"the run was stopped before {name} was tried again"))

    def cancel(self) -> list[asyncio.Task[ToolResult]]:
        """Cancel every call that runs, now: what has ended is told at once, what has not never is. The tasks that end soon."""
        for task, call in tuple(self._working.items()):
            if task.done():
                self._ended(task)
            elif not call.settled:  # what was left behind at its deadline has had its time to end
                call.cancelled = task.cancel()
        finishing = self._finishing.cancel()
        return [*(task for task, call in self._working.items() if call.cancelled), *finishing]

    async def _work(self, call: _Call) -> ToolResult:
        """A task for the tool alone: nothing waits in it once the handler was left, for that may have cancelled it."""
        if call.delayed:
            await self._clock.sleep(call.execution.delay_seconds)
            call.delayed = False
        await self._slots.acquire()
        call.has_slot = True
        if call.tool.tier.runs_alone and self._alive:
            # Such calls come one at a time: what is alive now was left behind at its deadline.
            return _not_started(call.block, self._alive)
        if self._announcer.heard:
            await self._announcer.tell(events.ToolStarted, index=call.execution.index, call=handed(call.block))
        call.started_at = self._clock.now()
        call.timer = asyncio.get_running_loop().call_later(call.deadline, self._overdue, call)
        try:
            return await self._result_of(call)
        finally:
            call.ended_at = self._clock.now()

    def _overdue(self, call: _Call) -> None:
        """The deadline has passed, and it is kept whatever the tool does: cancelled, and soon left behind."""
        call.overdue, call.blocked = True, self._seconds(call) > call.deadline + GRACE_SECONDS
        if call.task is not None:
            call.task.cancel()
        call.timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._settle, call, _timed_out(call))

    def _ended(self, task: asyncio.Task[ToolResult]) -> None:
        call = self._working.pop(task, None)
        if call is None:
            return
        if call.timer is not None:
            call.timer.cancel()
        self._settle(call, self._found(call, task))

    def _found(self, call: _Call, task: asyncio.Task[ToolResult]) -> ToolResult | None:
        """What came of the call; nothing where the run was cancelled before it ended."""
        broken = None if task.cancelled() else task.exception()
        if call.cancelled:
            return None
        if call.overdue:
            return _timed_out(call)
        call.blocked = self._seconds(call) > call.deadline + GRACE_SECONDS
        if task.cancelled():
            text = f"{call.block.name} was cancelled from inside"
            return result(call.block.id, "failed", text, "the tool raised CancelledError")
        return task.result() if broken is None else self._failed(call.block, broken)

    def _settle(self, call: _Call, found: ToolResult | None) -> None:
        if call.settled:
            return
        call.settled = True
        if call.has_slot:
            self._slots.release()
        if found is None or call.cancelled:
            return
        call.ended_at = call.ended_at or self._clock.now()
        self._finishing.begin(call, call.block, found, reviewed=call.entered)

    def _deliver(self, call: _Call, found: ToolResult) -> None:
        # In this order: whoever takes the result in lets this be told first.
        if call.started_at is not None and self._announcer.heard:
            self._announcer.took(call.block.id, self._seconds(call))
            if call.execution.recovering or self._announcer.ends(call.block.id):
                self._announcer.soon(self._told(call, found))
        self._finished(found)

    def _seconds(self, call: _Call) -> float:
        """How long the call has taken."""
        until = self._clock.now() if call.ended_at is None else call.ended_at
        return 0.0 if call.started_at is None else until - call.started_at

    async def _told(self, call: _Call, found: ToolResult) -> None:
        name, seconds = call.block.name, self._seconds(call)
        if call.blocked:
            text = f"the event loop was blocked: {name} took {seconds:.1f} s, past its deadline of {call.deadline:g} s"
            await self._announcer.notice("loop_blocked", text)
        # What a recovery comes to is known when it is over.
        if not call.execution.recovering:
            shown, index = handed(call.block), call.execution.index
            await self._announcer.tell(events.ToolFinished, index=index, call=shown, result=found, seconds=seconds)

    async def _result_of(self, call: _Call) -> ToolResult:
        try:
            return ToolResult(call.block.id, "ok", render(await self._invoke(call)))
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a tool that calls sys.exit() must not end the application
            return self._failed(call.block, error)

    def _failed(self, block: ToolUseBlock, error: BaseException) -> ToolResult:
        """The model is told what was meant for it, else the kind of the exception; the operator all of it."""
        error, place = _own(error), f"in run {self._announcer.run_id}, call {block.id}"
        if isinstance(error, ToolError):
            text, recoverable = text_of(error) or f"{block.name} failed", getattr(error, "recoverable", True) is not False
            return ToolResult(block.id, "failed", result(block.id, "failed", text).content, "", recoverable)
        if isinstance(error, Unrenderable):
            advice = "return JSON-like data, a dataclass or a pydantic model"
            detail = f"{block.name} returned {text_of(error)}; {advice}"
            warn(f"{detail} ({place})")
            return result(block.id, "failed", "the tool's result could not be rendered", detail)
        warn(f"tool {block.name} raised {place}", error)
        trace = trace_of(error) or text_of(error)
        return result(block.id, "failed", f"{block.name} failed with {kind_of(error)}", trace)

    async def _invoke(self, call: _Call) -> Any:
        tool, block, run_id = call.tool, call.block, self._announcer.run_id
        key = f"{run_id}/{block.id}"
        progress = self._progress_of(block)
        context = ToolContext(self._deps, block.id, key, call.deadline, run_id, progress, self._results)

        if tool.blocking:
            value = await self._threads.run(lambda: self._entered(call, context))
        else:
            value = self._entered(call, context)
        if not inspect.isawaitable(value):
            return value
        self._at_work(call)
        try:
            return await value
        finally:
            self._alive.pop(block.id, None)

    def _entered(self, call: _Call, context: ToolContext[Any]) -> Any:
        """What the handler gives; in a thread, or on the event loop."""
        self._at_work(call)
        try:
            return call.tool.invoke(copied(call.block.input), context)
        finally:
            self._alive.pop(call.block.id, None)

    def _at_work(self, call: _Call) -> None:
        call.entered = True
        if call.tool.tier.runs_alone:
            self._alive[call.block.id] = call.block.name

    def _progress_of(self, block: ToolUseBlock) -> Callable[[str], None]:
        """A function that tools may call from any thread."""
        loop = asyncio.get_running_loop()

        def progress(message: str) -> None:
            # A thread that was left behind may outlive the loop.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._tell_progress, block, message)

        return progress

    def _tell_progress(self, block: ToolUseBlock, message: str) -> None:
        if self._announcer.heard:
            self._announcer.soon(self._announcer.tell(events.ToolProgressed, call=handed(block), message=message))


def _own(error: BaseException) -> BaseException:
    """What the tool raised: coroutines cannot raise StopIteration, nor threads all that they would."""
    cause = error.__cause__
    renamed = isinstance(error, RuntimeError) and isinstance(cause, StopIteration | StopAsyncIteration)
    if cause is not None and (isinstance(error, RaisedInThread) or (renamed and "raised Stop" in text_of(error))):
        return cause
    return error


def _timed_out(call: _Call) -> ToolResult:
    """Past the deadline: failed for a tool that changes nothing, else nobody knows what it did (spec section 4)."""
    name, id = call.block.name, call.block.id
    if not call.entered:
        why = "calls that are past their deadline hold every thread"
        return result(id, "failed", f"timeout: {name} was not started within {call.deadline:g} s: {why}")
    late = f"{name} did not finish within {call.deadline:g} s"
    if call.tool.tier.needs_approval:
        return result(id, "outcome_unknown", f"{late}; it may or may not have had its effect. Check before calling again")
    return result(id, "failed", f"timeout: {late}")


def _not_started(block: ToolUseBlock, alive: Mapping[str, str]) -> ToolResult:
    others = ", ".join(f"{name} ({id})" for id, name in alive.items())
    return result(block.id, "failed", f"{block.name} was not started: {others} is past its deadline and still running")
