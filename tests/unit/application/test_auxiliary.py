"""Auxiliary calls: the same retries and switches as in a run, and what is raised at their end (spec section 7)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from returns.result import Result

from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptedModel
from geode.application.announcer import Announcer
from geode.application.askable import Askable, askable
from geode.application.auxiliary import Served, call_with_failover, run_with_retry_policy, text_call
from geode.domain.content import Owner, Text
from geode.domain.conversation import Conversation
from geode.domain.errors import AuthenticationError, BillingError, Misuse, ModelCallError, RequestRefused, StreamInterrupted
from geode.domain.failures import CallFailure
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities, Limits
from geode.domain.retry import RetryPolicy
from geode.domain.script import Step, drops, fails, hangs, says, thinks
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage
from geode.ports.events import ModelFailed, ModelSwitched, Retrying
from geode.ports.model import Delta, Emit, TextPart
from tests.unit.application.rig import Recorder

ASKED = Conversation((UserTurn((Text("Sum it up."),)),))
ASK = text_call(ASKED, system="Be short.")
WAYS_ON = (
    "Another model may do: choose one (/model, geode model), or name some to fall back on in [model.fallbacks] of routing.toml"
)


class Several:
    """Scripted models `a`, `b`, … as targets, and what is told of a call of them."""

    def __init__(self, *scripts: list[Step]) -> None:
        self.models = [ScriptedModel(*steps, name=name) for name, steps in zip("abcd", scripts, strict=False)]
        self.targets = [askable(model, "m") for model in self.models]
        self.clock, self.seen = ManualClock(), Recorder()

    async def call(self, **more: Any) -> Served:
        announcer = Announcer("aux", [self.seen], None)
        return await call_with_failover(self.targets, ASK, clock=self.clock, announcer=announcer, **more)

    async def fails(self, kind: type[ModelCallError], **more: Any) -> ModelCallError:
        with pytest.raises(ModelCallError) as caught:
            await self.call(**more)
        assert type(caught.value) is kind
        return caught.value

    @property
    def asked(self) -> list[int]:
        return [len(model.requests) for model in self.models]

    @property
    def told(self) -> list[tuple[Any, ...]]:
        return [
            ("retry", event.attempt, event.seconds, event.why)
            if isinstance(event, Retrying)
            else ("switch", event.attempt, event.from_adapter, event.to_adapter, event.why)
            for event in self.seen.events
            if isinstance(event, Retrying | ModelSwitched)
        ]


# ---- one model ---------------------------------------------------------------------------------


async def test_a_text_call_carries_the_settings_of_its_target() -> None:
    model = ScriptedModel(says("short"), name="a")
    asked = askable(model, "m", effort="low", temperature=0.5)
    ask = text_call(ASKED, system="Be short.", limits=Limits(100, 5.0))
    served = await run_with_retry_policy(asked, ask, clock=ManualClock())
    assert (served.reply.text, served.owner) == ("short", Owner("a", "m"))
    (request,) = model.requests
    assert (request.model, request.conversation, request.system) == ("m", ASKED, "Be short.")
    assert (request.effort, request.temperature, request.tools, request.streamed) == ("low", 0.5, (), False)
    assert request.limits == Limits(100, 5.0)


async def test_three_attempts_two_waits_two_events_and_the_last_exception() -> None:
    several = Several([fails(503, message="one"), fails(503, message="two"), fails(529, message="three")])
    error = await several.fails(ModelCallError)
    assert several.asked == [3]
    assert several.clock.slept == [1.0, 2.0]
    assert several.told == [("retry", 1, 1.0, "one"), ("retry", 2, 2.0, "two")]
    assert error.failure == CallFailure(529, "response", "three")
    assert str(error) == f"a m: three, 3 attempts in 3.0 s. {WAYS_ON}"


@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_attempts_are_those_of_the_policy(attempts: int) -> None:
    several = Several([fails(503)] * 3)
    await several.fails(ModelCallError, policy=RetryPolicy(attempts=attempts))
    assert several.asked == [attempts]
    assert len(several.clock.slept) == attempts - 1


LOST = Usage(7, 1, Decimal("0.25"))


class Charging(ScriptedModel):
    """Tells what a failed attempt took: 7 tokens in, 1 out, a quarter of a dollar."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        answer = await super().acomplete(request, emit)
        return answer.alt(lambda failure: replace(failure, usage=LOST))


