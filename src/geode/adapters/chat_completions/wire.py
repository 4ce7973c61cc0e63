"""The Chat Completions wire and its dialects, both ways, as pure functions.

Sources: spec sections 2 and 3; wire facts A1–A5, B1–B4, C3–C5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from returns.result import Failure, Result, Success

from geode.adapters.chat_completions.cache_marks import marked_text, takes_marks, with_mark
from geode.adapters.chat_completions.dialects import Dialect
from geode.adapters.chat_completions.head import head
from geode.adapters.chat_completions.stream import ChatStream
from geode.adapters.http_json.attachments import label_of, with_stub
from geode.adapters.http_json.facts import error_in_body
from geode.adapters.http_json.reading import amount, mapping, number, objects, string
from geode.adapters.http_json.segments import Place, joined, listed, segments
from geode.adapters.http_json.tools_gone import with_called_tools
from geode.adapters.http_json.wire import Body
from geode.domain.arguments import sent_text, tool_use
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Opaque, Owner, Part, Text, ToolResult
from geode.domain.failures import CallFailure
from geode.domain.json_value import clean_text, dump_bytes, exact_json
from geode.domain.relay import NO_OPTIONS, RelayOptions
from geode.domain.reply import AdapterCallResult, ReplyItem, Stop
from geode.domain.request import AdapterCallRequest
from geode.domain.targets import ContentBesideCalls
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, flagged_parts, visible
from geode.domain.usage import Usage
from geode.domain.wire_names import sent_name

STOPS: Final[Mapping[str, Stop]] = {
    "stop": Stop.END,
    "tool_calls": Stop.TOOL_CALLS,
    "function_call": Stop.TOOL_CALLS,
    "length": Stop.MAX_TOKENS,
    "content_filter": Stop.CONTENT_FILTER,
    "sensitive": Stop.CONTENT_FILTER,
    "model_context_window_exceeded": Stop.CONTEXT_EXCEEDED,
}
# The server's side broke: in these words the finish reason is an error message.
BROKEN: Final = frozenset({"error", "network_error"})
# Fields of an assistant message that only their owner understands; they go back as they came.
OPAQUE_FIELDS: Final = ("reasoning_details", "reasoning_content", "reasoning")
# Where servers tell what came from their cache that do not tell it in the details: Moonshot, Mistral, DeepSeek.
_CACHED: Final = ("cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens")
_BESIDE_CALLS: Final[Mapping[ContentBesideCalls, bytes]] = {"null": b"null", "empty": b'""', "absent": b""}
# OpenRouter's own ids, behind which another model may answer each time: what one thought is not for the next.
_CHOSEN_ANEW: Final = frozenset({"openrouter/auto", "openrouter/free"})
# The kind of an opaque item that is a part of the content, before the type of the part.
PART: Final = "part:"


@dataclass(frozen=True, slots=True)
class ChatWire:
    """See `geode.adapters.http_json.wire.Wire`."""

    dialect: Dialect
    options: RelayOptions = NO_OPTIONS
    heartbeats: frozenset[str] = frozenset()
    streams_only: bool = False

    def encode(self, request: AdapterCallRequest, owner: Owner) -> bytes:
        """The body of the request, the history from kept segments."""
        history = segments(
            request.conversation, owner, f"chat:{self.dialect}", lambda turn, place: encode_turn(turn, place, self.dialect)
        )
        marks = bool(request.cache_key) and self.dialect.relays and takes_marks(request.model)
        if marks and history:
            history = (*history[:-1], with_mark(history[-1]))
        content = marked_text(request.system) if marks else request.system
        system = [{"role": "system", "content": content}] if request.system.strip() else []
        defined = with_called_tools(request) if self.dialect.calls_need_tools else request
        return joined(head(defined, self.dialect, self.options), "messages", [listed(system), *history])

    def decode(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
        """The neutral reply in a completion object; a failure for anything else."""
        choices = sorted(objects(body.json.get("choices")), key=lambda choice: number(choice.get("index")))
        if not choices:
            return Failure(CallFailure(200, "response", "the reply has no choices", request_id=body.request_id))
        word = string(choices[0].get("finish_reason"))
        if choices[0].get("error") or word in BROKEN:
            error = choices[0].get("error") or {"type": word}
            return Failure(error_in_body({"error": error}, body.request_id, quota=body.quota))
        message = mapping(choices[0].get("message"))
        refusal = clean_text(string(message.get("refusal")))
        return Success(
            AdapterCallResult(
                tuple(_items(message, owner, self.dialect)),
                Stop.REFUSAL if refusal else STOPS.get(word, Stop.UNKNOWN),
                self.usage(body.json),
                string(choices[0].get("native_finish_reason")) or word,
                {"type": "refusal", "explanation": refusal} if refusal else None,
                _route(body.json),
                body.request_id,
            )
        )

    def usage(self, body: Mapping[str, Any]) -> Usage:
        return _usage(mapping(body.get("usage")))

    def accumulator(self) -> ChatStream:
        return ChatStream()


# ---- out ---------------------------------------------------------------------------------------


def encode_turn(turn: Turn, place: Place, dialect: Dialect) -> bytes:
    """The messages of a turn, joined by commas; nothing for a turn that says nothing."""
    match turn:
        case UserTurn():
            return listed(_user(map(_part, visible(turn.items, turn.hints))))
        case AssistantTurn():
            return _assistant(turn, place, dialect)
        case ToolResultsTurn():
            answered = list(zip(map(_with_texts, turn.results), place.ids(), strict=True))
            if dialect.images_in_results:
                return listed(
                    [*(_with_media(result, id) for result, id in answered), *_user(map(_part, visible((), turn.hints)))]
                )
            tools = [_tool(result, id) for result, id in answered]
            # Most servers' tool messages hold text alone: the media follow all of them, labelled.
            media = [part for result, id in answered if result.media for part in _labelled(result, id)]
            return listed([*tools, *_user([*media, *map(_part, visible((), turn.hints))])])


def _user(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    content = list(parts)
    if len(content) == 1 and content[0]["type"] == "text":
        return [{"role": "user", "content": content[0]["text"]}]
    return [{"role": "user", "content": content}] if content else []


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image():
            return {"type": "image_url", "image_url": {"url": part.data_url}}
        case ImageUrl(url=url):
            return {"type": "image_url", "image_url": {"url": url}}
        case Document(is_text=True):
            return {"type": "text", "text": part.told}
        case Document():
            return {"type": "file", "file": {"filename": part.file_name, "file_data": part.data_url}}
        case DocumentUrl(url=url, name=name):
            return {"type": "file", "file": {"filename": name or url.rpartition("/")[2], "file_data": url}}


def _labelled(result: ToolResult, id: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": label_of(id)}, *map(_part, result.media)]


def _with_texts(result: ToolResult) -> ToolResult:
    """With its plain texts as what they are: this wire has no documents of text."""
    if not any(isinstance(part, Document) for part in result.media):
        return result
    said = tuple(Text(part.told) if isinstance(part, Document) and part.is_text else part for part in result.content)
    return replace(result, content=said)


def _tool(result: ToolResult, id: str) -> dict[str, Any]:
    """The result of one call. This wire has no error flag: the text says it."""
    text, count = result.flagged_text, len(result.media)
    return {"role": "tool", "tool_call_id": id, "content": with_stub(text, count) if count else text}


def _with_media(result: ToolResult, id: str) -> dict[str, Any]:
    """The result of one call with its media in it, for servers that take that."""
    if not result.media:
        return _tool(result, id)
    return {"role": "tool", "tool_call_id": id, "content": [_part(part) for part in flagged_parts(result)]}


def _assistant(turn: AssistantTurn, place: Place, dialect: Dialect) -> bytes:
    """One message; its text beside calls alone is what the server wants there. Opaque fields go to their owner alone, and
    to none where the relay chooses another model each time."""
    if dialect.relays and place.owner.model in _CHOSEN_ANEW:
        turn = replace(turn, items=tuple(item for item in turn.items if not isinstance(item, Opaque)))
    own = [item for item in turn.items if isinstance(item, Opaque) and item.owner == place.owner]
    fields = [(item.kind, item.json_text.encode()) for item in own if not item.kind.startswith(PART)]
    content, calls = _content(turn, place.owner), list(zip(turn.calls, place.ids(), strict=True))
    if content is None and not calls and not fields:
        return b""
    if content is None:
        content = _BESIDE_CALLS[dialect.content_beside_calls] if calls else b'""'
    pairs = [("role", b'"assistant"')]
    if content:
        pairs.append(("content", dump_bytes(content) if isinstance(content, str) else content))
    if calls:
        pairs.append(("tool_calls", b"[%b]" % listed(_call(call.name, sent_text(call), id) for call, id in calls)))
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), value) for name, value in [*pairs, *fields])


def _content(turn: AssistantTurn, owner: Owner) -> str | bytes | None:
    """The text, or the list of parts where the owner's own parts stand between texts."""

    def is_own_part(item: object) -> bool:
        return isinstance(item, Opaque) and item.owner == owner and item.kind.startswith(PART)

    if not any(map(is_own_part, turn.items)):
        return turn.text if turn.text.strip() else None
    parts = [
        item.json_text.encode() if isinstance(item, Opaque) else dump_bytes({"type": "text", "text": item.text})
        for item in turn.items
        if isinstance(item, Text) or (isinstance(item, Opaque) and is_own_part(item))
    ]
    return b"[%b]" % b",".join(parts)


