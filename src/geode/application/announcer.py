"""Telling observers what happens, in one total order per run."""

from __future__ import annotations

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
    """Numbers the events of one run and hands each to every observer and to the stream, if there is one."""

    def __init__(self, run_id: str, observers: Sequence[Observer], stream: Callable[[Event], Awaitable[None]] | None) -> None:
        self.run_id = run_id
        self._observers = list(observers)
        self._failed: set[int] = set()
        self._stream = stream
        self._seq = 0
        self._round = self._attempt = 0

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

    async def tell(self, event: type[AnyEvent], /, **fields: Any) -> None:
        """Make the event and hand it on."""
        if not self.heard:
            return
        self._seq += 1
        await self._hand_on(event(run_id=self.run_id, seq=self._seq, round=self._round, attempt=self._attempt, **fields))

    async def notice(self, kind: NoticeKind, text: str) -> None:
        await self.tell(events.Notice, kind=kind, text=text)

    async def _hand_on(self, event: Event) -> None:
        broken: list[tuple[Observer, Exception]] = []
        for observer in self._observers:
            try:
                answer = observer(event)
                if inspect.isawaitable(answer):
                    await answer
            except Exception as error:
                broken.append((observer, error))
        if self._stream is not None:
            await self._stream(event)
        for observer, raised in broken:
            if id(observer) not in self._failed:
                self._failed.add(id(observer))
                log.warning("an observer failed on %s", type(event).__name__, exc_info=raised)
                await self.notice("observer_failed", f"{observer!r} raised {type(raised).__name__}: {raised}")
