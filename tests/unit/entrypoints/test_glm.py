"""Z.ai's two plans over real HTTP: what is asked of them, and what is said of the coding plan."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import geode
from geode.domain.policy import Policy
from geode.domain.script import calls, says, thinks
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.playing import READER
from geode.entrypoints.emulator import Emulator
from geode.entrypoints.routes import session_models

READ = ("read", {"path": "a long enough path"})
WAYS = {
    "glm-5.2": ("ZAI_BASE_URL", "ZAI_API_KEY"),
    "glm-coding-plan/glm-5.2": ("ZAI_CODING_BASE_URL", "ZAI_CODING_API_KEY"),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("model", WAYS)
async def test_a_loop_keeps_what_was_thought_and_is_told_of_calls_as_they_grow(
    model: str, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = Emulator((thinks("hm") + calls(READ), says("done")), dialect="glm")
    address, key = WAYS[model]
    monkeypatch.setenv(address, f"{serve(emulator)}/v1")
    monkeypatch.setenv(key, "a-key-of-the-test")
    seen: list[Any] = []
    async with geode.session(model=model, tools=[READER], effort="high", policy=Policy(), observe=seen.append) as loop:
        if streamed:
            async for _ in loop.stream("hi"):
                pass
        else:
            await loop.run("hi")

    assert emulator.violations == ()
    first, second = [one.request for one in emulator.received]
    assert first["thinking"] == second["thinking"] == {"type": "enabled", "clear_thinking": False}
    assert (first["reasoning_effort"], first.get("tool_stream")) == ("high", True if streamed else None)
    assert "stream_options" not in first
    assert [one.get("reasoning_content") for one in second["messages"] if one["role"] == "assistant"] == ["hm"]
    pieces = [event for event in seen if type(event).__name__ == "CallDelta"]
    assert (len(pieces) > 1) == streamed, "arguments come in one piece unless they are asked for as they grow"
    replied = [event for event in seen if type(event).__name__ == "ModelReplied"]
    assert [event.route for event in replied] == ["glm-5.2"] * 2


@pytest.mark.parametrize("declared", [False, True])
def test_the_terms_of_the_coding_plan_are_told_once(
    declared: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_models, "_said", set())
    monkeypatch.setenv("ZAI_CODING_API_KEY", "a-key-of-the-test")
    plan = "https://open.bigmodel.cn/api/coding/paas/v4"
    lab = geode.Provider("lab", "chat", plan, "a-key-of-the-test", "glm")
    with caplog.at_level(logging.WARNING, "geode"):
        for _ in range(2):
            geode.session(model="lab/glm-5.2" if declared else "glm-coding-plan/glm-5.2", providers=[lab])
    (record,) = [one for one in caplog.records if "coding" in one.getMessage()]
    said = record.getMessage()
    assert "Z.ai limits its coding plan to the tools that it lists" in said
    assert "/api/coding/paas/v4" in said
    assert said.startswith("lab goes to" if declared else "glm-coding-plan goes to")


def test_nothing_is_told_of_the_account_that_pays_by_use(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_models, "_said", set())
    monkeypatch.setenv("ZAI_API_KEY", "a-key-of-the-test")
    with caplog.at_level(logging.WARNING, "geode"):
        geode.session(model="glm-5.2")
    assert [one for one in caplog.records if "coding" in one.getMessage()] == []
