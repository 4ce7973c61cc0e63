"""The one codec: what was stored comes back, and nothing else is taken for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.domain import codec
from geode.domain.approval import Approve
from geode.domain.codec import FORMAT, dumps, loads
from geode.domain.content import Image, Opaque, Owner, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.errors import CodecError, GeodeError
from geode.domain.failures import CallFailure, RetryHint
from geode.domain.loop.inputs import ModelReplied
from geode.domain.loop.state import State
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolFacts
from geode.domain.turns import AssistantTurn, Transcript, UserTurn
from geode.domain.usage import Usage
from tests.unit.domain.builders import OWNER, assistant, begun, call, replied, results, user
from tests.unit.domain.strategies import domain_dataclasses, values_of

# Never stored: a script is what a test plays; a target, a routing table and the source of a key may hold an object that
# gives secrets.
NEVER_STORED = {
    f"geode.domain.{name}"
    for name in (
        "script",
        "targets",
        "relay",
        "routing",
        "key_sources",
        "provider",
        "mcp_declarations",
        "mcp_server",
        "toolkits",
        "tool_names",
    )
}
KINDS = [kind for kind in domain_dataclasses() if kind.__module__ not in NEVER_STORED]


@pytest.fixture(autouse=True)
def _nothing_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers are worked out once for each kind; every test works out its own."""
    monkeypatch.setattr(codec, "_readers", {})


@pytest.mark.random
@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_what_was_stored_comes_back(kind: type) -> None:
    @settings(max_examples=20)
    @given(values_of(kind))
    def comes_back(value: Any) -> None:
        text = dumps(value)
        again: object = loads(kind, text)
        assert again == value
        assert type(again) is kind
        # Also what a comparison leaves out.
        assert dumps(again) == text

    comes_back()


def test_every_kind_of_value_is_among_them() -> None:
    names = {kind.__name__ for kind in KINDS}
    assert names >= {"Conversation", "State", "ModelReplied", "ToolFinished", "Policy", "CallFailure", "AdapterCallRequest"}


# ---- the text ----------------------------------------------------------------------------------


def test_the_root_names_its_class_and_the_format() -> None:
    assert FORMAT == 1
    assert dumps(Text("é")) == '{"geode":1,"kind":"Text","value":{"$":"Text","text":"é"}}'


def written(value: object) -> Any:
    return json.loads(dumps(value))["value"]


def test_how_values_are_written() -> None:
    assert written(Image("image/jpeg", b"\xff\xd8\xff")) == {"$": "Image", "media_type": "image/jpeg", "data": "/9j/"}
    assert written(Usage(1, 2, Decimal("0.10"))) == {
        "$": "Usage",
        "input_tokens": 1,
        "output_tokens": 2,
        "cost_usd": "0.10",
        "cached_input_tokens": 0,
        "reasoning_tokens": 0,
        "quota": [],
        "cache_write_input_tokens": 0,
        "cache_write_1h_input_tokens": 0,
        "unpriced_calls": 0,
    }
    assert written(ToolFacts(SafetyTier.MCP_TRUSTED, "d")) == {
        "$": "ToolFacts",
        "tier": "mcp_trusted",
        "schema_digest": "d",
        "timeout_seconds": None,
        "alternative": None,
        "fallback": None,
        "max_calls": None,
        "poller": False,
        "idempotent": False,
        "reconciles": False,
        "origin": "",
        "forwards": False,
    }
    assert written(UserTurn((Text("a"),))) == {"$": "UserTurn", "items": [{"$": "Text", "text": "a"}], "hints": []}


def test_sets_are_written_in_order() -> None:
    from geode.domain.request import Capabilities

    assert written(Capabilities())["choices"] == ["auto", "named", "none", "required"]


def test_what_encoders_remember_is_not_stored() -> None:
    talk = Conversation((assistant(call("a")), results("a")))
    talk.memo["wire"] = b"bytes"
    assert "memo" not in dumps(talk)
    assert "call_ids" not in dumps(talk)


def test_open_json_is_kept_as_it_is() -> None:
    odd: Mapping[str, Any] = {"$": "Text", "geode": 7, "a": [{"$": 1}, None, 1.5, 2**80, "é"]}
    for value in (ToolUseBlock("1", "w", odd), Approve(odd)):
        assert loads(type(value), dumps(value)) == value


@dataclass(frozen=True)
class _Foreign:
    thing: Any


