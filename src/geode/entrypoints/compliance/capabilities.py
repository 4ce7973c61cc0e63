"""What an adapter declares it can carry, asked both ways: spec section 2."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest

from geode.domain.content import Document, DocumentUrl, ImageUrl, Media, MediaKind, Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.models import ThinkingKind, row_of
from geode.domain.policy import Policy
from geode.domain.request import Limits
from geode.domain.script import says
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.turns import AssistantTurn
from geode.entrypoints.compliance import specification, view
from geode.entrypoints.compliance.contract import SendingContract
from geode.entrypoints.compliance.histories import ALBUM, PNG, album, user
from geode.entrypoints.compliance.playing import Playing, reply_of, visible
from geode.entrypoints.compliance.replay import images
from geode.entrypoints.compliance.streaming import LONG
from geode.ports.events import Event, Notice
from geode.ports.model import Delta

# Each form of media with what stands for it in a request: its bytes as base64, its text, or its address.
_PDF: Final = Document("application/pdf", b"%PDF-1.4 geode", "paper.pdf")
_NOTE: Final = Document("text/plain", "a note – in ümlauts".encode(), "note.txt")
FORMS: Final[Mapping[MediaKind, tuple[Media, tuple[str, ...]]]] = {
    "image": (PNG, (PNG.base64,)),
    "image_url": (ImageUrl("https://example.org/a.png"), ("https://example.org/a.png",)),
    "pdf": (_PDF, (_PDF.base64,)),
    "text": (_NOTE, (_NOTE.base64, _NOTE.text)),
    "document_url": (DocumentUrl("https://example.org/a.pdf"), ("https://example.org/a.pdf",)),
}
THINKING: Final[Mapping[ThinkingKind, Thinking]] = {"adaptive": AdaptiveThinking(), "budget": ThinkingBudget(2048)}
ANSWER: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
SETTINGS: Final[Mapping[str, Any]] = {"temperature": 0.375, "effort": "high"}


class CapabilityContract(SendingContract):
    """Every declared capability is there, and every undeclared one is not: an unexpected success fails too.

    What is not declared is refused by geode before it reaches the adapter; so that a wrong declaration is noticed,
    the adapter is asked all the same.
    """

    async def test_the_harness_declares_what_the_adapter_declares(self) -> None:
        async with self.playing() as playing:
            assert playing.adapter.capabilities == self.able

    async def test_tools(self) -> None:
        plain, with_tools = await self._bodies({"tools": ()}, {})
        assert (plain != with_tools) == self.able.supports_tools

    @pytest.mark.parametrize("kind", specification.KINDS)
    async def test_a_kind_of_choice(self, kind: str) -> None:
        """A declared kind is told from every other on the wire; one that is not declared looks like auto, or is refused."""
        declared = self.able.supports_tools and kind in self.able.choices
        others = [one for one in specification.KINDS if one != kind and (declared or one == "auto")]
        body, *rest = await self._bodies(*({"tool_choice": specification.KINDS[one]} for one in (kind, *others)))
        for other, its in zip(others, rest, strict=True):
            if declared:
                assert body is not None, f"{kind} is declared, and was not sent"
                assert body != its, f"{kind} is declared, and is sent like {other}"
            else:
                assert body in (None, its), f"an unexpected success: {kind} is not declared, and has a form on the wire"

    @pytest.mark.parametrize("name", SETTINGS)
    async def test_a_setting(self, name: str) -> None:
        declared: bool = getattr(self.able, name)
        model = self.made.reasoner if name == "effort" and self.made.reasoner else self.made.model
        asked: dict[str, Any] = {"tools": (), "model": model}
        plain, given = await self._bodies(asked, {**asked, name: SETTINGS[name]})
        assert (given not in (None, plain)) == declared
        if declared:
            assert SETTINGS[name] in list(leaves(given))

    @pytest.mark.parametrize("name", SETTINGS)
    async def test_a_setting_is_sent_or_refused_and_never_dropped(self, name: str) -> None:
        declared: bool = getattr(self.able, name)
        async with self.playing(says("done")) as playing:
            playing.judged = False
            outcome = await playing.run(tools=[], **{name: SETTINGS[name]})

        assert isinstance(outcome, Answered if declared else Failed), outcome
        assert playing.count == (1 if declared else 0)
        assert declared or name in str(getattr(outcome, "error", ""))

    async def test_a_schema_for_the_answer(self) -> None:
        """Sent whole where it is declared; where it is not, refused before it reaches the adapter."""
        asked: dict[str, Any] = {"tools": ()}
        plain, given = await self._bodies(asked, {**asked, "response_schema": ANSWER})
        assert (given not in (None, plain)) == self.able.response_schema
        assert not self.able.response_schema or ANSWER in list(_objects(given))

    async def test_a_bound_of_the_output(self) -> None:
        """One that is not declared is left out and told to observers: a run's own budget holds all the same."""
        declared = self.able.output_limit
        free, bound = Limits(None, 5.0, 5.0), Limits(77, 5.0, 5.0)
        plain, given = await self._bodies({"limits": free}, {"limits": bound})
        assert (given not in (None, plain)) == declared
        assert not declared or 77 in list(leaves(given))

        told: list[str] = []
        async with self.playing(says("ok")) as playing:
            outcome = await playing.run(policy=Policy(max_output_tokens=77), observe=_noting(told))
        assert isinstance(outcome, Answered), outcome
        assert ("output_unbounded" in told) != declared

    async def test_pictures(self) -> None:
        """Each that can be shown arrives, in the order in which they were seen; of the others the model is told in words."""
        given, in_results = "image" in self.able.media, self.able.images != "none"
        conversation = album(*[PNG] if given else [])
        async with self.playing(says("ok")) as playing:
            outcome = await playing.run(prompt="and?", tools=[], conversation=conversation)

        assert isinstance(outcome, Answered), outcome
        seen = [image for image in images(conversation) if given and (in_results or image == PNG)]
        (sent,) = playing.bodies()
        body = self.made.read(sent)
        texts = [leaf for leaf in leaves(body) if isinstance(leaf, str)]
        assert [image for text in texts for image in ALBUM if image.base64 in text] == seen
        unseen = [image.media_type for image in ALBUM if image not in seen and image != PNG]
        told = "".join(str(row.get("say")) for row in self.made.view(body))
        assert [word for word in unseen if word not in told] == [], "the model is told what it cannot be shown"

    @pytest.mark.parametrize("kind", FORMS)
    async def test_a_form_of_media(self, kind: MediaKind) -> None:
        """A declared form is shown to the model; one that is not is refused here, and never left out in silence."""
        part, marks = FORMS[kind]
        prompt = Conversation((user("look", part),))
        async with self.playing(says("ok")) as playing:
            outcome = await playing.run(prompt="and?", tools=[], conversation=prompt)

        if kind not in self.able.media:
            assert isinstance(outcome, Failed), f"an unexpected success: {kind} is not declared, and it was sent"
            assert playing.count == 0
            return
        assert isinstance(outcome, Answered), outcome
        (sent,) = playing.bodies()
        texts = view.strings(self.made.read(sent))
        assert any(mark in text for mark in marks for text in texts), f"{kind} is declared, and was not sent"

    @pytest.mark.parametrize("kind", THINKING)
    async def test_a_kind_of_thinking(self, kind: ThinkingKind) -> None:
        """Asked of a model that takes it, where the rows of the models tell them apart."""
        declared = kind in self.able.thinking
        models = (self.made.model, *(row.prefix for row in self.able.models))
        taking = [model for model in models if kind in row_of(model, self.able.models).thinking]
        asked: dict[str, Any] = {"limits": Limits(4096, 5.0, 5.0), "model": taking[0] if taking else self.made.model}
        plain, given = await self._bodies(asked, {**asked, "thinking": THINKING[kind]})
        assert (given not in (None, plain)) == declared

    async def test_thinking_goes_back_to_who_thought(self) -> None:
        async with self.playing(specification.REPLIES["thought and text"], says("ok")) as playing:
            playing.judged = False
            reply = reply_of(await playing.ask())
            owner = Owner(playing.adapter.name, playing.model)
            turns = (*playing.request().turns, AssistantTurn(reply.items, owner), *playing.request().turns)
            reply_of(await playing.ask(conversation=Conversation(turns)))

        kept = [item for item in reply.items if isinstance(item, Opaque)]
        assert bool(kept) == self.made.thinks
        assert all(item.json_text.encode() in playing.bodies()[-1] for item in kept), "byte for byte"

    async def test_streaming(self) -> None:
        """Declared, what is shown is shown while it comes."""
        shown_at: list[float] = []

        async def take(delta: Delta) -> None:
            if visible(delta):
                shown_at.append(asyncio.get_running_loop().time())

        async with self.playing(says(LONG), pace_seconds=0.01) as playing:
            reply_of(await playing.adapter.acomplete(playing.request(streamed=True), take))

        spread = shown_at[-1] - shown_at[0] if shown_at else 0.0
        if self.made.streams:
            assert spread > 0.015, "all of it was shown at once, though it came in pieces"
        else:
            assert len(shown_at) < 2, "an unexpected success: it streams, and does not declare it"

    async def _bodies(self, *changes: dict[str, Any]) -> list[dict[str, Any] | None]:
        """What is sent with each of the changes; None where the adapter refuses it."""
        return [await self._body(one) for one in changes]

    async def _body(self, changes: dict[str, Any]) -> dict[str, Any] | None:
        async with self.playing(says("ok")) as playing:
            playing.judged = False
            await playing.ask(**changes)
        return _only(self, playing)


def _only(contract: SendingContract, playing: Playing) -> dict[str, Any] | None:
    sent = playing.bodies()
    return contract.made.read(sent[0]) if sent else None


def _objects(value: Any) -> Iterator[Any]:
    """Every object in a JSON value, and in texts of it that are JSON themselves."""
    match value:
        case dict():
            yield value
            for item in value.values():
                yield from _objects(item)
        case list():
            for item in value:
                yield from _objects(item)
        case str() if value.startswith("{"):
            with contextlib.suppress(ValueError):
                yield from _objects(json.loads(value))


def _noting(kinds: list[str]) -> Callable[[Event], None]:
    def note(event: Event) -> None:
        if isinstance(event, Notice):
            kinds.append(event.kind)

    return note


def leaves(value: Any) -> Iterator[Any]:
    """Every value in a JSON value that holds no other, in order."""
    match value:
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list():
            for item in value:
                yield from leaves(item)
        case _:
            yield value
