"""How the tables of models are made; what their rows do is in test_negotiation."""

from __future__ import annotations

import pytest

from geode.domain.models import EffortBesideTools, ModelRow, row_of
from tests.unit.domain.rows import GPT, GPT_CHAT


@pytest.mark.parametrize(
    ("model", "beside_tools"),
    [
        ("gpt-5.4", "unset_or_none"),
        ("gpt-5.4-mini", "unset_or_none"),
        ("gpt-5.5", "none"),
        ("gpt-5.6", "none"),
        ("gpt-5.2", "any"),
        ("gpt-4o", "any"),
    ],
)
def test_effort_beside_tools_on_chat_completions_alone(model: str, beside_tools: EffortBesideTools) -> None:
    """Wire facts A2."""
    assert row_of(model, GPT_CHAT).effort_beside_tools == beside_tools
    assert row_of(model, GPT).effort_beside_tools == "any"


def test_the_longest_prefix_wins_wherever_it_stands() -> None:
    rows = (ModelRow("gpt-5", sampling=False), ModelRow("gpt-5-chat"), ModelRow("gpt"))
    assert [row_of(model, rows).prefix for model in ("gpt-5-chat-1", "gpt-5", "gpt-4", "o1")] == [
        "gpt-5-chat",
        "gpt-5",
        "gpt",
        "",
    ]
    assert row_of("o1", rows) == ModelRow("")
