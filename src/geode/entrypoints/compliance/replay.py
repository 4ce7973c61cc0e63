"""Any history, sent again: spec section 3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

from geode.domain.content import Image, Opaque, Owner, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Answered
from geode.domain.script import calls, says
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn
from geode.domain.without_calls import without_calls
from geode.entrypoints.compliance import specification, view
from geode.entrypoints.compliance.contract import SendingContract
from geode.entrypoints.compliance.harness import Row
from geode.entrypoints.compliance.histories import REPLAYS, history
from geode.entrypoints.compliance.playing import STREAMED, reply_of
from geode.entrypoints.compliance.view import strings


@dataclass(frozen=True)
class Sent:
    """A history of the specification, and what left for it."""

    name: str
    conversation: Conversation
    owner: Owner
    body: dict[str, Any]
    rows: list[Row]

    def blamed(self, problems: list[str]) -> list[str]:
        return [f"{self.name}: {problem}" for problem in problems]


class ReplayContract(SendingContract):
    """Calls and results never get out of step, nothing that was said is lost, and nothing is sent that is not the owner's.

    Each test asks one law of all the histories of the specification; its message names the history.
    """

    histories: ClassVar[tuple[str, ...]] = tuple(REPLAYS)

    async def replayed(self, **changes: Any) -> list[Sent]:
        """Every history, sent: once for all the tests that ask it a law."""
        kept = _replayed.setdefault(type(self), {})
        key = repr(changes)
        if key not in kept:
            kept[key] = await self._replay(**changes)
        return kept[key]

    async def _replay(self, **changes: Any) -> list[Sent]:
        found: list[Sent] = []
        async with self.playing(*[says("ok")] * len(self.histories)) as playing:
            for name in self.histories:
                owner = Owner(playing.adapter.name, playing.model)
                reply_of(await playing.ask(conversation=self._given(name, owner), **changes))
                body = self.made.read(playing.bodies()[-1])
                # Made anew: what the adapter did to the one that it was given is another law's business.
                told = self._given(name, owner)
                found.append(Sent(name, told, owner, body, list(self.made.view(body))))
        return found

    def _given(self, name: str, owner: Owner) -> Conversation:
        """A history as geode gives it to an adapter: one that takes no tools is told of calls in words (spec section 6)."""
        found = history(name, owner, self.made.opaque)
        return found if self.able.supports_tools else without_calls(found)

    @STREAMED
    async def test_every_call_has_its_result_right_after_it_in_order(self, streamed: bool) -> None:
        """And nothing before the results: hints and pictures come after them."""
        found = await self.replayed(streamed=streamed)
        assert [one for sent in found for one in sent.blamed(view.structure(sent.rows).problems)] == []

    async def test_it_is_so_where_no_tools_are_given_any_more(self) -> None:
        found = await self.replayed(tools=())
        assert [one for sent in found for one in sent.blamed(view.structure(sent.rows).problems)] == []
        assert [one for sent in found for one in sent.blamed(self._unsaid(sent))] == []

    async def test_ids_are_never_empty_and_never_used_twice(self) -> None:
        found = await self.replayed()
        assert [one for sent in found for one in sent.blamed(view.structure(sent.rows).ids)] == []

    @STREAMED
    async def test_everything_is_said_that_was_said(self, streamed: bool) -> None:
        """Texts, calls with their arguments, results with their failures, hints: in their order, and nothing else."""
        found = await self.replayed(streamed=streamed)
        assert [one for sent in found for one in sent.blamed(self._unsaid(sent))] == []

    def _unsaid(self, sent: Sent) -> list[str]:
        return view.differences(view.said(sent.rows), view.expected(sent.conversation))

    async def test_arguments_go_out_as_objects(self) -> None:
        """Those that were broken too."""
        found = await self.replayed()
        assert [one for sent in found for one in sent.blamed(view.arguments(sent.rows))] == []

    async def test_items_of_others_are_never_sent(self) -> None:
        """Signed thinking, encrypted reasoning and the like belong to the adapter and the model that made them."""
        found = await self.replayed()
        foreign = [(sent, item) for sent in found for item in opaque_items(sent.conversation) if item.owner != sent.owner]
        assert foreign, "the specification has such items"
        assert [f"{sent.name}: {item}" for sent, item in foreign if _seen(item, strings(sent.body))] == []

    async def test_pictures_are_never_text(self) -> None:
        found = await self.replayed()
        shown = [(sent, image) for sent in found for image in images(sent.conversation)]
        assert shown, "the specification has pictures"
        texts = [(sent.name, image.media_type) for sent, image in shown if any(_holds(row, image) for row in sent.rows)]
        assert texts == [], "a picture went out as text"

    async def test_what_is_stored_stays_as_it_is(self) -> None:
        """Encoding changes nothing, and sending the same again sends the same."""
        async with self.playing(*[says("ok")] * (2 * len(self.histories))) as playing:
            for name in self.histories:
                conversation = self._given(name, Owner(playing.adapter.name, playing.model))
                stored = conversation.dumps()
                for _ in range(2):
                    reply_of(await playing.ask(conversation=conversation))
                    assert conversation.dumps() == stored, f"{name}: the stored conversation was changed"
                first, second = playing.bodies()[-2:]
                assert self.made.read(first) == self.made.read(second), f"{name}: the second time it says something else"

    async def test_a_run_goes_on_from_its_own_history(self) -> None:
        """What the adapter read from the model's reply is what it sends back."""
        first = (says("I read it."),) if self.made.withheld.calls else (calls(specification.READ), says("I read it."))
        async with self.playing(*first, says("so")) as playing:
            outcome = await playing.run()
            assert isinstance(outcome, Answered), outcome
            second = await playing.run(prompt="and then?", conversation=outcome.conversation)

        assert isinstance(second, Answered), second
        rows = self.made.view(self.made.read(playing.bodies()[-1]))
        assert view.structure(rows).problems == []
        wanted = Conversation(second.conversation.turns[:-1])
        wanted = wanted if self.able.supports_tools else without_calls(wanted)
        assert view.differences(view.said(rows), view.expected(wanted)) == []


_replayed: Final[WeakKeyDictionary[type[ReplayContract], dict[str, list[Sent]]]] = WeakKeyDictionary()


def opaque_items(conversation: Conversation) -> Iterator[Opaque]:
    turns = (turn for turn in conversation.turns if isinstance(turn, AssistantTurn))
    return (item for turn in turns for item in turn.items if isinstance(item, Opaque))


def images(conversation: Conversation) -> Iterator[Image]:
    for turn in conversation.turns:
        parts: tuple[Any, ...] = turn.items if isinstance(turn, UserTurn) else ()
        results: tuple[ToolResult, ...] = turn.results if isinstance(turn, ToolResultsTurn) else ()
        yield from (part for part in (*parts, *(p for one in results for p in one.content)) if isinstance(part, Image))


def _seen(item: Opaque, texts: set[str]) -> bool:
    """Whether a text of the item that tells it from others stands anywhere in the request."""
    own = (text for text in strings(json.loads(item.json_text)) if len(text) > 2 and any(map(str.isdigit, text)))
    return any(mark in text for mark in own for text in texts)


def _holds(row: Row, image: Image) -> bool:
    return image.base64 in str(row.get("say"))
