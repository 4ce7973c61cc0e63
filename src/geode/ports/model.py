"""The model port: one method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from returns.result import Result

from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities


@dataclass(frozen=True, slots=True)
class TextPart:
    """More of the text that stands at place `index` of the reply."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """More of the reasoning at place `index`; reasoning is not visible output."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """More of the argument text of the call at place `index`; `name` is known from its first part on."""

    index: int
    name: str
    arguments: str


Delta: TypeAlias = TextPart | ThinkingPart | CallPart
Emit: TypeAlias = Callable[[Delta], Awaitable[None]]


class ModelAdapter(Protocol):
    """One (provider, credential) pair that speaks one wire protocol.

    Obligations of `acomplete`: one attempt only, retries are geode's; an expected failure is a
    `CallFailure` with the facts and no judgement, never an exception; `CancelledError` passes, and
    the connection is released; the reply is complete or it is a failure; opaque items carry the
    owner (this adapter's name, the request's model) and only those of the same owner are sent;
    `emit` is awaited for each delta if `request.streamed`, and the reply is the same either way.
    An exception of its own is a bug, and ends the run as `Failed`.
    `limits.idle_timeout_seconds` is kept between bytes; the deadline of the whole call is kept by the loop.
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]: ...
