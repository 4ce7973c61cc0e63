"""Reading is the way back from encoding: what an encoder wrote is read, and written again as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.domain.choice import Auto, Named, NoTools, Required
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.request import AdapterCallRequest, Limits
from geode.entrypoints.compliance.histories import (
    LINK,
    LIST,
    PDF,
    PNG,
    READ,
    REPLAYS,
    TOOLS,
    MakeOpaque,
    answer,
    call,
    history,
    model,
    results,
    user,
)
from geode.entrypoints.compliance.reading import read
from geode.entrypoints.emulator import Protocol
from geode.entrypoints.emulator.render import Dialect
from geode.entrypoints.wire.wires import READERS, wire_of
from tests.contract.strategies import conversations

ME = Owner("me", "model-1")
WIRES: tuple[tuple[Protocol, Dialect], ...] = (
    ("messages", "anthropic"),
    ("responses", "openai"),
    ("chat", "openai"),
    ("chat", "openrouter"),
    ("chat", "glm"),
)
each_wire = pytest.mark.parametrize(("protocol", "dialect"), WIRES)


def thought(protocol: Protocol) -> MakeOpaque:
    """Opaque items as this wire has them."""

    def make(owner: Owner, number: int) -> Opaque:
        forms: dict[str, tuple[str, Any]] = {
            "messages": ("thinking", {"type": "thinking", "thinking": "…", "signature": f"s{number}"}),
            "responses": ("reasoning", {"type": "reasoning", "summary": [], "encrypted_content": f"e{number}"}),
            "chat": ("reasoning_content", f"thought {number}"),
        }
        kind, value = forms[protocol]
        return Opaque(owner, kind, json.dumps(value))

    return make


def written(protocol: Protocol, dialect: Dialect, request: AdapterCallRequest) -> Any:
    return json.loads(wire_of(protocol, dialect).encode(request, ME))


def comes_back(protocol: Protocol, dialect: Dialect, request: AdapterCallRequest) -> None:
    """What is read of the written request is written as the same; only ids that geode makes are made anew."""
    body = written(protocol, dialect, request)
    found = READERS[protocol](body, ME)
    again = written(protocol, dialect, found.request)
    assert read(protocol, again) == read(protocol, body)
    assert _head(again) == _head(body)
    assert [note for note in found.notes if note.kind != "opaque"] == []


def _head(body: Any) -> Any:
    return {name: value for name, value in body.items() if name not in ("messages", "input")}


@each_wire
@pytest.mark.parametrize("name", REPLAYS)
def test_every_history_of_the_specification_comes_back(protocol: Protocol, dialect: Dialect, name: str) -> None:
    talk = history(name, ME, thought(protocol))
    comes_back(protocol, dialect, AdapterCallRequest(ME.model, talk, "be brief", TOOLS))


choices = st.sampled_from([Auto(), NoTools(), Required(), Named(READ.name), Named(LIST.name)])


@each_wire
@settings(max_examples=60)
@given(data=st.data(), choice=choices, system=st.sampled_from(["", "be brief", "ünï"]), streamed=st.booleans())
def test_any_history_comes_back(
    protocol: Protocol, dialect: Dialect, data: st.DataObject, choice: Any, system: str, streamed: bool
) -> None:
    talk = data.draw(conversations(ME, thought(protocol)))
    limits, effort = Limits(data.draw(st.none() | st.integers(16, 9000))), data.draw(st.sampled_from([None, "low", "none"]))
    comes_back(protocol, dialect, AdapterCallRequest(ME.model, talk, system, TOOLS, choice, limits, effort, streamed=streamed))


@each_wire
def test_the_neutral_request_is_the_same(protocol: Protocol, dialect: Dialect) -> None:
    talk = Conversation(
        (
            user("go", PDF, LINK),
            model(ME, "I look.", call("a"), call("b", "list_files", {}), call("c"), call("d")),
            results(answer("a", "ok", "fine", PNG), answer("b", "failed", "no"), answer("c", "ok", "failed: 2 of 3"), "d"),
        )
    )
    request = AdapterCallRequest(ME.model, talk, "be brief", TOOLS, Named(READ.name), Limits(100), "low", streamed=True)
    found = READERS[protocol](written(protocol, dialect, request), ME)
    assert (found.request, found.notes) == (request, ())
