"""Telling observers what happens, in one total order per run."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from geode.domain.loop.actions import CallModel
from geode.ports import events
from geode.ports.events import Event, NoticeKind, Observer

log = logging.getLogger("geode")
AnyEvent = TypeVar("AnyEvent", bound=Event)


class Announcer:
    """Numbers the events of one run and hands each to every observer and to the stream, if there is one.

    One event at a time: however slow an observer is, all see the same order. `round` is the one that a
    run begins in, or is taken up in.
    """

    def __init__(
        self, run_id: str, observers: Sequence[Observer], stream: Callable[[Event], Awaitable[None]] | None, round: int = 0
    ) -> None:
        self.run_id = run_id
        self._observers = list(observers)
        self._failed: set[int] = set()
        self._stream = stream
        self._turn = asyncio.Lock()
        self._seq = 0
        self._round, self._attempt = round, 0

    @property
    def heard(self) -> bool:
        """Whether anyone listens; events need not be made for nobody."""
        return bool(self._observers) or self._stream is not None

    @property
    def streamed(self) -> bool:
        """Whether anyone wants deltas: a stream does, observers of a plain run do not."""
        return self._stream is not None

    def at(self, call: CallModel) -> None:
        """From here on events belong to this round and attempt."""
        self._round, self._attempt = call.round, call.attempt

    def close(self) -> None:
        """The run is over: what is left behind of it is heard no more."""
        self._observers, self._stream = [], None

    async def tell(self, event: type[AnyEvent], /, **fields: Any) -> None:
        """Make the event and hand it on."""
        if not self.heard:
            return
        async with self._turn:
            broken = await self._hand_on(event, fields)
            while broken:
                text = broken.pop(0)
                broken += await self._hand_on(events.Notice, {"kind": "observer_failed", "text": text})

    async def notice(self, kind: NoticeKind, text: str) -> None:
        await self.tell(events.Notice, kind=kind, text=text)

    async def _hand_on(self, kind: type[AnyEvent], fields: dict[str, Any]) -> list[str]:
        """Tell everyone; what is to be noticed about observers that failed for the first time."""
        self._seq += 1
        event = kind(run_id=self.run_id, seq=self._seq, round=self._round, attempt=self._attempt, **fields)
        notices: list[str] = []
        for observer in self._observers:
            failure = await _failure_of(observer, event)
            if failure is not None and id(observer) not in self._failed:
                self._failed.add(id(observer))
                log.warning("an observer failed on %s", kind.__name__, exc_info=failure)
                notices.append(f"{observer!r} raised {type(failure).__name__}: {failure}")
        if self._stream is not None:
            await self._stream(event)
        return notices


async def _failure_of(observer: Observer, event: Event) -> BaseException | None:
    """What the observer raised. A cancellation of whoever tells passes; one of the observer's own does not."""
    try:
        answer = observer(event)
        if inspect.isawaitable(answer):
            await answer
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return error
    except Exception as error:
        return error
    return None


def being_cancelled() -> bool:
    """Whether the current task was asked to end, or else the code that it called raised CancelledError by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
