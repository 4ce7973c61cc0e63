"""How the tables of models are made; what their rows do is in test_negotiation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from geode.domain.models import EffortBesideTools, ModelRow, row_of, rows_for
from geode.domain.provider import Provider
from geode.domain.targets import BUILT_IN, CredentialRoute, Identity, Target
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
        ("maX-mini", "maX"),
        ("maX2", ""),
        ("o1", ""),
        ("", ""),
    ],
)
def test_a_row_holds_up_to_a_date_or_a_variant_and_the_longest_wins(model: str, row: str) -> None:
    names = ("gpt-5", "gpt-5-chat", "claude-opus-4", "lab/", "qwen-", "maX")
    assert row_of(model, [ModelRow(name, sampling=False) for name in names]).prefix == row


def test_a_model_without_a_row_has_no_limit() -> None:
    assert row_of("o1", (ModelRow("gpt-5", sampling=False),)) == ModelRow("")


# ---- whose rows hold for whom ----------------------------------------------------------------------

GPT_ROW = ModelRow(
    "gpt-7", sampling=False, sampling_at_none=True, efforts=("low",), effort_beside_tools="none", window=7, maker="openai"
)
CLAUDE_ROW = ModelRow("claude-opus-9-1", efforts=("low",), forced_choice=False, window=9, output=3, maker="anthropic")
GLM_ROW = ModelRow("glm-9", efforts=("max",), window=5, maker="glm")
OPEN_ROW = ModelRow("qwen", window=3)
LAB_ROW = ModelRow("lab/qwen", window=2)
ROWS = (GPT_ROW, CLAUDE_ROW, GLM_ROW, OPEN_ROW, LAB_ROW)
LAB = Provider("lab", "chat", "http://gpu-3:8000/v1").target


def held(target: Target) -> list[ModelRow]:
    return list(rows_for(target, ROWS))


@pytest.mark.parametrize("name", ["anthropic-payg", "anthropic-oauth"])
def test_rows_of_a_maker_hold_where_its_models_are_served(name: str) -> None:
    assert held(BUILT_IN[name]) == [CLAUDE_ROW, OPEN_ROW]


def test_what_holds_beside_tools_holds_on_chat_completions_alone() -> None:
    assert held(BUILT_IN["openai-payg"]) == [replace(GPT_ROW, effort_beside_tools="any"), OPEN_ROW]
    assert held(BUILT_IN["codex-oauth"]) == held(BUILT_IN["openai-payg"])
    assert held(Provider("proxy", "chat", "http://x", dialect="openai").target) == [GPT_ROW, OPEN_ROW]
    assert held(BUILT_IN["glm-payg"]) == [GLM_ROW, OPEN_ROW]


@pytest.mark.parametrize(
    ("wire", "row"), [("messages", CLAUDE_ROW), ("responses", replace(GPT_ROW, effort_beside_tools="any"))]
)
def test_a_server_of_ones_own_that_speaks_as_a_maker_does_has_its_rows(wire: Any, row: ModelRow) -> None:
    assert held(Provider("proxy", wire, "http://x").target) == [row, OPEN_ROW]


def test_of_any_other_server_nothing_is_assumed() -> None:
    assert held(Provider("shed", "chat", "http://x").target) == [OPEN_ROW]
    assert held(Target("acme", Identity("acme", "Acme"), CredentialRoute("own", None), None)) == [OPEN_ROW]
    assert held(Target("mine", Identity("openai", "OpenAI"), CredentialRoute("own", None), None)) == [
        replace(GPT_ROW, effort_beside_tools="any"),
        OPEN_ROW,
    ]


def test_a_row_of_one_target_comes_first_and_holds_there_alone() -> None:
    assert held(LAB) == [ModelRow("qwen", window=2, here=True), OPEN_ROW]
    assert row_of("qwen", held(LAB)).window == 2
    of_identity = rows_for(BUILT_IN["openai-payg"], (ModelRow("openai/gpt-7", window=1),))
    assert list(of_identity) == [ModelRow("gpt-7", window=1, here=True)]
    assert list(rows_for(LAB, (ModelRow("lab/acme/qwen"),))) == [ModelRow("acme/qwen", here=True)]


def test_behind_the_relay_ids_have_a_publisher_and_dots_and_less_is_known() -> None:
    """Spec section 9, wire facts A2."""
    assert held(BUILT_IN["openrouter-payg"]) == [
        replace(GPT_ROW, prefix="openai/gpt-7", sampling_at_none=False, effort_beside_tools="any"),
        ModelRow("anthropic/claude-opus-9-1", window=9, maker="anthropic", forced_with_effort=False),
        ModelRow("anthropic/claude-opus-9.1", window=9, maker="anthropic", forced_with_effort=False),
        ModelRow("z-ai/glm-9", window=5, maker="glm"),
        OPEN_ROW,
    ]
