"""The harness for JSON over HTTP: the author renders a reply and reads a request, the faults come from here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Self

from geode.domain.script import Step
from geode.entrypoints.compliance.harness import SendingHarness
from geode.entrypoints.compliance.playing import Playing
from geode.entrypoints.compliance.server import serving
from geode.ports.model import ModelAdapter


class HttpHarness(SendingHarness):
    """A server of the suite's own answers whatever path is asked; see `SendingHarness` for what may be declared.

    A neutral reply is `{"text", "calls": [{"id", "fn", "args"}, …], "thoughts": [{"text", "signature"}, …], "stop",
    "refusal", "input_tokens", "output_tokens"}`: `stop` is one of geode's words, `refusal` a category or None, `args`
    an object, the text that the model wrote instead of one, or None.
    """

    stream_type: ClassVar[str] = "text/event-stream"

    def __new__(cls, *given: object) -> Self:
        if cls.streams and cls.stream is HttpHarness.stream:
            raise TypeError(f"{cls.__name__} declares streams = True and does not say how: override stream()")
        return super().__new__(cls)

    @abstractmethod
    def adapter(self, base_url: str) -> ModelAdapter:
        """The adapter, built as its users build it, for a server at `base_url`."""

    @abstractmethod
    def render(self, reply: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of the 200 that says `reply`."""

    def error(self, status: int, message: str, code: str | None) -> Mapping[str, Any]:
        """The body with which the server refuses a request."""
        return {"error": {"message": message, "code": code}}

    def stream(self, reply: Mapping[str, Any]) -> Sequence[bytes]:
        """The pieces of a streamed 200 that says `reply`, its text in several of them. Asked only where `streams` is said."""
        raise AssertionError("a server that does not stream was to stream")

    def asks_stream(self, body: Mapping[str, Any]) -> bool:
        """Whether the request asks for a streamed answer."""
        return body.get("stream") is True

    @asynccontextmanager
    async def connected(self, base_url: str) -> AsyncIterator[ModelAdapter]:
        """The adapter while it is used. Override it where something has to be closed afterwards."""
        yield self.adapter(base_url)

    @asynccontextmanager
    async def playing(self, *script: Step, pace_seconds: float = 0.0) -> AsyncIterator[Playing]:
        async with serving(self, script, pace_seconds) as server, self.connected(server.base_url) as adapter:
            playing = Playing(adapter, self.model, lambda: server.bodies, server.left)
            yield playing
            self.judge(playing)
