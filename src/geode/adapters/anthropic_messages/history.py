"""Reading a request of the Messages wire: the way back from `wire.encode`, and from what others write.

Sources: spec section 3; wire facts A1–A5, C1. The server merges neighbouring messages of one role before
it pairs calls and results, and so does this reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.attachments import reunited
from geode.adapters.http_json.history import (
    History,
    Item,
    NoteKind,
    Notes,
    Path,
    ReadRequest,
    blocks,
    bound,
    choice,
    joined_text,
    opaque,
    placed,
    temperature,
    tool,
    unique,
)
from geode.adapters.http_json.media import from_address, from_base64, from_bytes
from geode.adapters.http_json.reading import mapping, number, string
from geode.domain.arguments import tool_use
from geode.domain.content import Media, Owner, Part, Text, ToolResult, error_kind
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.thinking import MIN_BUDGET, AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.tools import ToolSpec

_CARRIED: Final = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "max_tokens", "temperature", "stream", "output_config", "thinking"}
)
_KINDS: Final[Mapping[str, NoteKind]] = {"mcp_servers": "server_tool", "container": "file_id"}
_BLOCK: Final = frozenset({"type", "text", "source", "title", "id", "name", "input", "tool_use_id", "content", "is_error"})
_BLOCK_KINDS: Final[Mapping[str, NoteKind]] = {"caller": "server_tool", "toolset_name": "server_tool", "citations": "opaque"}
_TOOL: Final = frozenset({"type", "name", "description", "input_schema", "strict"})
_TOOL_KINDS: Final[Mapping[str, NoteKind]] = {"defer_loading": "server_tool", "allowed_callers": "server_tool"}


def read_request(body: Mapping[str, Any], owner: Owner) -> ReadRequest:
    """The neutral request in `body`, which is plain JSON; `owner` is who made its turns of the model. Total."""
    notes, history = Notes(), History(owner)
    notes.settings((), body, _CARRIED, _KINDS)
    system = [block for place, block in blocks(body.get("system")) if _is_text(block, ("system", place), notes)]
    texts = [string(block.get("text")) for block in system]
    for place, message in placed(body.get("messages")):
        _message(message, ("messages", place), history, texts, notes)
    tools = unique(one for place, given in placed(body.get("tools")) for one in _tool(given, ("tools", place), notes))
    config = mapping(body.get("output_config"))
    notes.settings(("output_config",), config, {"effort"})
    notes.settings(("tool_choice",), mapping(body.get("tool_choice")), {"type", "name"})
    request = AdapterCallRequest(
        string(body.get("model")),
        history.conversation(notes, ("messages",)),
        joined_text(texts),
        tools,
        choice(body.get("tool_choice"), tools, notes),
        Limits(bound(body.get("max_tokens"))),
        string(config.get("effort")) or None,
        temperature(body.get("temperature")),
        _thinking(mapping(body.get("thinking")), notes),
        body.get("stream") is True,
    )
    return ReadRequest(request, tuple(notes.taken))


def _thinking(given: Mapping[str, Any], notes: Notes) -> Thinking | None:
    tokens = number(given.get("budget_tokens"))
    if given.get("type") == "adaptive":
        notes.settings(("thinking",), given, {"type"})
        return AdaptiveThinking()
    if given.get("type") == "enabled" and tokens >= MIN_BUDGET:
        notes.settings(("thinking",), given, {"type", "budget_tokens"})
        return ThinkingBudget(tokens)
    if given:
        notes.take("sampling", ("thinking",), f"thinking {string(given.get('type'))[:80]} is not carried")
    return None


def _is_text(block: Mapping[str, Any], path: Path, notes: Notes) -> bool:
    if block.get("type", "text") != "text":
        notes.take("server_tool", path, f"a block of type {string(block.get('type'))} in the system text is not carried")
        return False
    notes.settings(path, block, _BLOCK, _BLOCK_KINDS)
    return True


def _tool(given: Mapping[str, Any], path: Path, notes: Notes) -> list[ToolSpec]:
    kind = string(given.get("type")) or "custom"
    if kind != "custom":
        notes.take("server_tool", path, f"the provider's own tool {kind} is not carried")
        return []
    notes.settings(path, given, _TOOL, _TOOL_KINDS)
    return tool(string(given.get("name")), given, given.get("input_schema"), path, notes)


def _message(message: Mapping[str, Any], path: Path, history: History, system: list[str], notes: Notes) -> None:
    role, content = message.get("role"), blocks(message.get("content"))
    inside: Path = (*path, "content")
    notes.settings(path, message, {"role", "content"})
    if role == "assistant":
        history.model(item for place, block in content for item in _item(block, (*inside, place), history.owner, notes))
        return
    if role == "system" and not history.begun:
        system += [string(block.get("text")) for place, block in content if _is_text(block, (*inside, place), notes)]
        return
    user: list[Part] = []
    for place, block in content:
        if block.get("type") == "tool_result":
            history.user(user)
            user = []
            history.result(_result(block, (*inside, place), notes))
        else:
            user += _part(block, (*inside, place), notes)
    user = reunited(history.last_results, user)
    if role == "system" and user:
        notes.told_by_the_user("system", path)
    history.user(user)


def _item(block: Mapping[str, Any], path: Path, owner: Owner, notes: Notes) -> Iterator[Item]:
    match kind := string(block.get("type")):
        case "text":
            notes.settings(path, block, _BLOCK, _BLOCK_KINDS)
            if text := string(block.get("text")):
                yield Text(text)
        case "tool_use":
            notes.settings(path, block, _BLOCK, _BLOCK_KINDS)
            yield tool_use(string(block.get("id")), string(block.get("name")), block.get("input"))
        case _:
            notes.take("opaque", path, f"{kind or 'an item without a type'} is for its maker alone")
            yield opaque(owner, kind, block)


def _part(block: Mapping[str, Any], path: Path, notes: Notes) -> Iterator[Part]:
    match kind := string(block.get("type")):
        case "text":
            notes.settings(path, block, _BLOCK, _BLOCK_KINDS)
            if text := string(block.get("text")):
                yield Text(text)
        case "image" | "document":
            notes.settings(path, block, _BLOCK)
            source = mapping(block.get("source"))
            medium = _medium(kind, source, string(block.get("title")))
            if medium is not None:
                yield medium
            elif source.get("file_id"):
                notes.take("file_id", (*path, "source", "file_id"), f"the {kind} is kept by the provider")
            else:
                shown = string(source.get("media_type")) or string(source.get("type"))
                notes.take("media", path, f"a {kind} of this form is not carried: {shown[:80]}")
        case "container_upload":
            notes.take("file_id", path, "the file is kept by the provider")
        case "search_result":
            notes.take("media", path, "a search result is carried as its text")
            yield from (Text(string(inner.get("text"))) for _, inner in blocks(block.get("content")))
        case "tool_reference" | "tool_addition" | "tool_removal":
            notes.take("server_tool", path, f"{kind} is not carried")
        case _:
            notes.take("opaque", path, f"{kind or 'a block without a type'} is not carried")


def _medium(kind: str, source: Mapping[str, Any], title: str) -> Media | None:
    data, media_type = string(source.get("data")), string(source.get("media_type"))
    match source.get("type"):
        case "base64":
            return from_base64(media_type, data, title)
        case "text":
            return from_bytes("text/plain", data.encode(), title)
        case "url":
            return from_address(string(source.get("url")), "image" if kind == "image" else "document", title)
        case "content":
            texts = [string(part.get("text")) for _, part in blocks(source.get("content")) if part.get("type") == "text"]
            return from_bytes("text/plain", "\n".join(texts).encode(), title) if texts else None
        case _:
            return None


def _result(block: Mapping[str, Any], path: Path, notes: Notes) -> ToolResult:
    notes.settings(path, block, _BLOCK)
    inner: Path = (*path, "content")
    content = tuple(part for place, given in blocks(block.get("content")) for part in _part(given, (*inner, place), notes))
    text = "\n".join(part.text for part in content if isinstance(part, Text))
    kind = (error_kind(text) or "failed") if block.get("is_error") is True else "ok"
    return ToolResult(string(block.get("tool_use_id")), kind, content)
