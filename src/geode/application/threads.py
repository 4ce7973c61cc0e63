"""Daemon threads for tools that block.

The event loop's own executor is no place for them: the interpreter joins its threads at exit, so one
tool that never returns would keep the process alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any


class RaisedInThread(Exception):
    """Its cause was raised in a thread, and is none that a coroutine can raise: KeyboardInterrupt is no Ctrl-C there."""


class DaemonThreads:
    """Runs functions in daemon threads, at most `limit` alive at once; a caller waits for a free place.

    A caller that is cancelled leaves its thread running; the place is free when the thread has ended.
    """

    def __init__(self, limit: int) -> None:
        self._places = asyncio.Semaphore(limit)

    async def run(self, function: Callable[[], Any]) -> Any:
        """What `function` returns or raises, run with the caller's context variables."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def arrived(value: Any, error: BaseException | None) -> None:
            self._places.release()
            if not answer.done():
                answer.set_result((value, error))
            elif inspect.iscoroutine(value):
                value.close()

        def work() -> None:
            value, error = None, None
            try:
                value = context.run(function)
            except BaseException as raised:  # also SystemExit: a tool must not end the application
                error = raised
            # A closed loop refuses: then nobody waits any more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(arrived, value, error)

        try:
            threading.Thread(target=work, name="geode-tool", daemon=True).start()
        except BaseException:
            self._places.release()
            raise
        value, error = await answer
        if isinstance(error, KeyboardInterrupt | StopIteration):
            raise RaisedInThread from error
        if error is not None:
            raise error
        return value
