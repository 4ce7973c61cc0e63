"""An adapter at work, and the few words in which the contracts are written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pytest
from returns.result import Result

import geode
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.loop.outcome import Outcome
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.retry import RetryPolicy
from geode.entrypoints.compliance.histories import TOOLS, user
from geode.ports.events import Finished
from geode.ports.model import CallPart, Delta, ModelAdapter, TextPart

Answer: TypeAlias = Result[AdapterCallResult, CallFailure]
HELLO: Final = Conversation((user("hi"),))
STREAMED: Final = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
# No waiting between attempts: how long is waited is another test's business.
AT_ONCE: Final = RetryPolicy(base_seconds=0.0)


@dataclass
class Playing:
    """An adapter over a script.

    `bodies` gives the requests that have been made of the model, as bytes; `left` is set when the client broke a
    connection off, None where there is none. `judged` False: what is sent in this test need not be acceptable.
    """

    adapter: ModelAdapter
    model: str
    bodies: Callable[[], Sequence[bytes]]
    left: asyncio.Event | None = None
    judged: bool = True
    deltas: list[Delta] = field(default_factory=list[Delta])

    @property
    def count(self) -> int:
        """How many requests have been made of the model."""
        return len(self.bodies())

    def request(self, *, streamed: bool = False, **changes: Any) -> AdapterCallRequest:
        usual: dict[str, Any] = {"conversation": HELLO, "tools": TOOLS, "limits": Limits(64, 5.0, 5.0)}
        return AdapterCallRequest(**{"model": self.model, "streamed": streamed, **usual, **changes})

    async def ask(self, *, streamed: bool = False, **changes: Any) -> Answer:
        return await self.adapter.acomplete(self.request(streamed=streamed, **changes), self.take)

    async def take(self, delta: Delta) -> None:
        self.deltas.append(delta)

    async def run(self, *, streamed: bool = False, tool_choice: Any = None, prompt: str = "hi", **settings: Any) -> Outcome:
        """A run of an application with this adapter as its model; attempts follow each other at once."""
        given: dict[str, Any] = {"tools": [READER], "policy": Policy(retry=AT_ONCE), **settings}
        conversation = given.pop("conversation", None)
        async with geode.session(model=self.adapter, **given) as loop:
            if not streamed:
                return await loop.run(prompt, conversation=conversation, tool_choice=tool_choice)
            async for event in loop.stream(prompt, conversation=conversation, tool_choice=tool_choice):
                if isinstance(event, Finished):
                    return event.outcome
        raise AssertionError("the run did not finish")


def read_file(path: str) -> str:
    """Read a file."""
    return f"content of {path}"


READER: Final = geode.tool(tier="safe", name="read")(read_file)


def reply_of(answer: Answer) -> AdapterCallResult:
    assert answer.swap().value_or(None) is None, f"it failed: {answer}"
    return answer.unwrap()


def failure_of(answer: Answer) -> CallFailure:
    failure = answer.swap().value_or(None)
    assert failure is not None, f"a failure was expected, not {answer}"
    return failure


def class_of(answer: Answer, *, shown: bool = False) -> FailureClass:
    """The class of a failed call; `shown` as the driver adds it, once it has handed on visible output."""
    failure = failure_of(answer)
    return FailureClass.STREAM_INTERRUPTED if shown else classify_retry_error(failure)


async def until(true: Callable[[], bool]) -> None:
    """Wait for what a server does, but not for ever."""
    for _ in range(1000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not happen within 5 s")


def visible(delta: Delta) -> bool:
    return isinstance(delta, TextPart | CallPart)


async def nowhere(_: Delta) -> None:
    """Deltas that nobody reads."""
