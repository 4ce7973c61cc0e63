from typing import Any

import httpx2
from returns.result import Failure, Result, Success

from geode import ToolUseBlock, Usage
from geode.ports import (
    AdapterCallRequest,
    AdapterCallResult,
    AssistantTurn,
    CallFailure,
    Capabilities,
    Emit,
    Stop,
    Text,
    Turn,
    UserTurn,
)


def rows(turn: Turn) -> list[dict[str, Any]]:
    match turn:
        case UserTurn(text=text):
            return [{"who": "human", "say": text}]
        case AssistantTurn(text=text, calls=cs):
            return [{"who": "bot", "say": text, "calls": [{"id": c.id, "fn": c.name, "args": dict(c.input)} for c in cs]}]
        case _:
            return [{"who": "tool", "id": r.call_id, "say": r.text} for r in turn.results] + [
                {"who": "human", "say": h} for h in turn.hints
            ]


class Acme:
    name, capabilities = "acme-payg", Capabilities(supports_tools=True, choices=frozenset({"auto", "none"}))

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        tools = [{"fn": t.name, "about": t.description, "schema": t.input_schema} for t in request.tools]
        body = {"model": request.model, "log": [r for t in request.turns for r in rows(t)], "tools": tools}
        try:
            r = await self.http.post("/acme", json=body)
        except httpx2.TransportError as error:
            return Failure(CallFailure(None, "connect", type(error).__name__))
        if r.status_code != 200:
            return Failure(CallFailure(r.status_code, "response", "acme refused the request"))
        d = r.json()
        calls = tuple(ToolUseBlock(c["id"], c["fn"], c["args"]) for c in d.get("calls", ()))
        return Success(
            AdapterCallResult(
                (Text(d.get("say", "")), *calls),
                stop=Stop.TOOL_CALLS if calls else Stop.END,
                usage=Usage(d["in"], d["out"], None),
            )
        )
