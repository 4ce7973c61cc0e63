"""A hundredth of `make conversations N=10000`: no encoder can be made to write what a server refuses."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.fuzz.encoding import batch
from tests.fuzz.requests import ADAPTERS, Adapter

SEED = 1_000_000
# What the requests hold, all together: a generator that lost one of them would prove less than it says.
KINDS = {
    *("blank text", "text", "text beyond ASCII", "huge text", "Image", "ImageUrl", "Document", "DocumentUrl", "hint"),
    *("Image in a result", "ImageUrl in a result", "Document in a result", "text beyond ASCII in a result"),
    *("result: ok", "result: failed", "result: denied", "result: interrupted", "result: outcome_unknown"),
    *("call", "call with broken arguments", "parallel calls", "opaque item of lab", "opaque item of elsewhere"),
    *("turn of lab", "turn of elsewhere", "turn of nobody"),
    *("tool", "tool with an odd name", "strict tool"),
    *("choice: Auto", "choice: NoTools", "choice: Required", "choice: Named"),
    *("repaired: interrupted", "repaired: id_changed", "repaired: reordered", "repaired: orphan_dropped"),
    *("with system", "with tools", "with effort", "with temperature", "with thinking", "with a limit", "with streamed"),
}
_batch = cache(batch)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_whatever_is_asked_is_a_request_that_the_server_takes(adapter: Adapter) -> None:
    assert _batch(adapter, SEED)[f"{adapter.name}: requests"] >= 100


def test_the_requests_are_of_all_kinds() -> None:
    seen: Counter[str] = sum((_batch(adapter, SEED) for adapter in ADAPTERS), Counter[str]())
    assert seen.keys() >= KINDS
