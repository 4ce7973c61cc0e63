"""The choice of tools on its way out: spec section 2."""

from __future__ import annotations

import json
from typing import Any

import pytest

from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice, choice_word, parse_choice
from geode.domain.errors import Misuse
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.script import calls, says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.contract import SendingContract
from geode.entrypoints.compliance.histories import TOOLS
from geode.entrypoints.compliance.playing import READER, STREAMED, Playing, reply_of
from geode.entrypoints.compliance.view import strings


class ToolChoiceContract(SendingContract):
    """Every spelling has its value on the wire, for one round; what the adapter does not declare never leaves."""

    @pytest.mark.parametrize(
        ("spelling", "choice"), specification.CHOICES, ids=lambda value: json.dumps(value, default=repr)[:40]
    )
    async def test_a_choice_is_sent_or_refused_here(self, spelling: Any, choice: ToolChoice) -> None:
        calling = isinstance(choice, Required | Named)
        script = (calls(specification.READ), says("done")) if calling else (says("done"),)
        async with self.playing(*script) as playing:
            outcome = await playing.run(tool_choice=spelling)

        if not self._declared(choice):
            assert isinstance(outcome, Failed), f"an unexpected success: {choice} is not declared, and it was sent"
            shown = f'"{choice.name}"' if isinstance(choice, Named) else choice_word(choice)
            assert all(word in str(outcome.error) for word in (playing.adapter.name, shown)), outcome.error
            assert playing.count == 0
            return
        assert isinstance(outcome, Answered), outcome
        self._chosen(playing, [choice, *[Auto()] * (len(script) - 1)])

    def _declared(self, choice: ToolChoice) -> bool:
        if not self.able.supports_tools:
            return isinstance(choice, Auto | NoTools)
        return choice_word(choice) in self.able.choices

    def _chosen(self, playing: Playing, wanted: list[ToolChoice]) -> None:
        """Each request has its choice, and its tools whatever the choice is. A forced choice holds for one round."""
        bodies = [self.made.read(sent) for sent in playing.bodies()]
        assert len(bodies) == len(wanted)
        for body, choice in zip(bodies, wanted, strict=True):
            assert ("read" in strings(body)) == self.able.supports_tools, f"the tools of the request with {choice}"
            if self.made.shows_choice:
                given = self.made.choice(body)
                assert self.able.supports_tools or given is None, f"a choice without tools: {given!r}"
                assert not self.able.supports_tools or parse_choice(given).value_or(given) == choice

    @STREAMED
    async def test_tools_are_defined_for_the_model(self, streamed: bool) -> None:
        async with self.playing(says("ok")) as playing:
            reply_of(await playing.ask(streamed=streamed))

        (sent,) = playing.bodies()
        found = strings(self.made.read(sent))
        for tool in TOOLS if self.able.supports_tools else ():
            assert {tool.name, *tool.input_schema["properties"]} <= found
            assert not tool.description or tool.description in found

    async def test_without_tools_nothing_is_said_of_them(self) -> None:
        async with self.playing(says("ok")) as playing:
            reply_of(await playing.ask(tools=()))

        (sent,) = playing.bodies()
        body = self.made.read(sent)
        assert not {tool.name for tool in TOOLS} & strings(body)
        assert self.made.choice(body) is None

    @pytest.mark.parametrize("spelling", specification.UNKNOWN_CHOICES, ids=repr)
    async def test_an_unknown_choice_is_refused_before_anything_leaves(self, spelling: Any) -> None:
        async with self.playing(says("never")) as playing:
            with pytest.raises(Misuse, match="unknown") as raised:
                await playing.run(tool_choice=spelling)

        assert "auto, none, required" in str(raised.value)
        assert playing.count == 0

    async def test_a_choice_of_a_tool_that_is_not_there_is_refused_before_anything_leaves(self) -> None:
        async with self.playing(says("never")) as playing:
            with pytest.raises(Misuse, match=r'"write".*read'):
                await playing.run(tool_choice={"type": "tool", "name": "write"}, tools=[READER])

        assert playing.count == 0
