"""Deltas: a side channel of the same call (architecture law 6)."""

from __future__ import annotations

import pytest

from geode.domain.arguments import tool_use
from geode.domain.reply import AdapterCallResult
from geode.domain.script import says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import ModelContract
from geode.entrypoints.compliance.playing import nowhere, reply_of
from geode.ports.model import CallPart, Delta, TextPart

LONG = "a sentence that is long enough to come in several pieces"


class StreamingContract(ModelContract):
    """Streamed or not the reply is the same; what is shown adds up to it."""

    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_streamed_or_not_the_reply_is_the_same(self, name: str) -> None:
        replies: list[AdapterCallResult] = []
        for streamed in (False, True):
            async with self.playing(self.reply(specification.REPLIES[name])) as playing:
                replies.append(reply_of(await playing.ask(streamed=streamed)))

        assert replies[0] == replies[1]

    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_the_deltas_add_up_to_the_reply(self, name: str) -> None:
        """Or there are none, where the adapter declares that it does not stream."""
        async with self.playing(self.reply(specification.REPLIES[name])) as playing:
            reply = reply_of(await playing.ask(streamed=True))

        if not self.made.streams and not playing.deltas:
            return
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
        async with self.playing(says("hi")) as playing:
            reply_of(await playing.ask())

        assert playing.deltas == []

    async def test_who_raises_while_deltas_are_shown_is_not_hidden(self) -> None:
        async def take(_: Delta) -> None:
            raise LookupError("the reader broke")

        async with self.playing(says("hi")) as playing:
            request = playing.request(streamed=True)
            if self.made.streams:
                with pytest.raises(LookupError, match="the reader broke"):
                    await playing.adapter.acomplete(request, take)
            else:
                assert reply_of(await playing.adapter.acomplete(request, nowhere)).text == "hi"
