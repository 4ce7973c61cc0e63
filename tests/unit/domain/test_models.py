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


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("gpt-5-chat-latest", "gpt-5-chat"),
        ("gpt-5", "gpt-5"),
        ("gpt-5-codex", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5@eu", "gpt-5"),
        ("gpt-5:free", "gpt-5"),
        # A further number of a version is another model, of which nothing is known.
        ("gpt-5.1", ""),
        ("gpt-5-1", ""),
        ("gpt-5-12-mini", ""),
        ("gpt-50", ""),
        ("gpt-4", ""),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1-20250805", ""),
        # A name that ends so is that of a family.
        ("lab/anything-7", "lab/"),
        ("qwen-3", "qwen-"),
        ("o1", ""),
        ("", ""),
    ],
)
def test_a_row_holds_up_to_a_date_or_a_variant_and_the_longest_wins(model: str, row: str) -> None:
    names = ("gpt-5", "gpt-5-chat", "claude-opus-4", "lab/", "qwen-")
    assert row_of(model, [ModelRow(name, sampling=False) for name in names]).prefix == row


def test_a_model_without_a_row_has_no_limit() -> None:
    assert row_of("o1", (ModelRow("gpt-5", sampling=False),)) == ModelRow("")
