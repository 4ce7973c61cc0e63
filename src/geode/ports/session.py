"""What a host's own classes ask for: a way to get a session, and what a session can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from geode.domain.approval import Decision
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Outcome
from geode.ports.events import Event


class Loop(Protocol):
    """A session: runs one run at a time. The obligations are those of `geode.session(…)`."""

    @property
    def conversation(self) -> Conversation: ...

    async def run(self, prompt: Any, *, conversation: Conversation | None = None, tool_choice: Any = None) -> Outcome: ...

    async def resume(self, snapshot: str, answers: Mapping[str, Decision]) -> Outcome: ...

    async def resume_run(self, run_id: str, answers: Mapping[str, Decision] | None = None) -> Outcome: ...

    def stream(
        self, prompt: Any, *, conversation: Conversation | None = None, tool_choice: Any = None
    ) -> AsyncIterator[Event]: ...

    def stop(self) -> None: ...


class SessionFactory(Protocol):
    """`async with sessions() as loop`: inject `container.session.provider` into a class that takes this."""

    def __call__(self) -> AbstractAsyncContextManager[Loop]: ...
