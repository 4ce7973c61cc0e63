"""What a real server accepted is never refused here.

The recordings are other people's data and stay outside the project; without them this is skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geode.entrypoints.emulator import check, dialect_of

ROOT = Path(__file__).parents[4]
FOLDER = Path(os.environ.get("GEODE_RECORDINGS") or ROOT.parent / "shared" / "recordings")
# Recorded refusals that are a matter of the request's shape, not of accounts, models or loads.
REFUSED = {
    "No tool output found for tool call call-a.": "responses.generic.deepseek_adjacent",
    "Item 'rs_68c42de022c881948db7ed1cc2529f2e0202c9ad459e0d23' of type 'reasoning' was provided without its "
    "required following item.": "responses.openai.reasoning.without_following",
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recorded traffic at {FOLDER}; set GEODE_RECORDINGS")


def _recorded() -> Iterator[dict[str, Any]]:
    for path in sorted(FOLDER.glob("*.jsonl")):
        with path.open() as lines:
            yield from map(json.loads, lines)


def _broke_in_stream(exchange: dict[str, Any]) -> bool:
    return "event: error" in exchange.get("sse", "")


def test_accepted_requests_are_accepted() -> None:
    judged = 0
    refused: list[tuple[str, str, str, str]] = []
    for exchange in _recorded():
        if exchange["status"] != 200 or _broke_in_stream(exchange):
            continue
        judged += 1
        found = check(exchange["protocol"], exchange["request"], dialect_of(exchange["host"]))
        refused.extend((exchange["host"], exchange["source"], one.rule, one.at) for one in found)

    assert judged > 700
    assert refused == []


def test_recorded_refusals_of_shape_are_refused() -> None:
    found = {}
    for exchange in _recorded():
        message = (exchange.get("response") or {}).get("error") or {}
        rule = REFUSED.get(message.get("message", "")) if isinstance(message, dict) else None
        if rule is not None:
            violations = check(exchange["protocol"], exchange["request"], dialect_of(exchange["host"]))
            found[message["message"]] = rule in {one.rule for one in violations}

    assert found == dict.fromkeys(REFUSED, True)
