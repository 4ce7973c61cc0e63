"""The harness of an adapter that speaks JSON over HTTP: the emulator at the other end, the adapter built as users build it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from unittest import mock
from weakref import WeakValueDictionary

import httpx2
from starlette.types import Receive, Scope, Send

from geode.adapters.anthropic_messages.wire import MessagesWire
from geode.adapters.chat_completions.dialects import DIALECTS
from geode.adapters.chat_completions.wire import ChatWire
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.wire import Wire as WireFunctions
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.domain.content import Opaque, Owner
from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.routing import DialectName, Provider, Route
from geode.domain.script import Step
from geode.entrypoints.emulator import Dialect, Emulator, build_app, running_in_thread
from geode.entrypoints.providers import Connection, connect
from geode.ports.model import Delta, ModelAdapter
from tests.contract.adapter_contract import Playing
from tests.contract.histories import TOOLS, user
from tests.contract.specification import Wire

NAME = "lab"
KEY = "the-key-of-the-lab"


@dataclass(frozen=True)
class HttpHarness:
    """`spoken` is the emulator's dialect. `auto_only` are models that take no forced choice, `temperature` whether
    the wire takes one, `parallel` whether it is asked for parallel calls, `calls_need_tools` whether a history with
    calls goes out with their tools although none are given."""

    wire: Wire
    model: str
    spoken: Dialect
    dialect: DialectName = "generic"
    auto_only: tuple[str, ...] = ()
    temperature: bool = True
    parallel: bool = False
    calls_need_tools: bool = False

    @property
    def owner(self) -> Owner:
        return Owner(NAME, self.model)

    @property
    def path(self) -> str:
        return {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}[self.wire]

    def opaque(self, owner: Owner, number: int) -> Opaque:
        """An item such as this wire's servers make."""
        summary = [{"type": "summary_text", "text": "ü"}]
        forms: dict[str, tuple[str, Any]] = {
            "messages": ("thinking", {"type": "thinking", "thinking": f"ü {number}", "signature": f"S{number}"}),
            "responses": (
                "reasoning",
                {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": f"E{number}"},
            ),
            "openrouter": ("reasoning_details", [{"type": "reasoning.text", "text": f"ü {number}", "index": 0}]),
            "chat": ("reasoning_content", f"ü {number}"),
        }
        kind, value = forms[self.spoken if self.spoken == "openrouter" else self.wire]
        return Opaque(owner, kind, dump_json(value))

    def base_url(self, server: str) -> str:
        return server + ("" if self.wire == "messages" else "/v1")

    def provider(self, base_url: str) -> Provider:
        return Provider(NAME, self.wire, self.base_url(base_url), KEY, self.dialect)

    async def connect(
        self, base_url: str, http: httpx2.AsyncClient, model: str | None = None, *, key: str = KEY
    ) -> ModelAdapter:
        """The adapter, with an address and a key that nobody has judged."""
        route = Route(Provider(NAME, self.wire, "http://lab.test", None, self.dialect), model or self.model)
        return await connect(Connection(route, Endpoint(self.base_url(base_url), f'Provider("{NAME}")', key)), http)

    def emulator(self, *script: Step, **options: Any) -> Emulator:
        return Emulator(script, dialect=self.spoken, **options)

    @asynccontextmanager
    async def playing(self, *script: Step) -> AsyncIterator[Playing]:
        emulator = self.emulator(*script)
        async with new_http_client() as http:
            adapter = await self.connect(serve(emulator), http)
            yield Playing(adapter, self.model, lambda: len(emulator.received))
            assert emulator.violations == ()


_EMULATORS: WeakValueDictionary[int, Emulator] = WeakValueDictionary()
_NUMBERS = count()
_ADDRESS = {"base_url": ""}


async def _switch(scope: Scope, receive: Receive, send: Send) -> None:
    """One server for all tests: the first part of a path says which test's emulator answers."""
    _, number, rest = scope["path"].split("/", 2)
    await build_app(_EMULATORS[int(number)])({**scope, "path": f"/{rest}"}, receive, send)


@contextmanager
def serving() -> Iterator[None]:
    """Inside it, `serve` works."""
    with ExitStack() as open:
        # Only this server is a switch: the other tests of the process build their own.
        with mock.patch("geode.entrypoints.emulator.run.build_app", return_value=_switch):
            server = open.enter_context(running_in_thread(Emulator(())))
        _ADDRESS["base_url"] = server.base_url
        yield


def serve(emulator: Emulator) -> str:
    """The address of the emulator on the server that runs anyway: starting one for each test takes longer than the test."""
    number = next(_NUMBERS)
    _EMULATORS[number] = emulator
    return f"{_ADDRESS['base_url']}/{number}"


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
    return functions(harness).encode(request(harness, conversation, streamed=streamed), harness.owner)


async def nowhere(_: Delta) -> None:
    """Deltas that nobody reads."""


def request(
    harness: HttpHarness, conversation: Conversation | None = None, *, streamed: bool = False, **changes: Any
) -> AdapterCallRequest:
    given: dict[str, Any] = {"tools": TOOLS, "limits": Limits(64, 5.0, 5.0), **changes}
    return AdapterCallRequest(harness.model, conversation or Conversation((user("hi"),)), streamed=streamed, **given)