def test_what_is_no_value_cannot_be_stored() -> None:
    with pytest.raises(CodecError, match=r"^a object cannot be stored$"):
        dumps(_Foreign(object()))
    with pytest.raises(CodecError, match=r"^a function cannot be stored$"):
        dumps(_Foreign(written))


@dataclass(frozen=True)
class _Odd:
    thing: list[int]


def test_a_kind_that_the_codec_does_not_know() -> None:
    with pytest.raises(CodecError, match=r"^no codec for list\[int\]$"):
        loads(_Odd, '{"geode":1,"kind":"_Odd","value":{"$":"_Odd","thing":[1]}}')


@dataclass(frozen=True)
class _Headers:
    pairs: tuple[tuple[str, int], ...]


def test_tuples_of_a_fixed_length() -> None:
    stored = _Headers((("a", 1), ("b", 2)))
    assert loads(_Headers, dumps(stored)) == stored
    for pairs, why in (
        ([["a"]], "/pairs/0: expected a list of 2"),
        ([["a", 1], ["a", 1, 2]], "/pairs/1: expected a list of 2"),
        (["ab"], "/pairs/0: expected a list of 2"),
        ([["a", "1"]], "/pairs/0/1: expected int, got str"),
        ([[1, "a"]], "/pairs/0/0: expected str, got int"),
    ):
        with pytest.raises(CodecError) as caught:
            loads(_Headers, doc("_Headers", {"$": "_Headers", "pairs": pairs}))
        assert str(caught.value) == why


# ---- what is refused ---------------------------------------------------------------------------


def doc(kind: str, value: Any, format: Any = 1) -> str:
    return json.dumps({"geode": format, "kind": kind, "value": value})


def text(**changed: Any) -> dict[str, Any]:
    return {"$": "Text", "text": "a", **changed}


TURN = {"$": "UserTurn", "items": [], "hints": []}
FACTS = {
    "$": "ToolFacts",
    "tier": "safe",
    "schema_digest": "d",
    "timeout_seconds": None,
    "alternative": None,
    "fallback": None,
    "max_calls": None,
    "poller": False,
    "idempotent": False,
    "reconciles": False,
}
RESULT = {"$": "ToolResult", "call_id": "a", "kind": "ok", "content": [], "detail": "", "recoverable": True, "ref_id": ""}
USAGE = {"$": "Usage", "input_tokens": 1, "output_tokens": 2, "cost_usd": None, "cached_input_tokens": 0, "reasoning_tokens": 0}

