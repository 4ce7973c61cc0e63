"""Thinking goes back only after the very prefix it was made after: all of it up to the last that does not fit, or none."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.domain.binding import bound, without_unbound
from geode.domain.codec import dumps
from geode.domain.content import Opaque, Owner, Text
from geode.domain.conversation import Conversation
from geode.domain.negotiation import negotiate
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.turns import AssistantTurn, Transcript, Turn
from tests.unit.domain.builders import assistant, call, results, spec, user
from tests.unit.domain.rows import CLAUDE

ME = Owner("p", "claude-opus-5-5")
ABLE = Capabilities(models=CLAUDE)
TOOLS = (spec("read"),)


def request(*turns: Turn, system: str = "s", more_tools: bool = False) -> AdapterCallRequest:
    tools = (*TOOLS, spec("write")) if more_tools else TOOLS
    return AdapterCallRequest(ME.model, Conversation(turns), system, tools)


def replied(asked: AdapterCallRequest, number: int) -> AssistantTurn:
    """The reply to what leaves for `asked`, as the loop keeps it."""
    sent = negotiate("p", asked, ABLE).unwrap().request
    thought = Opaque(ME, "thinking", f'{{"n":{number}}}')
    return AssistantTurn(bound((thought, Text(f"say {number}"), call(f"c{number}")), sent), ME)


def rounds(count: int, start: AdapterCallRequest) -> AdapterCallRequest:
    """`start` after that many further rounds."""
    for _ in range(count):
        number = len(start.turns)
        grown = start.conversation.grown(replied(start, number), results(f"c{number}"))
        start = replace(start, conversation=grown)
    return start


def thoughts(asked: AdapterCallRequest) -> list[str]:
    sent = negotiate("p", asked, ABLE).unwrap().request
    return [
        item.json_text
        for turn in sent.turns
        if isinstance(turn, AssistantTurn)
        for item in turn.items
        if isinstance(item, Opaque)
    ]


def test_as_long_as_nothing_changes_all_of_it_goes_back() -> None:
    assert thoughts(rounds(3, request(user()))) == ['{"n":1}', '{"n":3}', '{"n":5}']


def test_a_changed_system_text_or_tool_list_drops_all_of_it() -> None:
    talk = rounds(3, request(user()))
    assert thoughts(replace(talk, system="other")) == []
    assert thoughts(replace(talk, tools=(*TOOLS, spec("write")))) == []
    assert thoughts(replace(talk, tools=())) == []


def test_a_changed_turn_in_the_middle_drops_what_was_thought_before_it_too() -> None:
    """Never some of it."""
    talk = rounds(3, request(user()))
    first, answered, *later = talk.turns[:3]
    turns = (first, answered, *later, user("put in"), *talk.turns[3:])
    changed = replace(talk, conversation=Conversation(turns))
    assert thoughts(changed) == []


def test_what_is_thought_after_the_change_goes_on() -> None:
    talk = rounds(2, replace(rounds(2, request(user())), system="other"))
    assert thoughts(talk) == ['{"n":5}', '{"n":7}']


def test_a_change_that_is_taken_back_brings_nothing_back() -> None:
    talk = replace(rounds(1, replace(rounds(1, request(user())), system="other")), system="s")
    assert thoughts(talk) == []


def test_what_is_dropped_is_noticed_and_stays_in_the_conversation() -> None:
    talk = replace(rounds(2, request(user())), system="other")
    before = talk.conversation
    sent = negotiate("p", talk, ABLE).unwrap()
    assert [one.kind for one in sent.adjustments] == ["thinking_dropped"]
    assert talk.conversation is before
    assert len(thoughts(replace(talk, system="s"))) == 2


def test_models_that_bind_nothing_keep_their_thinking() -> None:
    talk = replace(rounds(2, request(user())), system="other", model="claude-opus-5")
    assert negotiate("p", talk, ABLE).unwrap().adjustments == ()


def test_a_turn_of_thinking_alone_goes_as_a_whole_and_disturbs_nothing() -> None:
    asked = request(user())
    alone = AssistantTurn(bound((Opaque(ME, "thinking", "1"),), asked), ME)
    talk = rounds(1, replace(asked, conversation=asked.conversation.grown(alone)))
    assert thoughts(talk) == ["1", '{"n":2}']
    changed = rounds(1, replace(talk, system="other"))
    assert thoughts(changed) == ['{"n":4}']
    assert without_unbound(changed, ME).turns[1] != alone


def test_items_of_others_are_not_looked_at() -> None:
    foreign = AssistantTurn((Opaque(Owner("q", "m"), "thinking", "1"), Text("hi")), Owner("q", "m"))
    talk = request(user(), foreign, user())
    assert without_unbound(talk, ME) is talk


@pytest.mark.parametrize("place", [0, 1])
def test_other_words_in_an_earlier_turn_drop_what_was_thought_after_it(place: int) -> None:
    talk = rounds(2, request(user(), assistant("said"), user()))
    other: Turn = assistant("said otherwise") if place else user("asked otherwise")
    turns = (*talk.turns[:place], other, *talk.turns[place + 1 :])
    assert thoughts(replace(talk, conversation=Conversation(turns))) == []


def test_the_fingerprint_is_stored_and_so_stays_the_same() -> None:
    """Of nothing, a line end, and the head as JSON; then of that, a line end, and each turn as it is stored."""
    asked = request(user())
    (thought,) = bound((Opaque(ME, "thinking", "1"),), asked)
    head = '["s",[["read","does read",{"type":"object","properties":{}},false]]]'
    before, turn = fingerprint(f"\n{head}"), dumps(Transcript((user(),)))
    assert isinstance(thought, Opaque)
    assert thought.bound_to == fingerprint(f"{before}\n{turn}")


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def test_what_was_worked_out_for_a_conversation_is_worked_out_once() -> None:
    asked = request(user())
    bound((), asked)
    (key,) = asked.conversation.memo
    asked.conversation.memo[key] = ["kept", "kept"]
    assert bound((Opaque(ME, "thinking", "1"),), asked) == (Opaque(ME, "thinking", "1", "kept"),)


def test_what_was_repaired_is_known_though_thinking_stayed_behind() -> None:
    asked = request(user())
    said = replied(asked, 1)
    talk = Conversation.repaired((user(), said, results("c1"), results("orphan")))
    sent = without_unbound(replace(asked, conversation=talk, system="other"), ME)
    assert sent.conversation != talk
    assert [one.kind for one in sent.conversation.repairs] == ["orphan_dropped"]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["round", "system", "tools", "user"]), min_size=1, max_size=9))
def test_what_goes_back_is_what_was_made_since_the_last_change(steps: list[str]) -> None:
    """Told by a plain walk over what happened: a change makes all that was thought before it stale."""
    asked, fresh = request(user()), list[str]()
    for changes, step in enumerate(steps):
        if step == "round":
            fresh.append(f'{{"n":{len(asked.turns)}}}')
            asked = rounds(1, asked)
        elif step == "user":
            asked = replace(asked, conversation=asked.conversation.grown(user()))
        else:
            fresh = []
            if step == "system":
                asked = replace(asked, system=f"changed {changes}")
            else:
                asked = replace(asked, tools=(*asked.tools, spec(f"more_{changes}")))
    assert thoughts(asked) == fresh
