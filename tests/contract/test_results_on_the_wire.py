"""The table of `docs/results.md`, row by row, through a whole run on each wire: what the model is shown of each value."""

from __future__ import annotations

import base64
import re
import sqlite3
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Network
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import pytest
from pydantic import BaseModel

import geode
from geode import Document, Image, ImageUrl, Policy, ToolError
from geode.domain.loop.outcome import Answered
from geode.domain.pictures import pixel_size
from geode.domain.script import calls, says
from geode.domain.tools import ToolSpec
from geode.entrypoints.compliance import shipped
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.images import png
from geode.entrypoints.emulator import Emulator
from geode.entrypoints.emulator.sizes import NO_TEXT, texts
from geode.ports.tools import Tool

PNG: Final = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
GIF: Final = b"GIF89a" + bytes(range(40))
PDF: Final = b"%PDF-1.7\n" + bytes(range(40))


@dataclass
class City:
    name: str
    founded: int


class User(BaseModel):
    name: str
    born: date


class Shot(BaseModel):
    title: str
    png: bytes


class Page(BaseModel):
    number: int
    shots: list[Shot]


class Color(Enum):
    RED = "red"


async def ticks(several: int) -> AsyncIterator[int]:
    for number in range(several):
        yield number


KINDS: Final[tuple[type, ...]] = (
    *(City, Color, Counter, Decimal, Document, Fraction, Image, ImageUrl, IPv4Address, Page),
    *(IPv6Network, Path, Shot, SimpleNamespace, ToolError, User, UUID, date, datetime, deque, time, timedelta),
)
NAMES: Final[Mapping[str, Any]] = {
    **{kind.__name__: kind for kind in KINDS},
    "GIF": GIF,
    "PDF": PDF,
    "PNG": PNG,
    "UTC": UTC,
    "count": count,
    "ticks": ticks,
}

PAGE: Final = Path(__file__).parents[2] / "docs" / "results.md"
ROW: Final = re.compile(r"^\| `(?P<value>.+?)`(?: \(.*?\))? \| `(?P<shown>.+)` \|$", re.MULTILINE)


def rows() -> Iterator[tuple[str, list[str]]]:
    """What is returned, as Python, and the blocks that the model gets."""
    table = PAGE.read_text("utf-8").partition("## The table")[2].partition("\n## ")[0]
    for row in ROW.finditer(table):
        yield row["value"], row["shown"].replace("\\n", "\n").split(" ⏎ ")


TABLE: Final = dict(rows())
WIRES: Final[Mapping[str, shipped.ShippedHarness]] = {
    "messages": shipped.MessagesHarness(),
    "responses": shipped.ResponsesHarness(),
    "chat": shipped.ChatOpenaiHarness(),
}


def test_every_row_of_the_page_is_here() -> None:
    """All rows but the headings and those about other packages, which stand in test_known_types."""
    table = PAGE.read_text("utf-8").partition("## The table")[2].partition("\n## ")[0]
    lines = [
        line for line in table.splitlines() if line.startswith("| ") and not re.search(r"\*\* \| \|$|^\| a tool returns", line)
    ]
    left = [line for line in lines if not ROW.match(line)]
    assert [line[:10] for line in left] == ["| numpy sc", "| attrs an"]
    assert len(TABLE) == len(lines) - len(left) > 50


async def given(wire: str, invoke: Any, **settings: Any) -> tuple[Emulator, geode.ToolResult]:
    """A whole run in which the model calls a tool that does `invoke`; its rules were kept, its result is returned."""
    harness = WIRES[wire]
    emulator = harness.emulator(calls(("give", {})), says("thanks"))
    spec = ToolSpec("give", "Gives.", {"type": "object", "properties": {}})
    tool = Tool(spec, geode.SafetyTier.SAFE, lambda _arguments, _context: invoke(), blocking=True)
    model, providers = f"lab/{harness.model}", [harness.provider(serve(emulator))]
    outcome = await geode.run("go", model=model, providers=providers, tools=[tool], **settings)
    assert isinstance(outcome, Answered), outcome
    assert emulator.violations == ()
    (result,) = outcome.conversation.results()
    return emulator, result