REFUSED: list[tuple[type, str, str]] = [
    # the root
    (Text, "{", "stored Text is not JSON: "),
    (Text, "[" * 100_000, "stored Text is not JSON: "),
    (Text, "[]", "stored Text has no format number: geode did not write it"),
    (Text, '"geode"', "stored Text has no format number: geode did not write it"),
    (Text, '{"kind":"Text"}', "stored Text has no format number: geode did not write it"),
    (Text, doc("Text", text(), 2), "stored Text has format 2; this geode reads 1. Use a newer geode"),
    (Text, doc("Text", text(), "1"), "stored Text has format '1'; this geode reads 1. Use a newer geode"),
    (Text, doc("Image", text()), "stored value is a 'Image', a Text is wanted"),
    (Text, '{"geode":1,"value":{}}', "stored value is a None, a Text is wanted"),
    (Text, '{"geode":1,"kind":"Text"}', "/: expected a Text, got NoneType"),
    # fields
    (Text, doc("Text", [1]), "/: expected a Text, got list"),
    (Text, doc("Text", {"$": "Text"}), "/: Text does not have exactly its fields: text"),
    (Text, doc("Text", text(more=1, and_more=2)), "/: Text does not have exactly its fields: and_more, more"),
    (UserTurn, doc("UserTurn", {**TURN, "memo": {}}), "/: UserTurn does not have exactly its fields: memo"),
    (Text, doc("Text", text(text=5)), "/text: expected str, got int"),
    (Text, doc("Text", text(text=None)), "/text: expected str, got NoneType"),
    # tags
    (Text, doc("Text", {"text": "a"}), "/: unknown tag None; known: Text"),
    (Text, doc("Text", text(**{"$": "Image"})), "/: unknown tag 'Image'; known: Text"),
    (
        UserTurn,
        doc("UserTurn", {**TURN, "items": [text(), text(**{"$": "Nope"})]}),
        "/items/1: unknown tag 'Nope'; known: Text, Image, ImageUrl, Document, DocumentUrl",
    ),
    (
        UserTurn,
        doc("UserTurn", {**TURN, "items": [text(**{"$": [1]})]}),
        "/items/0: unknown tag [1]; known: Text, Image, ImageUrl, Document, DocumentUrl",
    ),
    (
        UserTurn,
        doc("UserTurn", {**TURN, "items": [{"text": "a"}]}),
        "/items/0: expected one of Text, Image, ImageUrl, Document, DocumentUrl, got dict",
    ),
    (
        UserTurn,
        doc("UserTurn", {**TURN, "items": ["a"]}),
        "/items/0: expected one of Text, Image, ImageUrl, Document, DocumentUrl, got str",
    ),
    (
        UserTurn,
        doc("UserTurn", {**TURN, "items": [None]}),
        "/items/0: expected one of Text, Image, ImageUrl, Document, DocumentUrl, got NoneType",
    ),
    # lists, objects
    (UserTurn, doc("UserTurn", {**TURN, "items": {}}), "/items: expected a list, got dict"),
    (UserTurn, doc("UserTurn", {**TURN, "hints": "x"}), "/hints: expected a list, got str"),
    (
        ToolUseBlock,
        doc("ToolUseBlock", {"$": "ToolUseBlock", "id": "a", "name": "w", "input": [], "unparsed": None}),
        "/input: expected an object, got list",
    ),
    # words, numbers, bytes
    (ToolResult, doc("ToolResult", {**RESULT, "kind": "fine"}), "/kind: 'fine' is none of 'ok', 'failed', 'denied', "),
    (ToolResult, doc("ToolResult", {**RESULT, "kind": ["ok"]}), "/kind: ['ok'] is none of 'ok', "),
    (ToolResult, doc("ToolResult", {**RESULT, "recoverable": 1}), "/recoverable: expected bool, got int"),
    (ToolFacts, doc("ToolFacts", {**FACTS, "tier": "tier0"}), "/tier: 'tier0' is no SafetyTier"),
    (ToolFacts, doc("ToolFacts", {**FACTS, "tier": [1]}), "/tier: [1] is no SafetyTier"),
    (ToolFacts, doc("ToolFacts", {**FACTS, "timeout_seconds": "1"}), "/timeout_seconds: expected float, got str"),
    (ToolFacts, doc("ToolFacts", {**FACTS, "timeout_seconds": True}), "/timeout_seconds: expected float, got bool"),
    (Usage, doc("Usage", {**USAGE, "input_tokens": 1.0}), "/input_tokens: expected int, got float"),
    (Usage, doc("Usage", {**USAGE, "input_tokens": True}), "/input_tokens: expected int, got bool"),
    (Usage, doc("Usage", {**USAGE, "cost_usd": "x"}), "/cost_usd: 'x' is no Decimal"),
    (Usage, doc("Usage", {**USAGE, "cost_usd": {}}), "/cost_usd: {} is no Decimal"),
    (Image, doc("Image", {"$": "Image", "media_type": "image/png", "data": "A"}), "/data: 'A' is no bytes"),
    (Image, doc("Image", {"$": "Image", "media_type": "image/png", "data": "*AA=="}), "/data: '*AA==' is no bytes"),
    (Image, doc("Image", {"$": "Image", "media_type": "image/png", "data": 7}), "/data: 7 is no bytes"),
    (Image, doc("Image", {"$": "Image", "media_type": "image/bmp", "data": ""}), "/media_type: 'image/bmp' is none of "),
]


