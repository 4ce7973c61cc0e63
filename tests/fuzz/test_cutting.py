"""A hundredth of `make compactions`: wherever a conversation may be cut, servers take what is left."""

from __future__ import annotations

import pytest

from tests.fuzz.cutting import BATCH, batch
from tests.fuzz.requests import ADAPTERS, Adapter

SEED = 1_000_000


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_servers_take_what_is_left_of_a_conversation_wherever_it_is_cut(adapter: Adapter) -> None:
    seen = batch(adapter, SEED)
    assert seen[f"{adapter.name}: conversations"] >= BATCH
    assert seen[f"{adapter.name}: cuts"] >= BATCH
