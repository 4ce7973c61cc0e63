"""Requests that reach a server are the attempts of the policy, on every wire, streamed or not, whatever fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, TypeAlias

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.retry import RetryPolicy
from geode.domain.script import Hangs, Step, calls, drops, fails, hangs, malformed, says
from geode.entrypoints.emulator import Emulator, running
from geode.events import Event, Finished, ModelSwitched, Retrying

Wire: TypeAlias = Literal["messages", "responses", "chat"]
WIRES: Final[tuple[Wire, ...]] = ("messages", "responses", "chat")
MODELS: Final[dict[Wire, str]] = {"messages": "claude-opus-5", "responses": "gpt-5.6-sol", "chat": "gpt-4o"}

# What fails, the class it belongs to, and whether it is tried again.
FAILURES: Final[list[tuple[Step, FailureClass, bool]]] = [
    (fails(408), FailureClass.TIMEOUT, True),
    (hangs(), FailureClass.TIMEOUT, True),
    (fails(409), FailureClass.CONFLICT, True),
    (fails(429), FailureClass.RATE_LIMIT, True),
    (fails(429, retry_after=7), FailureClass.RATE_LIMIT, True),
    (fails(429, retry_after=61), FailureClass.RATE_LIMIT, False),
    (fails(429, retry_after=-1), FailureClass.RATE_LIMIT, False),
    (fails(429, retry_after="nan"), FailureClass.RATE_LIMIT, False),
    (fails(500), FailureClass.SERVER, True),
    (fails(503), FailureClass.SERVER, True),
    (fails(529), FailureClass.SERVER, True),
    (drops("headers"), FailureClass.CONNECTION, True),
    (drops("before_output"), FailureClass.CONNECTION, True),
    (fails(402), FailureClass.BILLING, False),
    (fails(429, code="insufficient_quota"), FailureClass.BILLING, False),
    (fails(400, message="prompt is too long: 9 tokens > 8 maximum"), FailureClass.CONTEXT_OVERFLOW, False),
    (fails(401), FailureClass.AUTH, False),
    (fails(403), FailureClass.AUTH, False),
    (fails(400), FailureClass.REQUEST_FATAL, False),
    (fails(404), FailureClass.OTHER_CLIENT, False),
    (fails(422), FailureClass.OTHER_CLIENT, False),
    (malformed("html"), FailureClass.UNKNOWN, False),
]


@asynccontextmanager
async def served(*scripts: Sequence[Step]) -> AsyncIterator[tuple[list[Emulator], list[geode.Provider]]]:
    """Servers that play these scripts, each with a provider for every wire: `SERVER-WIRE`."""
    emulators = [Emulator(script) for script in scripts]
    async with _all_running(emulators) as addresses:
        yield emulators, [_provider(*at, wire) for at in zip("abc", addresses, strict=False) for wire in WIRES]


def _provider(name: str, address: str, wire: Wire) -> geode.Provider:
    base_url = address if wire == "messages" else f"{address}/v1"
    return geode.Provider(f"{name}-{wire}", wire=wire, base_url=base_url, key="k")


@asynccontextmanager
async def _all_running(emulators: Sequence[Emulator]) -> AsyncIterator[list[str]]:
    if not emulators:
        yield []
        return
    async with running(emulators[0]) as first, _all_running(emulators[1:]) as others:
        yield [first.base_url, *others]


async def events_of(streamed: bool, **settings: Any) -> list[Event]:
    """Everything told of one run."""
    seen: list[Event] = []
    async with geode.session(observe=seen.append, clock=ManualClock(), **settings) as loop:
        if streamed:
            return [event async for event in loop.stream("go")]
        await loop.run("go")
        return seen


def ended(events: list[Event]) -> geode.Outcome:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.outcome


def policy(attempts: int, *, impatient: bool = False) -> geode.Policy:
    retry = RetryPolicy(attempts=attempts)
    if not impatient:
        return geode.Policy(retry=retry)
    return geode.Policy(retry=retry, idle_timeout_seconds=0.1, call_timeout_seconds=0.3)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("step", "kind", "again"), FAILURES, ids=range(len(FAILURES)))
async def test_requests_are_the_attempts_of_the_policy(
    wire: Wire, streamed: bool, step: Step, kind: FailureClass, again: bool
) -> None:
    attempts = 2
    async with served([step] * attempts) as ((emulator,), providers):
        model = f"a-{wire}/{MODELS[wire]}"
        limits = policy(attempts, impatient=isinstance(step, Hangs))
        events = await events_of(streamed, model=model, providers=providers, policy=limits)
    expected = attempts if again else 1
    assert len(emulator.received) == expected
    assert len([event for event in events if isinstance(event, Retrying)]) == expected - 1
    outcome = ended(events)
    if kind is FailureClass.CONTEXT_OVERFLOW:
        assert outcome.reason == "context_exhausted"
    else:
        assert isinstance(outcome, geode.Failed), outcome
        assert outcome.failure is not None
        assert classify_retry_error(outcome.failure) is kind


@pytest.mark.parametrize("wire", WIRES)
async def test_what_was_cut_off_after_output_is_not_asked_again(wire: Wire) -> None:
    async with served([drops("after_output")], []) as ((emulator, other), providers):
        model, fallback = f"a-{wire}/{MODELS[wire]}", f"b-{wire}/{MODELS[wire]}"
        events = await events_of(True, model=model, fallbacks=[fallback], providers=providers, policy=policy(3))
    outcome = ended(events)
    assert isinstance(outcome, geode.Failed)
    assert outcome.failure is not None
    assert classify_retry_error(outcome.failure) is FailureClass.STREAM_INTERRUPTED
    assert (len(emulator.received), len(other.received)) == (1, 0)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_nobody_else_is_asked_without_a_chain(wire: Wire, streamed: bool) -> None:
    async with served([fails(503)] * 3, [says("never")]) as ((emulator, other), providers):
        events = await events_of(streamed, model=f"a-{wire}/{MODELS[wire]}", providers=providers, policy=policy(3))
    outcome = ended(events)
    assert isinstance(outcome, geode.Failed)
    assert outcome.failure is not None
    assert outcome.failure.status == 503
    assert (len(emulator.received), len(other.received)) == (3, 0)


@geode.tool(tier="safe")
def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("first", "second"), [(one, other) for one in WIRES for other in WIRES], ids=lambda wire: wire)
async def test_a_run_switches_from_any_wire_to_any_other_in_its_midst(first: Wire, second: Wire, streamed: bool) -> None:
    before: list[Step] = [calls(("look", {})), fails(503), fails(503)]
    async with served(before, [fails(529), calls(("look", {})), says("done")]) as (emulators, providers):
        models = f"a-{first}/{MODELS[first]}", f"b-{second}/{MODELS[second]}"
        given = {"model": models[0], "fallbacks": [models[1]], "providers": providers, "tools": [look]}
        events = await events_of(streamed, policy=policy(2), **given)
    outcome = ended(events)
    assert isinstance(outcome, geode.Answered), outcome
    assert (outcome.text, len(list(outcome.conversation.results()))) == ("done", 2)
    assert [len(one.received) for one in emulators] == [3, 3]
    assert [one.violations for one in emulators] == [(), ()]
    (switch,) = [event for event in events if isinstance(event, ModelSwitched)]
    assert (switch.from_adapter, switch.from_model) == (f"a-{first}", MODELS[first])
    assert (switch.to_adapter, switch.to_model) == (f"b-{second}", MODELS[second])
    assert switch.why


@pytest.mark.parametrize("wire", WIRES)
async def test_billing_asks_no_further_member(wire: Wire) -> None:
    async with served([fails(503)], [fails(402)], [says("never")]) as (emulators, providers):
        model, *others = (f"{name}-{wire}/{MODELS[wire]}" for name in "abc")
        events = await events_of(False, model=model, fallbacks=others, providers=providers, policy=policy(1))
    outcome = ended(events)
    assert isinstance(outcome, geode.Failed)
    assert outcome.reason == "billing_error"
    assert [len(one.received) for one in emulators] == [1, 1, 0]
    assert len([event for event in events if isinstance(event, ModelSwitched)]) == 1
