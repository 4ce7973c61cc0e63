"""What Anthropic Messages refuses in single blocks: whose they are, kinds, pictures, documents, results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.rule import WITHOUT_SAMPLING, Facts, Finding, Path, Request, ident, mapped, objects, shown
from geode.entrypoints.emulator.rules_messages import Turn, turns

IMAGE_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
DOCUMENT_TYPES: Final = {"base64": ("application/pdf",), "text": ("text/plain",)}
OWNERS: Final = {"tool_use": "assistant", "tool_result": "user"}
# Kinds of the other wires. A kind that is not known at all may be new, and passes.
FOREIGN: Final = (
    "image_url",
    "input_text",
    "input_image",
    "input_file",
    "input_audio",
    "output_text",
    "refusal",
    "function_call",
)
NOT_IN_RESULTS: Final = (*FOREIGN, "tool_use", "tool_result", "thinking", "redacted_thinking")


def blocks(request: Request, facts: Facts) -> Iterator[Finding]:
    """Every block of the conversation by itself."""
    for turn in turns(request):
        for path, block in turn.blocks:
            kind, place = ident(block.get("type")), ".".join(map(str, path))
            if kind in FOREIGN or "type" not in block:
                text = f"{place}: Input tag {kind!r} does not match any of the expected tags"
                yield "messages.anthropic.content.kind", (*path, "type"), text
            if turn.role in ("user", "assistant") and OWNERS.get(kind, turn.role) != turn.role:
                yield "messages.anthropic.content.role", path, f"{place}: {kind} blocks can only be in {OWNERS[kind]} messages"
            if kind == "tool_result":
                yield from _result(path, block)
            yield from _media(path, block)
        yield from _documents(turn, facts)


def _documents(turn: Turn, facts: Facts) -> Iterator[Finding]:
    if turn.role == "assistant" and facts.version is not None and facts.version >= WITHOUT_SAMPLING:
        for path, _ in turn.of("document"):
            text = f"{'.'.join(map(str, path))}: document blocks are not permitted in assistant messages"
            yield "messages.anthropic.document.assistant", path, text


def _result(path: Path, block: dict[str, Any]) -> Iterator[Finding]:
    place = ".".join(map(str, path))
    content = block.get("content")
    if content is not None and not isinstance(content, str | list):
        yield "messages.anthropic.tool_result.content_type", (*path, "content"), f"{place}.content: must be a string or a list"
    for number, part in objects(content):
        where = (*path, "content", number)
        if part.get("type") in NOT_IN_RESULTS:
            text = f"{place}.content.{number}: Input tag {shown(part['type'])!r} does not match any of the expected tags"
            yield "messages.anthropic.tool_result.content_kind", where, text
        elif block.get("is_error") is True and part.get("type") != "text":
            text = f"{place}: all content must be of type text if is_error is true"
            yield "messages.anthropic.tool_result.is_error_non_text", where, text
        yield from _media(where, part)


def _media(path: Path, block: dict[str, Any]) -> Iterator[Finding]:
    source = mapped(block.get("source"))
    kind, media = source.get("type"), source.get("media_type")
    place = ".".join(map(str, path))
    where = (*path, "source", "media_type")
    if block.get("type") == "image" and kind == "base64" and media not in IMAGE_TYPES:
        text = f"{place}: image media type {shown(media)} is not supported"
        yield "messages.anthropic.image.media_type", where, text
    if block.get("type") == "document" and kind in ("base64", "text") and media not in DOCUMENT_TYPES[kind]:
        text = f"{place}: document media type {shown(media)} is not supported for a source of type {kind}"
        yield "messages.anthropic.document.media_type", where, text


CHECKS: Final = (blocks,)
