"""Requests in all the forms that others write them in, read into the neutral one."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from geode.adapters.http_json.history import Note, ReadRequest
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Media, Opaque, Owner, Text, ToolUseBlock
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn
from geode.entrypoints.emulator import Protocol
from geode.entrypoints.wire.wires import READERS

ME = Owner("me", "m")
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
PDF = base64.b64encode(b"%PDF-1.4").decode()
GO = {"role": "user", "content": "go"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def read(protocol: Protocol, **body: Any) -> ReadRequest:
    return READERS[protocol]({"model": "m", **body}, ME)


def ask(protocol: Protocol, **body: Any) -> ReadRequest:
    """A request with one message of the user."""
    return read(protocol, **{"input" if protocol == "responses" else "messages": [GO]}, **body)


def kinds(found: ReadRequest) -> list[tuple[str, str]]:
    return [(note.kind, note.at) for note in found.notes]


def shape(found: ReadRequest) -> list[Any]:
    """The turns in a few words: text of the user, text and calls of the model, kind and text of results."""
    words: list[Any] = []
    for turn in found.request.turns:
        match turn:
            case UserTurn():
                words.append(turn.text)
            case AssistantTurn():
                words.append((turn.text, *(f"{call.name}{dict(call.input)}" for call in turn.calls)))
            case ToolResultsTurn():
                words.append([f"{one.kind}:{one.text}" for one in turn.results])
    return words


# ---- rounds --------------------------------------------------------------------------------------


def use(id: str, name: str = "f") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {}}


def got(id: str, text: Any = "r", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text, **more}


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]}


def test_neighbours_of_one_role_are_one_turn_on_messages() -> None:
    messages = [said("user", "go"), said("assistant", "x", use("a")), said("assistant", use("b")), said("user", got("b"))]
    found = read("messages", messages=[*messages, said("user", got("a", "ra"), "and?")])
    assert shape(found) == ["go", ("x", "f{}", "f{}"), ["ok:ra", "ok:r"], "and?"]
    assert found.notes == ()


def call(id: str, arguments: Any = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": arguments}


def output(id: str, text: Any = "r") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": text}


def test_what_the_model_made_without_a_word_between_is_one_turn_on_responses() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    items = [call("a"), {"role": "assistant", "content": "so"}, thought, call("b"), output("b", "rb"), output("a", "ra")]
    found = read("responses", input=[{"role": "user", "content": "go"}, *items])
    assert shape(found) == ["go", ("so", "f{}", "f{}"), ["ok:ra", "ok:rb"]]
    turn = found.request.turns[1]
    assert isinstance(turn, AssistantTurn)
    assert [type(item) for item in turn.items] == [ToolUseBlock, Text, Opaque, ToolUseBlock]
    assert kinds(found) == [("opaque", "/input/3")]


def test_calls_and_outputs_by_turns_are_rounds_on_responses() -> None:
    found = read("responses", input=[call("a"), output("a", "ra"), call("b"), output("b", "rb")])
    assert shape(found) == [("", "f{}"), ["ok:ra"], ("", "f{}"), ["ok:rb"]]


def test_an_output_after_another_word_of_the_model_is_not_lost() -> None:
    found = read(
        "responses", input=[call("a"), call("b"), output("a"), {"role": "assistant", "content": "hm"}, output("b", "rb")]
    )
    assert shape(found) == [("", "f{}", "f{}"), ["ok:r", "ok:rb"], ("hm",)]
    assert kinds(found) == [("repaired", "/input")]


def test_an_output_whose_call_the_provider_keeps_is_told() -> None:
    found = read("responses", previous_response_id="resp_1", input=[output("a", "42")])
    assert shape(found) == ["42"]
    assert kinds(found) == [("file_id", "/previous_response_id"), ("file_id", "/input/0/output")]


def test_results_in_another_order_on_chat() -> None:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ("a", "b")]
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    answers = [{"role": "tool", "tool_call_id": id, "content": f"r{id}"} for id in ("b", "a")]
    found = read("chat", messages=[*messages, *answers])
    assert shape(found) == ["go", ("", "f{}", "f{}"), ["ok:ra", "ok:rb"]]
    assert found.notes == ()


def test_the_old_form_of_calls_on_chat() -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}
    answered = {"role": "function", "name": "f", "content": "one"}
    found = read(
        "chat",
        messages=[{"role": "user", "content": "go"}, asked, answered, asked, {**answered, "content": "two"}],
        functions=[{"name": "f", "description": "F.", "parameters": SCHEMA}],
        function_call={"name": "f"},
    )
    assert shape(found) == ["go", ("", "f{'a': 1}"), ["ok:one"], ("", "f{'a': 1}"), ["ok:two"]]
    assert [(tool.name, tool.input_schema) for tool in found.request.tools] == [("f", SCHEMA)]
    assert found.request.tool_choice == Named("f")
    assert found.notes == ()


def test_a_history_that_breaks_the_laws_is_mended_and_noted() -> None:
    found = read("messages", messages=[said("user", "go"), said("assistant", use("a")), said("user", "go on", got("z"))])
    assert shape(found)[:2] == ["go", ("", "f{}")]
    assert [note.message for note in found.notes] == ["turn 1: interrupted (a)", "turn 3: orphan dropped (z)"]


@pytest.mark.parametrize(
    ("block", "kind", "text"),
    [
        (got("a", "boom", is_error=True), "failed", "boom"),
        (got("a", "denied: no", is_error=True), "denied", "denied: no"),
        (got("a", "interrupted", is_error=True), "interrupted", "interrupted"),
        (got("a", "failed: 2 of 3"), "ok", "failed: 2 of 3"),
        (got("a", [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]), "ok", "x\ny"),
        (got("a", None), "ok", ""),
    ],
)
def test_the_error_flag_of_messages(block: Any, kind: str, text: str) -> None:
    found = read("messages", messages=[said("assistant", use("a")), said("user", block)])
    (result,) = found.request.conversation.results()
    assert (result.kind, result.text) == (kind, text)


@pytest.mark.parametrize(
    ("told", "kind", "text"),
    [
        ("failed: boom", "failed", "boom"),
        ("failed: failed: boom", "failed", "failed: boom"),
        ("denied: no", "denied", "denied: no"),
        ("failed to open", "ok", "failed to open"),
        ("ok: failed: 2 of 3", "ok", "failed: 2 of 3"),
        ("ok: fine", "ok", "ok: fine"),
    ],
)
def test_a_kind_that_the_text_says(told: str, kind: str, text: str) -> None:
    for found in (
        read("responses", input=[call("a"), output("a", told)]),
        read("responses", input=[call("a"), output("a", [{"type": "input_text", "text": told}])]),
        read(
            "chat",
            messages=[
                {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]},
                {"role": "tool", "tool_call_id": "a", "content": told},
            ],
        ),
    ):
        (result,) = found.request.conversation.results()
        assert (result.kind, result.text) == (kind, text)


# ---- system text ---------------------------------------------------------------------------------


def test_system_text_from_all_its_places() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert read("messages", system=blocks, messages=[said("user", "go")]).request.system == "one\n\ntwo"
    leading = [
        {"role": "system", "content": "two"},
        {"role": "developer", "content": [{"type": "input_text", "text": "three"}]},
    ]
    user = {"role": "user", "content": "go"}
    assert read("responses", instructions="one", input=[*leading, user]).request.system == "one\n\ntwo\n\nthree"
    parts = [{"role": "system", "content": [{"type": "text", "text": "one"}]}, {"role": "developer", "content": "two"}]
    assert read("chat", messages=[*parts, user]).request.system == "one\n\ntwo"


@pytest.mark.parametrize("protocol", ["messages", "responses", "chat"])
def test_a_system_message_inside_the_history_stays_where_it_is(protocol: Protocol) -> None:
    key = "input" if protocol == "responses" else "messages"
    messages = [{"role": "user", "content": "go"}, {"role": "system", "content": "now in French"}]
    found = read(protocol, **{key: messages})
    assert (shape(found), found.request.system) == (["go", "now in French"], "")
    assert kinds(found) == [("sampling", f"/{key}/1")]


# ---- media ---------------------------------------------------------------------------------------

IMAGE, PAPER = Image("image/png", b"\x89PNG\r\n\x1a\nrest"), Document("application/pdf", b"%PDF-1.4", "p.pdf")
URL = "https://example.org/a/b.pdf"


def block(kind: str, **source: str) -> dict[str, Any]:
    return {"type": kind, "source": source}


FORMS: list[tuple[Protocol, dict[str, Any], Media]] = [
    ("messages", block("image", type="base64", media_type="image/png", data=PNG), IMAGE),
    ("messages", block("image", type="base64", media_type="image/jpg", data="/9j/"), Image("image/jpeg", b"\xff\xd8\xff")),
    ("messages", block("image", type="base64", media_type="image/jpeg", data=PNG), IMAGE),  # what the bytes are
    ("messages", block("document", type="base64", media_type="application/pdf", data=PNG), IMAGE),
    ("messages", block("image", type="url", url=URL), ImageUrl(URL)),
    ("messages", {**block("document", type="base64", media_type="application/pdf", data=PDF), "title": "p.pdf"}, PAPER),
    ("messages", block("document", type="text", media_type="text/plain", data="hi"), Document("text/plain", b"hi")),
    ("messages", {"type": "document", "source": {"type": "content", "content": "hi"}}, Document("text/plain", b"hi")),
    ("messages", block("document", type="url", url=URL), DocumentUrl(URL)),
    ("responses", {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}, IMAGE),
    ("responses", {"type": "input_image", "image_url": URL}, ImageUrl(URL)),
    ("responses", {"type": "input_file", "filename": "p.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}, PAPER),
    ("responses", {"type": "input_file", "filename": "p.pdf", "file_data": PDF}, PAPER),
    ("responses", {"type": "input_file", "file_url": URL}, DocumentUrl(URL)),
    ("responses", {"type": "input_file", "file_data": "data:text/csv,a%2Cb"}, Document("text/plain", b"a,b")),
    ("chat", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}, IMAGE),
    ("chat", {"type": "image_url", "image_url": URL}, ImageUrl(URL)),
    ("chat", {"type": "file", "file": {"filename": "p.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}, PAPER),
    ("chat", {"type": "file", "file": {"filename": "b.pdf", "file_data": URL}}, DocumentUrl(URL)),
    ("chat", {"type": "document_url", "document_url": URL}, DocumentUrl(URL)),
]


@pytest.mark.parametrize(("protocol", "part", "medium"), FORMS)
def test_a_medium(protocol: Protocol, part: dict[str, Any], medium: Media) -> None:
    key = "input" if protocol == "responses" else "messages"
    found = read(protocol, **{key: [{"role": "user", "content": [part]}]})
    assert found.request.turns == (UserTurn((medium,)),)
    assert found.notes == ()


NOT_CARRIED: list[tuple[Protocol, dict[str, Any], str, str]] = [
    ("messages", block("image", type="file", file_id="file_1"), "file_id", "/source/file_id"),
    ("messages", {"type": "container_upload", "file_id": "file_1"}, "file_id", ""),
    ("messages", block("image", type="base64", media_type="image/heic", data=PNG), "media", ""),
    ("messages", block("image", type="base64", media_type="image/png", data="%%%"), "media", ""),
    ("messages", block("image", type="base64", media_type="image/png", data=PDF), "media", ""),
    ("messages", block("document", type="base64", media_type="application/pdf", data="/9k="), "media", ""),
    ("messages", block("document", type="text", media_type="text/plain", data=""), "media", ""),
    ("messages", {"type": "image", "source": "none"}, "media", ""),
    ("messages", {"type": "tool_reference", "tool_name": "f"}, "server_tool", ""),
    ("responses", {"type": "input_file", "file_id": "file_1"}, "file_id", "/file_id"),
    ("responses", {"type": "input_audio", "input_audio": {"data": "x"}}, "media", ""),
    ("responses", {"type": "input_image", "image_url": "ftp://x"}, "media", ""),
    ("chat", {"type": "file", "file": {"file_id": "file_1"}}, "file_id", "/file/file_id"),
    ("chat", {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}, "media", ""),
    ("chat", {"type": "video_url", "video_url": {"url": URL}}, "media", ""),
]


@pytest.mark.parametrize(("protocol", "part", "kind", "at"), NOT_CARRIED)
def test_a_medium_that_is_not_carried_is_noted(protocol: Protocol, part: dict[str, Any], kind: str, at: str) -> None:
    key = "input" if protocol == "responses" else "messages"
    found = read(protocol, **{key: [{"role": "user", "content": [part, {"type": "text", "text": "look"}]}]})
    assert shape(found) == ["look"]
    assert kinds(found) == [(kind, f"/{key}/0/content/0{at}")]


# ---- tools and choice ----------------------------------------------------------------------------

FREE = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
NO_ARGUMENTS = {"type": "object", "properties": {}}
TOOLS: list[tuple[Protocol, dict[str, Any], dict[str, Any], list[str]]] = [
    ("messages", {"name": "f", "description": "F.", "input_schema": SCHEMA}, SCHEMA, []),
    ("messages", {"type": "custom", "name": "f", "description": "F.", "input_schema": {}}, NO_ARGUMENTS, []),
    (
        "messages",
        {
            "name": "f",
            "description": "F.",
            "input_schema": SCHEMA,
            "defer_loading": True,
            "cache_control": {"type": "ephemeral"},
        },
        SCHEMA,
        ["server_tool", "sampling"],
    ),
    (
        "responses",
        {"type": "function", "name": "f", "description": "F.", "parameters": None, "strict": False},
        NO_ARGUMENTS,
        [],
    ),
    ("responses", {"type": "custom", "name": "f", "description": "F."}, FREE, ["server_tool"]),
    (
        "responses",
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f", "description": "F."}]},
        NO_ARGUMENTS,
        ["server_tool"],
    ),
    (
        "chat",
        {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"$ref": "#"}}},
        {"$ref": "#"},
        [],
    ),
    ("chat", {"type": "custom", "custom": {"name": "f", "description": "F."}}, FREE, ["server_tool"]),
]


@pytest.mark.parametrize(("protocol", "tool", "schema", "noted"), TOOLS)
def test_a_tool(protocol: Protocol, tool: dict[str, Any], schema: dict[str, Any], noted: list[str]) -> None:
    found = ask(protocol, tools=[tool])
    (spec,) = found.request.tools
    assert (spec.name, spec.description, spec.input_schema) == ("f", "F.", {**schema, "type": "object"})
    assert [note.kind for note in found.notes] == noted


def test_tools_that_a_history_adds_are_tools_from_the_start() -> None:
    later = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "g"}]}
    found = read(
        "responses",
        tools=[{"type": "function", "name": "f"}, {"type": "web_search"}],
        input=[{"role": "user", "content": "go"}, later],
    )
    assert [tool.name for tool in found.request.tools] == ["f", "g"]
    assert kinds(found) == [("server_tool", "/tools/1"), ("server_tool", "/input/1")]


def test_calls_in_free_text_are_calls() -> None:
    asked = {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "select 1"}
    found = read(
        "responses",
        input=[GO, asked, {"type": "custom_tool_call_output", "call_id": "a", "output": "1"}],
    )
    assert shape(found) == ["go", ("", "f{'input': 'select 1'}"), ["ok:1"]]
    custom = {"id": "a", "type": "custom", "custom": {"name": "f", "input": "select 1"}}
    found = read(
        "chat", messages=[{"role": "assistant", "tool_calls": [custom]}, {"role": "tool", "tool_call_id": "a", "content": "1"}]
    )
    assert shape(found) == [("", "f{'input': 'select 1'}"), ["ok:1"]]


CHOICES: list[tuple[Any, ToolChoice, list[str]]] = [
    (None, Auto(), []),
    ("any", Required(), []),
    ({"type": "none"}, NoTools(), []),
    ({"type": "function", "name": "f"}, Named("f"), []),
    ({"function": {"name": "f"}}, Named("f"), []),
    ({"type": "function", "name": "gone"}, Auto(), ["server_tool"]),
    ({"type": "web_search"}, Auto(), ["server_tool"]),
    ({"type": "allowed_tools", "mode": "required", "tools": []}, Required(), ["sampling"]),
    ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, Auto(), ["sampling"]),
]


@pytest.mark.parametrize(("given", "choice", "noted"), CHOICES)
def test_a_choice(given: Any, choice: ToolChoice, noted: list[str]) -> None:
    forms: list[tuple[Protocol, Any]] = [
        ("responses", {"type": "function", "name": "f"}),
        ("chat", {"function": {"name": "f"}}),
    ]
    for protocol, tool in forms:
        found = ask(protocol, tools=[tool], tool_choice=given)
        assert found.request.tool_choice == choice
        assert [note.kind for note in found.notes] == noted


# ---- settings ------------------------------------------------------------------------------------


def test_settings_that_are_neutral() -> None:
    same: dict[str, Any] = {"temperature": 0.5, "stream": True}
    for found in (
        ask("messages", max_tokens=9, output_config={"effort": "low"}, **same),
        ask("responses", max_output_tokens=9, reasoning={"effort": "low"}, **same),
        ask("chat", max_completion_tokens=9, reasoning_effort="low", **same),
        ask("chat", max_tokens=9, reasoning={"effort": "low"}, **same),
    ):
        request = found.request
        assert (request.limits.max_output_tokens, request.effort, request.temperature, request.streamed) == (
            9,
            "low",
            0.5,
            True,
        )
        assert found.notes == ()


@pytest.mark.parametrize(
    ("given", "thinking", "noted"),
    [
        ({"type": "adaptive"}, AdaptiveThinking(), 0),
        ({"type": "enabled", "budget_tokens": 2048}, ThinkingBudget(2048), 0),
        ({"type": "enabled", "budget_tokens": 1}, None, 1),
        ({"type": "adaptive", "display": "omitted"}, AdaptiveThinking(), 1),
        ({"type": "disabled"}, None, 1),
    ],
)
def test_thinking(given: Any, thinking: Thinking | None, noted: int) -> None:
    found = read("messages", messages=[said("user", "go")], thinking=given)
    assert (found.request.thinking, len(found.notes)) == (thinking, noted)


def test_any_other_setting_is_noted_where_it_stands() -> None:
    found = read("chat", messages=[{"role": "user", "content": "go", "name": "ada"}], top_p=0.5, n=1, stop=["x"], seed=None)
    assert kinds(found) == [("sampling", "/top_p"), ("sampling", "/stop"), ("sampling", "/messages/0/name")]
    marked = {"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}
    found = read("messages", messages=[said("user", marked)], stop_sequences=["x"], container="c", mcp_servers=[{}])
    assert kinds(found) == [
        ("sampling", "/stop_sequences"),
        ("file_id", "/container"),
        ("server_tool", "/mcp_servers"),
        ("sampling", "/messages/0/content/0/cache_control"),
    ]
    found = read(
        "responses", input="go", store=False, parallel_tool_calls=False, prompt={"id": "p"}, reasoning={"summary": "auto"}
    )
    assert kinds(found) == [("file_id", "/prompt"), ("sampling", "/reasoning/summary")]
    assert read("responses", input="go", store=True).notes == (Note("sampling", "/store", "store is not carried"),)


# ---- anything ------------------------------------------------------------------------------------

STRANGE: list[Any] = [
    None,
    True,
    0,
    1.5,
    "",
    "x",
    [],
    [None, 1, "x", []],
    {},
    {"type": None},
    {"type": []},
    [{}],
    [{"role": 1}],
]


@pytest.mark.parametrize("protocol", ["messages", "responses", "chat"])
@pytest.mark.parametrize("strange", STRANGE, ids=repr)
def test_whatever_stands_in_a_field_is_read(protocol: Protocol, strange: Any) -> None:
    names = ("model", "messages", "input", "instructions", "system", "tools", "tool_choice", "functions", "function_call")
    more = ("max_tokens", "temperature", "stream", "thinking", "output_config", "reasoning", "reasoning_effort")
    for name in (*names, *more):
        read(protocol, **{"messages": [], "input": [], name: strange})
    for field in ("content", "tool_calls", "function_call", "tool_call_id", "reasoning_details", "refusal", "type", "tools"):
        for role in ("user", "assistant", "tool", "system", strange):
            read(protocol, messages=[{"role": role, field: strange}], input=[{"role": role, field: strange}])
    for kind in (
        "text",
        "image",
        "document",
        "tool_use",
        "tool_result",
        "function_call",
        "function_call_output",
        "file",
        strange,
    ):
        for name in ("text", "source", "id", "name", "input", "content", "output", "arguments", "call_id", "file", "image_url"):
            part = {"type": kind, name: strange}
            for role in ("user", "assistant"):
                messages = [{"role": role, "content": [part]}]
                read(protocol, messages=messages, input=[part, *messages], system=[part], tools=[part])