async def test_what_failed_attempts_took_counts_with_the_reply_that_came_at_last_and_with_the_last_failure() -> None:
    """A scripted reply takes 10 tokens in and 5 out, and nobody says what they cost."""
    model, seen = Charging(fails(503), fails(503), says("short")), Recorder()
    announcer = Announcer("aux", [seen], None)
    served = await run_with_retry_policy(askable(model, "m"), ASK, clock=ManualClock(), announcer=announcer)
    assert (served.lost, served.usage) == (Usage(14, 2, Decimal("0.5")), Usage(24, 7, Decimal("0.5"), unpriced_calls=1))
    assert [(event.attempt, event.usage) for event in seen.of(ModelFailed)] == [(1, LOST), (2, LOST)]

    with pytest.raises(ModelCallError) as caught:
        await run_with_retry_policy(askable(Charging(*[fails(503)] * 3), "m"), ASK, clock=ManualClock())
    assert caught.value.failure is not None
    assert caught.value.failure.usage == Usage(21, 3, Decimal("0.75"))


async def test_what_was_lost_on_one_model_of_a_chain_counts_with_the_reply_of_another() -> None:
    first, second = Charging(fails(503), name="a"), ScriptedModel(says("short"), name="b")
    targets = askable(first, "m"), askable(second, "m")
    served = await call_with_failover(targets, ASK, clock=ManualClock(), policy=RetryPolicy(attempts=1))
    assert (served.owner, served.lost) == (Owner("b", "m"), LOST)


async def test_by_default_no_other_model_of_the_adapter_is_asked() -> None:
    model = ScriptedModel(*[fails(503)] * 3)
    with pytest.raises(ModelCallError):
        await run_with_retry_policy(askable(model, "m"), ASK, clock=ManualClock())
    assert [request.model for request in model.requests] == ["m"] * 3


async def test_the_models_that_are_named_are_asked_in_their_order() -> None:
    model = ScriptedModel(*[fails(503)] * 4, says("short"))
    asked = askable(model, "m", effort="low")
    served = await run_with_retry_policy(asked, ASK, clock=ManualClock(), models=["m2", "m3"], policy=RetryPolicy(attempts=2))
    assert [(request.model, request.effort) for request in model.requests] == [
        *[("m", "low")] * 2,
        *[("m2", "low")] * 2,
        ("m3", "low"),
    ]
    assert served.owner == Owner("scripted", "m3")


# ---- a chain -----------------------------------------------------------------------------------


async def test_a_chain_gives_the_reply_and_who_gave_it() -> None:
    several = Several([fails(503, message="busy")] * 3, [fails(429, message="slow", retry_after=7), says("short")])
    served = await several.call()
    assert (served.reply.text, served.owner) == ("short", Owner("b", "m"))
    assert several.asked == [3, 2]
    assert several.told == [
        ("retry", 1, 1.0, "busy"),
        ("retry", 2, 2.0, "busy"),
        ("switch", 3, "a", "b", "a m: busy, 3 attempts in 3.0 s"),
        ("retry", 1, 7.0, "slow"),
    ]


async def test_the_last_exception_of_a_chain_names_every_model() -> None:
    several = Several([fails(503, message="x")], [fails(529, message="y")])
    error = await several.fails(ModelCallError, policy=RetryPolicy(attempts=1))
    assert error.failure == CallFailure(529, "response", "y")
    assert str(error) == "b m: y. Another model may do: choose one (/model, geode model). Before that, a m: x"


