"""What a session's calls cost: by the provider's word, by the table, or unknown; and budgets of dollars that can be kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import geode
from geode.domain.errors import Misuse
from geode.domain.script import says
from geode.entrypoints.emulator import Emulator, running
from geode.entrypoints.routes.registry import forget_adapters
from geode.events import Event, Finished, ModelFailed, ModelReplied, Spending
from geode.testing import ManualClock, ScriptedModel, drops, fails


@pytest.fixture
async def emulator() -> AsyncIterator[str]:
    async with running(Emulator([says("hi")])) as server:
        yield server.base_url


async def test_a_run_costs_what_its_tokens_cost_by_the_table(emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 tokens in at 1.75 dollars a million, 5 out at 14."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{emulator}/v1")
    seen, spending = list[Event](), Spending()
    outcome = await geode.run("Hi", model="gpt-5.2", observe=[seen.append, spending])
    (replied,) = (event for event in seen if isinstance(event, ModelReplied))
    assert outcome.usage.cost_usd == replied.usage.cost_usd == Decimal("0.0000875")
    assert list(spending.lines()) == ["openai-payg gpt-5.2: 1 reply, 10 tokens in, 5 out, $0.0000875"]
    assert spending.by_model["openai-payg", "gpt-5.2"].usage == outcome.usage


async def test_a_server_of_ones_own_has_the_price_that_its_own_row_says(emulator: str) -> None:
    lab = geode.Provider("lab", wire="chat", base_url=f"{emulator}/v1")
    outcome = await geode.run("Hi", model="lab/gpt-5.2", providers=[lab])
    assert (outcome.usage.cost_usd, outcome.usage.unpriced_calls) == (None, 1)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    (tmp_path / "routing.toml").write_text('[prices]\n"lab/m" = { input = 100, output = 200 }\n', "utf-8")
    forget_adapters()
    yield tmp_path
    forget_adapters()


@pytest.mark.usefixtures("home")
async def test_its_own_row_by_the_whole_id(emulator: str) -> None:
    lab = geode.Provider("lab", wire="chat", base_url=f"{emulator}/v1")
    outcome = await geode.run("Hi", model="lab/m", providers=[lab], policy=geode.Policy(max_cost_usd=Decimal(1)))
    assert outcome.usage.cost_usd == Decimal("0.002")


async def test_a_plan_has_no_price_of_a_call_whatever_row_there_is(
    emulator: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZAI_CODING_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("ZAI_CODING_BASE_URL", f"{emulator}/v1")
    rows = '[prices]\n"glm-coding-plan/glm-5.1" = { input = 100, output = 200 }\n"glm-5.1" = { input = 100, output = 200 }\n'
    (home / "routing.toml").write_text(rows, "utf-8")
    forget_adapters()
    outcome = await geode.run("Hi", model="glm-coding-plan/glm-5.1")
    assert (outcome.text, outcome.usage.total_tokens) == ("hi", 15)
    assert (outcome.usage.cost_usd, outcome.usage.unpriced_calls) == (None, 1)
    with pytest.raises(Misuse, match="glm-coding-plan is paid for by a plan, and no call has a price of its own"):
        geode.session(model="glm-coding-plan/glm-5.1", policy=geode.Policy(max_cost_usd=Decimal(1)))


LAB = geode.Provider("lab", wire="chat", base_url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "lab/m",
            r'no price of lab m is known\. A row of routing\.toml says it: \[prices\] "lab/m" = \{ input = …, output = … \}',
        ),
        ("gpt-77", r'no price of openai-payg gpt-77 is known\. A row of routing\.toml says it: \[prices\] "gpt-77"'),
        ("glm-coding-plan/glm-5.1", r"glm-coding-plan is paid for by a plan, and no call has a price of its own"),
    ],
)
def test_a_budget_of_dollars_that_cannot_be_kept_is_refused_at_once(
    model: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ZAI_CODING_API_KEY"):
        monkeypatch.setenv(name, "sk-test-0123456789")
    with pytest.raises(Misuse, match=message):
        geode.session(model=model, providers=[LAB], policy=geode.Policy(max_cost_usd=Decimal(1)))


def test_a_relay_that_says_what_it_charged_needs_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-0123456789")
    geode.session(model="openrouter/acme/unheard-of", policy=geode.Policy(max_cost_usd=Decimal(1)))


async def test_a_failed_attempt_is_told_and_costs_nothing_where_no_word_came() -> None:
    seen, spending = list[Event](), Spending()
    model = ScriptedModel(fails(503), says("hi"))
    outcome = await geode.run("Hi", model=model, observe=[seen.append, spending], clock=ManualClock())
    (failed,) = (event for event in seen if isinstance(event, ModelFailed))
    assert (failed.usage, failed.attempt) == (None, 1)
    assert outcome.usage.unpriced_calls == 1, "the reply; the attempt got no word"
    assert spending.spent.failed == 0


async def test_what_a_stream_had_told_of_tokens_when_it_broke_off_is_in_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic tells the input when the stream begins: 10 tokens at 3 dollars a million."""
    async with running(Emulator([drops("after_output", says("hi")), says("hi")])) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        spending = Spending()
        async with geode.session(model="claude-sonnet-4-5", observe=spending) as loop:
            last = [event async for event in loop.stream("Hi")][-1]
        assert isinstance(last, Finished)
        outcome = last.outcome
    assert isinstance(outcome, geode.Failed)
    assert outcome.usage.input_tokens == 10
    assert outcome.usage.cost_usd is not None
    assert outcome.usage.cost_usd >= Decimal("0.00003")
    assert spending.spent.usage == outcome.usage
    assert (spending.spent.replies, spending.spent.failed) == (0, 1)
