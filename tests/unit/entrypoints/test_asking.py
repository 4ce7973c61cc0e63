"""Calls beside a run: by the model of their role, at the effort of the session, with its retries, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import geode
from geode import errors
from geode.adapters.clock_manual import ManualClock
from geode.domain.content import Text
from geode.domain.turns import UserTurn
from geode.entrypoints.emulator import Emulator, running
from geode.entrypoints.routes.registry import forget_adapters
from geode.events import ModelFailed, Retrying
from geode.testing import ScriptedModel, fails, says


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key")
    forget_adapters()
    yield tmp_path
    forget_adapters()


async def test_it_goes_out_alone_after_the_conversation() -> None:
    model = ScriptedModel(says("Ada asked for the weather."))
    talk = geode.Conversation((UserTurn((Text("I am Ada. Weather?"),)),))

    @geode.tool(tier="safe")
    def look() -> str:
        """Look."""
        return "seen"

    async with geode.Runtime(model=model, tools=[look]) as runtime:
        said = await runtime.ask("Sum it up.", conversation=talk, system="Be short.")
    (request,) = model.requests
    assert (said.text, said.usage.output_tokens, said.owner.adapter) == ("Ada asked for the weather.", 5, "scripted")
    assert (request.tools, request.system, len(request.turns)) == ((), "Be short.", 2)


async def test_a_failure_that_passes_is_tried_three_times_and_the_last_one_raised() -> None:
    model, told = ScriptedModel(fails(503), fails(503), fails(529)), list[Any]()
    async with geode.Runtime(model=model, clock=ManualClock(), observe=told.append) as runtime:
        with pytest.raises(errors.ModelCallError, match=r"3 attempts.*/model.*\[model\.fallbacks\]") as caught:
            await runtime.ask("Sum it up.")
    assert caught.value.failure is not None
    assert (caught.value.failure.status, len(model.requests)) == (529, 3)
    assert [type(event) for event in told] == [ModelFailed, Retrying, ModelFailed, Retrying, ModelFailed]


async def test_an_account_that_cannot_pay_ends_it_at_once() -> None:
    model = ScriptedModel(fails(429, code="insufficient_quota"))
    async with geode.Runtime(model=model, clock=ManualClock(), fallbacks=[ScriptedModel(name="spare")]) as runtime:
        with pytest.raises(errors.BillingError, match="Add credit or raise the limit"):
            await runtime.ask("Sum it up.")
    assert len(model.requests) == 1


@pytest.mark.parametrize(("role", "asked"), [("summary", "gpt-5-mini"), ("reflection", "gpt-5.2")])
async def test_each_role_has_its_model_and_inherits_the_effort(
    role: Any, asked: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config.toml").write_text('effort = "low"\nsummary_model = "gpt-5-mini"\n')
    emulator = Emulator((says("In short."),))
    async with running(emulator) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        async with geode.Runtime(model="gpt-5.2") as runtime:
            assert (await runtime.ask("Sum it up.", role=role)).text == "In short."
    (received,) = emulator.received
    assert (received.request["model"], received.request["reasoning"]) == (asked, {"effort": "low"})


async def test_a_model_that_nobody_serves_is_told_when_it_is_asked(home: Path) -> None:
    (home / "config.toml").write_text('summary_model = "nope"\n')
    async with geode.Runtime(model="gpt-5.2") as runtime:
        with pytest.raises(
            geode.Misuse, match=r'no provider serves the model "nope".*; summary_model nope comes from .*config\.toml:1:1'
        ):
            await runtime.ask("Sum it up.")
