"""What Chat Completions refuses in the parts of a message: kinds by role and model, pictures, files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, ident, mapped, objects, shown
from geode.entrypoints.emulator.rules_chat import messages
from geode.entrypoints.emulator.rules_openai import label

# Kinds of other wires and servers. A kind that is not known at all may be new, and passes.
FOREIGN: Final = (
    *("image", "document", "input_text", "input_image", "input_file", "output_text", "tool_use", "tool_result"),
    *("video_url", "audio_url", "file_url", "document_url", "thinking", "reasoning"),
)
NOT_OF_USER: Final = (*FOREIGN, "refusal")
NOT_OF_ASSISTANT: Final = (*FOREIGN, "image_url", "input_audio", "file")


def parts(request: Request, _: Facts) -> Iterator[Finding]:
    """Every part of every message."""
    model = model_of(request)
    for path, message in messages(request):
        role = message.get("role")
        if role in ("system", "developer") and "instructions" in model.refuses:
            text = f"unsupported value: {label((*path, 'role'))} does not support {role!r} with this model"
            yield "chat.openai.messages.instructions", (*path, "role"), text
        for number, part in objects(message.get("content")):
            where = (*path, "content", number)
            kind = ident(part.get("type"))
            if "type" not in part:
                yield "chat.openai.messages.part_type", where, f"missing required parameter: {label((*where, 'type'))}"
                continue
            yield from _kind(where, role, kind)
            if kind == "input_audio" and "audio" in model.refuses:
                text = f"invalid {label(path)}: content blocks are expected to be either text or image_url type"
                yield "chat.openai.messages.audio", where, text
            if kind != "text" and "parts but text" in model.refuses:
                text = f"{label(path)}: unknown variant {shown(kind)}, expected text"
                yield "chat.generic.deepseek_parts", where, text
            if model.window is not None:
                yield from _media(where, kind, part)


def _kind(path: Path, role: Any, kind: str) -> Iterator[Finding]:
    if role == "tool" and kind != "text":
        text = f"invalid {label(path[:-1])}: tool messages take text only"
        yield "chat.openai.tool.content_parts", path, text
    elif (role == "user" and kind in NOT_OF_USER) or (role == "assistant" and kind in NOT_OF_ASSISTANT):
        text = f"invalid {label(path)}: content part {shown(kind)!r} is not supported for the role {role}"
        yield "chat.openai.messages.part", path, text


def _media(path: Path, kind: str, part: dict[str, Any]) -> Iterator[Finding]:
    if kind == "image_url" and not isinstance(mapped(part.get("image_url")).get("url"), str):
        where = (*path, "image_url")
        yield "chat.openai.messages.image_url", where, f"invalid type for {label(where)}: expected an object with a url"
    if kind == "file":
        file, where = mapped(part.get("file")), (*path, "file")
        data = file.get("file_data")
        if data is None and not isinstance(file.get("file_id"), str):
            text = f"missing required parameter: {label((*where, 'file_id'))}"
            yield "chat.openai.messages.file", where, text
        elif data is not None and not ident(data).startswith("data:"):
            text = f"invalid {label((*where, 'file_data'))}: expected a base64-encoded data URL"
            yield "chat.openai.messages.file_data", (*where, "file_data"), text


CHECKS: Final = (parts,)
