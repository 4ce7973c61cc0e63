"""Reading a request of the Responses wire: the way back from `wire.encode`, and from what others write.

Sources: spec section 3; wire facts A1–A5, C2. What the model made without a word between is one turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.http_json.history import (
    FREE_TEXT,
    FREE_TEXT_SCHEMA,
    History,
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
from geode.adapters.http_json.reading import mapping, string
from geode.domain.arguments import tool_use
from geode.domain.content import Media, Owner, Part, Text
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.tools import ToolSpec

_CARRIED: Final = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "temperature", "stream", "reasoning"}
)
# What `wire.encode` says by itself.
_OWN: Final[Mapping[str, Any]] = {
    "store": False,
    "parallel_tool_calls": True,
    "include": ["reasoning.encrypted_content"],
    "text": {"format": {"type": "text"}},
}
_KINDS: Final[Mapping[str, NoteKind]] = dict.fromkeys(("previous_response_id", "conversation", "prompt"), "file_id")
_TOOL: Final = frozenset({"type", "name", "description", "parameters", "strict"})
_TOOL_KINDS: Final[Mapping[str, NoteKind]] = dict.fromkeys(("defer_loading", "allowed_callers"), "server_tool")
_SYSTEM: Final = ("system", "developer")
_ITEM: Final = frozenset(
    {*("type", "role", "content", "id", "status", "call_id", "name", "arguments", "output", "input", "phase", "object")}
)
_PART: Final = frozenset({"type", "text", "refusal", "logprobs"})
_MEDIUM: Final = frozenset({"type", "image_url", "file_data", "file_url", "file_id", "filename"})


def read_request(body: Mapping[str, Any], owner: Owner) -> ReadRequest:
    """The neutral request in `body`, which is plain JSON; `owner` is who made its turns of the model. Total."""
    notes = Notes()
    notes.settings((), {name: value for name, value in body.items() if value != _OWN.get(name)}, _CARRIED, _KINDS)
    tools = [one for place, given in placed(body.get("tools")) for one in _tool(given, ("tools", place), notes)]
    reading = _Input(History(owner), notes, [string(body.get("instructions"))], tools)
    given = body.get("input")
    items = placed([{"role": "user", "content": given}] if isinstance(given, str) else given)
    reading.known = {string(item.get("call_id")) for _, item in items if string(item.get("type")).endswith("_call")}
    for place, item in items:
        reading.item(item, ("input", place))
    reasoning, carried = mapping(body.get("reasoning")), unique(tools)
    notes.settings(("reasoning",), reasoning, {"effort"})
    request = AdapterCallRequest(
        string(body.get("model")),
        reading.history.conversation(notes, ("input",)),
        joined_text(reading.system),
        carried,
        choice(body.get("tool_choice"), carried, notes),
        Limits(bound(body.get("max_output_tokens"))),
        string(reasoning.get("effort")) or None,
        temperature(body.get("temperature")),
        streamed=body.get("stream") is True,
    )
    return ReadRequest(request, tuple(notes.taken))


def _tool(given: Mapping[str, Any], path: Path, notes: Notes) -> Iterator[ToolSpec]:
    name = string(given.get("name"))
    match kind := string(given.get("type")):
        case "function":
            notes.settings(path, given, _TOOL, _TOOL_KINDS)
            yield from tool(name, given, given.get("parameters"), path, notes)
        case "custom":
            notes.take("server_tool", path, f'a tool of free text is a function with the one argument "{FREE_TEXT}"')
            yield from tool(name, given, FREE_TEXT_SCHEMA, path, notes)
        case "namespace":
            notes.take("server_tool", path, "the tools of a namespace are carried without it")
            for place, inner in placed(given.get("tools")):
                yield from _tool(inner, (*path, "tools", place), notes)
        case _:
            notes.take("server_tool", path, f"the provider's own tool {kind} is not carried")


class _Input:
    """The items of a request on their way to be turns, system text and tools."""

    def __init__(self, history: History, notes: Notes, system: list[str], tools: list[ToolSpec]) -> None:
        self.history, self.notes, self.system, self.tools = history, notes, system, tools
        # Calls whose output is not for geode: their maker alone understands them.
        self._foreign: set[str] = set()
        # All calls of the input; others are kept by the provider, with the rest of that conversation.
        self.known: set[str] = set()

    def item(self, item: Mapping[str, Any], path: Path) -> None:
        kind = string(item.get("type")) or "message"
        call_id, name = string(item.get("call_id")), string(item.get("name"))
        match kind:
            case "message" | "text":
                self.notes.settings(path, item, _ITEM)
                self._message(item, path)
            case "function_call":
                self.notes.settings(path, item, _ITEM)
                self.history.model([tool_use(call_id, name, item.get("arguments"))])
            case "custom_tool_call":
                self.notes.take("server_tool", path, f'a call in free text is one with the argument "{FREE_TEXT}"')
                self.history.model([tool_use(call_id, name, {FREE_TEXT: string(item.get("input"))})])
            case "function_call_output" | "custom_tool_call_output" if call_id not in self._foreign:
                self.notes.settings(path, item, _ITEM)
                self._output(call_id, item.get("output"), (*path, "output"))
            case "reasoning" if not item.get("encrypted_content"):
                self.notes.take("opaque", path, "reasoning that the provider keeps, or will not take back, is not carried")
            case "item_reference":
                self.notes.take("file_id", path, "the item is kept by the provider")
            case "additional_tools":
                self.notes.take("server_tool", path, "tools that come later are carried from the start")
                self._more_tools(item, path)
            case _:
                self._foreign |= {call_id} - {""}
                self.notes.take("opaque", path, f"{kind} is for its maker alone")
                if kind == "tool_search_output":
                    self._more_tools(item, path)
                self.history.model([opaque(self.history.owner, kind, item)])

    def _more_tools(self, item: Mapping[str, Any], path: Path) -> None:
        for place, given in placed(item.get("tools")):
            self.tools += _tool(given, (*path, "tools", place), self.notes)

    def _message(self, item: Mapping[str, Any], path: Path) -> None:
        role, content = item.get("role"), blocks(item.get("content", item.get("text")))
        inside: Path = (*path, "content")
        if role == "assistant":
            texts = [string(part.get("text")) or string(part.get("refusal")) for _, part in content]
            for place, part in content:
                self.notes.settings((*inside, place), part, _PART, {"annotations": "opaque"})
            self.history.model(Text(text) for text in texts if text)
            return
        parts = [part for place, given in content for part in _parts(given, (*inside, place), self.notes)]
        if role in _SYSTEM and not self.history.begun:
            self.system += self.notes.system_texts(parts, path)
            return
        if role in _SYSTEM:
            self.notes.told_by_the_user(str(role), path)
        self.history.user(parts)

    def _output(self, call_id: str, output: object, path: Path) -> None:
        parts = [part for place, given in blocks(output) for part in _parts(given, (*path, place), self.notes)]
        if call_id in self.known:
            self.history.result(result_of(call_id, parts))
        else:
            self.notes.take("file_id", path, "the call is kept by the provider; its output is told by the user")
            self.history.user(parts)


def _parts(part: Mapping[str, Any], path: Path, notes: Notes) -> Iterator[Part]:
    kind = string(part.get("type"))
    if "text" in kind or kind == "refusal":
        notes.settings(path, part, _PART, {"annotations": "opaque"})
        if text := string(part.get("text")) or string(part.get("refusal")):
            yield Text(text)
        return
    if kind not in ("input_image", "input_file"):
        notes.take("media", path, f"{kind or 'a part without a type'} is not carried")
        return
    notes.settings(path, {**part, "detail": None if part.get("detail") == "auto" else part.get("detail")}, _MEDIUM)
    medium = _medium(part)
    if medium is not None:
        yield medium
    elif part.get("file_id"):
        notes.take("file_id", (*path, "file_id"), "the file is kept by the provider")
    else:
        notes.take("media", path, f"a medium of this form is not carried: {kind}")


def _medium(part: Mapping[str, Any]) -> Media | None:
    if url := string(part.get("image_url")):
        return from_address(url, "image")
    name, data, url = string(part.get("filename")), string(part.get("file_data")), string(part.get("file_url"))
    if url:
        return from_address(url, "document", name)
    return unnamed(from_address(data, "document", name) or from_bare_base64(data, name)) if data else None
