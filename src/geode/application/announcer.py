"""Telling observers what happens, in one total order per run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from geode.application.foreign import explained, text_of, warn
from geode.domain.loop.actions import CallModel
from geode.ports import events
from geode.ports.events import Event, NoticeKind, Observer

AnyEvent = TypeVar("AnyEvent", bound=Event)


class Announcer:
    """Numbers the events of one run and hands each to every observer and to the stream, if there is one.

    One event at a time: however slow an observer is, all see the same order. `round` is the one that a
    run begins in, or is taken up in; `told` are calls whose end was told before that. It is made in the
    task that runs the run.
    """

    def __init__(
        self,
        run_id: str,
        observers: Sequence[Observer],
        stream: Callable[[Event], Awaitable[None]] | None,
        round: int = 0,
        told: Collection[str] = (),
    ) -> None:
        self.run_id = run_id
        self._observers = list(observers)
        self._failed: set[int] = set()
        self._stream = stream
        self._turn = asyncio.Lock()
        self._seq = 0
        self._round, self._attempt = round, 0
        self._ends_told = set(told)
        self._took: dict[str, float] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._runner = asyncio.current_task()
        self._asked_before = 0 if self._runner is None else self._runner.cancelling()

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

    def ends(self, call_id: str) -> bool:
        """Whether the end of this call is still to be told. Whoever asks first tells it: each ends once."""
        if call_id in self._ends_told:
            return False
        self._ends_told.add(call_id)
        return True

    def took(self, call_id: str, seconds: float) -> None:
        """One execution of this call took so long."""
        self._took[call_id] = self._took.get(call_id, 0.0) + seconds

    def seconds_of(self, call_id: str) -> float:
        """How long the executions of this call took, together."""
        return self._took.get(call_id, 0.0)

    def soon(self, telling: Coroutine[Any, Any, None]) -> None:
        """Have it told beside what runs."""
        task = asyncio.create_task(telling)
        self._telling.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            warn(f"telling failed in run {self.run_id}", error)

    async def caught_up(self) -> None:
        """Wait until everything was told that was to be told soon: what follows from it comes after it."""
        others = self._telling - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)

    async def told(self, seconds: float) -> None:
        """Wait until everything was told, but no longer than so many seconds: then what waits for an observer is given up."""
        if not self._telling:
            return
        _, late = await asyncio.wait(tuple(self._telling), timeout=seconds)
        for telling in late:
            telling.cancel()
        if late:
            await asyncio.wait(late, timeout=seconds)

    def close(self) -> None:
        """The run is over: what is left behind of it is heard no more."""
        self._observers, self._stream = [], None
        for telling in self._telling:
            telling.cancel()

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
        place = {"run_id": self.run_id, "seq": self._seq, "round": self._round, "attempt": self._attempt}
        event = kind(**{**place, **fields})
        notices: list[str] = []
        for observer in self._observers:
            failure = await self._failure_of(observer, event)
            if failure is not None and id(observer) not in self._failed:
                self._failed.add(id(observer))
                warn(f"an observer failed on {kind.__name__}", failure)
                notices.append(f"{text_of(observer, repr)} raised {explained(failure)}")
        if self._stream is not None:
            await self._stream(event)
        return notices

    async def _failure_of(self, observer: Observer, event: Event) -> BaseException | None:
        """What the observer raised. A cancellation of whoever tells passes; one of the observer's own does not."""
        try:
            answer = observer(event)
            if inspect.isawaitable(answer):
                await answer
        except KeyboardInterrupt:
            raise
        except asyncio.CancelledError as error:
            if self.being_cancelled():
                raise
            return error
        except BaseException as error:  # also SystemExit: an observer never ends a run
            return error
        return None

    def being_cancelled(self) -> bool:
        """Whether the current task was asked to end, or else the code that it called raised CancelledError by itself.

        A run may be part of the tidying up of a task that was cancelled before: that is no cancellation of the run.
        """
        task = asyncio.current_task()
        return task is not None and task.cancelling() > (self._asked_before if task is self._runner else 0)