def shown(wire: str, emulator: Emulator) -> list[str]:
    """The blocks of the one result, and of what came with it, in the last request."""
    request = emulator.received[-1].request
    match wire:
        case "messages":
            block, *after = request["messages"][-1]["content"]
            content = block["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return list(map(_of_messages, [*blocks, *after]))
        case "responses":
            output = request["input"][-1]["output"]
            blocks = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
            found = list(map(_of_responses, blocks))
            return found[1:] if found[0] == "done" and len(found) > 1 else found
        case _:
            at = next(place for place, turn in enumerate(request["messages"]) if turn["role"] == "tool")
            told, after = request["messages"][at]["content"], request["messages"][at + 1 :]
            media = [_of_chat(part) for turn in after for part in turn["content"][1:]]
            lines = told.removesuffix(f"[{len(media)} attachment(s), after the tool results]").rstrip("\n") if media else told
            return [*([] if lines == "done" else [lines]), *media]


def _medium(kind: str, data: str) -> str:
    read = base64.b64decode(data)
    if kind == "text/plain":
        return f"<{kind}: {read.decode()}>"
    assert read in (PNG, GIF, PDF)
    return f"<{kind}>"


def _of_url(url: str) -> str:
    data = re.fullmatch(r"data:(.+);base64,(.+)", url)
    return _medium(data[1], data[2]) if data else f"<{url}>"


def _of_messages(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": text}:
            return str(text)
        case {"source": {"type": "base64", "media_type": kind, "data": data}}:
            return _medium(kind, data)
        case {"source": {"type": "text", "media_type": kind, "data": text}}:
            return f"<{kind}: {text}>"
        case {"source": {"type": "url", "url": url}}:
            return f"<{url}>"
        case _:
            raise AssertionError(block)


def _of_responses(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "input_text", "text": text}:
            return str(text)
        case {"type": "input_image", "image_url": url} | {"type": "input_file", "file_data": url}:
            return _of_url(url)
        case _:
            raise AssertionError(block)


def _of_chat(part: Mapping[str, Any]) -> str:
    match part:
        case {"type": "image_url", "image_url": {"url": url}} | {"type": "file", "file": {"file_data": url}}:
            return _of_url(url)
        case _:
            raise AssertionError(part)


def expected(wire: str, blocks: list[str]) -> list[str]:
    """The blocks of the page as that wire has them: texts alone are one; Chat has media behind, and plain texts as text."""
    if wire == "chat":
        blocks = [re.sub(r"^<text/plain: (.*)>$", r"\1", block) for block in blocks]
    media = [block for block in blocks if block.startswith("<")]
    words = "\n".join(block for block in blocks if block not in media)
    if not media:
        return [words]
    return [*([words] if words else []), *media] if wire == "chat" else blocks


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("value", TABLE)
async def test_a_row_of_the_table(value: str, wire: str) -> None:
    policy = Policy(max_iterated_items=3) if value == "count()" else Policy()
    emulator, result = await given(wire, lambda: eval(value, dict(NAMES)), policy=policy)

    assert result.kind == "ok"
    assert shown(wire, emulator) == expected(wire, TABLE[value])


@pytest.mark.parametrize("wire", WIRES)
async def test_rows_of_a_database_are_read_where_they_belong(wire: str) -> None:
    """A cursor is of one thread: it is read in that of the tool."""

    def rows() -> sqlite3.Cursor:
        database = sqlite3.connect(":memory:")
        database.row_factory = sqlite3.Row
        return database.execute("SELECT 1 AS n UNION SELECT 2")

    emulator, result = await given(wire, rows)
    assert (result.kind, shown(wire, emulator)) == ("ok", ['[{"n":1},{"n":2}]'])


# ---- screenshots ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("failed", [False, True])
async def test_a_screenshot_is_a_picture_and_never_text(wire: str, failed: bool) -> None:
    """Issue: the same tool gives the model an image on all three wires; the record shows no base64 in any text."""
    large = png(64, 48)

    def screenshot() -> Iterator[object]:
        yield from ("the page", large.data, "and below", GIF)
        if failed:
            raise ToolError("the browser is gone")

    emulator, result = await given(wire, screenshot)

    assert result.kind == ("failed" if failed else "ok")
    sent = str(emulator.received[-1].request)
    found = [word for word in (large.base64, base64.b64encode(GIF).decode()) if sent.count(word) == 1]
    assert len(found) == 2
    said = "\n".join(texts(emulator.received[-1].request, NO_TEXT))
    assert re.search(r"[A-Za-z0-9+/]{40}", said) is None
    assert all(line in said for line in ("the page", "and below"))
    assert ("the browser is gone" in said) == failed
    if failed and wire == "messages":
        block, label, *media = emulator.received[-1].request["messages"][-1]["content"]
        assert block["is_error"] is True
        assert block["content"].endswith("[2 attachment(s), after the tool results]")
        assert label["text"] == f"Attachments of the result of {block['tool_use_id']}:"
        assert [one["type"] for one in media] == ["image", "image"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_large_screenshot_arrives_smaller_and_the_model_knows(wire: str) -> None:
    """With Pillow, by itself: what Messages would refuse is made to fit; the others take it as it is."""
    large = png(2400, 1000)
    emulator, result = await given(wire, lambda: large.data)
    (picture,) = (part for part in result.media if isinstance(part, Image))
    if wire != "messages":
        assert (picture, result.text) == (large, "")
        return
    assert pixel_size(picture.data) == (2000, 833)
    assert len(picture.data) <= 3_750_000
    assert result.text.startswith(f"[image 1 was made to fit: image/png, {len(large.data)} bytes, 2400x1000 pixels, now ")
    assert picture.base64 in str(emulator.received[-1].request)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_session_of_many_screenshots_does_not_fail_late(wire: str) -> None:
    """Wire facts C1.8: beyond 20 pictures Messages takes none over 2000 pixels, beyond 100 no more at all."""
    emulator, result = await given(wire, lambda: [png(8, 8).data] * 110)
    sent = str(emulator.received[-1].request).count(png(8, 8).base64)
    assert len(result.media) == 110
    assert sent == (100 if wire == "messages" else 110)
