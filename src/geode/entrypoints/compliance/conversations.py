"""The contract of a conversation store: `geode.ports.ConversationStore`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

import pytest

from geode.domain.codec import dumps
from geode.domain.content import Image, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError, Misuse
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Transcript, Turn, UserTurn
from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.conversations import ConversationStore, StaleConversation, UnknownConversation

ASKED = UserTurn((Text("Grüße, 世界 \u2028 🎉"), Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(9))))
CALLS = AssistantTurn((Text("I look."), ToolUseBlock("a", "read", {"n": 1.5, "ä": None}), ToolUseBlock("b", "read", {})))
ANSWERS = ToolResultsTurn((ToolResult("a", "ok", (Text("one"),)), ToolResult("b", "outcome_unknown", (Text("?"),))))
SAID = AssistantTurn((Text("So it is."),))
WHOLE = Conversation((ASKED, CALLS, ANSWERS, SAID))
HELLO = Conversation((UserTurn((Text("hello"),)),))


def _says(text: str) -> Conversation:
    return Conversation((UserTurn((Text(text),)),))


class ConversationStoreHarness(ABC):
    """A place where conversations are kept; each harness has a place of its own, which is empty at first."""

    @abstractmethod
    def store(self) -> ConversationStore:
        """A store over the place. Those of two calls see what the other one saved."""

    @abstractmethod
    async def put_text(self, id: str, text: str) -> None:
        """Write `text` past the port, in the place of what is stored of the conversation `id`, as another program might."""


class ConversationStoreContract(Contract):
    """What is saved comes back, repaired where it has to be, and nobody saves over what he has not seen."""

    @pytest.fixture(autouse=True)
    def _one_place(self) -> None:
        self._made: ConversationStoreHarness = made(type(self), ConversationStoreHarness)

    def store(self) -> ConversationStore:
        return self._made.store()

    async def _put(self, id: str, turns: Sequence[Turn]) -> None:
        await self._made.put_text(id, dumps(Transcript(tuple(turns))))

    def test_it_is_one(self) -> None:
        assert isinstance(self.store(), ConversationStore)

    # ---- save and load -------------------------------------------------------------------------

    async def test_what_was_saved_is_loaded_by_another(self) -> None:
        assert await self.store().save("chat", WHOLE) == 1
        kept = await self.store().load("chat")
        assert (kept.id, kept.version, kept.conversation, kept.repairs) == ("chat", 1, WHOLE, ())

    async def test_an_empty_conversation_is_one(self) -> None:
        await self.store().save("chat", Conversation())
        assert (await self.store().load("chat")).conversation == Conversation()

    async def test_versions_count_up(self) -> None:
        store = self.store()
        for version in range(5):
            assert await store.save("chat", _says(str(version)), version) == version + 1
        kept = await self.store().load("chat")
        assert (kept.version, kept.conversation) == (5, _says("4"))

    async def test_conversations_are_kept_apart(self) -> None:
        store = self.store()
        await store.save("one", _says("1"))
        await store.save("two", _says("2"))
        assert (await store.load("one")).conversation == _says("1")
        assert (await store.load("two")).conversation == _says("2")

    async def test_one_that_is_not_there(self) -> None:
        with pytest.raises(UnknownConversation, match="there is no conversation 'nope'") as caught:
            await self.store().load("nope")
        assert caught.value.id == "nope"

    # ---- a second writer -----------------------------------------------------------------------

    async def test_a_second_writer_is_refused_with_both_versions(self) -> None:
        await self.store().save("chat", HELLO)
        first, second = await self.store().load("chat"), await self.store().load("chat")
        await self.store().save("chat", _says("first"), first.version)
        with pytest.raises(StaleConversation) as caught:
            await self.store().save("chat", _says("second"), second.version)
        assert (caught.value.id, caught.value.given, caught.value.stored) == ("chat", 1, 2)
        assert "conversation chat has version 2, not 1: somebody else saved it" in str(caught.value)
        assert (await self.store().load("chat")).conversation == _says("first"), "nothing was written"

    @pytest.mark.parametrize("version", [1, -1, 7])
    async def test_a_new_one_has_version_0(self, version: int) -> None:
        with pytest.raises(StaleConversation) as caught:
            await self.store().save("chat", HELLO, version)
        assert (caught.value.given, caught.value.stored) == (version, 0)
        with pytest.raises(UnknownConversation):
            await self.store().load("chat")

    async def test_a_new_one_does_not_replace_an_old_one(self) -> None:
        await self.store().save("chat", HELLO)
        with pytest.raises(StaleConversation):
            await self.store().save("chat", _says("other"))

    async def test_of_many_writers_at_once_one_wins(self) -> None:
        await self.store().save("chat", HELLO)
        writers = [self.store().save("chat", _says(str(number)), 1) for number in range(20)]
        ended = await asyncio.gather(*writers, return_exceptions=True)
        won = [number for number, end in enumerate(ended) if end == 2]
        assert len(won) == 1
        assert all(isinstance(end, StaleConversation) for number, end in enumerate(ended) if number not in won)
        assert (await self.store().load("chat")).conversation == _says(str(won[0]))

    # ---- what is broken ------------------------------------------------------------------------

    async def test_what_breaks_the_laws_is_repaired_and_told_every_time(self) -> None:
        await self.store().save("chat", HELLO)
        await self._put("chat", (ASKED, CALLS))
        kept = await self.store().load("chat")
        assert [repair.kind for repair in kept.repairs] == ["interrupted", "interrupted"]
        assert [result.kind for result in kept.conversation.results()] == ["interrupted", "interrupted"]
        assert (await self.store().load("chat")).repairs == kept.repairs, "as long as nobody saves what was repaired"
        await self.store().save("chat", kept.conversation, kept.version)
        again = await self.store().load("chat")
        assert (again.repairs, again.conversation) == ((), kept.conversation)

    @pytest.mark.parametrize("text", ["{}", "[]", '{"geode":1,"kind":"State","value":{}}', '{"geode":2,"kind":"Transcript"}'])
    async def test_what_is_none_is_a_clear_error(self, text: str) -> None:
        await self.store().save("chat", HELLO)
        await self._made.put_text("chat", text)
        with pytest.raises(CodecError):
            await self.store().load("chat")

    # ---- branch --------------------------------------------------------------------------------

    async def test_a_branch_is_a_conversation_of_its_own(self) -> None:
        store = self.store()
        await store.save("chat", WHOLE)
        branch = await store.branch("chat", "other")
        assert (branch.id, branch.version, branch.conversation) == ("other", 1, WHOLE)
        await store.save("other", _says("else"), branch.version)
        assert (await self.store().load("chat")).conversation == WHOLE
        assert (await self.store().load("other")).version == 2

    @pytest.mark.parametrize("turns", [0, 1, 3, 4])
    async def test_a_branch_may_begin_after_any_round(self, turns: int) -> None:
        store = self.store()
        await store.save("chat", WHOLE)
        await store.branch("chat", "other", turns)
        assert (await self.store().load("other")).conversation == Conversation(WHOLE.turns[:turns])

    async def test_a_branch_never_cuts_a_round_in_two(self) -> None:
        store = self.store()
        await store.save("chat", WHOLE)
        with pytest.raises(Misuse, match="turn 1 calls tools and its results come after it; branch at 1 or 3") as caught:
            await store.branch("chat", "other", 2)
        assert caught.value.id == "branch-place"
        for turns in (-1, 5):
            with pytest.raises(Misuse, match="turns must be a whole number from 0 to 4"):
                await store.branch("chat", "other", turns)
        assert [one.id for one in await store.list()] == ["chat"]

    async def test_a_branch_takes_no_ones_place(self) -> None:
        store = self.store()
        await store.save("chat", WHOLE)
        await store.save("other", HELLO)
        with pytest.raises(StaleConversation):
            await store.branch("chat", "other")
        with pytest.raises(UnknownConversation):
            await store.branch("nope", "new")

    # ---- list ----------------------------------------------------------------------------------

    async def test_the_list_has_the_last_saved_first(self) -> None:
        assert list(await self.store().list()) == []
        store = self.store()
        await store.save("one", WHOLE)
        await asyncio.sleep(0.01)
        await store.save("two", HELLO)
        await asyncio.sleep(0.01)
        await store.save("one", WHOLE, 1)
        found = list(await self.store().list())
        assert [(one.id, one.version, one.turns) for one in found] == [("one", 2, 4), ("two", 1, 1)]
        assert found[0].saved_at > found[1].saved_at > 1_600_000_000

    # ---- ids -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("id", ["a", "A-b_c.d", "9", "-", "x" * 128, "con.json"])
    async def test_ids_that_are_kept(self, id: str) -> None:
        await self.store().save(id, HELLO)
        assert (await self.store().load(id)).id == id
        assert [one.id for one in await self.store().list()] == [id]

    @pytest.mark.parametrize("id", ["", ".", "..", ".a", "a/b", "../a", "a b", "ä", "a\n", "\0", "x" * 129])
    async def test_ids_that_are_none(self, id: str) -> None:
        store = self.store()
        await store.save("chat", HELLO)
        for using in (store.save(id, HELLO), store.load(id), store.branch("chat", id), store.branch(id, "chat")):
            with pytest.raises(Misuse) as caught:
                await using
            assert caught.value.id == "conversation-id"

    # ---- cancelled -----------------------------------------------------------------------------

    async def test_a_save_that_is_cancelled_leaves_the_old_or_the_new(self) -> None:
        await self.store().save("chat", HELLO)
        for delay in (0.0, 0.0005, 0.002):
            before = await self.store().load("chat")
            saving = asyncio.create_task(self.store().save("chat", _says(str(delay)), before.version))
            await asyncio.sleep(delay)
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
            await asyncio.sleep(0.05)
            after = await self.store().load("chat")
            assert (after.version, after.conversation) in [
                (before.version, before.conversation),
                (before.version + 1, _says(str(delay))),
            ]
