"""Settings of the wrong kind are Misuse that says what to write, before anything is opened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.provider import Provider
from geode.entrypoints.settings import checked
from geode.testing import ScriptedModel, says

UNTYPED: Any = checked
LAB = Provider("lab", wire="chat", base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("settings", "id", "said"),
    [
        ({"max_rounds": 3}, "unknown-name", 'session has no "max_rounds": that is policy=Policy(max_rounds=…)'),
        ({"max_tokens": 3}, "unknown-name", "that is policy=Policy(max_output_tokens=…)"),
        ({"api_key": "sk-secret"}, "unknown-name", "that is providers=[Provider(…, key=…)]"),
        ({"base_url": "http://x"}, "unknown-name", "that is providers=[Provider(…, base_url=…)]"),
        ({"instructions": "Be brief"}, "unknown-name", "that is system="),
        ({"modle": "gpt-5.2"}, "unknown-name", "did you mean model?"),
        ({"providers": LAB}, "providers-type", "providers must be a list, got Provider"),
        ({"providers": {"lab": LAB}}, "providers-type", "providers must be a list, got dict"),
        ({"providers": ["lab"]}, "providers-type", "providers must hold Provider values, got str"),
        ({"system": 3}, "system-type", "system must be text, got int"),
        ({"effort": 3}, "effort", 'for example "low", got 3'),
        ({"effort": " "}, "effort", "got ' '"),
        ({"thinking": "hard"}, "thinking", "\"adaptive\" or a budget in tokens, got 'hard'"),
        ({"thinking": True}, "thinking", "got True"),
        ({"thinking": 100}, "thinking", "1024 tokens or more, got 100"),
        ({"renderers": [int]}, "renderers-type", "renderers must be a mapping, got list"),
        ({"renderers": {"Money": str}}, "renderers-type", "renderers has the key 'Money', which is no class"),
        ({"renderers": {int: "text"}}, "renderers-type", "renderers[int] must be a function, got str"),
        ({"renderers": {int: asyncio.sleep}}, "renderers-type", "renderers[int] must be a function, got a coroutine function"),
        ({"model": 3}, "model-type", "model must be a model id or an adapter, got int"),
        ({"model": []}, "model-type", "got list"),
        ({"model": ScriptedModel}, "model-type", "model is the class ScriptedModel; give an object: ScriptedModel(…)"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], id: str, said: str) -> None:
    with pytest.raises(Misuse) as caught:
        UNTYPED(settings)
    assert caught.value.id == id
    assert said in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_what_is_right_stays_as_it_is_and_broken_characters_are_replaced() -> None:
    model = ScriptedModel(says("hi"))
    settings = {"model": model, "providers": (LAB,), "effort": "low", "system": "a\ud800b"}
    assert UNTYPED(settings) == {**settings, "system": "a\ufffdb"}
    assert settings["system"] == "a\ud800b"
    assert UNTYPED({}) == {}
