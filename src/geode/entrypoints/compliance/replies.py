"""What the model said, as it is handed on: spec sections 3 and 4."""

from __future__ import annotations

import pytest

from geode.domain.arguments import tool_use
from geode.domain.content import Opaque, Text, ToolUseBlock
from geode.domain.reply import Stop
from geode.domain.script import Called, Reply, Said, Thought
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import ModelContract
from geode.entrypoints.compliance.playing import STREAMED, reply_of


class ReplyContract(ModelContract):
    """Text, calls in their order with the ids they came with, why it stopped, and what it cost."""

    @STREAMED
    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_a_reply_is_read_whole(self, name: str, streamed: bool) -> None:
        wanted = self.reply(specification.REPLIES[name])
        async with self.playing(wanted) as playing:
            reply = reply_of(await playing.ask(streamed=streamed))

        assert reply.text == "".join(item.text for item in wanted.items if isinstance(item, Said))
        assert [(call.name, call.input, call.unparsed) for call in reply.calls] == [
            (call.name, call.input, call.unparsed) for call in map(_as_call, wanted.items) if call is not None
        ]
        given = [(item.id, call.id) for item, call in zip(_called(wanted), reply.calls, strict=True)]
        assert all(mine is None or mine == its for mine, its in given)
        assert reply.stop is self._stop(wanted)
        told = wanted.stop_word not in self.made.withheld.usage
        tokens = (wanted.input_tokens, wanted.output_tokens) if told else (0, 0)
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == tokens
        assert (reply.refusal is not None) == (reply.stop is Stop.REFUSAL)
        assert playing.count == 1

    def _stop(self, wanted: Reply) -> Stop:
        """A word that the wire does not have must not be made up."""
        if wanted.stop_word in self.made.stops:
            return Stop(wanted.stop_word)
        return Stop.TOOL_CALLS if _called(wanted) else Stop.END

    @STREAMED
    async def test_thinking_belongs_to_who_thought(self, streamed: bool) -> None:
        wanted = self.reply(specification.REPLIES["thought, text and call"])
        async with self.playing(wanted) as playing:
            reply = reply_of(await playing.ask(streamed=streamed))

        kept = [item for item in reply.items if isinstance(item, Opaque)]
        owners = [(item.owner.adapter, item.owner.model) for item in kept]
        thoughts = [item for item in wanted.items if isinstance(item, Thought)] if self.made.thinks else []
        assert owners == [(playing.adapter.name, playing.model)] * len(thoughts)
        assert [type(item) for item in reply.items] == [
            *[Opaque] * len(thoughts),
            Text,
            *[ToolUseBlock] * len(_called(wanted)),
        ], "each in its place"


def _called(wanted: Reply) -> list[Called]:
    return [item for item in wanted.items if isinstance(item, Called)]


def _as_call(item: object) -> ToolUseBlock | None:
    """A scripted call as the domain has it: arguments read by the one function for every wire."""
    return tool_use("", item.name, item.arguments) if isinstance(item, Called) else None
