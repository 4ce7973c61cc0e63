"""Every reason to end and every rule of the loop, over a scripted model and over each wire: the same run everywhere.

The emulator refuses what a real server would, so that what each rule puts into the conversation is lawful on each wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, cast, get_args

import pytest

import geode
from geode import Conversation, Deny, Hooks, Later, Policy, Provider, WireName
from geode.adapters.clock_manual import ManualClock
from geode.domain.approval import Grant
from geode.domain.content import Text
from geode.domain.loop.outcome import ExhaustedReason, FailedReason
from geode.domain.retry import RetryPolicy
from geode.domain.script import Called, Reply, Step, calls, cut, fails, pauses, refuses, says
from geode.domain.turns import UserTurn, hints_of
from geode.entrypoints.emulator import Emulator, running
from geode.entrypoints.routes.registry import forget_adapters
from geode.ports.events import ToolStarted
from geode.testing import ScriptedModel

WIRES = ("scripted", *get_args(WireName))
ONCE = RetryPolicy(attempts=1)


@geode.tool(tier="safe", blocking=False)
def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


@geode.tool(tier="safe", blocking=False)
def stumble(n: int = 0) -> str:
    """Fail for good."""
    raise geode.ToolError("it fell", recoverable=False)


@geode.tool(tier="safe", alternative="cellar", fallback="memory", blocking=False)
def shelf(n: int = 0) -> str:
    """Fetch it from the shelf."""
    raise geode.ToolError("the shelf is empty")


@geode.tool(tier="safe", blocking=False)
def cellar(n: int = 0) -> str:
    """Fetch it from the cellar."""
    raise geode.ToolError("the cellar is dark")


@geode.tool(tier="expensive", blocking=False)
def memory(n: int = 0) -> str:
    """Remember it."""
    return f"remembered {n}"


@geode.tool(tier="safe", timeout_seconds=5)
async def rest(n: int = 0) -> str:
    """Take a while."""
    await asyncio.sleep(0.15)
    return "rested"


TOOLS = [look, stumble, shelf, cellar, memory, rest]


@dataclass
class Played:
    """A run that is over, and what was asked of the model."""

    outcome: geode.Outcome
    ran: list[str] = field(default_factory=list[str])

    @property
    def end(self) -> tuple[str, str]:
        return type(self.outcome).__name__, self.outcome.reason

    @property
    def hints(self) -> list[str]:
        return [hint.kind for hint in hints_of(self.outcome.conversation.turns)]

    @property
    def kinds(self) -> list[str]:
        return [found.kind for found in self.outcome.conversation.results()]


@asynccontextmanager
async def a_model(wire: str, steps: Sequence[Step]) -> AsyncIterator[dict[str, Any]]:
    """The settings of a session whose model plays the steps over this wire."""
    if wire == "scripted":
        yield {"model": ScriptedModel(*steps)}
        return
    emulator = Emulator(steps)
    async with running(emulator) as server:
        base = server.base_url if wire == "messages" else f"{server.base_url}/v1"
        yield {"model": "lab/m", "providers": [Provider("lab", wire=cast("WireName", wire), base_url=base)]}
    assert [one.violations for one in emulator.received if one.violations] == [], "each request is lawful"
    assert emulator.position == len(steps)


async def play(wire: str, *steps: Step, policy: Policy = Policy(), stop: bool = False, **settings: Any) -> Played:
    ran: list[str] = []

    def observe(event: object) -> None:
        if isinstance(event, ToolStarted):
            ran.append(event.call.name)
            if stop:
                loop.stop()

    async with (
        a_model(wire, steps) as given,
        geode.session(**given, tools=TOOLS, policy=policy, observe=observe, **settings) as loop,
    ):
        return Played(await loop.run("Go"), ran)


def asking(name: str, *numbers: int) -> list[Reply]:
    return [calls((name, {"n": number})) for number in numbers]


# ---- reasons -----------------------------------------------------------------------------------

LOOK = calls(("look", {"n": 1}))
REASONS: list[tuple[str, list[Step], dict[str, Any]]] = [
    ("natural", [says("Hello.")], {}),
    ("model_refusal", [refuses("No.")], {}),
    ("max_rounds", [LOOK, says("So far.")], {"policy": Policy(max_rounds=2)}),
    ("time_budget", [calls(("rest", {}))], {"policy": Policy(max_seconds=0.1)}),
    ("tool_budget", [LOOK, says("So far.")], {"policy": Policy(max_tool_calls=1)}),
    ("token_budget", [LOOK], {"policy": Policy(max_total_tokens=30)}),
    ("cost_budget", [LOOK], {"policy": Policy(max_cost_usd=Decimal("0.01"))}),
    ("no_progress", [LOOK] * 3, {"policy": Policy(no_progress_rounds=3, max_no_progress_hints=0)}),
    ("context_exhausted", [fails(400, code="context_length_exceeded", message="prompt is too long: 9 tokens > 8 maximum")], {}),
    ("answer_truncated", [cut(says("Once upon"))], {}),
    ("billing_error", [fails(402)], {}),
    ("auth_error", [fails(401)], {}),
    ("request_error", [fails(400)], {}),
    ("model_error", [fails(500)], {"policy": Policy(retry=ONCE)}),
    ("stopped", [LOOK], {"stop": True}),
    ("suspended", [calls(("memory", {}))], {"approve": lambda call: Later()}),
]
OUTCOMES = {
    "natural": "Answered",
    "model_refusal": "Refused",
    "stopped": "Stopped",
    "suspended": "Suspended",
    **dict.fromkeys(get_args(ExhaustedReason), "Exhausted"),
    **dict.fromkeys(get_args(FailedReason), "Failed"),
}


def test_every_reason_is_here() -> None:
    assert {reason for reason, _, _ in REASONS} == set(OUTCOMES)


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """10 tokens in and 5 out are a cent."""
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    (tmp_path / "routing.toml").write_text('[prices]\n"lab/m" = { input = 500, output = 1000 }\n', "utf-8")
    forget_adapters()
    yield
    forget_adapters()


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("reason", "steps", "settings"), REASONS, ids=[reason for reason, _, _ in REASONS])
async def test_each_reason_is_reached(reason: str, steps: list[Step], settings: dict[str, Any], wire: str) -> None:
    played = await play(wire, *steps, **settings)
    assert played.end == (OUTCOMES[reason], reason), played.outcome


# ---- rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
async def test_a_tool_that_keeps_failing_is_recovered(wire: str) -> None:
    policy = Policy(recovery_seconds=0, grants=(Grant("memory"),))
    played = await play(wire, *asking("shelf", 1, 2, 3), says("Done."), policy=policy)
    assert played.ran == ["shelf", "shelf", "shelf", "cellar", "memory"]
    assert played.kinds == ["failed", "failed", "ok"]
    assert "remembered 3\nWhat was tried: shelf once more: failed (the shelf is empty); " in last_text(played)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_denial_is_no_failure(wire: str) -> None:
    played = await play(wire, *asking("memory", 1, 2, 3, 4), says("Done."), approve=lambda call: Deny("no"))
    assert (played.ran, played.kinds, played.hints) == ([], ["denied"] * 4, [])


@pytest.mark.parametrize("wire", WIRES)
async def test_three_failed_rounds_are_answered_with_a_hint(wire: str) -> None:
    played = await play(wire, *asking("stumble", 1, 2, 3, 4), says("I give up."))
    assert (played.end, played.hints) == (("Answered", "natural"), ["backpressure"] * 2)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_fifth_same_call_is_answered_with_a_hint_and_the_twentieth_ends_the_run(wire: str) -> None:
    played = await play(wire, *asking("look", 1, 1, 1, 1, 1), says("Enough."))
    assert played.hints == ["no_progress"]
    played = await play(wire, *[LOOK] * 20)
    assert (played.end, played.hints) == (("Exhausted", "no_progress"), ["no_progress"] * 3)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_wrap_up_is_told_where_a_round_closed_without_results(wire: str) -> None:
    played = await play(wire, says(""), says("In short."), policy=Policy(max_rounds=2))
    assert (played.end, played.outcome.text, played.hints) == (("Exhausted", "max_rounds"), "In short.", ["wrap_up"])


@pytest.mark.parametrize("wire", ["scripted", "messages"])
async def test_the_wrap_up_is_told_after_a_pause(wire: str) -> None:
    played = await play(wire, pauses("Once upon"), says(" a time."), policy=Policy(max_rounds=2))
    assert (played.end, played.outcome.text, played.hints) == (("Exhausted", "max_rounds"), "Once upon a time.", ["wrap_up"])


@pytest.mark.parametrize("wire", WIRES)
async def test_the_last_two_of_fifty_rounds_conclude(wire: str) -> None:
    played = await play(wire, *asking("look", *range(48)), says("In short."))
    assert (played.end, played.outcome.text) == (("Exhausted", "max_rounds"), "In short.")
    assert (len(played.ran), played.hints) == (48, ["wrap_up"])


@pytest.mark.parametrize("wire", WIRES)
async def test_the_last_tenth_of_a_short_time_concludes(wire: str) -> None:
    clock = ManualClock()

    def observe(event: object) -> None:
        if isinstance(event, ToolStarted):
            clock.advance(91)

    async with (
        a_model(wire, [LOOK, says("In short.")]) as given,
        geode.session(**given, tools=TOOLS, policy=Policy(max_seconds=100), observe=observe, clock=clock) as loop,
    ):
        played = Played(await loop.run("Go"))
    assert (played.end, played.outcome.text, played.hints) == (("Exhausted", "time_budget"), "In short.", ["wrap_up"])


async def test_a_cost_that_is_told_is_spent_as_far_as_another_call_fits() -> None:
    emulator = Emulator([*asking("look", 1, 2, 3), says("Never said.")], dialect="openrouter")  # 15 tokens, 0.000015 dollars
    async with running(emulator) as server:
        lab = Provider("lab", wire="chat", base_url=f"{server.base_url}/v1", dialect="openrouter", key="env:LAB_KEY")
        policy = Policy(max_cost_usd=Decimal("0.00004"))
        outcome = await geode.run("Go", model="lab/m", providers=[lab], tools=TOOLS, policy=policy)
    assert (type(outcome).__name__, outcome.reason, outcome.usage.cost_usd) == ("Exhausted", "cost_budget", Decimal("0.00003"))
    assert isinstance(outcome, geode.Exhausted)
    assert (outcome.why, len(emulator.received)) == ("", 2)


@pytest.mark.parametrize("wire", WIRES)
async def test_calls_over_a_limit_are_answered_and_then_the_model_concludes(wire: str) -> None:
    four = calls(*[("look", {"n": n}) for n in range(4)])
    played = await play(wire, four, four, says("That was it."), policy=Policy(max_rounds=5, max_tool_calls=5))
    assert played.end == ("Exhausted", "tool_budget")
    assert played.kinds == ["ok"] * 5 + ["failed"] * 3
    assert played.ran == ["look"] * 5


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_calls_although_it_must_not_gets_one_more_round(wire: str) -> None:
    played = await play(wire, LOOK, LOOK, says("Well then."), policy=Policy(max_rounds=12, max_tool_calls=1))
    assert (played.end, played.kinds, played.outcome.text) == (
        ("Exhausted", "tool_budget"),
        ["ok", "denied"],
        "Well then.",
    )


@pytest.mark.parametrize("wire", WIRES)
async def test_a_name_that_is_no_tool_is_answered_with_close_ones(wire: str) -> None:
    played = await play(wire, Reply((Called("shelff", {}),)), says("I see."))
    assert (played.end, played.kinds) == (("Answered", "natural"), ["failed"])
    assert "Did you mean: shelf" in last_text(played)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_conversation_that_is_too_long_is_compacted_twice_at_most(wire: str) -> None:
    def shortened(conversation: Conversation) -> Conversation:
        turns = conversation.turns
        return Conversation((UserTurn((Text(f"{len(turns)} turns ago"),)), *turns[-2:]))

    too_long = fails(400, code="context_length_exceeded", message="prompt is too long: 9 tokens > 8 maximum")
    hooks = Hooks(compact=shortened)
    played = await play(wire, *asking("look", 1, 2), too_long, says("Seen."), hooks=hooks)
    assert (played.end, len(played.outcome.conversation.turns)) == (("Answered", "natural"), 4)
    played = await play(wire, *asking("look", 1, 2), too_long, too_long, too_long, hooks=hooks)
    assert (played.end, played.kinds) == (("Exhausted", "context_exhausted"), ["ok"])


def last_text(played: Played) -> str:
    return list(played.outcome.conversation.results())[-1].text
