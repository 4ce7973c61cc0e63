"""What Anthropic Messages refuses in the conversation: pairing, order, contents, ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from geode.entrypoints.emulator.models import claude
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, listed, mapped, objects

ID_PATTERN: Final = r"[A-Za-z0-9_-]+"
NAME_PATTERN: Final = r"[A-Za-z0-9_-]{1,128}"
IMAGE_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
THINKING: Final = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, which the server merges before it judges pairing."""

    role: str
    blocks: list[tuple[Path, dict[str, Any]]]

    def of(self, kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        return ((path, block) for path, block in self.blocks if block.get("type") == kind)


def turns(request: Request) -> list[Turn]:
    """The conversation with neighbours merged and plain strings as text blocks."""
    found: list[Turn] = []
    for place, message in objects(request.get("messages")):
        role = str(message.get("role"))
        if not found or found[-1].role != role:
            found.append(Turn(role, []))
        path: Path = ("messages", place, "content")
        content = message.get("content")
        if isinstance(content, str):
            found[-1].blocks.append((path, {"type": "text", "text": content}))
        found[-1].blocks.extend(((*path, number), block) for number, block in objects(content))
    return found


def pairing(request: Request, _: Facts) -> Iterator[Finding]:
    """Calls and results of neighbouring turns, one to one."""
    conversation = turns(request)
    earlier: set[str] = set()
    for number, turn in enumerate(conversation):
        before = conversation[number - 1] if number else None
        after = conversation[number + 1] if number + 1 < len(conversation) else None
        if turn.role == "assistant":
            yield from _answered(turn, after)
            earlier |= {ident(block.get("id")) for _, block in turn.of("tool_use")}
        elif turn.role == "user":
            expected = (
                {ident(block.get("id")) for _, block in before.of("tool_use")}
                if before and before.role == "assistant"
                else set()
            )
            yield from _belonging(turn, expected, earlier)


def _answered(turn: Turn, after: Turn | None) -> Iterator[Finding]:
    results = (
        {ident(block.get("tool_use_id")) for _, block in after.of("tool_result")} if after and after.role == "user" else set()
    )
    seen: set[str] = set()
    for path, block in turn.of("tool_use"):
        name = ident(block.get("id"))
        if name in seen:
            yield "messages.anthropic.tool_use.duplicate_id", (*path, "id"), f"tool_use ids must be unique; {name} occurs twice"
        elif name not in results:
            text = f"{'.'.join(map(str, path[:2]))}: tool_use ids without tool_result blocks immediately after: {name}"
            yield "messages.anthropic.tool_use.unanswered", path, text
        seen.add(name)


def _belonging(turn: Turn, expected: set[str], earlier: set[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    other = False
    for path, block in turn.blocks:
        if block.get("type") != "tool_result":
            other = True
            continue
        name = ident(block.get("tool_use_id"))
        place = ".".join(map(str, path))
        if name not in expected:
            kind = "stale" if name in earlier else "orphan"
            yield (
                f"messages.anthropic.tool_result.{kind}",
                path,
                f"{place}: unexpected tool_use_id in tool_result blocks: {name}",
            )
        elif name in seen:
            text = f"{place}: more than one tool_result for id {name}; each tool_use takes a single result"
            yield "messages.anthropic.tool_result.duplicate", path, text
        if other:
            yield (
                "messages.anthropic.tool_result.not_first",
                path,
                f"{place}: tool_result blocks must come before other content",
            )
        seen.add(name)


def texts(request: Request, _: Facts) -> Iterator[Finding]:
    """Empty contents, empty texts, and texts of nothing but whitespace."""
    messages = listed(request.get("messages"))
    for place, message in objects(messages):
        content = message.get("content")
        final = place == len(messages) - 1 and message.get("role") == "assistant"
        if content in ("", [], None) and not final:
            yield (
                "messages.anthropic.content.empty",
                ("messages", place, "content"),
                f"messages.{place}: content must not be empty",
            )
    named = [(("system", place), block) for place, block in objects(request.get("system"))]
    for path, block in [*(one for turn in turns(request) for one in turn.blocks), *named]:
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            continue
        if text == "" and isinstance(path[-1], int):
            yield "messages.anthropic.text.empty", (*path, "text"), "messages: text content blocks must be non-empty"
        elif text and not text.strip():
            yield (
                "messages.anthropic.text.whitespace_only",
                path,
                "messages: text content blocks must contain non-whitespace text",
            )


def calls(request: Request, _: Facts) -> Iterator[Finding]:
    """The shape of tool_use and tool_result blocks."""
    for turn in turns(request):
        for path, block in turn.of("tool_use"):
            place = ".".join(map(str, path))
            if not fits(ID_PATTERN, block.get("id")):
                yield "messages.anthropic.tool_use.id_pattern", (*path, "id"), f"{place}.id: must match ^[a-zA-Z0-9_-]+$"
            if not fits(NAME_PATTERN, block.get("name")):
                yield (
                    "messages.anthropic.tool_use.name_pattern",
                    (*path, "name"),
                    f"{place}.name: must match ^[a-zA-Z0-9_-]{{1,128}}$",
                )
            if not isinstance(block.get("input"), dict):
                yield "messages.anthropic.tool_use.input_type", (*path, "input"), f"{place}.input: must be an object"
        for path, block in turn.of("tool_result"):
            yield from _result(path, block)


def _result(path: Path, block: dict[str, Any]) -> Iterator[Finding]:
    place = ".".join(map(str, path))
    content = block.get("content")
    if content is not None and not isinstance(content, str | list):
        yield "messages.anthropic.tool_result.content_type", (*path, "content"), f"{place}.content: must be a string or a list"
    for number, part in objects(content):
        if block.get("is_error") is True and part.get("type") != "text":
            text = f"{place}: all content must be of type text if is_error is true"
            yield "messages.anthropic.tool_result.is_error_non_text", (*path, "content", number), text
        yield from _image((*path, "content", number), part)


def images(request: Request, _: Facts) -> Iterator[Finding]:
    """Media types of images outside results."""
    for turn in turns(request):
        for path, block in turn.blocks:
            yield from _image(path, block)


def _image(path: Path, block: dict[str, Any]) -> Iterator[Finding]:
    source = mapped(block.get("source"))
    if block.get("type") == "image" and source.get("type") == "base64" and source.get("media_type") not in IMAGE_TYPES:
        text = f"{'.'.join(map(str, path))}: image media type {source.get('media_type')} is not supported"
        yield "messages.anthropic.image.media_type", (*path, "source", "media_type"), text


def roles(request: Request, facts: Facts) -> Iterator[Finding]:
    """Who may speak where: roles, system messages, and the last word."""
    conversation = turns(request)
    family, version = claude(request.get("model"))
    if not listed(request.get("messages")):
        yield "messages.anthropic.messages.required", ("messages",), "messages: at least one message is required"
    for number, turn in enumerate(conversation):
        place = turn.blocks[0][0][:2] if turn.blocks else ("messages",)
        if turn.role == "system":
            if not (family == "opus" and version >= (4, 8)):
                text = "messages: role 'system' is not supported on this model"
                yield "messages.anthropic.messages.system_role_old_model", place, text
            elif number == 0 or conversation[number - 1].role != "user":
                yield (
                    "messages.anthropic.messages.system_role_position",
                    place,
                    "messages: system message must follow a user turn",
                )
        elif turn.role not in ("user", "assistant"):
            yield (
                "messages.anthropic.messages.role",
                place,
                f"messages: unexpected role {turn.role!r}; allowed: user, assistant",
            )
    if conversation and conversation[-1].role == "assistant":
        yield from _last_word(conversation[-1], version, facts)


def _last_word(turn: Turn, version: tuple[int, int], facts: Facts) -> Iterator[Finding]:
    text = "".join(str(block.get("text", "")) for _, block in turn.of("text"))
    if text in facts.paused or next(turn.of("server_tool_use"), None):
        return  # a paused turn is continued by sending it back as it is
    path = turn.blocks[-1][0] if turn.blocks else ("messages",)
    if version >= (4, 6):
        message = "This model does not support assistant message prefill; the conversation must end with a user message"
        yield "messages.anthropic.assistant.prefill_unsupported", path, message
    elif text != text.rstrip():
        message = "messages: final assistant content cannot end with trailing whitespace"
        yield "messages.anthropic.assistant.trailing_whitespace", path, message


def thinking_blocks(request: Request, facts: Facts) -> Iterator[Finding]:
    """Thinking in the history: shape, signature, place."""
    manual = mapped(request.get("thinking")).get("type") == "enabled"
    conversation = turns(request)
    for number, turn in enumerate(conversation):
        for path, block in turn.of("thinking"):
            if not isinstance(block.get("thinking"), str) or not isinstance(block.get("signature"), str):
                text = f"{'.'.join(map(str, path))}: a thinking block needs thinking and signature"
                yield "messages.anthropic.thinking.shape", path, text
            elif facts.signatures is not None and block["signature"] not in facts.signatures:
                text = f"{'.'.join(map(str, path))}: invalid signature in thinking block"
                yield "messages.anthropic.thinking.signature_invalid", (*path, "signature"), text
        running = number == len(conversation) - 2 and next(conversation[-1].of("tool_result"), None) is not None
        if manual and running and turn.role == "assistant" and turn.blocks:
            path, first = turn.blocks[0]
            if first.get("type") not in THINKING:
                text = f"{'.'.join(map(str, path))}.type: expected thinking or redacted_thinking, found {first.get('type')}"
                yield "messages.anthropic.thinking.missing_in_tool_turn", path, text


def server_tools(request: Request, _: Facts) -> Iterator[Finding]:
    """A server tool's use and its result stay together in one assistant turn."""
    conversation = turns(request)
    for number, turn in enumerate(conversation):
        answered = {
            ident(block.get("tool_use_id")) for _, block in turn.blocks if str(block.get("type")).endswith("_tool_result")
        }
        last = number == len(conversation) - 1
        for path, block in turn.of("server_tool_use"):
            if ident(block.get("id")) not in answered and not last:
                text = f"{block.get('name')} tool use with id {block.get('id')} found without a corresponding tool result block"
                yield "messages.anthropic.server_tool.pairing", path, f"{'.'.join(map(str, path[:2]))}: {text}"


CHECKS: Final = (roles, pairing, texts, calls, images, thinking_blocks, server_tools)
