"""ToolCallProcessor: runs the calls of a round and gives exactly one result for each."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from geode.application.announcer import Announcer
from geode.application.catalog import Catalog
from geode.application.threads import DaemonThreads
from geode.domain.content import ToolResult, ToolUseBlock, result
from geode.domain.policy import Policy
from geode.domain.results import Unrenderable, render
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.tools import Tool, ToolContext, ToolError

log = logging.getLogger("geode")

# How long a coroutine may take to end once it was cancelled, before it is left behind.
GRACE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Started:
    """One call as it runs: its place in the round and the seconds it may take."""

    tool: Tool
    call: ToolUseBlock
    index: int
    deadline: float


class ToolCallProcessor:
    """Runs calls side by side, at most `policy.max_parallel` at once, each within its deadline.

    `finished` is called exactly once for each started call, in the order in which they end. A tool
    that raises, hangs or cancels itself never touches its siblings.
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
    ) -> None:
        self._catalog, self._policy, self._deps = catalog, policy, deps
        self._clock, self._announcer, self._finished = clock, announcer, finished
        self._slots = asyncio.Semaphore(policy.max_parallel)
        self._threads = DaemonThreads(policy.max_parallel)
        self._tasks: set[asyncio.Task[None]] = set()
        # Calls of WRITE and DANGEROUS tools that are past their deadline and still alive.
        self._lingering: dict[str, str] = {}

    def start(self, call: ToolUseBlock, index: int, seconds: float | None) -> None:
        """Begin the call, the `index`-th of its round; `seconds` is what the run's own budget leaves."""
        tool = self._catalog.tools[call.name]
        own = tool.timeout_seconds or self._policy.tool_timeout_seconds
        deadline = own if seconds is None else min(own, seconds)
        task = asyncio.create_task(self._perform(_Started(tool, call, index, deadline)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def cancel(self) -> None:
        """Cancel every call that runs and wait, boundedly, until they have ended."""
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=2 * GRACE_SECONDS)

    async def _perform(self, run: _Started) -> None:
        async with self._slots:
            started = self._clock.now()
            if run.tool.tier.runs_alone and self._lingering:
                found = _not_started(run.call, self._lingering)
            else:
                await self._announcer.tell(events.ToolStarted, index=run.index, call=run.call)
                found = await self._within_deadline(run)
            seconds = self._clock.now() - started
            await self._announcer.tell(events.ToolFinished, index=run.index, call=run.call, result=found, seconds=seconds)
            self._finished(found)

    async def _within_deadline(self, run: _Started) -> ToolResult:
        """The call's result, or that it took too long; a deadline is kept whatever the tool does."""
        work = asyncio.ensure_future(self._result_of(run))
        started = self._clock.now()
        try:
            await asyncio.wait((work,), timeout=run.deadline)
        except asyncio.CancelledError:
            await _cancel(work)
            raise
        if not work.done():
            self._linger(run, work)
            await _cancel(work)
            return _timed_out(run)
        if (seconds := self._clock.now() - started) > run.deadline + GRACE_SECONDS:
            await self._announcer.notice("loop_blocked", f"{run.call.name} blocked the event loop for {seconds:.1f} s")
        if work.cancelled():
            return result(run.call.id, "failed", f"{run.call.name} was cancelled from inside", "the tool raised CancelledError")
        return work.result()

    async def _result_of(self, run: _Started) -> ToolResult:
        call, tool = run.call, run.tool
        try:
            value = await self._invoke(run)
            return ToolResult(call.id, "ok", render(value))
        except ToolError as error:
            return ToolResult(call.id, "failed", result(call.id, "failed", str(error)).content, "", error.recoverable)
        except Unrenderable as error:
            advice = "return JSON-like data, a dataclass or a pydantic model"
            return result(
                call.id, "failed", "the tool's result could not be rendered", f"{call.name} returned {error}; {advice}"
            )
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a tool that calls sys.exit() must not end the application
            log.warning("tool %s raised in run %s, call %s", tool.spec.name, self._announcer.run_id, call.id, exc_info=error)
            trace = "".join(traceback.format_exception(error))
            return result(call.id, "failed", f"{call.name} failed with {type(error).__name__}", trace)

    async def _invoke(self, run: _Started) -> Any:
        call, tool = run.call, run.tool
        context = ToolContext(
            self._deps,
            call.id,
            f"{self._announcer.run_id}/{call.id}",
            run.deadline,
            self._announcer.run_id,
            self._progress_of(call),
        )
        if tool.blocking:
            value = await self._threads.run(lambda: tool.invoke(call.input, context), lambda: self._ended(call.id))
        else:
            value = tool.invoke(call.input, context)
        return await value if inspect.isawaitable(value) else value

    def _progress_of(self, call: ToolUseBlock) -> Callable[[str], None]:
        """A function that tools may call from any thread."""
        loop = asyncio.get_running_loop()

        def progress(message: str) -> None:
            loop.call_soon_threadsafe(self._tell_progress, call, message)

        return progress

    def _tell_progress(self, call: ToolUseBlock, message: str) -> None:
        task = asyncio.create_task(self._announcer.tell(events.ToolProgressed, call=call, message=message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _linger(self, run: _Started, work: asyncio.Future[ToolResult]) -> None:
        """Remember that a call that may still change something is alive, until it has ended."""
        if run.tool.tier.runs_alone:
            self._lingering[run.call.id] = run.call.name
            if not run.tool.blocking:
                work.add_done_callback(lambda _: self._ended(run.call.id))

    def _ended(self, call_id: str) -> None:
        self._lingering.pop(call_id, None)


async def _cancel(work: asyncio.Future[ToolResult]) -> None:
    """Cancel, and wait a little: a coroutine that swallows its cancellation is left behind."""
    work.cancel()
    await asyncio.wait((work,), timeout=GRACE_SECONDS)


def _timed_out(run: _Started) -> ToolResult:
    """Past the deadline: failed for a tool that changes nothing, else nobody knows what it did (spec section 4)."""
    late = f"{run.call.name} did not finish within {run.deadline:g} s"
    if run.tool.tier.needs_approval:
        return result(
            run.call.id, "outcome_unknown", f"{late}; it may or may not have had its effect. Check before calling again"
        )
    return result(run.call.id, "failed", f"timeout: {late}")


def _not_started(call: ToolUseBlock, lingering: dict[str, str]) -> ToolResult:
    others = ", ".join(f"{name} ({id})" for id, name in lingering.items())
    return result(call.id, "failed", f"{call.name} was not started: {others} is past its deadline and still running")
