"""What a compatible server may be said to do otherwise, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.provider import Provider
from geode.domain.targets import Quirks

UNTYPED: Any = Quirks
QUIRKS_OF_CHAT = "quirks are of compatible Chat servers; this wire has none [provider]"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"tools": 1}, "Quirks(tools=…) takes True, False, got 1"),
        ({"tools": "no"}, "Quirks(tools=…) takes True, False, got 'no'"),
        (
            {"content_beside_calls": None, "images": "folder"},
            "Quirks(images=…) takes 'in_result', 'after_results', 'none', got 'folder'",
        ),
        ({"stream_usage": 0}, "Quirks(stream_usage=…) takes True, False, got 0"),
        ({"stream_usage": []}, "Quirks(stream_usage=…) takes True, False, got []"),
        (
            {"output_limit": "max_output"},
            "Quirks(output_limit=…) takes 'max_tokens', 'max_completion_tokens', got 'max_output'",
        ),
        (
            {"output_limit": "x" * 200},
            f"Quirks(output_limit=…) takes 'max_tokens', 'max_completion_tokens', got '{'x' * 79}",
        ),
        ({"choice": "auto"}, "Quirks(choice=…): the kinds of tool choice are auto, none, required, named, got 'auto'"),
        ({"choice": ""}, "Quirks(choice=…): the kinds of tool choice are auto, none, required, named, got ''"),
        (
            {"choice": ["auto", "any"]},
            "Quirks(choice=…): the kinds of tool choice are auto, none, required, named, got ['auto', 'any']",
        ),
        (
            {"choice": ["auto"]},
            'Quirks(choice=…): a server takes at least auto and none, "none" is missing. One that does not: tools = false',
        ),
    ],
)
def test_a_quirk_that_is_none_is_refused_by_name_with_those_that_there_are(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(Misuse) as caught:
        UNTYPED(**said)
    assert caught.value.id == "provider"
    assert str(caught.value) == f"{problem} [provider]"


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"tools": False, "stream_usage": True},
        # Words that were put together elsewhere are the same words.
        {"images": "after-results".replace("-", "_"), "output_limit": "max-tokens".replace("-", "_")},
    ],
)
def test_a_quirk_of_the_known_words_is_taken(said: dict[str, Any]) -> None:
    quirks = UNTYPED(**said)
    assert {name: getattr(quirks, name) for name in said} == said


def test_the_kinds_of_choice_are_kept_as_a_set() -> None:
    assert UNTYPED(choice=["auto", "none", "auto"]).choice == frozenset({"auto", "none"})


def refusal(**said: Any) -> str:
    untyped: Any = Provider
    with pytest.raises(Misuse) as caught:
        untyped(**{"name": "lab", "wire": "chat", "base_url": "http://x", **said})
    return str(caught.value)


def test_quirks_are_of_chat_servers_alone() -> None:
    quirks = Quirks(tools=False)
    assert refusal(wire="messages", quirks=quirks) == f'Provider("lab"): {QUIRKS_OF_CHAT}'
    assert refusal(quirks={"tools": False}) == 'Provider("lab"): quirks must be Quirks(…), got dict [provider]'
    assert Provider("lab", "messages", "http://x", quirks=Quirks()).quirks == Quirks()
    assert Provider("lab", "chat", "http://x", quirks=quirks).quirks == quirks


def test_a_wire_speaks_its_own_dialects() -> None:
    said = refusal(wire="messages", dialect="openrouter")
    assert said.startswith("Provider(\"lab\"): messages dialect 'openrouter' is unknown; Accepted: ")
