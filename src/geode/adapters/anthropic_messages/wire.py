"""The Messages wire, both ways, as pure functions.

Sources: spec sections 2 and 3; wire facts A1–A5 (requests), B1–B4 (replies), C1 (replay).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from returns.result import Failure, Result, Success

from geode.adapters.anthropic_messages.caching import marked_messages, marked_object, marked_system
from geode.adapters.anthropic_messages.searches import TOOL_SEARCH, found_in, may_go_back, without_searches
from geode.adapters.anthropic_messages.stream import MessageStream
from geode.adapters.http_json.attachments import label_of, with_stub
from geode.adapters.http_json.reading import mapping, number, objects, string
from geode.adapters.http_json.segments import Mark, Place, joined, listed, segments, tool_list
from geode.adapters.http_json.tools_gone import with_called_tools
from geode.adapters.http_json.wire import Body
from geode.domain.answer_schema import sent_answer
from geode.domain.arguments import sent_input, tool_use
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Opaque, Owner, Part, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure
from geode.domain.json_value import clean_json, dump_bytes, dump_json, exact_json
from geode.domain.reply import AdapterCallResult, ReplyItem, Stop
from geode.domain.request import AdapterCallRequest
from geode.domain.schema_profile import ANTHROPIC
from geode.domain.sent_tools import keys_sent, sent_schema, with_keys
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, visible
from geode.domain.usage import Usage
from geode.domain.wire_names import sent_name

# The wire wants a bound on every request; every current model takes this one.
DEFAULT_MAX_TOKENS: Final = 8192

STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.TOOL_CALLS,
    "max_tokens": Stop.MAX_TOKENS,
    "refusal": Stop.REFUSAL,
    "pause_turn": Stop.PAUSE,
    "model_context_window_exceeded": Stop.CONTEXT_EXCEEDED,
}

# What the server runs itself, and its result, which stands in the same turn or in the one that goes on with it.
_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
# Blocks that only the user may send, and those of other wires, which gateways let through.
_REFUSED: Final = frozenset(
    {
        *("", "tool_result", "function_call", "refusal", "output_text", "image_url"),
        *("input_text", "input_image", "input_file", "input_audio"),
    }
)


class Segment(NamedTuple):
    """A role and its message; an empty one for a turn that says nothing this wire takes.

    A call of the server's own is refused where the user speaks before its result, while a paused turn goes
    back with it: `waiting` is how many such calls the turn has more than results, `surplus` how many results
    more than calls, and `closed` is the message without the calls that wait. `found`: see `found_in`.
    """

    role: str
    message: bytes
    closed: bytes = b""
    waiting: int = 0
    surplus: int = 0
    found: frozenset[str] | None = None


_OPEN: Final = {role: b'{"role":"%b","content":[' % role.encode() for role in ("user", "assistant")}
_CLOSE: Final = b"]}"


class MessagesWire:
    """See `geode.adapters.http_json.wire.Wire`."""

    heartbeats = frozenset({"ping"})
    streams_only = False

    def encode(self, request: AdapterCallRequest, owner: Owner) -> bytes:
        """The body of the request, the history from kept segments."""
        head = _head(with_called_tools(request))
        keys = keys_sent(request.tools, ANTHROPIC)
        wire = f"messages {dump_json(keys)}" if keys else "messages"

        def encoded(conversation: Conversation) -> tuple[Segment, ...]:
            return segments(conversation, owner, wire, lambda turn, place: encode_turn(with_keys(turn, keys), place))

        turns = encoded(request.conversation)
        if not may_go_back((turn.found for turn in turns), request):
            turns = encoded(without_searches(request.conversation, owner))
        messages = _messages(turns)
        return joined(head, "messages", marked_messages(messages) if request.cache_key else messages)

    def decode(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
        """The neutral reply in a message object; a failure for anything else."""
        content = body.json.get("content")
        stop = body.json.get("stop_reason")
        if not isinstance(content, list) or not isinstance(stop, str):
            missing = "content" if not isinstance(content, list) else "stop_reason"
            return Failure(CallFailure(200, "response", f"the reply has no {missing}", request_id=body.request_id))
        return Success(
            AdapterCallResult(
                tuple(item for block in objects(content) for item in _item(block, owner)),
                STOPS.get(stop, Stop.UNKNOWN),
                self.usage(body.json),
                stop,
                clean_json(mapping(body.json.get("stop_details"))) or None,
                string(body.json.get("model")),
                body.request_id,
            )
        )

    def usage(self, body: Mapping[str, Any]) -> Usage:
        return _usage(mapping(body.get("usage")))

    def accumulator(self) -> MessageStream:
        return MessageStream()


# ---- out ---------------------------------------------------------------------------------------


def _head(request: AdapterCallRequest) -> Iterator[tuple[str, bytes]]:
    yield "model", dump_bytes(request.model)
    yield "max_tokens", dump_bytes(request.limits.max_output_tokens or DEFAULT_MAX_TOKENS + _budget(request.thinking))
    if request.system.strip():
        yield "system", marked_system(request.system) if request.cache_key else dump_bytes(request.system)
    if request.tools:
        search = (TOOL_SEARCH,) if request.deferred else ()
        yield "tools", tool_list(request.tools, "messages", definition, request.deferred, search, mark=_mark_of(request))
        yield "tool_choice", dump_bytes(choice(request.tool_choice))
    if output := dict(_output(request)):
        yield "output_config", dump_bytes(output)
    if request.thinking is not None:
        yield "thinking", dump_bytes(thinking(request.thinking))
    if request.streamed:
        yield "stream", b"true"


def _output(request: AdapterCallRequest) -> Iterator[tuple[str, Any]]:
    """What is said of the answer: how hard to think about it, and what it has to fit."""
    if request.effort is not None:
        yield "effort", request.effort
    if request.response_schema is not None:
        yield "format", {"type": "json_schema", "schema": sent_answer(request.response_schema, ANTHROPIC)[0]}


def _mark_of(request: AdapterCallRequest) -> Mark | None:
    return marked_object if request.cache_key else None


def thinking(value: Thinking) -> dict[str, Any]:
    match value:
        case AdaptiveThinking():
            return {"type": "adaptive"}
        case ThinkingBudget(tokens=tokens):
            return {"type": "enabled", "budget_tokens": tokens}


def _budget(thinking: Thinking | None) -> int:
    """What is thought counts as output: the bound has to leave room for it."""
    return thinking.tokens if isinstance(thinking, ThinkingBudget) else 0


def definition(tool: ToolSpec) -> dict[str, Any]:
    plain = {"name": sent_name(tool.name), "description": tool.description, "input_schema": sent_schema(tool, ANTHROPIC)}
    return {**plain, "strict": True} if tool.strict else plain


def choice(value: ToolChoice) -> dict[str, Any]:
    match value:
        case Auto():
            return {"type": "auto"}
        case NoTools():
            return {"type": "none"}
        case Required():
            return {"type": "any"}
        case Named(name=name):
            return {"type": "tool", "name": sent_name(name)}


def _messages(turns: Iterable[Segment]) -> list[bytes]:
    """Neighbours of one role are one message: results come first in theirs, then whatever the user said."""
    messages, last = list[bytes](), ""
    for role, message in _closed(list(turns)):
        if role == last:
            messages[-1] = b"%b,%b" % (messages[-1][: -len(_CLOSE)], message[len(_OPEN[role]) :])
        else:
            messages.append(message)
            last = role
    return messages


def _closed(turns: list[Segment]) -> list[tuple[str, bytes]]:
    """The roles and messages that say something, without calls of the server's own that stay without a result."""
    said, surplus, user_follows = list[tuple[str, bytes]](), 0, False
    for turn in reversed(turns):
        answered = not user_follows or turn.waiting <= surplus
        surplus += turn.surplus - (turn.waiting if answered else 0)
        message = turn.message if answered else turn.closed
        if message:
            said.append((turn.role, message))
        if turn.role == "user" and message:
            surplus, user_follows = 0, True
    return said[::-1]


