"""How geode's compliance suite gets at the adapter: the suite plays the server, this says what Acme's looks like."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from acme_adapter.adapter import Acme
from acme_adapter.wire import text_of
from geode.compliance import HttpHarness

STOPS = {"end": "done", "tool_calls": "calling", "max_tokens": "full", "refusal": "declined"}
# Made once: it takes tens of milliseconds, and every test has a client of its own.
TLS = httpx2.create_ssl_context()


class AcmeHarness(HttpHarness):
    capabilities = Acme.capabilities
    streams = True
    thinks = True
    stream_type = "application/x-ndjson"

    def adapter(self, base_url: str) -> Acme:
        return Acme(httpx2.AsyncClient(base_url=base_url, verify=TLS))

    @asynccontextmanager
    async def connected(self, base_url: str) -> AsyncIterator[Acme]:
        adapter = self.adapter(base_url)
        async with adapter.http:
            yield adapter

    def render(self, reply: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"thoughts": reply["thoughts"], "say": reply["text"], "calls": reply["calls"], **self.end(reply)}

    def end(self, reply: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "stop": STOPS[reply["stop"]],
            "why": reply["refusal"],
            "in": reply["input_tokens"],
            "out": reply["output_tokens"],
        }

    def stream(self, reply: Mapping[str, Any]) -> Sequence[bytes]:
        text = reply["text"]
        events = [
            *({"thought": thought} for thought in reply["thoughts"]),
            *({"say": text[start : start + 8]} for start in range(0, len(text), 8)),
            *({"call": call} for call in reply["calls"]),
            {"end": self.end(reply)},
        ]
        return [f"{text_of(event)}\n".encode() for event in events]

    def view(self, body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        return list(body["log"])

    def choice(self, body: Mapping[str, Any]) -> Any:
        return body.get("choice")
