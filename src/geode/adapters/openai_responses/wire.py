"""The Responses wire, both ways, as pure functions.

Nothing is stored at the server (`store: false`), so the whole history goes out each time, encrypted
reasoning included. Sources: spec sections 2 and 3; wire facts A1–A5, B1–B4, C2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from returns.result import Failure, Result, Success

from geode.adapters.http_json.facts import error_in_body
from geode.adapters.http_json.reading import amount, mapping, number, objects, string
from geode.adapters.http_json.segments import Place, joined, listed, segments, tool_list
from geode.adapters.http_json.wire import Body
from geode.adapters.openai_responses.stream import ResponseStream
from geode.domain.answer_schema import answer_name, sent_answer
from geode.domain.arguments import sent_text, tool_use
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Opaque, Owner, Part, Text, ToolResult, ToolUseBlock
from geode.domain.failures import CallFailure
from geode.domain.json_value import clean_text, dump_bytes, exact_json
from geode.domain.reply import AdapterCallResult, ReplyItem, Stop
from geode.domain.request import AdapterCallRequest
from geode.domain.schema_profile import OPENAI
from geode.domain.sent_tools import sent_schema
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn, flagged_parts, visible
from geode.domain.usage import Usage
from geode.domain.wire_names import sent_name

# Why a response is incomplete (wire facts B2); without a reason known here the word is passed on.
INCOMPLETE: Final[Mapping[str, Stop]] = {
    "max_output_tokens": Stop.MAX_TOKENS,
    "content_filter": Stop.CONTENT_FILTER,
    "max_messages": Stop.PAUSE,
    "steered": Stop.PAUSE,
}
# What only a client sends, and calls that wait for what geode never gives: taken back they would be refused.
_OF_CLIENT: Final = frozenset(
    {
        *("", "function_call_output", "custom_tool_call_output", "item_reference"),
        *("custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call"),
    }
)
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
MIN_OUTPUT_TOKENS: Final = 16
_REASONING: Final = "reasoning"
_NO_INSTRUCTIONS: Final = "Answer the user."


@dataclass(frozen=True, slots=True)
class ResponsesWire:
    """See `geode.adapters.http_json.wire.Wire`. `codex` is the ChatGPT backend: it answers in streams alone, wants
    instructions, and takes neither a temperature, a bound of the output nor ids of reasoning (wire facts A5, F)."""

    codex: bool = False
    heartbeats: frozenset[str] = frozenset({"keepalive", "ping"})

    @property
    def streams_only(self) -> bool:
        return self.codex

    def encode(self, request: AdapterCallRequest, owner: Owner) -> bytes:
        """The body of the request, the history from kept segments."""
        return joined(
            _head(request, codex=self.codex), "input", segments(request.conversation, owner, "responses", encode_turn)
        )

    def decode(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
        """The neutral reply in a response object; a failure for anything else, a failed response included."""
        output, status = body.json.get("output"), string(body.json.get("status"))
        if not isinstance(output, list) or not status:
            missing = "output" if not isinstance(output, list) else "status"
            return Failure(CallFailure(200, "response", f"the reply has no {missing}", request_id=body.request_id))
        if status == "failed":
            return Failure(error_in_body(body.json, body.request_id, quota=body.quota))
        items = tuple(item for entry in objects(output) for item in _items(entry, owner, with_ids=not self.codex))
        refusal = _refusal(objects(output))
        stop, word = _stop(body.json, status, called=any(isinstance(item, ToolUseBlock) for item in items))
        return Success(
            AdapterCallResult(
                items,
                Stop.REFUSAL if refusal is not None else stop,
                self.usage(body.json),
                word,
                refusal,
                string(body.json.get("model")),
                body.request_id,
            )
        )

    def usage(self, body: Mapping[str, Any]) -> Usage:
        return _usage(mapping(body.get("usage")))

    def accumulator(self) -> ResponseStream:
        return ResponseStream()


# ---- out ---------------------------------------------------------------------------------------


def _head(request: AdapterCallRequest, *, codex: bool) -> Iterator[tuple[str, bytes]]:
    yield "model", dump_bytes(request.model)
    yield "store", b"false"
    yield "include", b'["reasoning.encrypted_content"]'
    if request.system.strip() or codex:
        yield "instructions", dump_bytes(request.system if request.system.strip() else _NO_INSTRUCTIONS)
    if request.tools:
        yield "tools", tool_list(request.tools, "responses", definition)
        yield "tool_choice", dump_bytes(choice(request.tool_choice))
        yield "parallel_tool_calls", b"true"
    if request.limits.max_output_tokens is not None and not codex:
        yield "max_output_tokens", dump_bytes(max(MIN_OUTPUT_TOKENS, request.limits.max_output_tokens))
    if request.cache_key:
        yield "prompt_cache_key", dump_bytes(request.cache_key)
    if request.effort is not None:
        yield "reasoning", dump_bytes({"effort": request.effort})
    if request.temperature is not None and not codex:
        yield "temperature", dump_bytes(request.temperature)
    if request.response_schema is not None:
        yield "text", dump_bytes({"format": answer_format(request.response_schema)})
    if request.streamed or codex:
        yield "stream", b"true"


def answer_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    sent, strict = sent_answer(schema, OPENAI)
    return {"type": "json_schema", "name": answer_name(schema), "strict": strict, "schema": sent}


def definition(tool: ToolSpec) -> dict[str, Any]:
    """A flat function. `strict` is said plainly: left out, the server would try to be strict by itself."""
    return {
        "type": "function",
        "name": sent_name(tool.name),
        "description": tool.description,
        "parameters": sent_schema(tool, OPENAI),
        "strict": tool.strict,
    }


def choice(value: ToolChoice) -> str | dict[str, Any]:
    match value:
        case Auto():
            return "auto"
        case NoTools():
            return "none"
        case Required():
            return "required"
        case Named(name=name):
            return {"type": "function", "name": sent_name(name)}


def encode_turn(turn: Turn, place: Place) -> bytes:
    """The items of a turn, joined by commas; nothing for a turn that says nothing."""
    match turn:
        case UserTurn():
            return listed(_user(map(_part, visible(turn.items, turn.hints))))
        case AssistantTurn():
            return listed(_assistant(turn, place))
        case ToolResultsTurn():
            results = [_output(result, id) for result, id in zip(turn.results, place.ids(), strict=True)]
            return listed([*results, *_user(map(_part, visible((), turn.hints)))])


def _user(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    content = list(parts)
    return [{"role": "user", "content": content}] if content else []


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case Image():
            return {"type": "input_image", "image_url": part.data_url, "detail": "auto"}
        case ImageUrl(url=url):
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case Document():
            return {"type": "input_file", "filename": part.file_name, "file_data": part.data_url}
        case DocumentUrl(url=url, name=name):
            return {"type": "input_file", "file_url": url, **({"filename": name} if name else {})}


def _assistant(turn: AssistantTurn, place: Place) -> list[dict[str, Any] | bytes]:
    """Items in their order, without item ids of messages and calls: the server keeps none of them.

    Reasoning is taken back only before the item it led to, so what led to nothing stays behind.
    """
    ids, sent, end = iter(place.ids()), list[dict[str, Any] | bytes](), 0
    for item in turn.items:
        match item:
            case Text(text=text):
                if not text.strip():
                    continue
                content = [{"type": "output_text", "text": text}]
                sent.append({"type": "message", "role": "assistant", "content": content})
            case ToolUseBlock():
                call = {"type": "function_call", "call_id": next(ids), "name": sent_name(item.name)}
                sent.append({**call, "arguments": sent_text(item)})
            case Opaque():
                if item.owner != place.owner:
                    continue
                sent.append(item.json_text.encode())
                if item.kind == _REASONING:
                    continue
        end = len(sent)
    return sent[:end]


def _output(result: ToolResult, id: str) -> dict[str, Any]:
    """The result of one call. This wire has no error flag: the first text says it."""
    item: dict[str, Any] = {"type": "function_call_output", "call_id": id}
    output = [_part(part) for part in flagged_parts(result)] if result.media else result.flagged_text
    return {**item, "output": output}


# ---- in ----------------------------------------------------------------------------------------


def _items(entry: Mapping[str, Any], owner: Owner, *, with_ids: bool) -> Iterator[ReplyItem]:
    """The neutral items of one output item. The pairing key is `call_id`, never the item's own id."""
    match kind := string(entry.get("type")):
        case "message":
            for part in objects(entry.get("content")):
                if text := string(part.get("text")) or string(part.get("refusal")):
                    yield Text(text)
        case "function_call":
            yield tool_use(string(entry.get("call_id")), string(entry.get("name")), entry.get("arguments"))
        case "reasoning":
            if entry.get("encrypted_content"):
                yield Opaque(owner, _REASONING, exact_json(_replayable(entry, with_id=with_ids)))
        case _ if kind not in _OF_CLIENT and _may_go_back(entry):
            yield Opaque(owner, kind, exact_json(entry))
        case _:
            pass