@pytest.mark.parametrize(
    ("step", "kind", "says_so"),
    [
        (fails(402, message="no credit"), BillingError, "Add credit or raise the limit"),
        (fails(429, code="insufficient_quota"), BillingError, "Add credit or raise the limit"),
        (fails(400, message="bad"), RequestRefused, "a m: bad"),
        (fails(404, code="model_not_found"), RequestRefused, "geode models"),
        (fails(401), AuthenticationError, "Check the key"),
        (fails(403), AuthenticationError, "Check what the key may use"),
        (fails(400, code="context_length_exceeded", message="too long"), ModelCallError, "a m: too long"),
        (drops("after_output"), StreamInterrupted, "a m: the stream was cut"),
    ],
    ids=repr,
)
async def test_what_will_not_pass_is_raised_at_once(step: Step, kind: type[ModelCallError], says_so: str) -> None:
    several = Several([step], [says("never")])

    def streamed(asked: Askable) -> AdapterCallRequest:
        return AdapterCallRequest(asked.owner.model, ASKED, streamed=True)

    with pytest.raises(ModelCallError) as caught:
        await call_with_failover(several.targets, streamed, clock=several.clock)
    assert type(caught.value) is kind
    assert says_so in str(caught.value)
    assert (several.asked, several.clock.slept) == ([1, 0], [])


async def test_thoughts_are_no_visible_output() -> None:
    several = Several([drops("after_output", thinks("hm"))], [says("short")])
    parts: list[Delta] = []

    async def emit(delta: Delta) -> None:
        parts.append(delta)

    def streamed(asked: Askable) -> AdapterCallRequest:
        return AdapterCallRequest(asked.owner.model, ASKED, streamed=True)

    served = await call_with_failover(several.targets, streamed, clock=several.clock, policy=RetryPolicy(attempts=1), emit=emit)
    assert served.owner == Owner("b", "m")
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == "short"


async def test_what_an_adapter_cannot_carry_is_refused_before_it_leaves() -> None:
    model = ScriptedModel(capabilities=Capabilities(effort=False))
    with pytest.raises(RequestRefused, match="model m takes no effort; leave it out") as caught:
        await run_with_retry_policy(askable(model, "m", effort="low"), ASK, clock=ManualClock())
    assert (model.requests, caught.value.failure) == ([], None)


async def test_adapters_are_opened_when_they_are_asked() -> None:
    first, second = ScriptedModel(says("short"), name="a"), ScriptedModel(name="b")
    opened: list[str] = []

    def closed(model: ScriptedModel) -> Askable:
        async def open_() -> ScriptedModel:
            opened.append(model.name)
            return model

        return Askable(Owner(model.name, "m"), open_)

    await call_with_failover([closed(first), closed(second)], ASK, clock=ManualClock())
    assert opened == ["a"]


async def test_a_call_that_takes_too_long_is_a_timeout() -> None:
    several = Several([hangs()], [says("short")])
    ask = text_call(ASKED, limits=Limits(call_timeout_seconds=0.02))
    served = await call_with_failover(several.targets, ask, clock=several.clock, policy=RetryPolicy(attempts=1))
    assert served.owner == Owner("b", "m")


async def test_a_cancellation_passes() -> None:
    several = Several([hangs()])
    calling = asyncio.create_task(several.call())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


@pytest.mark.parametrize("heard", [True, False])
async def test_an_adapter_that_cancels_itself_is_broken(heard: bool) -> None:
    class Odd(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            raise asyncio.CancelledError

    announcer = Announcer("aux", [], None) if heard else None
    with pytest.raises(ModelCallError, match="the adapter raised CancelledError"):
        await call_with_failover([askable(Odd(), "m")], ASK, clock=ManualClock(), announcer=announcer)


async def test_targets_are_some_and_each_once() -> None:
    model = ScriptedModel()
    with pytest.raises(Misuse, match=r"\[no-targets\]"):
        await call_with_failover([], ASK, clock=ManualClock())
    with pytest.raises(Misuse, match=r"scripted m is named twice; name each model once \[fallback-twice\]"):
        await call_with_failover([askable(model, "m"), askable(model, "m")], ASK, clock=ManualClock())
    assert model.requests == []