def encode_turn(turn: Turn, place: Place) -> Segment:
    """The role and the message of a turn, as it stands without its neighbours."""
    match turn:
        case UserTurn():
            return Segment("user", _message("user", listed(map(_part, visible(turn.items, turn.hints)))))
        case AssistantTurn():
            return _said(turn, place)
        case ToolResultsTurn():
            answered = list(zip(turn.results, place.ids(), strict=True))
            results = [_result(result, id) for result, id in answered]
            # An error result takes text alone, so its media follow all results.
            media = [part for result, id in answered if result.is_error and result.media for part in _labelled(result, id)]
            return Segment("user", _message("user", listed([*results, *media, *map(_part, visible((), turn.hints))])))


def _said(turn: AssistantTurn, place: Place) -> Segment:
    """Results are counted and not named: servers were recorded to give them other ids.

    Beside a call of ours a call of the server's may still be running; its result comes after ours.
    """
    own = {at: item for at, item in enumerate(turn.items) if isinstance(item, Opaque) and item.owner == place.owner}
    called = [at for at, item in own.items() if item.kind in _SERVER_CALLS]
    results = sum(item.kind.endswith("_tool_result") for item in own.values())
    message = _message("assistant", listed(_assistant_blocks(turn, place)))
    if turn.calls or len(called) <= results:
        return Segment("assistant", message, surplus=max(0, results - len(called)), found=found_in(turn, place.owner))
    waiting = called[results:]
    closed = _message("assistant", listed(_assistant_blocks(turn, place, waiting)))
    return Segment("assistant", message, closed, len(waiting), found=found_in(turn, place.owner))


