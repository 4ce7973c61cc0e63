"""What every model adapter keeps, whatever it speaks: one class for an adapter's test file to inherit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import pytest
from returns.result import Result

from geode.domain.arguments import tool_use
from geode.domain.content import Opaque, Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.script import Called, Reply, Said, Step, drops, fails, hangs, malformed, says
from geode.ports.model import CallPart, Delta, ModelAdapter, TextPart
from tests.contract import specification
from tests.contract.histories import TOOLS, user

HELLO = Conversation((user("hi"),))
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
Answer = Result[AdapterCallResult, CallFailure]


@dataclass
class Playing:
    """An adapter over a script; `count` says how many requests have been made of the model."""

    adapter: ModelAdapter
    model: str
    count: Callable[[], int]
    deltas: list[Delta] = field(default_factory=list[Delta])

    def request(self, *, streamed: bool = False, **changes: Any) -> AdapterCallRequest:
        given: dict[str, Any] = {"conversation": HELLO, "tools": TOOLS, "limits": Limits(64, 5.0, 5.0), **changes}
        return AdapterCallRequest(self.model, streamed=streamed, **given)

    async def ask(self, *, streamed: bool = False, **changes: Any) -> Answer:
        return await self.adapter.acomplete(self.request(streamed=streamed, **changes), self.take)

    async def take(self, delta: Delta) -> None:
        self.deltas.append(delta)


class Harness(Protocol):
    """How the suite gets at an adapter that plays a script."""

    def playing(self, *script: Step) -> AbstractAsyncContextManager[Playing]: ...


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
    """Wait for what a server in another thread does, but not for ever."""
    for _ in range(1000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not happen within 5 s")


def visible(delta: Delta) -> bool:
    return isinstance(delta, TextPart | CallPart)


class AdapterContract:
    """Inherit, and give `harness`, a `Harness`."""

    harness: ClassVar[Any]

    # ---- replies -------------------------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_a_reply_is_read_whole(self, name: str, streamed: bool) -> None:
        wanted = specification.REPLIES[name]
        async with self.harness.playing(wanted) as playing:
            reply = reply_of(await playing.ask(streamed=streamed))

        assert reply.text == "".join(item.text for item in wanted.items if isinstance(item, Said))
        assert [(call.name, call.input, call.unparsed) for call in reply.calls] == [
            (call.name, call.input, call.unparsed) for call in map(_as_call, wanted.items) if call is not None
        ]
        given = [(item.id, call.id) for item, call in zip(_called(wanted), reply.calls, strict=True)]
        assert all(mine is None or mine == its for mine, its in given)
        assert reply.stop is Stop(wanted.stop_word)
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (wanted.input_tokens, wanted.output_tokens)
        assert (reply.refusal is not None) == (wanted.stop_word == "refusal")
        assert playing.count() == 1

    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_streamed_or_not_the_reply_is_the_same(self, name: str) -> None:
        replies: list[AdapterCallResult] = []
        for streamed in (False, True):
            async with self.harness.playing(specification.REPLIES[name]) as playing:
                replies.append(reply_of(await playing.ask(streamed=streamed)))

        assert replies[0] == replies[1]

    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_the_deltas_add_up_to_the_reply(self, name: str) -> None:
        async with self.harness.playing(specification.REPLIES[name]) as playing:
            reply = reply_of(await playing.ask(streamed=True))

        texts = "".join(delta.text for delta in playing.deltas if isinstance(delta, TextPart))
        assert texts == reply.text
        arguments: dict[int, list[CallPart]] = {}
        for delta in playing.deltas:
            if isinstance(delta, CallPart):
                arguments.setdefault(delta.index, []).append(delta)
        seen = [
            tool_use(call.id, parts[0].name, "".join(part.arguments for part in parts))
            for (_, parts), call in zip(sorted(arguments.items()), reply.calls, strict=True)
        ]
        assert seen == list(reply.calls)

    async def test_an_unstreamed_call_has_no_deltas(self) -> None:
        async with self.harness.playing(says("hi")) as playing:
            reply_of(await playing.ask())

        assert playing.deltas == []

    @STREAMED
    async def test_thinking_belongs_to_who_thought(self, streamed: bool) -> None:
        async with self.harness.playing(specification.REPLIES["thought, text and call"]) as playing:
            reply = reply_of(await playing.ask(streamed=streamed))

        thought, *others = reply.items
        assert isinstance(thought, Opaque)
        assert (thought.owner.adapter, thought.owner.model) == (playing.adapter.name, playing.model)
        assert [type(item) for item in others] == [Text, ToolUseBlock]

    async def test_who_raises_while_deltas_are_shown_is_not_hidden(self) -> None:
        async def take(_: Delta) -> None:
            raise LookupError("the reader broke")

        async with self.harness.playing(says("hi")) as playing:
            with pytest.raises(LookupError, match="the reader broke"):
                await playing.adapter.acomplete(playing.request(streamed=True), take)

    # ---- failures ------------------------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize(("status", "wanted"), specification.STATUSES)
    async def test_a_refused_call_is_a_value_with_its_facts(self, status: int, wanted: FailureClass, streamed: bool) -> None:
        async with self.harness.playing(fails(status, message="as scripted"), says("never")) as playing:
            answer = await playing.ask(streamed=streamed)

        failure = failure_of(answer)
        assert (failure.status, failure.phase, failure.timed_out) == (status, "response", False)
        assert "as scripted" in failure.message
        assert class_of(answer) is wanted
        assert playing.count() == 1, "an adapter makes one attempt"

    @pytest.mark.parametrize("name", specification.HINTS)
    async def test_what_the_server_says_about_trying_again_is_a_fact(self, name: str) -> None:
        hinted = specification.HINTS[name]
        async with self.harness.playing(hinted.failure, says("never")) as playing:
            failure = failure_of(await playing.ask())

        hint = failure.hint
        assert hint.forbidden or hint.seconds is None or hint.seconds >= hinted.seconds
        assert hinted.shown in hint.raw

    @pytest.mark.parametrize(("at", "streamed", "wanted"), specification.DROPS)
    async def test_a_cut_connection_is_a_failure(self, at: Any, streamed: bool, wanted: FailureClass) -> None:
        async with self.harness.playing(drops(at), says("never")) as playing:
            answer = await playing.ask(streamed=streamed)

        shown = any(visible(delta) for delta in playing.deltas)
        assert class_of(answer, shown=shown) is wanted
        assert playing.count() == 1

    @STREAMED
    @pytest.mark.parametrize("kind", dict.fromkeys(kind for kind, _, _ in specification.MALFORMED))
    async def test_a_200_without_an_answer_is_a_failure(self, kind: Any, streamed: bool) -> None:
        async with self.harness.playing(malformed(kind), says("never")) as playing:
            answer = await playing.ask(streamed=streamed)

        assert failure_of(answer).message
        assert playing.count() == 1

    @STREAMED
    async def test_cancelling_passes_through(self, streamed: bool) -> None:
        async with self.harness.playing(hangs()) as playing:
            task = asyncio.create_task(playing.ask(streamed=streamed))
            await until(lambda: playing.count() > 0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


def _called(reply: Reply) -> list[Called]:
    return [item for item in reply.items if isinstance(item, Called)]


def _as_call(item: object) -> ToolUseBlock | None:
    """A scripted call as the domain has it: arguments read by the one function for every wire."""
    return tool_use("", item.name, item.arguments) if isinstance(item, Called) else None
