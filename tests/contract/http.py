"""The harness of an adapter that speaks JSON over HTTP: the emulator at the other end, the adapter built as users build it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.http_json.model import Wire as WireFunctions
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.routing import DialectName, Provider, Route
from geode.domain.script import Step
from geode.entrypoints.emulator import Dialect, Emulator, running
from geode.entrypoints.providers import connect, find_connection
from geode.ports.model import ModelAdapter
from tests.contract.adapter_contract import Playing
from tests.contract.histories import TOOLS
from tests.contract.specification import Wire

NAME = "lab"
KEY = "the-key-of-the-lab"


@dataclass(frozen=True)
class HttpHarness:
    """`spoken` is the emulator's dialect. `auto_only` are models that take no forced choice, `temperature` whether
    the wire takes one, `parallel` whether it is asked for parallel calls."""

    wire: Wire
    model: str
    spoken: Dialect
    dialect: DialectName = "generic"
    auto_only: tuple[str, ...] = ()
    temperature: bool = True
    parallel: bool = False

    @property
    def owner(self) -> Owner:
        return Owner(NAME, self.model)

    @property
    def path(self) -> str:
        return {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}[self.wire]

    def opaque(self, owner: Owner, number: int) -> Opaque:
        """An item such as this wire's servers make."""
        value: Any
        match self.wire:
            case "messages":
                kind, value = "thinking", {"type": "thinking", "thinking": f"ü {number}", "signature": f"S{number}"}
            case "responses":
                kind, value = "reasoning", {
                    "type": "reasoning",
                    "id": f"rs_{number}",
                    "summary": [{"type": "summary_text", "text": "ü"}],
                    "encrypted_content": f"E{number}",
                }
            case "chat" if self.spoken == "openrouter":
                kind, value = "reasoning_details", [{"type": "reasoning.text", "text": f"ü {number}", "index": 0}]
            case "chat":
                kind, value = "reasoning_content", f"ü {number}"
        return Opaque(owner, kind, dump_json(value))

    def provider(self, base_url: str) -> Provider:
        return Provider(NAME, self.wire, base_url + ("" if self.wire == "messages" else "/v1"), KEY, self.dialect)

    async def connect(self, base_url: str, http: httpx2.AsyncClient, model: str | None = None) -> ModelAdapter:
        return await connect(find_connection(Route(self.provider(base_url), model or self.model)), http)

    def emulator(self, *script: Step, **options: Any) -> Emulator:
        return Emulator(script, dialect=self.spoken, **options)

    @asynccontextmanager
    async def playing(self, *script: Step) -> AsyncIterator[Playing]:
        emulator = self.emulator(*script)
        async with running(emulator) as server, new_http_client() as http:
            adapter = await self.connect(server.base_url, http)
            yield Playing(adapter, self.model, lambda: len(emulator.received))
            assert emulator.violations == ()


def functions(harness: HttpHarness) -> WireFunctions:
    """The adapter's pure part."""
    match harness.wire:
        case "messages":
            return MessagesWire()
        case "responses":
            return ResponsesWire()
        case "chat":
            return ChatWire(DIALECTS[harness.dialect])


def encode(harness: HttpHarness, conversation: Conversation, *, streamed: bool = False) -> bytes:
    """The body for `conversation`, without a server."""
    request = AdapterCallRequest(harness.model, conversation, tools=TOOLS, limits=Limits(64, 5.0, 5.0), streamed=streamed)
    return functions(harness).encode(request, harness.owner)
