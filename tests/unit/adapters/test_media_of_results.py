"""Pictures and documents in results, literally, on each wire."""

from __future__ import annotations

from typing import Any

from geode.domain.content import Document, Image, ResultKind, Text, ToolResult
from geode.domain.turns import ToolResultsTurn
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
