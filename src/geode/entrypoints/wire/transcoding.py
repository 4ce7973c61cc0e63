"""`geode wire transcode`: the same request on another wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from geode.domain.content import Owner
from geode.domain.request import AdapterCallRequest
from geode.entrypoints.emulator.render import Dialect, Protocol
from geode.entrypoints.emulator.rule import Violation
from geode.entrypoints.emulator.rules import check
from geode.entrypoints.wire.exchange import Exchange
from geode.entrypoints.wire.fitting import Fitting
from geode.entrypoints.wire.wires import PLACES, READERS, capabilities_of, provider_name, wire_of


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: a wire, its dialect, and the model there (the same one if empty)."""

    protocol: Protocol
    dialect: Dialect
    model: str = ""


def transcoded(exchange: Exchange, target: Target) -> dict[str, Any]:
    """The request as the encoder of `target` writes it, and a note for everything that did not come along.

    The line can be checked in its turn: it names its protocol and its dialect. BadLine without a request.
    """
    body = exchange.object("request")
    provider, there = provider_name(exchange.protocol, exchange.dialect), provider_name(target.protocol, target.dialect)
    given = body.get("model")
    source = Owner(provider, given if isinstance(given, str) else "")
    read = READERS[exchange.protocol](body, source)
    wanted = replace(read.request, model=target.model or read.request.model)
    owner, wire = Owner(there, wanted.model), wire_of(target.protocol, target.dialect)

    def written(request: AdapterCallRequest) -> Any:
        return json.loads(wire.encode(request, owner))

    def judged(request: AdapterCallRequest) -> Sequence[Violation]:
        return check(target.protocol, written(request), target.dialect)

    able = capabilities_of(target.protocol, target.dialect)
    if target.protocol == "chat":
        # It says a plain text and does not attach it: here that is a difference, and noted.
        able = replace(able, media=able.media - {"text"})
    request, left = Fitting(there, able, judged, PLACES[exchange.protocol]).fitted(wanted)
    notes = [note for note in read.notes if note.kind != "opaque" or owner != source]
    return {
        "id": exchange.id,
        "protocol": target.protocol,
        "dialect": target.dialect,
        "request": written(request),
        "notes": [{"kind": note.kind, "at": note.at, "message": note.message} for note in (*notes, *left)],
    }
