"""Kinds of results that were lost, doubled or refused, each with the id of its case."""

from __future__ import annotations

import base64
import json
import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import pytest
from pydantic import BaseModel

import geode
from geode.domain.content import Image, ToolResult
from geode.domain.request import AdapterCallRequest
from geode.domain.results import render
from geode.domain.tools import ToolSpec
from geode.domain.turns import Hint, ToolResultsTurn
from geode.entrypoints.emulator import Protocol
from geode.entrypoints.emulator.sizes import NO_TEXT, texts
from geode.ports.tools import Tool
from tests.unit.application.rig import answered, loop_of
from tests.unit.application.rig import results as given
from tests.unit.cases.server import Json, adapter, asks, called, completion, says, sent
from tests.unit.cases.turns import answer, call, model, results, user

WIRES: tuple[Protocol, ...] = ("messages", "responses", "chat")
each_wire = pytest.mark.parametrize("protocol", WIRES)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 60
LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{60}")


def returning(value: object, name: str = "t1") -> Tool:
    return Tool(ToolSpec(name, "Gives.", {"type": "object", "properties": {}}), geode.SafetyTier.SAFE, lambda *_: value)


async def told(protocol: Protocol, value: object) -> tuple[Json, ToolResult]:
    """The request after a tool returned `value`, and its result; every request was judged by the rules of the server."""
    lab = adapter(protocol, asks(protocol, {} if protocol == "messages" else "{}"), says(protocol))
    outcome = answered(await loop_of(model=lab.http, tools=[returning(value)]).run("go"))
    (result,) = given(outcome)
    return lab.asked[1], result


def of_result(protocol: Protocol, body: Json) -> Any:
    """What stands for the only result, as the wire has it."""
    match protocol:
        case "messages":
            return body["messages"][-1]["content"][0]["content"]
        case "responses":
            return body["input"][-1]["output"]
        case "chat":
            return next(one["content"] for one in body["messages"] if one["role"] == "tool")


# ---- RS-01, RS-02: pictures -------------------------------------------------------------------------


@each_wire
async def test_rs_01_a_picture_is_a_picture_and_no_text_of_any_request_has_its_base64(protocol: Protocol) -> None:
    body, result = await told(protocol, [{"ignored": 1}, Image("image/png", PNG)])
    assert result.media == (Image("image/png", PNG),)
    assert [text for text in texts(body, NO_TEXT) if LONG_BASE64.search(text)] == []
    assert json.dumps(body).count(base64.b64encode(PNG).decode()) == 1
    found = of_result(protocol, body)
    if protocol == "messages":
        source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
        assert found[1] == {"type": "image", "source": source}
    elif protocol == "responses":
        assert (found[1]["type"], found[1]["image_url"][:22]) == ("input_image", "data:image/png;base64,")


@pytest.mark.parametrize("failed", [False, True])
async def test_rs_02_tool_messages_come_first_and_together_and_the_pictures_after_them(failed: bool) -> None:
    class Shot(Exception):
        pass

    def shoot(*_: object) -> Any:
        yield PNG
        if failed:
            raise Shot

    tools = [Tool(returning(None, "a").spec, geode.SafetyTier.SAFE, shoot), returning("ok", "b")]
    lab = adapter("chat", completion(called("a", "a"), called("b", "b")), says("chat"))
    answered(await loop_of(model=lab.http, tools=tools).run("go"))
    *_, a, b, pictures = lab.asked[1]["messages"]
    assert [(one["role"], one.get("tool_call_id")) for one in (a, b, pictures)] == [
        ("tool", "a"),
        ("tool", "b"),
        ("user", None),
    ]
    assert a["content"].endswith("[1 attachment(s), after the tool results]")
    assert a["content"].startswith("failed: " if failed else "done")
    assert b["content"] == "ok"
    label, picture = pictures["content"]
    assert label == {"type": "text", "text": "Attachments of the result of a:"}
    assert picture["type"] == "image_url"


# ---- RS-05, RS-06, RS-08: characters and numbers ----------------------------------------------------

SURROGATES = [("abc\ud800def", "abc�def"), (json.loads('{"s": "\\ud83d"}'), '{"s":"�"}'), (os.fsdecode(b"\xff"), "�")]


