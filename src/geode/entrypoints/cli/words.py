"""Calls and results in a few words, for a line on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Media, ResultKind, ToolResult, ToolUseBlock
from geode.domain.json_value import dump_json

_NAME: Final = 64
MARKS: Final[Mapping[ResultKind, str]] = {"ok": "✓", "failed": "✗", "denied": "⚑", "interrupted": "◌", "outcome_unknown": "?"}


def harmless(text: str) -> str:
    """`text` with everything escaped that a terminal would obey, or not show: control, formatting and unassigned characters."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def short(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters, harmless."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """`path="a.txt", lines=3`"""
    return ", ".join(f"{name}={dump_json(value)}" for name, value in arguments.items())


def call_text(call: ToolUseBlock, width: int) -> str:
    """`read_file(path="a.txt")`, or the text of arguments that could not be read."""
    shown = call.unparsed if call.unparsed is not None else arguments_text(call.input)
    name = name_text(call)
    return f"{name}({short(shown, width - len(name) - 2)})"


def name_text(call: ToolUseBlock) -> str:
    """The name of the tool, which a model may have made up."""
    return short(call.name, _NAME)


def result_text(result: ToolResult, width: int) -> str:
    """What the result says, its media before it as `[image png 12 kB]`."""
    media = "".join(f"{media_text(part)} " for part in result.media)
    return (media + short(result.text, width - len(media))).strip()


def media_text(part: Media) -> str:
    match part:
        case Image() | Document():
            kind, _, form = part.media_type.partition("/")
            return f"[{'image' if kind == 'image' else 'document'} {form} {size_text(len(part.data))}]"
        case ImageUrl(url=url) | DocumentUrl(url=url):
            return f"[{url}]"


def counted(count: int, one: str, many: str) -> str:
    """`1 turn`, `2 turns`"""
    return f"{count} {one if count == 1 else many}"


def size_text(count: int) -> str:
    """`812 B`, `12 kB`"""
    return f"{count} B" if count < 1000 else f"{count / 1000:.{1 if count < 10_000 else 0}f} kB"


def time_text(seconds: float) -> str:
    """`3 ms`, `1.2 s`"""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
