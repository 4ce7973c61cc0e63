"""What OpenAI Responses refuses in the parts of messages and outputs: kinds by role, pictures, files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, ident, objects, shown
from geode.entrypoints.emulator.rules_openai import label
from geode.entrypoints.emulator.rules_responses import OUTPUT_KINDS, items, kind_of

# Kinds of other wires, and those of the other side. A kind that is not known at all may be new, and passes.
FOREIGN: Final = ("text", "image_url", "image", "document", "file", "audio_url", "video_url", "tool_use", "tool_result")
OF_MODEL: Final = ("output_text", "refusal")
OF_USER: Final = ("input_text", "input_image", "input_file", "input_audio")
SOURCES: Final = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}
# Recorded: these are told by their type, or at an address by the ending of the name.
NO_FILE: Final = ("data:audio/", "data:video/")
NO_ADDRESS: Final = (".mp3", ".wav", ".ogg", ".mp4", ".webm", ".mov")


def parts(request: Request, _: Facts) -> Iterator[Finding]:
    """Every part of every message and output."""
    for path, item in items(request):
        kind = kind_of(item)
        if kind == "message":
            refused = (*FOREIGN, *(OF_USER if item.get("role") == "assistant" else OF_MODEL))
            yield from _each((*path, "content"), item.get("content"), refused, "responses.openai.message.part")
        elif kind in OUTPUT_KINDS:
            yield from _each((*path, "output"), item.get("output"), (*FOREIGN, *OF_MODEL), "responses.openai.output.part")


def _each(path: Path, content: Any, refused: tuple[str, ...], rule: str) -> Iterator[Finding]:
    for number, part in objects(content):
        kind, where = ident(part.get("type")), (*path, number)
        if kind in refused:
            yield rule, (*where, "type"), f"invalid value: {shown(kind)!r} is no part of {label(path)}"
        sources = SOURCES.get(kind, ())
        if sources and all(part.get(source) is None for source in sources):
            text = f"missing required parameter: one of {', '.join(sources)} in {label(where)}"
            yield "responses.openai.part.source", where, text
        if kind == "input_image" and not isinstance(part.get("image_url"), str | None):
            text = f"invalid type for {label((*where, 'image_url'))}: expected an image URL, but got an object instead"
            yield "responses.openai.part.image_url", (*where, "image_url"), text
        if kind == "input_file":
            yield from _file(where, part)


def _file(path: Path, part: dict[str, Any]) -> Iterator[Finding]:
    data = part.get("file_data")
    if data is not None and (not ident(data).startswith("data:") or ident(data).startswith(NO_FILE)):
        where = (*path, "file_data")
        text = f"invalid file data: {label(where)}; expected a base64-encoded data URL with a valid file MIME type"
        yield "responses.openai.part.file_data", where, text
    if ident(part.get("file_url")).split("?", 1)[0].lower().endswith(NO_ADDRESS):
        text = "the file type you uploaded is not supported; please try again with a pdf"
        yield "responses.openai.part.file_url", (*path, "file_url"), text


CHECKS: Final = (parts,)
