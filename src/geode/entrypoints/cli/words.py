"""Calls and results in a few words, for a line on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from geode.domain.content import Image, ResultKind, ToolResult, ToolUseBlock
from geode.domain.json_value import dump_json

MARKS: Final[Mapping[ResultKind, str]] = {"ok": "✓", "failed": "✗", "denied": "⚑", "interrupted": "◌", "outcome_unknown": "?"}


def short(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """`path="a.txt", lines=3`"""
    return ", ".join(f"{name}={dump_json(value)}" for name, value in arguments.items())


def call_text(call: ToolUseBlock, width: int) -> str:
    """`read_file(path="a.txt")`, or the text of arguments that could not be read."""
    shown = call.unparsed if call.unparsed is not None else arguments_text(call.input)
    return f"{call.name}({short(shown, width - len(call.name) - 2)})"


def result_text(result: ToolResult, width: int) -> str:
    """What the result says, its pictures before it as `[image png 12 kB]`."""
    pictures = "".join(f"{image_text(image)} " for image in result.images)
    return (pictures + short(result.text, width - len(pictures))).strip()


def image_text(image: Image) -> str:
    return f"[image {image.media_type.partition('/')[2]} {size_text(len(image.data))}]"


def size_text(count: int) -> str:
    """`812 B`, `12 kB`"""
    return f"{count} B" if count < 1000 else f"{count / 1000:.{1 if count < 10_000 else 0}f} kB"


def time_text(seconds: float) -> str:
    """`3 ms`, `1.2 s`"""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
