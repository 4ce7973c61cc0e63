"""The harness of an adapter that speaks one of the three wires: the emulator is at the other end, and judges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final

import httpx2
from pydantic import SecretStr

from geode.adapters.credentials_static import GivenCredential
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.content import Opaque, Owner
from geode.domain.json_value import dump_json
from geode.domain.provider import Provider
from geode.domain.routing import Route
from geode.domain.script import ReplyStop, Step
from geode.domain.targets import DialectName, Quirks, Transport
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.harness import Row, SendingHarness
from geode.entrypoints.compliance.playing import Playing
from geode.entrypoints.compliance.reading import Answered, Asked, Kept, Said, Shown, Told, read
from geode.entrypoints.compliance.servers import tapped
from geode.entrypoints.emulator import Dialect, Emulator, Protocol, Quirk, check, laws
from geode.entrypoints.routes.connections import Connection, connect
from geode.ports.model import ModelAdapter

NAME: Final = "lab"
KEY: Final = "the-key-of-the-lab"
_PATHS: Final[Mapping[Protocol, str]] = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
}


class WireHarness(SendingHarness):
    """`wire` and `dialect` are those of a Provider; `spoken` is the emulator's dialect, `refuses` what it refuses beside.

    `name` is the adapter's; one that ships is reached as it is declared, but for its address and its key.
    `stands_for` is an adapter that ships and differs by its address and its key alone. `streams_only`: its server
    answers in streams alone. `codes`: the errors of its server carry a code.
    """

    name: ClassVar[str] = NAME
    stands_for: ClassVar[str] = ""
    wire: ClassVar[Protocol]
    spoken: ClassVar[Dialect]
    dialect: ClassVar[DialectName] = "generic"
    refuses: ClassVar[frozenset[Quirk]] = frozenset()
    streams_only: ClassVar[bool] = False
    codes: ClassVar[bool] = True
    streams = True
    thinks = True
    stops: ClassVar[frozenset[ReplyStop]] = frozenset({"end", "tool_calls", "max_tokens", "refusal", "pause"})

    @property
    def owner(self) -> Owner:
        return Owner(self.name, self.model)

    @property
    def path(self) -> str:
        return _PATHS[self.wire]

    def base_url(self, server: str) -> str:
        return server + ("" if self.wire == "messages" else "/v1")

    @property
    def quirks(self) -> Quirks:
        """What the server is declared to do otherwise than its dialect."""
        return Quirks()

    @property
    def transport(self) -> Transport:
        """How the adapter is declared to be reached; its address is not where a test reaches it."""
        transport = self.provider("http://lab.test").target.transport
        assert transport is not None
        return transport

    def provider(self, base_url: str) -> Provider:
        return Provider(self.name, self.wire, self.base_url(base_url), KEY, self.dialect, self.quirks)

    async def connect(
        self, base_url: str, http: httpx2.AsyncClient, model: str | None = None, *, key: str = KEY
    ) -> ModelAdapter:
        """The adapter as geode builds it, with an address and a key that nobody has judged."""
        target = replace(self.provider("http://lab.test").target, transport=self.transport)
        credential = GivenCredential(SecretStr(key), f'Provider("{self.name}")')
        plan = target.credential.billing == "subscription"
        endpoint = Endpoint(self.base_url(base_url), credential.source, credential, self.transport.headers, subscription=plan)
        return await connect(Connection(Route(target, model or self.model), self.capabilities.models, endpoint), http)

    @asynccontextmanager
    async def connected(self, base_url: str) -> AsyncIterator[ModelAdapter]:
        """The adapter while it is used: override it for one that geode does not build."""
        async with new_http_client() as http:
            yield await self.connect(base_url, http)

    def emulator(self, *script: Step, **options: Any) -> Emulator:
        return Emulator(script, dialect=self.spoken, quirks=self.refuses, **options)

    @asynccontextmanager
    async def playing(self, *script: Step, pace_seconds: float = 0.0) -> AsyncIterator[Playing]:
        emulator = self.emulator(*script, event_delay_seconds=pace_seconds, refuse=False)
        async with tapped(serve(emulator)) as tap, self.connected(tap.base_url) as adapter:
            playing = Playing(adapter, self.model, lambda: [_bytes(one.request) for one in emulator.received], tap.left)
            yield playing
            self.judge(playing)

    def view(self, body: Mapping[str, Any]) -> Sequence[Row]:
        rows: list[Row] = []
        asked: list[str] = []
        for said in read(self.wire, self.without_system(body)):
            if isinstance(said, Asked):
                asked.append(said.id)
            row = _row(said, asked)
            if row is not None:
                rows.append(row)
        return rows

    def without_system(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.wire != "chat":
            return body
        return {**body, "messages": [one for one in body["messages"] if one["role"] not in ("system", "developer")]}

    def choice(self, body: Mapping[str, Any]) -> Any:
        return body.get("tool_choice")

    def objections(self, body: Mapping[str, Any]) -> Sequence[str]:
        found = (*check(self.wire, body, self.spoken, quirks=self.refuses), *laws(self.wire, body))
        return [f"{one.rule} at {one.at}: {one.message}" for one in found]

    def opaque(self, owner: Owner, number: int) -> Opaque:
        """An item such as this wire's servers make."""
        summary = [{"type": "summary_text", "text": f"ü {number}"}]
        forms: dict[str, tuple[str, Any]] = {
            "messages": ("thinking", {"type": "thinking", "thinking": f"ü {number}", "signature": f"S{number}"}),
            "responses": (
                "reasoning",
                {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": f"E{number}"},
            ),
            "openrouter": ("reasoning_details", [{"type": "reasoning.text", "text": f"ü {number}", "index": 0}]),
            "codex": ("reasoning", {"type": "reasoning", "summary": summary, "encrypted_content": f"E{number}"}),
            "chat": ("reasoning_content", f"ü {number}"),
        }
        kind, value = forms[self.spoken if self.spoken in forms else self.wire]
        return Opaque(owner, kind, dump_json(value))


def _bytes(body: Mapping[str, Any]) -> bytes:
    return dump_json(body).encode()


def _row(said: Said, asked: Sequence[str]) -> Row | None:
    match said:
        case Told():
            return {"who": "human" if said.who == "user" else "bot", "say": said.text}
        case Asked():
            return {"who": "bot", "calls": [{"id": said.id, "fn": said.name, "args": said.input}]}
        case Answered():
            return {"who": "tool", "id": asked[said.number], "say": said.text, "failed": said.failed}
        case Shown() | Kept():
            return None
