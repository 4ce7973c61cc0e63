"""What turns and results are made of."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from geode.domain.content import (
    Document,
    DocumentUrl,
    Image,
    ImageUrl,
    ResultKind,
    Text,
    ToolResult,
    ToolUseBlock,
    flagged,
    result,
)
from geode.domain.errors import Misuse
from geode.domain.reply import Stop
from geode.domain.usage import Usage
from tests.unit.domain.builders import call, image, reply


def untyped(value: object) -> Any:
    return value


def test_lone_surrogates_are_replaced_on_entry() -> None:
    assert Text("a\ud800").text == "a\ufffd"
    assert ToolResult("c", "failed", (), "trace \udcff").detail == "trace \ufffd"


@pytest.mark.parametrize(
    ("kind", "error"),
    [("ok", False), ("failed", True), ("denied", True), ("interrupted", True), ("outcome_unknown", True)],
)
def test_the_error_flag_is_set_on_all_but_ok(kind: ResultKind, error: bool) -> None:
    assert result("c", kind, "x").is_error is error


def test_texts_and_pictures_of_a_result() -> None:
    mixed = ToolResult("c", "ok", (Text("a"), image(), Text("b")))
    assert (mixed.text, mixed.media) == ("a\nb", (image(),))
    assert (mixed.detail, mixed.recoverable) == ("", True)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("ok", "fine", "fine"),
        ("ok", "ok: fine", "ok: fine"),
        ("ok", "failed", "ok: failed"),
        ("ok", "failed: 2 of 3", "ok: failed: 2 of 3"),
        ("ok", "ok: denied: x", "ok: ok: denied: x"),
        ("ok", "failed to fail", "failed to fail"),
        ("failed", "boom", "failed: boom"),
        ("failed", "failed to open", "failed: failed to open"),
        ("failed", "failed: boom", "failed: failed: boom"),
        ("failed", "denied: by the server", "failed: denied: by the server"),
        ("denied", "denied: no", "denied: no"),
        ("interrupted", "interrupted", "interrupted"),
    ],
)
def test_a_kind_in_the_text_can_be_read_back(kind: ResultKind, text: str, told: str) -> None:
    assert result("c", kind, text).flagged_text == told
    assert flagged(told) == (kind, text)


def test_what_is_neither_ok_nor_failed_keeps_its_word() -> None:
    """It is a part of what geode says, and the wire with an error flag has no other place for it."""
    assert result("c", "denied", "no").flagged_text == "denied: no"
    assert flagged("denied: no") == ("denied", "denied: no")


def test_a_result_that_says_nothing_says_its_kind() -> None:
    assert ToolResult("c", "ok", ()).flagged_text == "ok"
    assert ToolResult("c", "failed", ()).flagged_text == "failed"
    assert ToolResult("c", "ok", (image(),)).flagged_text == "done"


def test_a_result_that_is_only_text() -> None:
    assert result("c", "denied", "no", "who") == ToolResult("c", "denied", (Text("no"),), "who", True)
    assert result("c", "ok", "no").detail == ""


def test_a_call_is_parsed_unless_it_says_otherwise() -> None:
    assert ToolUseBlock("1", "w", {}).unparsed is None


def test_texts_and_calls_of_a_reply() -> None:
    said = reply("a", call("1"), "b", call("2"))
    assert (said.text, said.calls) == ("ab", (call("1"), call("2")))


def test_stop_reasons_are_a_closed_set() -> None:
    assert [stop.value for stop in Stop] == [
        *("end", "tool_calls", "max_tokens", "refusal", "pause", "context_exceeded", "content_filter", "error", "unknown")
    ]


def test_usage_adds_up() -> None:
    one, two = Usage(10, 5, Decimal("0.1"), 3, 2), Usage(20, 7, Decimal("0.2"), 4, 1)
    assert one + two == Usage(30, 12, Decimal("0.3"), 7, 3)
    assert (one.total_tokens, Usage().total_tokens) == (15, 0)


def test_a_cost_that_nobody_stated_stays_unknown() -> None:
    assert (Usage(1, 1) + Usage(1, 1)).cost_usd is None
    assert (Usage(1, 1, Decimal("0.5")) + Usage(1, 1)).cost_usd == Decimal("0.5")
    assert (Usage(1, 1) + Usage(1, 1, Decimal("0.5"))).cost_usd == Decimal("0.5")


@pytest.mark.parametrize(
    ("make", "id"),
    [
        (lambda: Image("image/png", untyped("text")), "media-data"),
        (lambda: Image(untyped("image/bmp"), b"x"), "media-type"),
        (lambda: Document("text/plain", untyped("text")), "media-data"),
        (lambda: Document(untyped("text/html"), b"x"), "media-type"),
        (lambda: Image("image/png", b""), "media-bytes"),
        (lambda: Image("image/png", b"\x89PNG"), "media-bytes"),
        (lambda: Image("image/png", b"\xff\xd8\xff"), "media-bytes"),
        (lambda: Document("application/pdf", b""), "media-bytes"),
        (lambda: Document("application/pdf", b"PK\x03\x04"), "media-bytes"),
        (lambda: Document("application/pdf", bytes(1030) + b"%PDF-1.7"), "media-bytes"),
        (lambda: Document("text/plain", b""), "media-bytes"),
        (lambda: ImageUrl("file:///etc/passwd"), "media-url"),
        (lambda: DocumentUrl(untyped(3)), "media-url"),
    ],
)
def test_media_that_are_none_are_refused_where_they_are_made(make: Callable[[], object], id: str) -> None:
    with pytest.raises(Misuse) as caught:
        make()
    assert caught.value.id == id


def test_what_the_bytes_are_is_said() -> None:
    with pytest.raises(Misuse, match=r"Image\('image/png', …\) holds bytes of that type, and they are image/jpeg"):
        Image("image/png", b"\xff\xd8\xff")
    with pytest.raises(Misuse, match="and they begin with 50 4b 03 04"):
        Document("application/pdf", b"PK\x03\x04")


def test_a_pdf_may_begin_a_little_late() -> None:
    """Readers take a header anywhere in the first kilobyte."""
    assert Document("application/pdf", b"\r\n%PDF-1.7").file_name == "document.pdf"


def test_a_plain_text_is_told_with_its_name() -> None:
    assert Document("text/plain", b"42 g").told == "42 g"
    assert Document("text/plain", b"42 g", "a.txt").told == "a.txt:\n42 g"
