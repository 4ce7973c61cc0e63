"""How the tables of models are made; what their rows do is in test_negotiation."""

from __future__ import annotations

import pytest

from geode.domain import models
from geode.domain.models import EffortBesideTools, ModelRow, row_of


def test_rows_that_differ_in_their_prefix_alone() -> None:
    like = ModelRow("", sampling=False, efforts=("low",))
    assert models._rows("a", "b", like=like) == (
        ModelRow("a", sampling=False, efforts=("low",)),
        ModelRow("b", sampling=False, efforts=("low",)),
    )


@pytest.mark.parametrize(
    ("prefix", "beside_tools"),
    [
        ("gpt-5.4", "unset_or_none"),
        ("gpt-5.4-mini", "unset_or_none"),
        ("gpt-5.5", "none"),
        ("gpt-5.6", "none"),
        ("gpt-5.2", "any"),
        ("gpt-4o", "any"),
    ],
)
def test_effort_beside_tools_on_chat_completions(prefix: str, beside_tools: EffortBesideTools) -> None:
    """Wire facts A2."""
    row = ModelRow(prefix, sampling=False)
    assert models._beside_tools(row) == ModelRow(prefix, sampling=False, effort_beside_tools=beside_tools)


def test_the_longest_prefix_wins_wherever_it_stands() -> None:
    rows = (ModelRow("gpt-5", sampling=False), ModelRow("gpt-5-chat"), ModelRow("gpt"))
    assert [row_of(model, rows).prefix for model in ("gpt-5-chat-1", "gpt-5", "gpt-4", "o1")] == [
        "gpt-5-chat",
        "gpt-5",
        "gpt",
        "",
    ]
    assert row_of("o1", rows) == ModelRow("")
