"""What a wire is: a protocol as pure functions, from requests to bytes and from JSON to replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from returns.result import Result

from geode.domain.content import Owner
from geode.domain.failures import CallFailure
from geode.domain.quota import Quota
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest
from geode.domain.usage import Usage
from geode.ports.model import Delta


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON object that came with a 200, the provider's id of the call, and what it told of the account's limits.

    `whole`: it is not an event of a stream but all there is.
    """

    json: Mapping[str, Any]
    request_id: str
    whole: bool = False
    quota: tuple[Quota, ...] = ()


# What the Chat wire ends its streams with, as an event like the others.
END_MARK: Final[Mapping[str, Any]] = {"object": "[DONE]"}


class Accumulator(Protocol):
    """Puts the events of a stream together to the body that the call would have had unstreamed.

    `complete` is True once the reply is whole, or an event said that there is none; `over` once
    nothing more of use can come.
    """

    @property
    def complete(self) -> bool: ...

    @property
    def over(self) -> bool: ...

    def feed(self, event: Mapping[str, Any]) -> Iterable[Delta]: ...

    def body(self) -> Mapping[str, Any]: ...


class Wire(Protocol):
    """A protocol as pure functions. `heartbeats` are types of events that say nothing; `streams_only` is a server that
    answers in no other way."""

    @property
    def heartbeats(self) -> frozenset[str]: ...

    @property
    def streams_only(self) -> bool: ...

    def encode(self, request: AdapterCallRequest, owner: Owner) -> bytes: ...

    def decode(self, body: Body, owner: Owner) -> Result[AdapterCallResult, CallFailure]: ...

    def usage(self, body: Mapping[str, Any]) -> Usage: ...

    def accumulator(self) -> Accumulator: ...
