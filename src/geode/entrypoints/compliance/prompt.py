"""What geode tells the model beside the conversation: spec section 3."""

from __future__ import annotations

from geode.domain.content import Owner
from geode.domain.script import says
from geode.entrypoints.compliance import view
from geode.entrypoints.compliance.contract import SendingContract
from geode.entrypoints.compliance.histories import PROMPTS, history
from geode.entrypoints.compliance.playing import STREAMED, reply_of

SYSTEM = "Be good, and brief: „kurz“."


class PromptContract(SendingContract):
    """The system text and the hints reach the model, each in its place."""

    @STREAMED
    async def test_the_system_text_is_sent_and_is_nobodys_words(self, streamed: bool) -> None:
        async with self.playing(says("ok")) as playing:
            reply_of(await playing.ask(system=SYSTEM, streamed=streamed))

        (sent,) = playing.bodies()
        body = self.made.read(sent)
        assert SYSTEM in view.strings(body)
        assert view.said(self.made.view(body)) == [view.Spoken("human", "hi")], "the system text is no row of the view"

    async def test_without_a_system_text_there_is_none(self) -> None:
        async with self.playing(says("ok"), says("ok")) as playing:
            reply_of(await playing.ask(system=SYSTEM))
            reply_of(await playing.ask())

        _, second = playing.bodies()
        assert SYSTEM not in view.strings(self.made.read(second))

    async def test_a_hint_stands_after_what_the_user_said(self) -> None:
        for name in PROMPTS:
            async with self.playing(says("ok")) as playing:
                conversation = history(name, Owner(playing.adapter.name, playing.model), self.made.opaque)
                reply_of(await playing.ask(conversation=conversation, system=SYSTEM))
            (sent,) = playing.bodies()
            body = self.made.read(sent)
            assert view.differences(view.said(self.made.view(body)), view.expected(conversation)) == []
