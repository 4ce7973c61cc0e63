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
from geode.adapters.http_json.model import Wire
from geode.adapters.http_json.segments import joined, listed
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.request import AdapterCallRequest
from geode.domain.tools import ToolSpec
from geode.domain.turns import Turn
from tests.contract.histories import FOREIGN, GIF, PNG, TOOLS, answer, call, conversations, model, results, user

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
    """A conversation that grows, sent now to one provider and now to another."""
    for target in targets:
        size = data.draw(st.sampled_from([size for size in range(len(conversation.turns) + 1) if _closed(conversation, size)]))
        part = Conversation(conversation.turns[:size])
        assert target.body(part) == target.body(cold(part), fresh(TOOLS))


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
    """The second time nothing of the turn is encoded: its bytes are the same object."""
    turns: tuple[Turn, ...] = (user("go"), model(ME, call("a")), results("a"))
    conversation = Conversation(turns)
    target = Target("chat openai", ME)
    target.body(conversation)
    before = [dict(turn.memo) for turn in turns]

    target.body(conversation.grown(user("and?")))

    for turn, kept in zip(turns, before, strict=True):
        assert turn.memo.keys() == kept.keys()
        assert all(turn.memo[key] is kept[key] for key in kept)


def test_a_result_is_encoded_again_beside_other_calls() -> None:
    """The same turn of results after another round's calls: foreign ids follow from the place of the calls."""
    target = Target("messages", ME)
    answered = results("x")
    early = Conversation((user("go"), model(FOREIGN, call("x")), answered))
    late = Conversation((user("go"), user("again"), model(FOREIGN, call("x")), answered))

    mine = Conversation((user("go"), model(ME, call("x")), answered))

    assert len({target.body(one) for one in (early, late, mine)}) == 3
    for one in (early, late, mine, early):
        assert target.body(one) == target.body(cold(one))


def test_pieces_are_joined_to_one_object() -> None:
    assert joined([("a", b"1"), ("b", b"{}")], "c", [b"", b"2", b"", b"3,4"]) == b'{"a":1,"b":{},"c":[2,3,4]}'
    assert joined([("a", b"1")], "c", []) == joined([("a", b"1")], "c", [b""]) == b'{"a":1,"c":[]}'
    assert listed([{"ü": None}, "x"]) == '{"ü":null},"x"'.encode()
