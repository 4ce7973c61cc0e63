"""Pictures and documents in results, literally, on each wire."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.history import read_request
from geode.adapters.chat_completions.wire import ChatWire
from geode.domain.content import Document, Image, Part, ResultKind, Text, ToolResult
from geode.domain.conversation import Conversation
from geode.domain.request import AdapterCallRequest
from geode.domain.targets import Quirks
from geode.domain.turns import Hint, ToolResultsTurn
from geode.entrypoints.compliance.histories import call, model, user
from tests.unit.adapters.streams import ME
from tests.unit.adapters.test_wires import CHAT, MESSAGES, PNG_64, PNG_BYTES, RESPONSES, TEXT_64, body

NOTE = Document("text/plain", "ä".encode(), "note.txt")
SHOWN = (Text("one"), Image("image/png", PNG_BYTES), Text("two"), NOTE)


def shown(kind: ResultKind) -> tuple[Any, ...]:
    return (user("go"), model(ME, call("call_a")), ToolResultsTurn((ToolResult("call_a", kind, SHOWN),)))


def test_media_of_a_result_stand_in_it_in_their_order() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_64}}
    source = {"type": "text", "media_type": "text/plain", "data": "ä"}
    assert body(MESSAGES, *shown("ok"))["messages"][-1]["content"][0]["content"] == [
        {"type": "text", "text": "one"},
        picture,
        {"type": "text", "text": "two"},
        {"type": "document", "source": source, "title": "note.txt"},
    ]
    output = [
        {"type": "input_text", "text": "one"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_64}", "detail": "auto"},
        {"type": "input_text", "text": "two"},
        {"type": "input_file", "filename": "note.txt", "file_data": f"data:text/plain;base64,{TEXT_64}"},
    ]
    assert body(RESPONSES, *shown("ok"))["input"][-1]["output"] == output
    failed = [{"type": "input_text", "text": "failed: one"}, *output[1:]]
    assert body(RESPONSES, *shown("failed"))["input"][-1]["output"] == failed


def test_media_that_a_failed_result_cannot_hold_follow_all_results_on_messages() -> None:
    """The server takes nothing but text beside `is_error`: the flag stays, a line says where the media are."""
    block, label, *media = body(MESSAGES, *shown("failed"))["messages"][-1]["content"]
    text = "one\ntwo\n[2 attachment(s), after the tool results]"
    assert block == {"type": "tool_result", "tool_use_id": "call_a", "content": text, "is_error": True}
    assert label == {"type": "text", "text": "Attachments of the result of call_a:"}
    assert [one["type"] for one in media] == ["image", "document"]


def test_a_plain_text_in_a_result_is_text_on_chat() -> None:
    tool, picture = body(CHAT, *shown("ok"))["messages"][-2:]
    assert tool["content"] == "one\ntwo\nnote.txt:\nä\n[1 attachment(s), after the tool results]"
    assert [one["type"] for one in picture["content"]] == ["text", "image_url"]


IN_RESULTS = ChatWire(DIALECTS["generic"].with_quirks(Quirks(images="in_result")))
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG_64}"}}
PAPER = Document("application/pdf", b"%PDF-", "paper.pdf")


def tool_content(kind: ResultKind, *content: Part) -> Any:
    """What the tool message holds, where the server takes media there; nothing stands after it."""
    turn = ToolResultsTurn((ToolResult("call_a", kind, content),))
    *_, last = body(IN_RESULTS, user("go"), model(ME, call("call_a")), turn)["messages"]
    assert (last["role"], last["tool_call_id"]) == ("tool", "call_a")
    return last["content"]


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def test_media_stand_in_the_tool_message_in_their_order_where_a_server_takes_that() -> None:
    """A plain text is text on this wire wherever it stands; other documents are files."""
    assert tool_content("ok", *SHOWN) == [said("one"), PICTURE, said("two"), said("note.txt:\nä")]
    file = {"filename": "paper.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    assert tool_content("ok", PAPER, SHOWN[1]) == [said("done"), {"type": "file", "file": file}, PICTURE]


def test_a_failed_result_says_so_in_the_first_text_beside_its_media() -> None:
    """There is no error flag on this wire (spec section 3)."""
    assert tool_content("failed", SHOWN[1], Text("half"), SHOWN[1], Text("x")) == [
        PICTURE,
        said("failed: half"),
        PICTURE,
        said("x"),
    ]
    assert tool_content("failed", SHOWN[1]) == [said("failed: done"), PICTURE]
    assert tool_content("ok", Text("failed: 3 of 5"), SHOWN[1]) == [said("ok: failed: 3 of 5"), PICTURE]


@pytest.mark.parametrize("kind", get_args(ResultKind))
def test_what_stands_in_a_tool_message_is_read_back(kind: ResultKind) -> None:
    content = (Text(f"{kind}: one" if kind not in ("ok", "failed") else "one"), SHOWN[1], Text("two"))
    turns = (user("go"), model(ME, call("call_a")), ToolResultsTurn((ToolResult("call_a", kind, content),)))
    found = read_request(body(IN_RESULTS, *turns), ME).request.conversation
    (read,) = found.results()
    assert (read.kind, read.content) == (kind, content)


def test_a_result_of_text_alone_is_a_text_there_too_and_hints_follow_all_results() -> None:
    asked = model(ME, call("call_a"), call("call_b"))
    found = ToolResultsTurn(
        (ToolResult("call_a", "ok", (Text("one"), NOTE)), ToolResult("call_b", "ok", (SHOWN[1],))),
        (Hint("wrap_up", "conclude"),),
    )
    first, second, hint = body(IN_RESULTS, user("go"), asked, found)["messages"][-3:]
    assert first == {"role": "tool", "tool_call_id": "call_a", "content": "one\nnote.txt:\nä"}
    assert second["content"] == [said("done"), PICTURE]
    assert hint == {"role": "user", "content": "conclude"}


def test_kept_segments_of_one_quirk_are_not_those_of_another() -> None:
    """The same conversation, encoded for two servers in one process."""
    conversation = Conversation((user("go"), model(ME, call("call_a")), ToolResultsTurn((ToolResult("call_a", "ok", SHOWN),))))
    asked = AdapterCallRequest(ME.model, conversation)
    kinds = []
    for wire in (CHAT, IN_RESULTS, CHAT):
        messages = json.loads(wire.encode(asked, ME))["messages"]
        kinds.append([type(one["content"]) for one in messages if one["role"] == "tool"])
    assert kinds == [[str], [list], [str]]
