"""Reading a request of the Chat wire in any dialect: the way back from `wire.encode`, and from what others write.

Sources: spec sections 2 and 3; wire facts A1–A5, C3–C5. The old form with `functions` is read too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.chat_completions.head import thinking_switch
from geode.adapters.chat_completions.wire import OPAQUE_FIELDS, PART
from geode.adapters.http_json.attachments import reunited
from geode.adapters.http_json.history import (
    FREE_TEXT,
    FREE_TEXT_SCHEMA,
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
    result_of,
    temperature,
    tool,
    unique,
)
from geode.adapters.http_json.media import from_address, from_bare_base64, unnamed
from geode.adapters.http_json.reading import mapping, objects, string
from geode.domain.arguments import tool_use
from geode.domain.content import Media, Owner, Part, Text
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.tools import ToolSpec

_CARRIED: Final = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "functions", "function_call", "temperature", "stream"),
        *("max_tokens", "max_completion_tokens", "reasoning_effort", "reasoning"),
    }
)
# What `wire.encode` says by itself, or what is so without a word.
_OWN: Final[Mapping[str, Any]] = {
    "n": 1,
    "parallel_tool_calls": True,
    "response_format": {"type": "text"},
    "stream_options": {"include_usage": True},
    "tool_stream": True,
}
_KINDS: Final[Mapping[str, NoteKind]] = dict.fromkeys(("web_search_options", "plugins"), "server_tool")
_SYSTEM: Final = ("system", "developer")
_TOOL: Final = frozenset({"name", "description", "parameters", "strict"})
_MESSAGE: Final = frozenset(
    {*("role", "content", "tool_calls", "tool_call_id", "function_call", "refusal", "name", "index"), *OPAQUE_FIELDS}
)
_MESSAGE_KINDS: Final[Mapping[str, NoteKind]] = {
    "audio": "file_id",
    **dict.fromkeys(("annotations", "extra_content", "thought_signature"), "opaque"),
}
_PARTS: Final = frozenset({"type", "text", "refusal", "image_url", "file", "document_url", "file_url", "document_name"})


def read_request(body: Mapping[str, Any], owner: Owner) -> ReadRequest:
    """The neutral request in `body`, which is plain JSON; `owner` is who made its turns of the model. Total."""
    notes = Notes()
    reasoning = mapping(body.get("reasoning"))
    effort = string(body.get("reasoning_effort")) or string(reasoning.get("effort")) or None
    own = {**_OWN, "thinking": thinking_switch(effort)}
    notes.settings((), {name: value for name, value in body.items() if value != own.get(name)}, _CARRIED, _KINDS)
    reading = _Messages(History(owner), notes)
    for place, message in placed(body.get("messages")):
        reading.message(message, ("messages", place))
    defined = [one for place, given in placed(body.get("tools")) for one in _tool(given, ("tools", place), notes)]
    old = [one for place, given in placed(body.get("functions")) for one in _function(given, ("functions", place), notes)]
    tools = unique([*defined, *old])
    notes.settings(("reasoning",), reasoning, {"effort"})
    wanted = body.get("tool_choice") if body.get("tool_choice") is not None else body.get("function_call")
    request = AdapterCallRequest(
        string(body.get("model")),
        reading.history.conversation(notes, ("messages",)),
        joined_text(reading.system),
        tools,
        choice(wanted, tools, notes),
        Limits(bound(body.get("max_completion_tokens")) or bound(body.get("max_tokens"))),
        effort,
        temperature(body.get("temperature")),
        streamed=body.get("stream") is True,
    )
    return ReadRequest(request, tuple(notes.taken))


def _tool(given: Mapping[str, Any], path: Path, notes: Notes) -> list[ToolSpec]:
    kind = string(given.get("type")) or "function"
    if kind == "custom":
        custom = mapping(given.get("custom"))
        notes.take("server_tool", path, f'a tool of free text is a function with the one argument "{FREE_TEXT}"')
        return tool(string(custom.get("name")), custom, FREE_TEXT_SCHEMA, path, notes)
    if kind != "function":
        notes.take("server_tool", path, f"the provider's own tool {kind} is not carried")
        return []
    notes.settings(path, given, {"type", "function", *_TOOL})
    return _function(mapping(given.get("function")) or given, (*path, "function"), notes)


def _function(given: Mapping[str, Any], path: Path, notes: Notes) -> list[ToolSpec]:
    notes.settings(path, given, {"type", *_TOOL})
    return tool(string(given.get("name")), given, given.get("parameters"), path, notes)


class _Messages:
    """The messages of a request on their way to be turns and system text."""

    def __init__(self, history: History, notes: Notes) -> None:
        self.history, self.notes = history, notes
        self.system: list[str] = []

    def message(self, message: Mapping[str, Any], path: Path) -> None:
        role = message.get("role")
        self.notes.settings(path, message, _MESSAGE, _MESSAGE_KINDS)
        if role not in ("tool", "function"):
            self.notes.settings(path, {"name": message.get("name")}, ())
        if role == "assistant":
            self.history.model(self._items(message, path), joined=False)
            return
        parts = self._parts(message, path)
        if role in ("tool", "function"):
            self.history.result(result_of(string(message.get("tool_call_id")), parts))
        elif role in _SYSTEM and not self.history.begun:
            self.system += self.notes.system_texts(parts, path)
        else:
            if role in _SYSTEM:
                self.notes.told_by_the_user(str(role), path)
            self.history.user(reunited(self.history.last_results, parts))

    def _parts(self, message: Mapping[str, Any], path: Path) -> list[Part]:
        content = blocks(message.get("content"))
        return [part for place, given in content for part in _part(given, (*path, "content", place), self.notes)]

    def _items(self, message: Mapping[str, Any], path: Path) -> Iterator[Item]:
        owner, notes = self.history.owner, self.notes
        for name in OPAQUE_FIELDS:
            if message.get(name):
                notes.take("opaque", (*path, name), f"{name} is for its maker alone")
                yield opaque(owner, name, message[name])
        for place, part in blocks(message.get("content")):
            if part.get("type", "text") == "text":
                notes.settings((*path, "content", place), part, _PARTS)
                if text := string(part.get("text")):
                    yield Text(text)
            elif part.get("type") == "refusal":
                yield Text(string(part.get("refusal")))
            else:
                kind = string(part.get("type"))
                notes.take("opaque", (*path, "content", place), f"{kind or 'a part'} is for its maker alone")
                yield opaque(owner, f"{PART}{kind}", part)
        if refusal := string(message.get("refusal")):
            yield Text(refusal)
        for place, call in enumerate(objects(message.get("tool_calls"))):
            custom, function = mapping(call.get("custom")), mapping(call.get("function")) or call
            if call.get("type") == "custom" and custom:
                notes.take("server_tool", (*path, "tool_calls", place), f'a call in free text has the argument "{FREE_TEXT}"')
                function = {"name": custom.get("name"), "arguments": {FREE_TEXT: string(custom.get("input"))}}
            yield tool_use(string(call.get("id")), string(function.get("name")), function.get("arguments"))
        old = mapping(message.get("function_call"))
        if name := string(old.get("name")):
            yield tool_use("", name, old.get("arguments"))


def _part(part: Mapping[str, Any], path: Path, notes: Notes) -> Iterator[Part]:
    kind = string(part.get("type")) or "text"
    notes.settings(path, part, {*_PARTS, kind})
    if kind == "text":
        if text := string(part.get("text")):
            yield Text(text)
        return
    held = part.get(kind)
    inner = mapping(held) or {"url": held}
    medium = _medium(kind, inner, string(part.get("document_name")))
    if medium is not None:
        notes.settings((*path, kind), {"detail": inner.get("detail") if inner.get("detail") != "auto" else None}, ())
        yield medium
    elif inner.get("file_id"):
        notes.take("file_id", (*path, kind, "file_id"), "the file is kept by the provider")
    else:
        notes.take("media", path, f"{kind} of this form is not carried")


def _medium(kind: str, inner: Mapping[str, Any], name: str) -> Media | None:
    url, data = string(inner.get("url")), string(inner.get("file_data"))
    name = string(inner.get("filename")) or name
    match kind:
        case "image_url":
            return from_address(url, "image")
        case "document_url" | "file_url":
            return from_address(url, "document", name)
        case "file" if data:
            return unnamed(from_address(data, "document", name) or from_bare_base64(data, name))
        case _:
            return None
