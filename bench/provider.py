"""A provider in the same process: answers each wire from prepared bytes, so that what is timed is the client.

It is told the round by the last call id in the request, holds no state between requests, and notes the
process's CPU time when a request comes in and when its answer goes out.
"""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import httpx2

FINAL = "all rounds are done"
FILLER = "the quick brown fox jumps over the lazy dog, again and again. " * 33
PATHS = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
_HEADERS = {"content-type": "application/json", "request-id": "req_1", "x-request-id": "req_1"}


def arguments(round: int, place: int) -> dict[str, Any]:
    return {"key": f"item {round} {place}", "count": round * 100 + place}


class BenchProvider(httpx2.AsyncBaseTransport):
    """`rounds` rounds of `calls` calls each, then a final text."""

    def __init__(self, wire: str, rounds: int, calls: int) -> None:
        self.rounds, self.calls = rounds, calls
        self.answers = [_encoded(wire, self._reply(wire, round)) for round in range(rounds + 1)]
        self.came: list[float] = []
        self.left: list[float] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.came.append(process_time())
        last = request.content.rfind(b"call_0")
        round = int(request.content[last + 5 : last + 9]) + 1 if last >= 0 else 0
        response = httpx2.Response(200, headers=_HEADERS, content=self.answers[round])
        self.left.append(process_time())
        return response

    def _reply(self, wire: str, round: int) -> dict[str, Any]:
        wanted = (
            []
            if round == self.rounds
            else [(f"call_{round:04d}_{place:02d}", arguments(round, place)) for place in range(self.calls)]
        )
        return {"messages": _message, "responses": _response, "chat": _completion}[wire](round, wanted)


def _encoded(_wire: str, body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _message(round: int, wanted: list[Any]) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": id, "name": "look_up", "input": input} for id, input in wanted]
    return {
        "id": f"msg_{round}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": calls or [{"type": "text", "text": FINAL}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
    }


def _response(round: int, wanted: list[Any]) -> dict[str, Any]:
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{id}",
            "call_id": id,
            "name": "look_up",
            "arguments": json.dumps(input),
            "status": "completed",
        }
        for id, input in wanted
    ]
    text = {"type": "output_text", "text": FINAL, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": f"resp_{round}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-4o",
        "output": calls or [said],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120,
        },
    }


def _completion(round: int, wanted: list[Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if wanted else FINAL}
    if wanted:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": "look_up", "arguments": json.dumps(input)}}
            for id, input in wanted
        ]
    return {
        "id": f"chatcmpl_{round}",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if wanted else "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