def _may_go_back(entry: Mapping[str, Any]) -> bool:
    """Whether it waits for nothing that only a client can do, and has an id that can be sent, if it has one."""
    ours = entry.get("execution") == "client" or (
        entry.get("type") == "tool_search_call" and entry.get("call_id") is not None and entry.get("execution") != "server"
    )
    return not ours and (entry.get("id") is None or bool(_ID.fullmatch(string(entry.get("id")))))


def _replayable(reasoning: Mapping[str, Any], *, with_id: bool) -> dict[str, Any]:
    """What the server takes back of a reasoning item when it stored nothing: id, summary, encrypted content."""
    summary, id = reasoning.get("summary"), string(reasoning.get("id"))
    return {
        "type": "reasoning",
        **({"id": id} if with_id and _ID.fullmatch(id) else {}),
        "summary": summary if isinstance(summary, list) else [],
        "encrypted_content": reasoning.get("encrypted_content"),
    }


def _refusal(output: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    parts = (part for entry in output if entry.get("type") == "message" for part in objects(entry.get("content")))
    said = next((part for part in parts if part.get("type") == "refusal"), None)
    return None if said is None else {"type": "refusal", "explanation": clean_text(string(said.get("refusal")))}


def _stop(response: Mapping[str, Any], status: str, *, called: bool) -> tuple[Stop, str]:
    """Why it stopped, and the provider's own word. This wire has no word for calls: the items say it."""
    if status == "completed":
        return (Stop.TOOL_CALLS if called else Stop.END), status
    reason = string(mapping(response.get("incomplete_details")).get("reason"))
    if status == "incomplete" and reason in INCOMPLETE:
        return INCOMPLETE[reason], reason
    return Stop.UNKNOWN, reason or status


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        number(usage.get("input_tokens")),
        number(usage.get("output_tokens")),
        amount(usage.get("cost")),  # of a relay
        number(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        number(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cache_write_input_tokens=number(mapping(usage.get("input_tokens_details")).get("cache_write_tokens")),
    )
