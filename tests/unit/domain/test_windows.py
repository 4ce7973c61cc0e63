"""The windows of known models, as `routing.toml` has them, by the longest prefix that fits."""

from __future__ import annotations

import pytest

from geode.domain.models import row_of
from tests.unit.domain.rows import CLAUDE, GLM, GPT, RELAYED


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-sonnet-4-5", 200_000),
        ("claude-haiku-4-5", 200_000),
        ("claude-opus-4-5", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("claude-fable-5-1", 1_000_000),
        ("gpt-4o-mini", 128_000),
        ("gpt-4.1", 1_047_576),
        ("o3", 200_000),
        ("gpt-5-mini", 400_000),
        ("gpt-5.2", 400_000),
        ("gpt-5.2-chat-latest", 128_000),
        ("gpt-5.4", 1_050_000),
        ("gpt-5.4-mini", 400_000),
        ("gpt-6-sol", 1_050_000),
        ("glm-5", 200_000),
        ("glm-5-turbo", 202_752),
        ("glm-5.2", 1_000_000),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("openai/gpt-5.2", 400_000),
        ("z-ai/glm-5.2", 1_000_000),
        ("local-model", None),
        ("gpt-3", None),
        ("", None),
        ("my-claude-", None),
    ],
)
def test_the_window_of_a_model(model: str, tokens: int | None) -> None:
    rows = RELAYED if "/" in model else (*CLAUDE, *GPT, *GLM)
    assert row_of(model, rows).window == tokens
