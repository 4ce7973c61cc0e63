"""The model port over Acme: one attempt, and whatever goes wrong is a value."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
from returns.result import Failure, Result

from acme_adapter.wire import Json, decode, encode, failure, text_of
from geode.ports import (
    AdapterCallRequest,
    AdapterCallResult,
    CallFailure,
    CallPart,
    Capabilities,
    Delta,
    Emit,
    Owner,
    TextPart,
    ThinkingPart,
    read_retry_hint,
)


class Acme:
    """One key at one server. The client is its owner's: it is used, and never closed."""

    name = "acme-payg"
    capabilities = Capabilities(media=frozenset({"image"}), images="in_result")

    def __init__(self, http: httpx2.AsyncClient, key: str = "") -> None:
        self.http, self.key = http, key

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        owner = Owner(self.name, request.model)
        body = self.encode(request, owner)
        limits = request.limits
        seconds = limits.idle_timeout_seconds if request.streamed else limits.call_timeout_seconds
        phase = "connect"
        try:
            async with self.http.stream(
                "POST", "/acme", content=text_of(body), headers={"x-acme-key": self.key}, timeout=seconds
            ) as answer:
                phase = "stream"
                if answer.status_code != 200:
                    return Failure(self.refused(answer, await answer.aread()))
                if request.streamed:
                    return await self.streamed(answer, owner, emit)
                return decode(parsed(await answer.aread()), owner)
        except httpx2.TransportError as error:
            late = isinstance(error, httpx2.TimeoutException)
            message = f"{self.http.base_url}: {type(error).__name__}"
            return Failure(CallFailure(None, "connect" if phase == "connect" else "stream", message, timed_out=late))

    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        return encode(request, owner)

    def refused(self, answer: httpx2.Response, body: bytes) -> CallFailure:
        """The server's own words, and what it says about trying again."""
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return replace(failure(answer.status_code, parsed(body)), hint=read_retry_hint(headers, time.time()))

    async def streamed(self, answer: httpx2.Response, owner: Owner, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        """A stream is put together to the body that the call would have had unstreamed, and read by the same function."""
        whole: Json = {"thoughts": [], "say": "", "calls": []}
        async for line in lines(answer):
            event = parsed(line)
            if not isinstance(event, dict) or "error" in event:
                return decode(event, owner)
            if "end" in event:
                return decode({**whole, **event["end"]}, owner)
            await emit(fed(whole, event))
        return Failure(CallFailure(None, "stream", "the stream ended before the reply did"))


async def lines(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """Cut at line feeds alone: the client's own `aiter_lines` also cuts at U+2028, which may stand inside a text."""
    rest = b""
    async for chunk in answer.aiter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


def fed(whole: Json, event: Json) -> Delta:
    """`event` added to what came before, and what is shown of it: thoughts stand first, then the text, then the calls."""
    before = len(whole["thoughts"])
    match event:
        case {"thought": dict() as thought}:
            whole["thoughts"].append(thought)
            return ThinkingPart(before, str(thought.get("text")))
        case {"call": dict() as call}:
            whole["calls"].append(call)
            args = call.get("args")
            shown = args if isinstance(args, str) else text_of(args or {})
            return CallPart(before + len(whole["calls"]), str(call.get("fn")), shown)
        case _:
            piece = str(event.get("say", ""))
            whole["say"] += piece
            return TextPart(before, piece)


def parsed(body: bytes) -> Any:
    """The JSON in `body`; None, which nothing takes for an answer, where there is none."""
    try:
        return json.loads(body)
    except ValueError:
        return None