def _message(role: str, blocks: bytes) -> bytes:
    return b"%b%b%b" % (_OPEN[role], blocks, _CLOSE) if blocks else b""


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image():
            return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.base64}}
        case ImageUrl(url=url):
            return {"type": "image", "source": {"type": "url", "url": url}}
        case Document(media_type="text/plain"):
            return _document({"type": "text", "media_type": "text/plain", "data": part.text}, part.name)
        case Document():
            return _document({"type": "base64", "media_type": part.media_type, "data": part.base64}, part.name)
        case DocumentUrl(url=url, name=name):
            return _document({"type": "url", "url": url}, name)


def _document(source: dict[str, str], name: str) -> dict[str, Any]:
    return {"type": "document", "source": source, **({"title": name} if name else {})}


def _assistant_blocks(turn: AssistantTurn, place: Place, without: Collection[int] = ()) -> Iterator[dict[str, Any] | bytes]:
    ids = iter(place.ids())
    for at, item in enumerate(turn.items):
        match item:
            case Text(text=text):
                if text.strip():
                    yield {"type": "text", "text": text}
            case ToolUseBlock():
                yield {"type": "tool_use", "id": next(ids), "name": sent_name(item.name), "input": sent_input(item)}
            case Opaque():
                if item.owner == place.owner and at not in without:
                    yield item.json_text.encode()


def _labelled(result: ToolResult, id: str) -> list[dict[str, Any]]:
    return [_part(Text(label_of(id))), *map(_part, result.media)]


def _result(result: ToolResult, id: str) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id}
    text = result.text if result.text.strip() else result.kind
    if result.is_error:
        count = len(result.media)
        return {**block, "content": with_stub(text, count) if count else text, "is_error": True}
    return {**block, "content": [_part(part) for part in visible(result.content)] if result.media else text}


# ---- in ----------------------------------------------------------------------------------------


def _item(block: Mapping[str, Any], owner: Owner) -> Iterator[ReplyItem]:
    """The neutral item in a content block. An empty text is dropped: the server sends it and never takes it back."""
    match kind := string(block.get("type")):
        case "text":
            if isinstance(text := block.get("text"), str) and text:
                yield Text(text)
        case "tool_use":
            yield tool_use(string(block.get("id")), string(block.get("name")), block.get("input"))
        case "thinking" if not (isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str)):
            pass  # the server refuses it back
        case _ if kind not in _REFUSED:
            yield Opaque(owner, kind, exact_json(block))
        case _:
            pass


def _usage(usage: Mapping[str, Any]) -> Usage:
    """The whole input counts: this wire's `input_tokens` leaves out what came from or went to the cache.

    A server that compacted in the call tells its steps one by one, and the sum leaves that step out; steps of another
    model, an advisor, have a price of their own.
    """
    steps = objects(usage.get("iterations"))
    own = [_tokens(step) for step in steps if not step.get("model")]
    whole = sum(own, Usage()) if any(step.get("type") == "compaction" for step in steps) else _tokens(usage)
    return replace(whole, unpriced_calls=1) if len(own) < len(steps) else whole


def _tokens(usage: Mapping[str, Any]) -> Usage:
    cached = number(usage.get("cache_read_input_tokens"))
    by_lifetime = mapping(usage.get("cache_creation"))
    lasting = number(by_lifetime.get("ephemeral_1h_input_tokens"))
    # Servers in its place may tell the parts alone.
    parts = number(by_lifetime.get("ephemeral_5m_input_tokens")) + lasting
    written = number(usage.get("cache_creation_input_tokens")) or parts
    thought = number(mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
    fresh = number(usage.get("input_tokens"))
    return Usage(
        fresh + cached + written,
        number(usage.get("output_tokens")),
        None,
        cached,
        thought,
        cache_write_input_tokens=written,
        cache_write_1h_input_tokens=min(lasting, written),
    )
