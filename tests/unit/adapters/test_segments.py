"""What is kept of a turn gives the same bytes as encoding it anew, whatever happened in between."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.wire import Wire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.request import AdapterCallRequest
from geode.domain.tools import ToolSpec
from geode.domain.turns import Turn
from geode.entrypoints.compliance.histories import FOREIGN, GIF, PNG, TOOLS, answer, call, model, results, user
from tests.contract.strategies import conversations

ME = Owner("lab", "model-1")
OWNERS = (ME, Owner("lab", "another-model"), FOREIGN, Owner("third", "model-1"))
WIRES: Mapping[str, Wire] = {
    "messages": MessagesWire(),
    "responses": ResponsesWire(),
    **{f"chat {name}": ChatWire(dialect) for name, dialect in DIALECTS.items()},
}


@dataclass(frozen=True)
class Target:
    """Whom a conversation is sent to, on which wire."""

    wire: str
    owner: Owner

    def body(self, conversation: Conversation, tools: Sequence[ToolSpec] = TOOLS) -> bytes:
        request = AdapterCallRequest(self.owner.model, conversation, "system", tuple(tools))
        return WIRES[self.wire].encode(request, self.owner)


def opaque(owner: Owner, number: int) -> Opaque:
    return Opaque(owner, "reasoning", json.dumps({"type": "reasoning", "n": number}))


def cold(conversation: Conversation) -> Conversation:
    """The same value, of which nothing has been encoded."""
    return Conversation.loads(conversation.dumps())


def fresh(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    return [ToolSpec(tool.name, tool.description, tool.input_schema) for tool in tools]


TARGETS = st.builds(Target, st.sampled_from(list(WIRES)), st.sampled_from(OWNERS))


@settings(max_examples=150)
@given(conversations(ME, opaque, most=6), st.lists(TARGETS, min_size=2, max_size=8), st.data())
def test_kept_and_cold_bodies_are_equal(conversation: Conversation, targets: list[Target], data: st.DataObject) -> None:
    """A conversation that grows, here and there in several directions, sent now to one provider and now to another."""
    known = [Conversation()]
    for target in targets:
        base = data.draw(st.sampled_from(known))
        size = data.draw(st.sampled_from([size for size in range(len(conversation.turns) + 1) if _closed(conversation, size)]))
        turns = conversation.turns if data.draw(st.booleans()) else (user("another way"), *conversation.turns)
        part = _grown(base, turns[len(base.turns) : size])
        assert target.body(part) == target.body(cold(part), fresh(TOOLS))
        known.append(part)


def _grown(base: Conversation, turns: Sequence[Turn]) -> Conversation:
    """`base` and what of `turns` may follow it."""
    try:
        return base.grown(*turns)
    except Misuse:
        return base


def _closed(conversation: Conversation, size: int) -> bool:
    try:
        Conversation(conversation.turns[:size])
    except Misuse:
        return False
    return True


@settings(max_examples=80)
@given(conversations(ME, opaque), conversations(ME, opaque), TARGETS)
def test_turns_in_another_conversation_are_encoded_for_their_place(
    one: Conversation, other: Conversation, target: Target
) -> None:
    """The turns of one conversation after those of another: ids follow from the place."""
    target.body(one)
    target.body(other)
    both = Conversation.repaired([*other.turns, *one.turns])

    assert target.body(both) == target.body(cold(both))
    assert target.body(one) == target.body(cold(one))


def test_turns_that_differ_in_a_picture_alone_differ_in_their_bodies() -> None:
    for wire in WIRES:
        target = Target(wire, ME)
        bodies = {
            target.body(Conversation((user("look", picture), model(ME, call("a")), results(answer("a", "ok", other)))))
            for picture in (PNG, GIF)
            for other in (PNG, GIF)
        }
        assert len(bodies) == 4


def test_what_is_kept_is_used() -> None:
    """The second time nothing of the turns is encoded: their bytes are the same objects."""
    conversation = Conversation((user("go"), model(ME, call("a")), results("a")))
    target = Target("chat openai", ME)
    target.body(conversation)
    (before,) = conversation.memo.values()

    grown = conversation.grown(user("and?"))
    target.body(grown)

    (after,) = grown.memo.values()
    assert len(after) == 4
    assert all(one is other for one, other in zip(before, after, strict=False))
