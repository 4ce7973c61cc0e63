"""Summaries by the model that `summary_model` of the configuration names (docs/compaction.md, docs/configuration.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import geode
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import RequestRefused
from geode.domain.script import fails, says
from geode.domain.turns import AssistantTurn, UserTurn
from geode.entrypoints.emulator import Emulator, running
from geode.entrypoints.routes.registry import forget_adapters
from geode.ports.hooks import Hooks, Veto

POLICY = geode.Policy(compact_above=1.0, compact_keep_rounds=1)
TOO_LONG = fails(400, code="context_length_exceeded", message="prompt is too long: 9 tokens > 8 maximum")


def said(one: str, other: str) -> tuple[UserTurn, AssistantTurn]:
    return UserTurn((Text(one),)), AssistantTurn((Text(other),))


BEFORE = Conversation((*said("a", "A"), *said("b", "B")))


@geode.tool(tier="safe")
def read() -> str:
    """Read."""
    return "read"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key")
    (tmp_path / "config.toml").write_text('effort = "low"\nsummary_model = "gpt-5-mini"\n')
    forget_adapters()
    yield tmp_path
    forget_adapters()


async def test_another_model_writes_it_without_tools_and_the_run_goes_on_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator((TOO_LONG, says("about a"), says("done")))
    async with running(emulator) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        outcome = await geode.run("go", model="gpt-5.2", tools=[read], conversation=BEFORE, policy=POLICY)
    assert outcome.text == "done"
    first, summary, again = (one.request for one in emulator.received)
    assert [one["model"] for one in (first, summary, again)] == ["gpt-5.2", "gpt-5-mini", "gpt-5.2"]
    assert ("tools" in first, "tools" in summary, "tools" in again) == (True, False, True)
    assert summary["reasoning"] == {"effort": "low"}
    assert "about a" in str(again["input"])


async def test_hooks_guard_what_another_model_is_sent_too(monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator((says("about a"),))
    hooks = [Hooks(before_model=lambda request: replace(request, system="guarded"))]
    async with running(emulator) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        async with geode.Runtime(model="gpt-5.2", policy=POLICY, hooks=hooks) as runtime:
            made = await runtime.compact(BEFORE)
        assert (made.served is not None and made.served.owner.model) == "gpt-5-mini"
        (received,) = emulator.received
        assert received.request["instructions"] == "guarded"
        async with geode.Runtime(
            model="gpt-5.2", policy=POLICY, hooks=[Hooks(before_model=lambda _: Veto("secret"))]
        ) as runtime:
            with pytest.raises(RequestRefused, match="vetoed: secret"):
                await runtime.compact(BEFORE)
    assert len(emulator.received) == 1


async def test_a_model_that_nobody_serves_is_told_when_a_session_begins_that_may_need_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config.toml").write_text('summary_model = "nope"\n')
    emulator = Emulator((says("done"),))
    async with running(emulator) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        async with geode.session(model="gpt-5.2", policy=geode.Policy(compact_above=None)) as loop:
            assert (await loop.run("go")).text == "done"
            with pytest.raises(geode.Misuse, match=r'no provider serves the model "nope".*config\.toml:1:1'):
                await loop.compact(BEFORE.grown(*said("c", "C")))
        with pytest.raises(geode.Misuse, match=r'no provider serves the model "nope".*config\.toml:1:1'):
            await geode.run("go", model="gpt-5.2")
    assert len(emulator.received) == 1


async def test_a_missing_key_of_it_is_told_with_the_line_that_named_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "config.toml").write_text('summary_model = "claude-haiku-4-5"\n')
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(
        geode.Misuse, match=r"set ANTHROPIC_API_KEY.*summary_model claude-haiku-4-5 comes from .*config\.toml:1:1"
    ):
        await geode.run("go", model="gpt-5.2")


async def test_compacting_needs_an_open_runtime_and_a_session_of_its_own() -> None:
    runtime = geode.Runtime(model="gpt-5.2")
    with pytest.raises(geode.Misuse, match="this Runtime is not open"):
        await runtime.compact(BEFORE)
    with pytest.raises(geode.Misuse, match=r"a session is opened first: .*loop\.compact"):
        getattr(geode.session(model="gpt-5.2"), "compact")  # noqa: B009 - no type checker lets it be written
