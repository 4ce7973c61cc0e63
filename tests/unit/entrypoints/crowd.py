"""Many runs at once in one process, of which some are cancelled and some streams are left; and what is left behind.

What a run does is drawn from a seed. Each conversation is checked by the rules told anew in `breaches`,
which share no code with geode, and by the results that its tools really gave.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeAlias

import geode
from geode.application.agentic_loop import AgenticLoop
from geode.domain.script import Script, calls, says
from geode.entrypoints.emulator import Emulator, running
from geode.events import Event
from geode.testing import ScriptedModel
from tests.unit.domain.book import breaches

On: TypeAlias = Literal["scripted", "messages", "responses", "chat"]
Sessions: TypeAlias = Callable[[], AbstractAsyncContextManager[AgenticLoop]]
Fate: TypeAlias = Literal["answered", "cancelled", "left", "ended_first"]

PATHS = {"messages": "", "responses": "/v1", "chat": "/v1"}
ENDPOINTS = [
    *(("look", {"word": "a"}), ("think", {"word": "b"}), ("save", {"word": "c"}), ("look", {"word": "d"})),
    *(("draw", {"word": "e"}), ("draw", {"word": "f"}), ("think", {"word": "g"})),
]
SCRIPT: Script = (calls(*ENDPOINTS[:4]), calls(*ENDPOINTS[4:]), says("Done."))
# A whole run has 27: whoever is to be cancelled is, wherever it is by then.
MOST_EVENTS = 24


@dataclass
class Crowd:
    """What happened."""

    fates: Counter[Fate] = field(default_factory=Counter[Fate])
    wrong: list[str] = field(default_factory=list[str])
    calls_run: int = 0
    now: int = 0
    most_at_once: int = 0


@geode.tool(tier="safe")
async def look(word: str, ctx: geode.ToolContext[Random]) -> str:
    """Look."""
    await asyncio.sleep(ctx.deps.random() / 100)
    return f"look {word}"


@geode.tool(tier="safe")
def think(word: str, ctx: geode.ToolContext[Random]) -> str:
    """Think, in a thread."""
    time.sleep(ctx.deps.random() / 200)
    return f"think {word}"


@geode.tool(tier="write")
async def save(word: str) -> str:
    """Save."""
    await asyncio.sleep(0)
    return f"save {word}"


@geode.tool(tier="expensive")
async def draw(word: str) -> str:
    """Draw."""
    await asyncio.sleep(0)
    return f"draw {word}"


async def approve(call: geode.ToolUseBlock) -> geode.Approve | geode.Deny:
    await asyncio.sleep(0)
    return geode.Deny("not f") if call.input["word"] == "f" else geode.Approve()


class _Fated:
    """Watches one run, and ends it after so many events: a cancellation in the midst of whatever runs then."""

    def __init__(self, after: int | None) -> None:
        self._left = after
        self.task: asyncio.Task[Any] | None = None

    def sees(self) -> None:
        if self._left is not None and self.task is not None:
            self._left -= 1
            if self._left == 0:
                asyncio.get_running_loop().call_soon(self.task.cancel)


FATED: ContextVar[_Fated] = ContextVar("FATED")
TOOLS = [look, think, save, draw]


def _watch(event: Event) -> None:
    FATED.get().sees()


class _Script(ScriptedModel):
    """A script that need not be played to its end."""

    def finish(self) -> None:
        """Its run may have been left."""


async def crowd(count: int, seed: int, on: On) -> dict[str, Any]:
    """`count` runs at once; a random third is cancelled, and a tenth are streams that are left. The figures."""
    gc.collect()
    before = (_files(), _threads(), len(asyncio.all_tasks()))
    chance, happened = Random(seed), Crowd()
    doomed = set(chance.sample(range(count), count // 3))
    leavers = set(chance.sample(sorted(set(range(count)) - doomed), count // 10))
    began = time.perf_counter()
    async with _sessions(on, chance) as opened:
        tasks: list[asyncio.Task[None]] = []
        for number in range(count):
            after = chance.randint(0, MOST_EVENTS) if number in doomed | leavers else None
            fated = _Fated(after if number in doomed else None)
            leaves = after if number in leavers else None
            work = _one(happened, opened, fated, leaves)
            fated.task = asyncio.create_task(work)
            tasks.append(fated.task)
            if after == 0 and number in doomed:
                asyncio.get_running_loop().call_soon(fated.task.cancel)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    seconds = time.perf_counter() - began
    happened.wrong += [f"a run ended with {one!r}" for one in ended if one is not None and not _cancelled(one)]
    happened.fates["cancelled"] += sum(_cancelled(one) for one in ended)
    left = await _left_behind(before)
    return {
        "on": on,
        "seed": seed,
        "runs": count,
        **{fate: happened.fates[fate] for fate in ("answered", "cancelled", "left", "ended_first")},
        "most_at_once": happened.most_at_once,
        "results": happened.calls_run,
        "seconds": round(seconds, 1),
        "wrong": happened.wrong,
        **left,
    }


@asynccontextmanager
async def _sessions(on: On, chance: Random) -> AsyncIterator[Sessions]:
    """Opens sessions: each with a script of its own, or all with one server and one client."""
    settings: dict[str, Any] = {"tools": TOOLS, "approve": approve, "observe": _watch, "deps": chance}
    if on == "scripted":
        yield lambda: geode.session(model=_Script(*SCRIPT), **settings)
        return
    async with running(Emulator(SCRIPT, by_conversation=True)) as server:
        lab = geode.Provider("lab", wire=on, base_url=f"{server.base_url}{PATHS[on]}")
        async with geode.Runtime(model="lab/m", providers=[lab], **settings) as runtime:
            yield runtime.session
        assert server.emulator.violations == ()


async def _one(happened: Crowd, opened: Sessions, fated: _Fated, leaves: int | None) -> None:
    FATED.set(fated)
    loop: AgenticLoop | None = None
    happened.now += 1
    happened.most_at_once = max(happened.most_at_once, happened.now)
    try:
        async with opened() as loop:
            if leaves is None:
                outcome = await loop.run("go")
                happened.fates["answered"] += 1
                if not isinstance(outcome, geode.Answered) or outcome.text != "Done.":
                    happened.wrong.append(f"{outcome!r:.200}")
            else:
                happened.fates["left" if await _walk_away(loop, leaves) else "ended_first"] += 1
    finally:
        happened.now -= 1
        if loop is not None:
            _check(happened, loop.conversation)


async def _walk_away(loop: AgenticLoop, after: int) -> bool:
    """Whether the stream was left before its end."""
    async with aclosing(loop.stream("go")) as stream:
        async for _ in stream:
            after -= 1
            if after <= 0:
                return True
    return False


def _check(happened: Crowd, conversation: geode.Conversation) -> None:
    happened.wrong += breaches(conversation.turns)
    again = geode.Conversation.loads(conversation.dumps())
    if again.repairs:
        happened.wrong.append(f"it needed {again.repairs}")
    for (name, arguments), result in zip(ENDPOINTS, conversation.results(), strict=False):
        happened.calls_run += 1
        if result.kind == "ok" and result.text != f"{name} {arguments['word']}":
            happened.wrong.append(f"{name} {arguments} was answered with {result.text!r}")


def _cancelled(ended: object) -> bool:
    return isinstance(ended, asyncio.CancelledError)


async def _left_behind(before: tuple[int, int, int]) -> dict[str, int]:
    """Tasks, threads and files more than there were; what is just ending may take a moment."""
    for attempt in range(100):
        gc.collect()
        now = (_files(), _threads(), len(asyncio.all_tasks()))
        files, threads, tasks = (max(count - once, 0) for count, once in zip(now, before, strict=True))
        if attempt == 99 or not (files or threads or tasks):
            return {"files_left": files, "threads_left": threads, "tasks_left": tasks}
        await asyncio.sleep(0.05)
    raise AssertionError("unreachable")


def _files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _threads() -> int:
    """Those of the event loop's own executor are its own: it keeps them for later, and ends them with itself."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())
