"""How a model is told to think, in every form that a caller may give it."""

from __future__ import annotations

import pytest

from geode.domain.errors import Misuse
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget, parse_thinking, thinking_kind


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, None),
        ("adaptive", AdaptiveThinking()),
        (AdaptiveThinking(), AdaptiveThinking()),
        (2048, ThinkingBudget(2048)),
        (ThinkingBudget(2048), ThinkingBudget(2048)),
        # The least that a server takes (wire facts A4).
        (1024, ThinkingBudget(1024)),
    ],
    ids=repr,
)
def test_every_form_of_the_setting(given: object, meant: Thinking | None) -> None:
    assert parse_thinking(given) == meant


@pytest.mark.parametrize("given", [True, False, "ADAPTIVE", "budget", "", 1024.0, [], {}], ids=repr)
def test_nothing_else_is_a_setting(given: object) -> None:
    with pytest.raises(Misuse) as caught:
        parse_thinking(given)
    assert str(caught.value) == f'thinking must be "adaptive" or a budget in tokens, got {given!r} [thinking]'
    assert caught.value.id == "thinking"


@pytest.mark.parametrize("tokens", [1023, 0, -1])
def test_less_than_a_server_takes_is_refused(tokens: int) -> None:
    with pytest.raises(Misuse) as caught:
        ThinkingBudget(tokens)
    assert str(caught.value) == f"a thinking budget is 1024 tokens or more, got {tokens} [thinking]"
    assert caught.value.id == "thinking"


def test_the_word_of_each_kind() -> None:
    assert (thinking_kind(AdaptiveThinking()), thinking_kind(ThinkingBudget(1024))) == ("adaptive", "budget")