@each_wire
@pytest.mark.parametrize(("value", "text"), SURROGATES)
async def test_rs_05_lone_surrogates_are_replaced_in_results(value: object, text: str, protocol: Protocol) -> None:
    body, result = await told(protocol, value)
    assert (result.text, of_result(protocol, body)) == (text, text)
    json.dumps(body, ensure_ascii=False).encode()


@each_wire
def test_rs_05_and_in_names_arguments_and_hints_while_pairs_stay(protocol: Protocol) -> None:
    asked = model(call("a", {"k\ud800": "v\udfff", "ok": "😀"}, name="t\ud800"))
    found = ToolResultsTurn((ToolResult("a", "ok", render("\ud83d\ude00")),), (Hint("backpressure", "h\ud800"),))
    request = AdapterCallRequest("m", geode.Conversation((user("u\ud800"), asked, found)), "s\ud800")
    written = json.dumps(sent(protocol, request), ensure_ascii=False)
    written.encode()
    assert re.search("[\ud800-\udfff]", written) is None
    assert written.count("😀") == 2


@each_wire
async def test_rs_06_what_is_no_number_in_json_is_its_name_at_any_depth(protocol: Protocol) -> None:
    nan, inf = float("nan"), float("inf")
    body, result = await told(protocol, {"a": nan, "b": [inf, -inf], "nested": {"c": nan}, "d": Decimal("-Infinity")})

    def strict(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    text = of_result(protocol, body)
    assert result.kind == "ok"
    assert json.loads(text, parse_constant=strict) == {
        "a": "NaN",
        "b": ["Infinity", "-Infinity"],
        "nested": {"c": "NaN"},
        "d": "-Infinity",
    }


@each_wire
async def test_rs_08_characters_are_themselves(protocol: Protocol) -> None:
    value = {"이름": "홍길동"}
    body, _ = await told(protocol, value)
    assert of_result(protocol, body) == '{"이름":"홍길동"}'
    turns = (user("go"), model(call("a", value)), results(answer("a", "홍길동: 없음", "failed")))
    asked = sent(protocol, AdapterCallRequest("m", geode.Conversation(turns)))
    assert json.dumps(asked, ensure_ascii=False).count("홍길동") == 2


# ---- RS-07, RS-09: types, and nothing at all --------------------------------------------------------


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    x: int


class Model(BaseModel):
    x: int


FORMS: Mapping[str, tuple[object, Any]] = {
    "datetime": (datetime(2026, 11, 30, 9, tzinfo=UTC), "2026-11-30T09:00:00+00:00"),
    "date": (date(2026, 11, 30), "2026-11-30"),
    "Decimal": (Decimal("1.10"), "1.10"),
    "UUID": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "bytes": (b"\xff\x00", {"base64": "/wA="}),
    "set": ({3, 1, 2}, [1, 2, 3]),
    "Path": (PurePosixPath("/x"), "/x"),
    "Enum": (Color.RED, "red"),
    "dataclass": (Point(1), {"x": 1}),
    "pydantic model": (Model(x=1), {"x": 1}),
    "int key": ({1: 2}, {"1": 2}),
}


@each_wire
async def test_rs_07_types_that_json_does_not_know_have_one_form(protocol: Protocol) -> None:
    body, result = await told(protocol, {name: value for name, (value, _) in FORMS.items()})
    assert result.kind == "ok"
    assert json.loads(of_result(protocol, body)) == {name: form for name, (_, form) in FORMS.items()}


@each_wire
async def test_rs_07_an_unknown_object_is_a_clear_error_and_the_run_goes_on(protocol: Protocol) -> None:
    """Spec section 5 asks for an error where the case would have a type name; a tool with an effect says that it ran."""
    body, result = await told(protocol, {"conn": object()})
    assert result.kind == "failed"
    assert "a value of type object at /conn" in result.detail
    assert "the tool's result could not be rendered" in json.dumps(body)


@each_wire
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "The tool returned nothing."),
        ("", "The tool returned an empty text."),
        ("   ", "The tool returned only white space."),
        ([], "The tool returned an empty list."),
        ({}, "The tool returned an empty object."),
    ],
)
async def test_rs_09_nothing_says_so_and_is_no_error(value: object, text: str, protocol: Protocol) -> None:
    body, result = await told(protocol, value)
    assert (result.kind, result.call_id, of_result(protocol, body)) == ("ok", "a", text)
    if protocol == "messages":
        assert not body["messages"][-1]["content"][0].get("is_error")