@pytest.mark.parametrize(("kind", "stored", "why"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_as_written_names_its_place(kind: type, stored: str, why: str) -> None:
    with pytest.raises(CodecError) as caught:
        loads(kind, stored)
    assert str(caught.value).startswith(why)
    assert isinstance(caught.value, GeodeError)
    assert isinstance(caught.value, ValueError)


def test_a_place_deep_inside() -> None:
    state = json.loads(dumps(replied(begun(), call("a"))))
    state["value"]["open"]["turn"]["items"][0]["name"] = 5
    with pytest.raises(CodecError, match=r"^/open/turn/items/0/name: expected str, got int$"):
        loads(State, json.dumps(state))
    state = json.loads(dumps(begun()))
    state["value"]["terms"]["tools"]["read"]["tier"] = "x"
    with pytest.raises(CodecError, match=r"^/terms/tools/read/tier: 'x' is no SafetyTier$"):
        loads(State, json.dumps(state))


def test_values_that_break_a_law_are_refused_at_their_place() -> None:
    policy = json.loads(dumps(Policy()))
    policy["value"]["max_rounds"] = 0
    with pytest.raises(CodecError, match=r"^/: Policy.max_rounds must be a whole number of 1 or more, got 0"):
        loads(Policy, json.dumps(policy))
    state = json.loads(dumps(begun()))
    state["value"]["closed"]["turns"].append(json.loads(dumps(results("z")))["value"])
    with pytest.raises(CodecError, match=r"^/closed: turn 1 must answer the calls \[\], it answers \['z'\]"):
        loads(State, json.dumps(state))
    # What is inside of what breaks a law keeps its own place.
    transcript = json.loads(dumps(Transcript((user(),))))
    transcript["value"]["turns"][0]["items"][0]["text"] = 1
    with pytest.raises(CodecError, match=r"^/turns/0/items/0/text: expected str, got int$"):
        loads(Transcript, json.dumps(transcript))


def test_a_whole_number_may_stand_for_a_fraction() -> None:
    facts = loads(ToolFacts, doc("ToolFacts", {**FACTS, "timeout_seconds": 5}))
    assert (facts.timeout_seconds, type(facts.timeout_seconds)) == (5.0, float)


def test_what_is_read_back_is_of_the_same_kinds() -> None:
    turn = loads(AssistantTurn, dumps(AssistantTurn((Text("a"), Opaque(OWNER, "thinking", '{"é":1}')), None)))
    assert turn == AssistantTurn((Text("a"), Opaque(Owner("acme-payg", "acme-1"), "thinking", '{"é":1}')))
    assert isinstance(turn.items, tuple)
    fault = CallFailure(None, "stream", "m", hint=RetryHint(1.5, True, "raw"), after_output=True)
    assert loads(CallFailure, dumps(fault)) == fault
    said = ModelReplied(1.5, AdapterCallResult((Text("a"),), Stop.PAUSE, Usage(1, 2, Decimal("1.10")), refusal={"a": [None]}))
    assert loads(ModelReplied, dumps(said)) == said


# ---- anything at all ---------------------------------------------------------------------------


@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(), lambda it: st.lists(it) | st.dictionaries(st.text(), it)).map(
        json.dumps
    )
)
def test_reading_anything_fails_only_with_the_codecs_error(stored: str) -> None:
    with pytest.raises(CodecError):
        loads(Transcript, stored)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place inside `value`: what holds it, and under which key."""
    keys: Iterable[Any] = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@given(st.data())
def test_one_change_anywhere_is_read_or_refused_but_never_crashes(data: st.DataObject) -> None:
    """Take a stored conversation, put something else in one place."""
    root = json.loads(dumps(Transcript((user(), assistant("x", call("a", "w", {"p": 1})), results("a")))))
    holder, key = data.draw(st.sampled_from(list(places(root))))
    holder[key] = data.draw(st.sampled_from([None, 0, 1, True, "", "Text", [], {}, {"$": "Text"}]))
    # Any other exception fails the test.
    with suppress(CodecError):
        assert isinstance(loads(Transcript, json.dumps(root)), Transcript)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400"])
def test_what_is_no_json_does_not_come_back(number: str) -> None:
    stored = dumps(Conversation((assistant(call("a")), results("a"))))
    with pytest.raises(CodecError, match="which JSON cannot carry"):
        loads(Conversation, stored.replace('"input":{}', f'"input":{{"x":[{number}]}}'))


def test_lone_surrogates_are_replaced_when_a_value_comes_back() -> None:
    stored = dumps(Conversation((assistant(call("a")), results("a"))))
    back = loads(
        Conversation,
        stored.replace('"input":{}', '"input":{"x":"\\ud800"}')
        .replace('"id":"a"', '"id":"a\\ud800"')
        .replace('"call_id":"a"', '"call_id":"a\\ud800"'),
    )
    (one,) = back.call_ids
    assert one == "a\ufffd"


def test_what_an_older_geode_did_not_write_has_its_default() -> None:
    older = '{"geode":1,"kind":"UserTurn","value":{"$":"UserTurn","items":[{"$":"Text","text":"hello"}]}}'
    assert loads(UserTurn, older) == UserTurn((Text("hello"),), ())
