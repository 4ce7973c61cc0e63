"""Acme's protocol as pure functions: a neutral request goes out as JSON, a JSON reply comes back neutral."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from returns.result import Failure, Result, Success

from geode.ports import (
    AdapterCallRequest,
    AdapterCallResult,
    AssistantTurn,
    Auto,
    CallFailure,
    Image,
    Named,
    NoTools,
    Opaque,
    Owner,
    Required,
    Stop,
    Text,
    ToolChoice,
    Turn,
    Usage,
    UserTurn,
    sent_input,
    tool_use,
)

Json = dict[str, Any]


def text_of(value: Any) -> str:
    """JSON as Acme wants it; the same value is always the same text, so that thoughts go back byte for byte."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def rows(turn: Turn, owner: Owner) -> Iterator[Json]:
    """A turn as rows of Acme's log: every result right after its call, hints and whatever else after the results."""
    match turn:
        case UserTurn():
            pictures = [item.base64 for item in turn.items if isinstance(item, Image)]
            yield {"who": "human", "say": turn.text, "pictures": pictures}
        case AssistantTurn():
            own = [item for item in turn.items if isinstance(item, Opaque) and item.owner == owner]
            yield {
                "who": "bot",
                "thoughts": [json.loads(item.json_text) for item in own],
                "say": turn.text,
                "calls": [{"id": call.id, "fn": call.name, "args": dict(sent_input(call))} for call in turn.calls],
            }
            return
        case _:
            for result in turn.results:
                pictures = [part.base64 for part in result.media if isinstance(part, Image)]
                yield {"who": "tool", "id": result.call_id, "say": result.text, "failed": result.is_error, "pictures": pictures}
    for hint in turn.hints:
        yield {"who": "human", "say": hint.text}


def choice_of(choice: ToolChoice) -> Any:
    match choice:
        case Auto():
            return "auto"
        case NoTools():
            return "none"
        case Required():
            return "required"
        case Named(name=name):
            return {"name": name}


def encode(request: AdapterCallRequest, owner: Owner) -> Json:
    """The body of a request. What the caller did not set is left out; a choice goes with tools alone."""
    body: Json = {"model": request.model, "log": [row for turn in request.turns for row in rows(turn, owner)]}
    if request.system:
        body["system"] = request.system
    if request.tools:
        body["tools"] = [{"fn": one.name, "about": one.description, "schema": one.input_schema} for one in request.tools]
        body["choice"] = choice_of(request.tool_choice)
    if request.temperature is not None:
        body["heat"] = request.temperature
    if request.effort is not None:
        body["effort"] = request.effort
    if request.limits.max_output_tokens is not None:
        body["most"] = request.limits.max_output_tokens
    if request.streamed:
        body["stream"] = True
    return body


# Acme's words for the end of a reply.
STOPS = {"done": Stop.END, "calling": Stop.TOOL_CALLS, "full": Stop.MAX_TOKENS, "declined": Stop.REFUSAL}


def decode(body: Any, owner: Owner) -> Result[AdapterCallResult, CallFailure]:
    """The neutral reply in the body of a 200; a failure for anything else that a server may send."""
    try:
        return Success(_reply(body, owner)) if "error" not in body else Failure(failure(200, body))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return Failure(CallFailure(200, "response", f"acme's answer cannot be read: {type(error).__name__}"))


def _reply(body: Mapping[str, Any], owner: Owner) -> AdapterCallResult:
    thoughts = [Opaque(owner, "thought", text_of(thought)) for thought in body.get("thoughts", ())]
    said = [Text(body["say"])] if body["say"] else []
    # `tool_use` reads arguments in whatever form a model wrote them, and keeps what it cannot read.
    calls = [tool_use(call["id"], call["fn"], call["args"]) for call in body["calls"]]
    usage = Usage(int(body["in"]), int(body["out"]))
    word = str(body["stop"])
    refusal = {"category": body["why"]} if word == "declined" else None
    return AdapterCallResult((*thoughts, *said, *calls), STOPS.get(word, Stop.UNKNOWN), usage, word, refusal)


def failure(status: int, body: Any) -> CallFailure:
    """The facts in an error body, whatever it is: who judges them is geode."""
    error = body.get("error") if isinstance(body, dict) else None
    told: Json = error if isinstance(error, dict) else {}
    message = str(told.get("message") or "acme refused the request and did not say why")
    return CallFailure(status, "response", message, error_code=str(told.get("code") or ""))
