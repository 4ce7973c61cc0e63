"""Asking providers to keep the beginning of a request: where the marks stand, and that they change nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.adapters.anthropic_messages.model import API_VERSION
from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.cache_key import cache_key
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import AssistantTurn, UserTurn
from geode.entrypoints.compliance.histories import TOOLS, answer, call, model, results, user
from geode.entrypoints.emulator import check, laws
from geode.entrypoints.routes.capabilities import capabilities_of
from tests.contract.strategies import conversations
from tests.unit.adapters.test_segments import ME, cold, opaque

WIRE = MessagesWire()
MARK = {"type": "ephemeral"}
HISTORY = Conversation((user("go"), model(ME, call("a")), results("a"), model(ME, call("b")), results("b")))


def request(conversation: Conversation, *, system: str = "system", key: str = "k", tools: Any = TOOLS) -> AdapterCallRequest:
    return AdapterCallRequest("model-1", conversation, system, tuple(tools), cache_key=key)


def body(asked: AdapterCallRequest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(WIRE.encode(asked, ME))
    return found


def without_marks(value: Any) -> Any:
    """The value as it was without them, the system text as a text again."""
    if isinstance(value, list):
        return [without_marks(one) for one in value]
    if isinstance(value, dict):
        plain = {name: without_marks(one) for name, one in value.items() if name != "cache_control"}
        if isinstance(plain.get("system"), list):
            plain["system"] = "".join(block["text"] for block in plain["system"])
        return plain
    return value


def marks(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for name, one in inner:
        if name == "cache_control":
            assert one == MARK
            yield path
        else:
            yield from marks(one, (*path, name))


def test_the_system_text_the_last_tool_and_the_last_two_turns_of_the_user_are_marked() -> None:
    assert list(marks(body(request(HISTORY)))) == [
        ("system", 0),
        ("tools", len(TOOLS) - 1),
        ("messages", 2, "content", 0),
        ("messages", 4, "content", 0),
    ]
    assert list(marks(body(request(Conversation((user("go"),)), system=" ", tools=())))) == [("messages", 0, "content", 0)]


def test_no_tool_that_is_deferred_is_marked() -> None:
    names = [tool.name for tool in TOOLS]
    some = replace(request(HISTORY), deferred=frozenset(names[1:]))
    marked = [path for path in marks(body(some)) if path[0] == "tools"]
    assert [body(some)["tools"][place]["name"] for _, place in marked] == names[:1]
    assert [path for path in marks(body(replace(some, deferred=frozenset(names)))) if path[0] == "tools"] == []


def test_results_of_several_turns_that_are_one_message_have_one_mark() -> None:
    merged = Conversation((*HISTORY.turns, user("and?"), user("well?")))
    assert [path for path in marks(body(request(merged))) if path[0] == "messages"] == [
        ("messages", 2, "content", 0),
        ("messages", 4, "content", 2),
    ]


@settings(max_examples=100)
@given(conversations(ME, opaque, most=6), st.booleans(), st.booleans())
def test_marks_change_nothing_else_and_are_no_part_of_what_is_kept(one: Conversation, system: bool, tools: bool) -> None:
    """Encoded with marks, without and with them again, from kept turns and from cold ones: the same bytes each time."""
    asked = request(one, system="system" if system else "", tools=TOOLS if tools else ())
    plain = replace(asked, cache_key="")
    bytes_plain, marked = WIRE.encode(plain, ME), WIRE.encode(asked, ME)
    assert WIRE.encode(plain, ME) == bytes_plain == WIRE.encode(replace(plain, conversation=cold(one)), ME)
    assert marked == WIRE.encode(replace(asked, conversation=cold(one)), ME)
    found = json.loads(marked)
    assert without_marks(found) == json.loads(bytes_plain)
    assert len(list(marks(found))) <= 4
    broken = [*check("messages", found, "anthropic", version=API_VERSION), *laws("messages", found)]
    before = [*check("messages", json.loads(bytes_plain), "anthropic", version=API_VERSION)]
    assert [finding.rule for finding in broken if "cache" in finding.rule] == []
    assert len(broken) == len(before) + len([*laws("messages", json.loads(bytes_plain))])


def test_consecutive_rounds_begin_with_the_same_messages() -> None:
    """Only marks move: what the request before had is the beginning of the next one."""
    sent: list[dict[str, Any]] = []
    growing = Conversation((user("go"),))
    for number in range(6):
        sent.append(body(request(growing)))
        growing = growing.grown(model(ME, call(f"c{number}")), results(answer(f"c{number}")))
    for before, after in pairwise(sent):
        old, new = without_marks(before), without_marks(after)
        assert new["messages"][: len(old["messages"])] == old["messages"]
        assert {**new, "messages": 0} == {**old, "messages": 0}
        last = max(path[1] for path in marks(before) if path[0] == "messages")
        assert last in {path[1] for path in marks(after) if path[0] == "messages"}, "what was kept is found by its mark"


@pytest.mark.parametrize("wire", [ResponsesWire(), ChatWire(DIALECTS["openai"])])
def test_openai_is_told_the_key_alone(wire: ResponsesWire | ChatWire) -> None:
    asked = request(HISTORY)
    with_key, without = json.loads(wire.encode(asked, ME)), json.loads(wire.encode(replace(asked, cache_key=""), ME))
    assert with_key.pop("prompt_cache_key") == "k"
    assert with_key == without


def test_who_is_asked() -> None:
    """Servers that were not seen to know the field are not sent it."""
    asked = {
        (wire, dialect)
        for wire, dialects in {
            "messages": ["generic"],
            "responses": ["openai", "codex"],
            "chat": ["openai", "glm", "openrouter", "generic"],
        }.items()
        for dialect in dialects
        if capabilities_of(wire, dialect).cache_key
    }
    assert asked == {("messages", "generic"), ("responses", "openai"), ("chat", "openai"), ("chat", "openrouter")}


def test_the_key_stays_while_the_conversation_grows_and_tells_nothing() -> None:
    first = Conversation((UserTurn((Text("sk-secret"),)),))
    key = cache_key(first, "system")
    assert cache_key(first.grown(AssistantTurn((Text("a"),))), "system") == key
    assert cache_key(cold(first), "system") == key
    assert cache_key(first, "other") != key
    assert cache_key(Conversation((user("other"),)), "system") != key
    assert len(key) == 38
    assert key.startswith("geode-")
    assert "secret" not in key
