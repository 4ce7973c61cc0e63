"""Answers that grow: of n parts and of four times as many, to see that reading them takes four times as long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from returns.result import Success

from tests.fuzz.corpus import WIRES, Spoken
from tests.fuzz.judging import answer, following, next_request, wrong

MESSAGES, RESPONSES, CHAT = WIRES[0], WIRES[1], WIRES[5]
# Four times the parts in linear time take four times as long, in quadratic time sixteen times.
GROWTH: Final = 4
MOST: Final = 8.0

Json = dict[str, Any]
Make = Callable[[int], bytes]


def whole(value: Json) -> bytes:
    return json.dumps(value).encode()


def stream(*events: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


# ---- one wire each -----------------------------------------------------------------------------------


def message(*content: Json) -> bytes:
    return whole({"content": list(content), "stop_reason": "tool_use", "usage": {}})


def message_stream(*events: Json) -> bytes:
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}
    return stream({"type": "message_start", "message": {"usage": {}}}, *events, end, {"type": "message_stop"})


def block(index: Any, kind: str = "tool_use", **fields: Any) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def grown(index: Any, kind: str, field: str, piece: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}


def response(*output: Json) -> Json:
    return {"status": "completed", "output": list(output), "usage": {}}


def response_stream(*events: Json, final: tuple[Json, ...] = ()) -> bytes:
    return stream(*events, {"type": "response.completed", "response": response(*final)})


def function_call(number: int, *, call_id: Any = ..., id: Any = ...) -> Json:
    named = {"id": f"fc_{number}" if id is ... else id, "call_id": f"c{number}" if call_id is ... else call_id}
    return {"type": "function_call", "name": "read", "arguments": "{}", **named}


def item(number: int, event: str = "done", index: Any = ..., **named: Any) -> Json:
    given = {} if index is None else {"output_index": number if index is ... else index}
    return {"type": f"response.output_item.{event}", **given, "item": function_call(number, **named)}


def argument(number: int, index: Any = ..., id: Any = ...) -> Json:
    given = {} if index is None else {"output_index": number if index is ... else index}
    return {
        "type": "response.function_call_arguments.delta",
        **given,
        "item_id": f"fc_{number}" if id is ... else id,
        "delta": "{}",
    }


def chunk(**delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta}]}


def fragment(index: Any = ..., id: Any = ..., name: Any = ..., arguments: Any = "{}") -> Json:
    function = {"arguments": arguments} | ({} if name is ... else {"name": name})
    return {"function": function} | ({} if index is ... else {"index": index}) | ({} if id is ... else {"id": id})


def chat_stream(*deltas: Json) -> bytes:
    return stream(*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})


def completion(**fields: Any) -> bytes:
    return whole({"choices": [{"message": fields, "finish_reason": "tool_calls"}]})


Case = tuple[Spoken, bool, Make]
Part = Callable[[int], Json]


def message_of(part: Part) -> Case:
    return MESSAGES, False, lambda n: message(*map(part, range(n)))


def blocks_of(part: Part, *before: Json) -> Case:
    return MESSAGES, True, lambda n: message_stream(*before, *map(part, range(n)))


def items_of(*parts: Part) -> Case:
    return RESPONSES, True, lambda n: response_stream(*(part(number) for part in parts for number in range(n)))


def chunks_of(part: Part) -> Case:
    return CHAT, True, lambda n: chat_stream(*map(part, range(n)))


def fragments_of(part: Part) -> Case:
    return chunks_of(lambda number: chunk(tool_calls=[part(number)]))


def completion_of(make: Callable[[int], Json]) -> Case:
    return CHAT, False, lambda n: completion(**make(n))


def bytes_of(make: Make, *, streamed: bool = False) -> Case:
    return CHAT, streamed, make


def wide_message(n: int) -> bytes:
    """Many fields, and many snapshots of some of them."""
    wide = {f"k{number}": 1 for number in range(n)}
    snapshots = ({"type": "message_delta", "delta": {"a": number}, "usage": {"a": number}} for number in range(n))
    return message_stream({"type": "message_start", "message": {"usage": wide, **wide}}, *snapshots)


def told_again(n: int) -> bytes:
    return response_stream(*map(item, range(n)), final=tuple(map(function_call, reversed(range(n)))))


def told_again_without_names(n: int) -> bytes:
    nameless = function_call(0, id=None, call_id=None)
    return response_stream(*(item(number, id=None, call_id=None) for number in range(n)), final=(nameless,) * (n // 2))


TEXT: Final = block(0, "text", text="a")
CASES: Final[Mapping[str, Case]] = {
    "a long text": (MESSAGES, False, lambda n: message({"type": "text", "text": "é" * 200 * n})),
    "many calls": message_of(lambda i: {"type": "tool_use", "id": f"{i}", "name": "a"}),
    "calls of one id": message_of(lambda i: {"type": "tool_use", "id": "x", "name": "a"}),
    "many thoughts": message_of(lambda i: {"type": "thinking", "thinking": "t", "signature": "s"}),
    "server tools": message_of(lambda i: {"type": "server_tool_use", "id": f"{i}", "name": "a", "input": {}}),
    "many blocks": blocks_of(lambda i: block(i, id=f"{i}", name="a")),
    "blocks of one index": blocks_of(lambda i: block(0, id=f"{i}", name="a")),
    "blocks of no index": blocks_of(lambda i: block(None, id=f"{i}", name="a")),
    "text in many deltas": blocks_of(lambda i: grown(0, "text_delta", "text", "é "), TEXT),
    "deltas without blocks": blocks_of(lambda i: grown(i, "input_json_delta", "partial_json", "{}")),
    "deltas of no index": blocks_of(lambda i: grown(None, "text_delta", "text", "x")),
    "citations": blocks_of(lambda i: grown(0, "citations_delta", "citation", {}), TEXT),
    "snapshots of a wide message": (MESSAGES, True, wide_message),
    "many items": items_of(item),
    "items of one index": items_of(lambda i: item(i, index=0)),
    "items of no index": items_of(lambda i: item(i, index=None)),
    "items of one id": items_of(lambda i: item(i, index=0, id="fc_1")),
    "items of one call": items_of(lambda i: item(i, call_id="x")),
    "items without ids": items_of(lambda i: item(i, index=None, id=None, call_id=None)),
    "items begun, grown and done": items_of(
        lambda i: item(i, "added", None), lambda i: argument(i, None), lambda i: item(i, "done", None)
    ),
    "deltas without items": items_of(argument),
    "deltas of nobody": items_of(lambda i: argument(i, None, None)),
    "items again in the end": (RESPONSES, True, told_again),
    "nameless items again in the end": (RESPONSES, True, told_again_without_names),
    "many outputs": (RESPONSES, False, lambda n: whole(response(*(function_call(i, call_id="x") for i in range(n))))),
    "calls of a completion": completion_of(lambda n: {"tool_calls": [fragment(id="x", name="a")] * n}),
    "parts of a completion": completion_of(lambda n: {"content": [{"type": "text", "text": "a"}] * n}),
    "odd parts of a completion": completion_of(lambda n: {"content": [{"type": "x", "n": i} for i in range(n)]}),
    "content in many chunks": chunks_of(lambda i: chunk(content="é ")),
    "odd parts in many chunks": chunks_of(lambda i: chunk(content=[{"type": "x", "n": i}, {"type": "text", "text": "a"}])),
    "fragments of one call": fragments_of(lambda i: fragment(0, "x", "a", "[")),
    "fragments of many calls": fragments_of(lambda i: fragment(i, f"{i}", "a")),
    "calls of index zero": fragments_of(lambda i: fragment(0, f"{i}", "a")),
    "calls of no index": fragments_of(lambda i: fragment(id=f"{i}", name="a")),
    "calls in one chunk": bytes_of(
        lambda n: chat_stream(chunk(tool_calls=[fragment(i, "x", f"{i}") for i in range(n)])), streamed=True
    ),
    "reasoning in many entries": chunks_of(
        lambda i: chunk(reasoning_details=[{"type": "reasoning.text", "index": i, "text": "a"}])
    ),
    "reasoning in many pieces": chunks_of(
        lambda i: chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a"}])
    ),
    "deep nesting": bytes_of(lambda n: b'{"choices":' + b"[" * 20 * n + b"]" * 20 * n + b"}"),
    "deep arguments": completion_of(lambda n: {"tool_calls": [fragment(id="x", name="a", arguments="[" * 50 * n)]}),
    "fenced arguments": completion_of(
        lambda n: {"tool_calls": [fragment(id="x", name="a", arguments="```\n" * 20 * n + "```")]}
    ),
    "a long number": bytes_of(lambda n: b'{"usage":{"cost":' + b"9" * 100 * n + b'},"choices":[]}'),
    "halves of characters": completion_of(lambda n: {"content": "\ud83d" * 50 * n}),
    "halves in many chunks": chunks_of(lambda i: chunk(content="\ud83d")),
    "empty lines": bytes_of(lambda n: b"\r" * 200 * n + chat_stream(), streamed=True),
    "comments": bytes_of(lambda n: b": x\n" * 50 * n + chat_stream(), streamed=True),
    "data lines of one event": bytes_of(lambda n: b"data: [\n" * 20 * n + b"\n", streamed=True),
    "one line without end": bytes_of(lambda n: b"data: " + b"x" * 400 * n, streamed=True),
    "an error of many words": bytes_of(
        lambda n: whole({"error": {"message": '\\"é' * 100 * n, "metadata": {"raw": '{"a":' * 50 * n}}})
    ),
    "an error of many parts": bytes_of(lambda n: whole({"error": {"message": [{"a": "é"}] * 20 * n}})),
}


def seconds(name: str, parts: int, *, times: int = 3) -> float:
    """Processor time of reading the answer in pieces and of making the next request of it, the least of some."""
    spoken, streamed, make = CASES[name]
    body = make(parts)
    pieces = [body[at : at + 4096] for at in range(0, len(body), 4096)]
    least = float("inf")
    for _ in range(times):
        started = time.process_time()
        outcome = answer(spoken, 200, pieces, streamed=streamed)
        if isinstance(outcome, Success):
            next_request(spoken, following(outcome.unwrap()))
        least = min(least, time.process_time() - started)
    return least


def problems(name: str, parts: int) -> list[str]:
    """What is wrong with the reply: a long one is a reply like any other."""
    spoken, streamed, make = CASES[name]
    return wrong(spoken, answer(spoken, 200, [make(parts)], streamed=streamed))
