"""The loopback server of the suite's own: it plays a script in any protocol, and breaks in the ways of any transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from geode.domain.json_value import dump_json
from geode.domain.script import Called, Drops, Fails, Hangs, Malformed, Reply, Said, Step, Thought
from geode.entrypoints.compliance.servers import Handlers, Piece, Reset, head, play, request_from

Json: TypeAlias = Mapping[str, Any]
JSON: Final = "application/json"
# A script that ran out is a mistake of the test: repeating cannot help.
RAN_OUT: Final = Fails(500, message="the script has no more steps", headers=(("x-should-retry", "false"),))


class Speaks(Protocol):
    """What the server needs of a harness: its protocol."""

    stream_type: ClassVar[str]
    streams: ClassVar[bool]

    def read(self, sent: bytes) -> dict[str, Any]: ...

    def render(self, reply: Json) -> Json: ...

    def error(self, status: int, message: str, code: str | None) -> Json: ...

    def stream(self, reply: Json) -> Sequence[bytes]: ...

    def asks_stream(self, body: Json) -> bool: ...


def neutral(reply: Reply, number: int) -> dict[str, Any]:
    """A scripted reply as a harness renders it; a call without an id of its own gets one of `number` and its place."""
    called = [item for item in reply.items if isinstance(item, Called)]
    return {
        "text": "".join(item.text for item in reply.items if isinstance(item, Said)),
        "calls": [
            {"id": f"call_{number}_{place}" if one.id is None else one.id, "fn": one.name, "args": _plain(one.arguments)}
            for place, one in enumerate(called)
        ],
        "thoughts": [{"text": item.text, "signature": item.signature} for item in reply.items if isinstance(item, Thought)],
        "stop": reply.stop_word,
        "refusal": reply.refusal_category,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
    }


def _plain(arguments: Any) -> Any:
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


@dataclass(slots=True)
class ScriptServer(Handlers):
    """One connection for each request; every request takes the next step. `left`: a client broke one off."""

    speaks: Speaks | None = None
    script: Sequence[Step] = ()
    pace_seconds: float = 0.0
    bodies: list[bytes] = field(default_factory=list[bytes])
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            _, body = await request_from(reader)
        except (asyncio.IncompleteReadError, OSError):
            return
        self.bodies.append(body)
        number = len(self.bodies)
        step = self.script[number - 1] if number <= len(self.script) else RAN_OUT
        if self.speaks is not None:
            pieces = Answers(self.speaks, self.speaks.read(body), number, self.pace_seconds).to(step)
            await play(pieces, reader, writer, self.left)


@dataclass(frozen=True, slots=True)
class Answers:
    """The steps of a script as pieces of an answer to the request `body`."""

    speaks: Speaks
    body: Json
    number: int
    pace_seconds: float

    def to(self, step: Step) -> Sequence[Piece]:
        match step:
            case Reply():
                return self._reply(step)
            case Fails():
                return self._failed(step)
            case Hangs():
                return [asyncio.Event()]
            case Drops(at="connect"):
                return [Reset()]
            case Drops(at="headers"):
                return [Reset(hard=False)]
            case Drops():
                return self._cut(step)
            case Malformed():
                return self._malformed(step)

    @property
    def streamed(self) -> bool:
        return self.speaks.streams and self.speaks.asks_stream(self.body)

    def _reply(self, reply: Reply) -> Sequence[Piece]:
        said = neutral(reply, self.number)
        if not self.streamed:
            return [self.pace_seconds, *whole(dump_json(self.speaks.render(said)).encode())]
        return [head(self.speaks.stream_type), *self._paced(self.speaks.stream(said))]

    def _paced(self, chunks: Sequence[bytes]) -> list[Piece]:
        return [piece for chunk in chunks for piece in (chunk, self.pace_seconds)]

    def _failed(self, step: Fails) -> Sequence[Piece]:
        body = self.speaks.error(step.status, step.message, step.code) if step.body is None else step.body
        text = body if isinstance(body, str) else json.dumps(dict(body))
        return whole(text.encode(), status=step.status, headers=dict(step.headers))

    def _cut(self, step: Drops) -> Sequence[Piece]:
        """Cut before, in the middle of, or just before the end of a reply whose length was announced."""
        said = neutral(step.reply, self.number)
        if self.streamed:
            chunks = self.speaks.stream(said)
            kept = {"before_output": 0, "after_output": (len(chunks) + 1) // 2}.get(step.at, len(chunks) - 1)
            announced = head(self.speaks.stream_type, headers={"content-length": str(sum(map(len, chunks)))})
            return [announced, *self._paced(chunks[:kept])]
        top, body = whole(dump_json(self.speaks.render(said)).encode())
        return [top, body[: {"before_output": 0, "after_output": len(body) // 2}.get(step.at, len(body) - 1)]]

    def _malformed(self, step: Malformed) -> Sequence[Piece]:
        kind = self.speaks.stream_type if self.streamed else JSON
        match step.kind:
            case "html":
                return whole(b"<html><body><h1>Bad gateway</h1></body></html>", "text/html")
            case "empty":
                return whole(b"", kind)
            case "not_json":
                return whole(b'data: {"type": \n\n' if self.streamed else b'{"id": ', kind)
            case "wrong_shape":
                return whole(b'data: {"hello": "world"}\n\n' if self.streamed else b'{"hello": "world"}', kind)
            case "error_in_200" | "error_in_stream":
                return whole(json.dumps(dict(self.speaks.error(500, "the server had an error", None))).encode())


def whole(body: bytes, kind: str = JSON, *, status: int = 200, headers: Mapping[str, str] | None = None) -> tuple[bytes, bytes]:
    """The head and the body of an answer whose length is known."""
    return head(kind, status, {"content-length": str(len(body)), **(headers or {})}), body


@asynccontextmanager
async def serving(speaks: Speaks, script: Sequence[Step], pace_seconds: float = 0.0) -> AsyncIterator[ScriptServer]:
    """A server that plays `script`, at its `base_url`, whatever path is asked."""
    server = ScriptServer(speaks=speaks, script=script, pace_seconds=pace_seconds)
    async with server.listening(server.answer):
        yield server