def _call(name: str, arguments: str, id: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": sent_name(name), "arguments": arguments}}


# ---- in ----------------------------------------------------------------------------------------


def _items(message: Mapping[str, Any], owner: Owner, dialect: Dialect) -> Iterator[ReplyItem]:
    for field in OPAQUE_FIELDS:
        if message.get(field):
            yield Opaque(owner, field, exact_json(message[field]))
            break  # the later ones say the same in fewer words
    content = message.get("content")
    if isinstance(content, str) and content:
        yield Text(content)
    if isinstance(content, Mapping):
        yield Text(exact_json(content))  # recorded of a server that was asked for JSON
    for part in objects(content):
        kind = string(part.get("type"))
        if kind == "text":
            yield Text(string(part.get("text")))
        elif kind and dialect.own_parts:
            yield Opaque(owner, f"{PART}{kind}", exact_json(part))
    if refusal := string(message.get("refusal")):
        yield Text(refusal)
    for call in objects(message.get("tool_calls")):
        custom = mapping(call.get("custom"))
        function = mapping(call.get("function")) or custom or call
        arguments = custom.get("input") if function is custom else function.get("arguments")
        yield tool_use(string(call.get("id")), string(function.get("name")), arguments)
    # The old form of a single call; servers that write every field write it empty, or write one call in both forms.
    legacy = mapping(message.get("function_call"))
    if (name := string(legacy.get("name"))) and not objects(message.get("tool_calls")):
        yield tool_use("", name, legacy.get("arguments"))


def _route(body: Mapping[str, Any]) -> str:
    """Who served: a relay's word for the endpoint with the model that it asked there, and whether the caller's own key
    paid there; else the model."""
    model, endpoint = string(body.get("model")), string(body.get("provider"))
    if not endpoint:
        endpoints = objects(mapping(mapping(body.get("openrouter_metadata")).get("endpoints")).get("available"))
        endpoint = next((string(one.get("provider")) for one in endpoints if one.get("selected") is True), "")
    own_key = mapping(body.get("usage")).get("is_byok") is True
    route = ": ".join(part for part in (endpoint, model) if part)
    return f"{route} (your own key)" if own_key else route


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Tokens, and the charge where the server says what it charged.

    What the total has more than both sides was written too: Google leaves its thinking out of the completion.
    """
    details, went_in = mapping(usage.get("prompt_tokens_details")), number(usage.get("prompt_tokens"))
    cached = (details.get("cached_tokens"), *(usage.get(name) for name in _CACHED))
    return Usage(
        went_in,
        max(number(usage.get("completion_tokens")), number(usage.get("total_tokens")) - went_in if went_in else 0),
        amount(usage.get("cost")),
        max(map(number, cached)),
        number(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cache_write_input_tokens=number(details.get("cache_write_tokens")),
    )
