"""ToolCallProcessor: runs the calls of a round and gives exactly one result for each."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterable, Callable
from typing import Any, Final, cast

from geode.application.announcer import Announcer
from geode.application.calls import Call, Made, Returned, keeping, not_started, own_error, timed_out
from geode.application.catalog import Checks
from geode.application.contents import Contents, gather_async
from geode.application.finishing import Finishing, Review
from geode.application.foreign import copied, handed, kind_of, text_of, trace_of, warn
from geode.application.guard import ResultGuard
from geode.application.nesting import Nesting
from geode.application.threads import DaemonThreads
from geode.domain.content import ErrorKind, Part, Text, ToolResult, ToolUseBlock, result
from geode.domain.policy import Policy
from geode.domain.results import Stream, Unrenderable, gather, is_stream, render
from geode.domain.rounds import Execution
from geode.domain.spent import Spent
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.results import StoredResults
from geode.ports.tools import NothingStored, OutcomeUnknown, ToolContext, ToolError

# How long a coroutine may take to end once it was cancelled, before it is left behind.
GRACE_SECONDS: Final = 1.0


class ToolCallProcessor:
    """Runs calls side by side, at most `policy.max_parallel` at once, each within its deadline.

    `finished` is called exactly once for each started call, in the order in which they end, unless the
    call is cancelled first. A tool that raises, hangs or cancels itself never touches its siblings.
    """

    def __init__(
        self,
        *,
        catalog: Checks,
        policy: Policy,
        deps: Any,
        clock: Clock,
        announcer: Announcer,
        finished: Callable[[ToolResult, Spent | None], None],
        review: Review | None = None,
        contents: Contents | None = None,
        guard: ResultGuard | None = None,
        results: StoredResults = NothingStored(),
        nesting: Nesting | None = None,
    ) -> None:
        self._catalog, self._policy, self._deps, self._nesting = catalog, policy, deps, nesting
        self._clock, self._announcer = clock, announcer
        self._finished, self._contents, self._results = finished, contents or Contents(), results
        self._finishing = Finishing[Call](review=review, guard=guard, announcer=announcer, deliver=self._deliver)
        self._slots = asyncio.Semaphore(policy.max_parallel)
        self._threads = DaemonThreads(policy.max_parallel)
        self._working: dict[asyncio.Task[ToolResult], Call] = {}
        # Calls of WRITE and DANGEROUS tools whose handler was entered and not left.
        self._alive: dict[str, str] = {}

    def start(self, execution: Execution, seconds: float | None) -> None:
        """Begin the execution; `seconds` is what the run's own budget leaves."""
        tool = self._catalog.tools[execution.call.name]
        own = tool.timeout_seconds or self._policy.tool_timeout_seconds
        left = own if seconds is None else min(own, seconds - execution.delay_seconds)
        call = Call(tool, execution, left, delayed=execution.delay_seconds > 0)
        task = call.task = asyncio.create_task(self._work(call))
        self._working[task] = call
        task.add_done_callback(self._ended)

    def fit(self, contents: Contents) -> None:
        """Results are made so from here on."""
        self._contents = contents

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

    async def _work(self, call: Call) -> ToolResult:
        """A task for the tool alone: nothing waits in it once the handler was left, for that may have cancelled it."""
        if call.delayed:
            await self._clock.sleep(call.execution.delay_seconds)
            call.delayed = False
        await self._slots.acquire()
        call.has_slot = True
        if call.tool.tier.runs_alone and self._alive:
            # Such calls come one at a time: what is alive now was left behind at its deadline.
            return not_started(call.block, self._alive)
        if self._announcer.heard:
            await self._announcer.tell(events.ToolStarted, index=call.execution.index, call=handed(call.block))
        call.started_at = self._clock.now()
        call.timer = asyncio.get_running_loop().call_later(call.deadline, self._overdue, call)
        try:
            return await self._result_of(call)
        finally:
            call.ended_at = self._clock.now()

    def _overdue(self, call: Call) -> None:
        """The deadline has passed, and it is kept whatever the tool does: cancelled, and soon left behind."""
        call.overdue, call.blocked = True, self._seconds(call) > call.deadline + GRACE_SECONDS
        if call.task is not None:
            call.task.cancel()
        call.timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._late, call)

    def _late(self, call: Call) -> None:
        self._settle(call, keeping(call, timed_out(call)))

    def _ended(self, task: asyncio.Task[ToolResult]) -> None:
        call = self._working.pop(task, None)
        if call is None:
            return
        if call.timer is not None:
            call.timer.cancel()
        self._settle(call, self._found(call, task))

    def _found(self, call: Call, task: asyncio.Task[ToolResult]) -> ToolResult | None:
        """What came of the call; nothing where the run was cancelled before it ended."""
        broken = None if task.cancelled() else task.exception()
        if call.cancelled:
            return None
        if call.overdue:
            return keeping(call, timed_out(call))
        call.blocked = self._seconds(call) > call.deadline + GRACE_SECONDS
        if task.cancelled():
            text = f"{call.block.name} was cancelled from inside"
            return keeping(call, result(call.block.id, "failed", text, "the tool raised CancelledError"))
        return task.result() if broken is None else keeping(call, self._failed(call, broken))

    def _settle(self, call: Call, found: ToolResult | None) -> None:
        if call.settled:
            return
        call.settled = True
        if call.has_slot:
            self._slots.release()
        if found is None or call.cancelled:
            return
        call.ended_at = call.ended_at or self._clock.now()
        self._finishing.begin(call, call.block, found, reviewed=call.entered)

    def _deliver(self, call: Call, found: ToolResult) -> None:
        # In this order: whoever takes the result in lets this be told first.
        if call.started_at is not None and self._announcer.heard:
            self._announcer.took(call.block.id, self._seconds(call))
            if call.execution.recovering or self._announcer.ends(call.block.id):
                self._announcer.soon(self._told(call, found))
        call.delivered = True
        self._finished(found, call.spent)

    def _seconds(self, call: Call) -> float:
        """How long the call has taken."""
        until = self._clock.now() if call.ended_at is None else call.ended_at
        return 0.0 if call.started_at is None else until - call.started_at

    async def _told(self, call: Call, found: ToolResult) -> None:
        name, seconds = call.block.name, self._seconds(call)
        if call.blocked:
            text = f"the event loop was blocked: {name} took {seconds:.1f} s, past its deadline of {call.deadline:g} s"
            await self._announcer.notice("loop_blocked", text)
        # What a recovery comes to is known when it is over.
        if not call.execution.recovering:
            shown, index = handed(call.block), call.execution.index
            await self._announcer.tell(events.ToolFinished, index=index, call=shown, result=found, seconds=seconds)

    async def _result_of(self, call: Call) -> ToolResult:
        try:
            content = await self._invoke(call)
            return (
                await self._fitted(call, content)
                if self._contents.oversize(content)
                else ToolResult(call.block.id, "ok", content)
            )
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a tool that calls sys.exit() must not end the application
            return keeping(call, self._failed(call, error))

    async def _fitted(self, call: Call, content: tuple[Part, ...]) -> ToolResult:
        """The result with pictures that the provider takes. One that has nothing else, and cannot be shown, has failed."""
        fitted = await self._threads.run(lambda: self._contents.fitted(content))
        name, id = call.block.name, call.block.id
        for kind, texts in (("image_resized", fitted.resized), ("image_left_out", fitted.left_out)):
            for text in texts:
                self._announcer.soon(self._announcer.notice(cast("Any", kind), f"{name} ({id}): {text}"))
        return ToolResult(id, "failed" if fitted.is_empty else "ok", fitted.content, "; ".join(fitted.left_out))

    def _failed(self, call: Call, error: BaseException) -> ToolResult:
        """The model is told what was meant for it, else the kind of the exception; the operator all of it."""
        error, block = own_error(error), call.block
        place = f"in run {self._announcer.run_id}, call {block.id}"
        if isinstance(error, ToolError):
            text, recoverable = text_of(error) or f"{block.name} failed", getattr(error, "recoverable", True) is not False
            kind: ErrorKind = "outcome_unknown" if isinstance(error, OutcomeUnknown) else "failed"
            return ToolResult(block.id, kind, (Text(text),), text_of(getattr(error, "detail", "")), recoverable)
        if isinstance(error, Unrenderable):
            advice = "return JSON-like data, a dataclass or a pydantic model"
            detail = f"{block.name} returned {text_of(error)}; {advice}"
            warn(f"{detail} ({place})")
            # What has had its effect must not be called again for it.
            ran = "; the tool itself has run to its end" if call.tool.tier.needs_approval else ""
            return result(block.id, "failed", f"the tool's result could not be rendered{ran}", detail)
        warn(f"tool {block.name} raised {place}", error)
        trace = trace_of(error) or text_of(error)
        return result(block.id, "failed", f"{block.name} failed with {kind_of(error)}", trace)

    async def _invoke(self, call: Call) -> tuple[Part, ...]:
        """The content of the result."""
        tool, block, run_id = call.tool, call.block, self._announcer.run_id
        key = f"{run_id}/{block.id}"
        progress = self._progress_of(block)
        outer = None if self._nesting is None else self._nesting.around(call)
        context = ToolContext(self._deps, block.id, key, call.deadline, run_id, progress, self._results, call.spend, outer)

        if tool.blocking:
            value = await self._threads.run(lambda: self._entered(call, context))
        else:
            value = self._entered(call, context)
        if isinstance(value, Made):
            return value.content
        self._at_work(call)
        try:
            value = await value if inspect.isawaitable(value) else value
            if not self._comes_on_the_loop(value):
                return self._rendered(call, value)
            call.stream = Stream(self._contents.how)
            await gather_async(value, call.stream)
            return call.stream.content()
        finally:
            self._alive.pop(block.id, None)

    def _entered(self, call: Call, context: ToolContext[Any]) -> Any:
        """What the handler gives; in a thread, or on the event loop. What can be rendered there is: it may belong to there."""
        self._at_work(call)
        try:
            value = call.tool.invoke(copied(call.block.input), context)
            waits = inspect.isawaitable(value) or self._comes_on_the_loop(value)
            return value if waits else Made(self._rendered(call, value))
        finally:
            self._alive.pop(call.block.id, None)

    def _comes_on_the_loop(self, value: object) -> bool:
        """Whether it gives its items as time passes."""
        return isinstance(value, AsyncIterable) and not hasattr(type(value), "read") and not self._contents.how.has_own(value)

    def _rendered(self, call: Call, value: object) -> tuple[Part, ...]:
        if isinstance(value, BaseException):
            raise Returned from value
        if not is_stream(value) or self._contents.how.has_own(value):
            return render(value, self._contents.how)
        stream = call.stream = Stream(self._contents.how)
        # A thread that was left behind ends with its next item.
        gather(cast("Any", value), lambda item: not (call.overdue or call.cancelled) and stream.take(item))
        return stream.content()

    def _at_work(self, call: Call) -> None:
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
