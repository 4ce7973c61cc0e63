"""`geode wire check`: would the server take this request?"""

from __future__ import annotations

from typing import Any

from geode.entrypoints.emulator.rules import verdict
from geode.entrypoints.wire.exchange import Exchange


def checked(exchange: Exchange) -> dict[str, Any]:
    """Whether the server takes the request, the status that it answers, and every breach. BadLine without a request.

    Where the server would not notice that a history is out of step, geode's own laws do (`verdict`).
    `anthropic-version` is read from `request_headers` or `headers`; where it is not told it is not judged.
    """
    version = exchange.header("anthropic-version")
    found = verdict(exchange.protocol, exchange.field("request"), exchange.dialect, version=version)
    return {
        "id": exchange.id,
        "accepted": not found,
        "status": found[0].status if found else 200,
        "violations": [{"rule": one.rule, "at": one.at, "message": one.message} for one in found],
    }
