"""Asking the model: attempts and delays as the policy says, the time a call may take, what is refused before it leaves."""

import asyncio
import logging
import time
from typing import Any

import pytest
from returns.result import Failure, Result, Success

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.choice import Auto, Named, NoTools, Required
from geode.domain.content import Image, Text
from geode.domain.conversation import Conversation
from geode.domain.errors import AuthenticationError, BillingError, Misuse, ModelCallError, RequestRefused
from geode.domain.failures import CallFailure
from geode.domain.policy import Policy
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.retry import RetryPolicy
from geode.domain.script import Step, calls, drops, fails, hangs, malformed, pauses, refuses, says
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage
from geode.ports.events import Finished, ModelCalled, Retrying, TextDelta
from geode.ports.model import Emit
from tests.unit.application.rig import Recorder, answered, assert_whole, kinds, loop_of, tasks_left


@geode.tool(tier="safe")
async def look() -> str:
    return "seen"


async def failed(*steps: Step, **more: Any) -> tuple[geode.Failed, ScriptedModel, ManualClock]:
    model, clock = ScriptedModel(*steps), ManualClock()
    outcome = await loop_of(model=model, clock=clock, **more).run("go")
    assert isinstance(outcome, geode.Failed), outcome
    return outcome, model, clock


# ---- attempts and delays -----------------------------------------------------------------------


async def test_three_attempts_in_all_and_no_wait_after_the_last() -> None:
    outcome, model, clock = await failed(*[fails(500)] * 3)
    assert len(model.requests) == 3
    # Full jitter, drawn at 0.5: half of min(2 * 2 ** (n - 1), 30) seconds.
    assert clock.slept == [1.0, 2.0]
    assert outcome.reason == "model_error"
    ways_on = (
        "Another model may do: choose one (/model, geode model), or name some to fall back on in [model.fallbacks] "
        "of routing.toml"
    )
    assert outcome.why == f"scripted: scripted failure, 3 attempts in 3.0 s. {ways_on}"
    assert isinstance(outcome.error, ModelCallError)


async def test_delays_grow_to_the_maximum() -> None:
    _, model, clock = await failed(*[fails(503)] * 7, policy=Policy(retry=RetryPolicy(attempts=7)))
    assert len(model.requests) == 7
    assert clock.slept == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


@pytest.mark.parametrize(
    ("hint", "slept"), [(0, [1.0]), (0.5, [1.0]), (7, [7.0]), ("60", [60.0]), (61, []), (-1, []), ("inf", []), ("soon", [1.0])]
)
async def test_a_hint_of_the_server_is_a_lower_bound_or_forbids(hint: Any, slept: list[float]) -> None:
    clock = ManualClock()
    outcome = await loop_of(fails(429, retry_after=hint), says("done"), clock=clock).run("go")
    assert clock.slept == slept
    assert isinstance(outcome, geode.Answered if slept else geode.Failed)
    if isinstance(outcome, geode.Failed):
        assert str(hint) in outcome.why


@pytest.mark.parametrize(
    ("step", "attempts"),
    [
        (fails(408), 2),
        (fails(409), 2),
        (fails(429), 2),
        (fails(500), 2),
        (fails(529), 2),
        (drops("connect"), 2),
        (drops("before_output"), 2),
        (fails(400), 1),
        (fails(401), 1),
        (fails(403), 1),
        (fails(404), 1),
        (fails(402), 1),
        (fails(429, code="insufficient_quota"), 1),
        (malformed("html"), 1),
    ],
    ids=repr,
)
async def test_what_is_tried_again(step: Step, attempts: int) -> None:
    model = ScriptedModel(step, says("done"))
    outcome = await loop_of(model=model, clock=ManualClock()).run("go")
    assert len(model.requests) == attempts
    assert isinstance(outcome, geode.Answered if attempts == 2 else geode.Failed)
    assert_whole(outcome.conversation)


@pytest.mark.parametrize(
    ("step", "reason", "error"),
    [
        (fails(402), "billing_error", BillingError),
        (fails(401), "auth_error", AuthenticationError),
        (fails(403), "auth_error", AuthenticationError),
        (fails(400), "request_error", RequestRefused),
        (fails(404), "request_error", RequestRefused),
        (malformed("html"), "model_error", ModelCallError),
    ],
    ids=repr,
)
async def test_a_failure_is_an_outcome_that_carries_the_exception(step: Step, reason: str, error: type[Exception]) -> None:
    outcome, _, _ = await failed(step)
    assert outcome.reason == reason
    assert type(outcome.error) is error
    assert str(outcome.error) == outcome.why
    assert outcome.failure is not None
    assert [type(turn) for turn in outcome.conversation.turns] == [UserTurn]


async def test_attempts_start_anew_with_each_round() -> None:
    steps: list[Step] = [fails(500), fails(500), calls(("look", {})), fails(500), fails(500), says("done")]
    model, clock, seen = ScriptedModel(*steps), ManualClock(), Recorder()
    outcome = answered(await loop_of(model=model, clock=clock, tools=[look], observe=[seen]).run("go"))
    assert len(model.requests) == 6
    assert clock.slept == [1.0, 2.0, 1.0, 2.0]
    assert [(event.round, event.attempt) for event in seen.of(ModelCalled)] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert [(event.round, event.attempt, event.seconds) for event in seen.of(Retrying)] == [
        (1, 1, 1.0),
        (1, 2, 2.0),
        (2, 1, 1.0),
        (2, 2, 2.0),
    ]
    assert outcome.usage == Usage(20, 10, unpriced_calls=2)


async def test_the_same_request_goes_out_again() -> None:
    model = ScriptedModel(fails(500), says("done"))
    await loop_of(model=model, clock=ManualClock(), tools=[look]).run("go")
    assert model.requests[0] == model.requests[1]


async def test_after_visible_output_a_call_is_not_repeated() -> None:
    model = ScriptedModel(drops("after_output"))
    events = [event async for event in loop_of(model=model, clock=ManualClock()).stream("go")]
    assert len(model.requests) == 1
    assert len([event for event in events if isinstance(event, TextDelta)]) == 1
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.outcome, geode.Failed)
    assert last.outcome.reason == "model_error"


async def test_output_that_nobody_saw_does_not_forbid_another_attempt() -> None:
    model = ScriptedModel(drops("after_output"), says("done"))
    answered(await loop_of(model=model, clock=ManualClock()).run("go"))
    assert len(model.requests) == 2


# ---- time --------------------------------------------------------------------------------------


async def test_a_call_that_takes_too_long_is_tried_again_and_then_fails() -> None:
    outcome, model, clock = await failed(*[hangs()] * 3, policy=Policy(call_timeout_seconds=0.03))
    assert len(model.requests) == 3
    assert clock.slept == [1.0, 2.0]
    assert "no answer within 0.03 s" in outcome.why
    assert "3 attempts" in outcome.why
    assert "Policy(call_timeout_seconds=…)" in outcome.why
    assert outcome.usage == Usage(unpriced_calls=3), "the provider may have worked on each"
    assert tasks_left() == set()


async def test_the_time_budget_ends_a_call_that_hangs() -> None:
    before = time.monotonic()
    outcome = await loop_of(hangs(), policy=Policy(max_seconds=0.1)).run("go")
    assert isinstance(outcome, geode.Exhausted)
    assert outcome.reason == "time_budget"
    assert time.monotonic() - before < 2


async def test_a_wait_that_the_budget_does_not_allow_is_not_waited() -> None:
    clock = ManualClock()
    outcome = await loop_of(fails(429, retry_after=30), clock=clock, policy=Policy(max_seconds=20)).run("go")
    assert isinstance(outcome, geode.Exhausted)
    assert outcome.reason == "time_budget"
    assert clock.slept == []


async def test_the_limits_travel_with_the_request() -> None:
    model = ScriptedModel(says("done"))
    policy = Policy(max_output_tokens=77, call_timeout_seconds=5, idle_timeout_seconds=3, max_seconds=4)
    await loop_of(model=model, clock=ManualClock(), policy=policy).run("go")
    limits = model.requests[0].limits
    assert (limits.max_output_tokens, limits.call_timeout_seconds, limits.idle_timeout_seconds) == (77, 4, 3)


# ---- what is asked -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (None, Auto()),
        ("auto", Auto()),
        ("none", NoTools()),
        ("required", Required()),
        ("any", Required()),
        ({"type": "tool", "name": "look"}, Named("look")),
        ({"function": {"name": "look"}}, Named("look")),
        ({"name": "look"}, Named("look")),
    ],
    ids=repr,
)
async def test_a_choice_holds_for_the_first_round_only(given: Any, first: Any) -> None:
    under_none = isinstance(first, NoTools)
    model = ScriptedModel(says("no") if under_none else calls(("look", {})), *([] if under_none else [says("done")]))
    await loop_of(model=model, tools=[look]).run("go", tool_choice=given)
    assert [request.tool_choice for request in model.requests] == [first] if under_none else [first, Auto()]


@pytest.mark.parametrize("given", ["sometimes", 3, {"name": ""}, {"type": "tool"}, [], {"name": "nope"}], ids=repr)
async def test_an_unknown_choice_is_misuse_before_anything_leaves(given: Any) -> None:
    model = ScriptedModel()
    with pytest.raises(Misuse) as caught:
        await loop_of(model=model, tools=[look]).run("go", tool_choice=given)
    assert caught.value.id == "tool-choice"
    assert model.requests == []


@pytest.mark.parametrize("choice", ["required", {"name": "look"}])
async def test_a_forced_choice_that_the_adapter_cannot_carry_never_leaves(choice: Any) -> None:
    for able in (Capabilities(choices=frozenset({"auto", "none"})), Capabilities(supports_tools=False)):
        model = ScriptedModel(capabilities=able)
        outcome = await loop_of(model=model, tools=[look]).run("go", tool_choice=choice)
        assert isinstance(outcome, geode.Failed)
        assert outcome.reason == "request_error"
        assert "scripted" in outcome.why
        assert "m " in outcome.why, "the model is named"
        assert model.requests == []


async def test_a_prompt_may_have_pictures_and_several_texts() -> None:
    model = ScriptedModel(says("a dot"))
    picture = Image("image/png", b"\x89PNG\r\n\x1a\n")
    await loop_of(model=model).run(["What is this?", picture, Text("Be brief.")])
    assert model.requests[0].turns == (UserTurn((Text("What is this?"), picture, Text("Be brief."))),)


@pytest.mark.parametrize("prompt", [None, 7, [1], {"role": "user"}, b"bytes", [None]], ids=repr)
async def test_a_prompt_that_is_none_is_misuse(prompt: Any) -> None:
    with pytest.raises(Misuse, match="prompt") as caught:
        await loop_of().run(prompt)
    assert caught.value.id == "prompt-type"


async def test_nothing_carries_over_from_run_to_run_by_itself() -> None:
    model = ScriptedModel(says("one"), says("two"), says("three"))
    loop = loop_of(model=model)
    first = await loop.run("a")
    await loop.run("b")
    await loop.run("c", conversation=first.conversation)
    assert [len(request.turns) for request in model.requests] == [1, 1, 3]


async def test_a_conversation_that_was_stored_goes_on() -> None:
    first = await loop_of(calls(("look", {})), says("one"), tools=[look]).run("a")
    stored = Conversation.loads(first.conversation.dumps())
    model = ScriptedModel(calls(("look", {})), says("two"))
    outcome = answered(await loop_of(model=model, tools=[look]).run("b", conversation=stored))
    assert outcome.conversation.turns[: len(first.conversation.turns)] == first.conversation.turns
    assert kinds(outcome) == ["ok", "ok"]


# ---- replies -----------------------------------------------------------------------------------


async def test_a_refusal_is_its_own_outcome_and_its_calls_are_not_run() -> None:
    outcome = await loop_of(refuses("I would rather not") + calls(("look", {})), tools=[look]).run("go")
    assert isinstance(outcome, geode.Refused | geode.Answered)
    refused = await loop_of(calls(("look", {})) + refuses("I would rather not"), tools=[look]).run("go")
    assert isinstance(refused, geode.Refused)
    assert (refused.reason, refused.text) == ("model_refusal", "I would rather not")
    assert refused.details == {"type": "refusal", "category": "general_harms"}
    assert kinds(refused) == []
    assert_whole(refused.conversation)


async def test_a_pause_goes_on_and_is_bounded() -> None:
    model = ScriptedModel(pauses("one, "), pauses("two, "), says("three"))
    outcome = answered(await loop_of(model=model).run("count"))
    assert outcome.text == "one, two, three"
    endless = await loop_of(*[pauses("…")] * 6).run("count")
    assert isinstance(endless, geode.Failed)
    assert endless.reason == "model_error"


class Buggy(ScriptedModel):
    """Raises, or returns, what no adapter should."""

    def __init__(self, bug: Any) -> None:
        super().__init__()
        self.bug = bug

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        self.requests.append(request)
        if isinstance(self.bug, BaseException):
            raise self.bug
        answer: Result[AdapterCallResult, CallFailure] = self.bug
        return answer


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "bug",
    [ZeroDivisionError(), TimeoutError("mine"), Wordless(), asyncio.CancelledError(), SystemExit(2), None, "text"],
    ids=lambda bug: type(bug).__name__,
)
async def test_a_bug_of_an_adapter_is_an_outcome_that_names_it(bug: Any, caplog: pytest.LogCaptureFixture) -> None:
    loop = loop_of(model=(model := Buggy(bug)))
    with caplog.at_level(logging.WARNING, "geode"):
        outcome = await loop.run("go")
    assert isinstance(outcome, geode.Failed)
    assert outcome.reason == "model_error"
    assert outcome.failure is not None
    assert outcome.failure.phase == "response"
    assert outcome.why.startswith("scripted: the adapter ")
    assert type(bug).__name__ in outcome.why
    assert "no answer within" not in outcome.why
    assert len(model.requests) == 1, "it is not tried again"
    assert len(caplog.records) == isinstance(bug, BaseException)
    assert_whole(outcome.conversation)
    assert tasks_left() == set()


@pytest.mark.parametrize("bug", [AssertionError("of a test"), BaseExceptionGroup("", [GeneratorExit()])])
async def test_what_is_meant_for_others_passes_an_adapter_and_the_conversation_is_whole(bug: BaseException) -> None:
    loop = loop_of(model=Buggy(bug))
    with pytest.raises(type(bug)):
        await loop.run("go")
    assert_whole(loop.conversation)
    assert tasks_left() == set()


async def test_a_run_inside_the_tidying_up_of_a_cancelled_task() -> None:
    async def tidy() -> geode.Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await loop_of(model=Buggy(asyncio.CancelledError())).run("go")
        raise AssertionError

    task = asyncio.create_task(tidy())
    await asyncio.sleep(0)
    task.cancel()
    assert isinstance(await task, geode.Failed)


async def test_usage_is_summed_over_the_run() -> None:
    class Metered(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            answer = await super().acomplete(request, emit)
            found = answer.value_or(None)
            if found is None:
                return Failure(answer.failure())
            usage = Usage(100, 10, None, 40, 3)
            return Success(AdapterCallResult(found.items, found.stop, usage, found.stop_word))

    model = Metered(calls(("look", {})), fails(500), calls(("look", {})), says("done"))
    outcome = answered(await loop_of(model=model, clock=ManualClock(), tools=[look]).run("go"))
    assert outcome.usage == Usage(300, 30, None, 120, 9, unpriced_calls=3)


async def test_an_unknown_stop_without_calls_is_no_answer() -> None:
    class Odd(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            return Success(AdapterCallResult((Text("well"),), Stop.UNKNOWN, Usage(), "mystery"))

    outcome = await loop_of(model=Odd()).run("go")
    assert isinstance(outcome, geode.Failed)
    assert outcome.reason == "model_error"
    assert "mystery" in outcome.why
    assert outcome.text == "well"


async def test_deltas_pass_through_the_deadline_of_the_call() -> None:
    class Slow(ScriptedModel):
        async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
            await asyncio.sleep(0.05)
            return await super().acomplete(request, emit)

    outcome = await loop_of(model=Slow(says("done")), policy=Policy(call_timeout_seconds=5)).run("go")
    assert answered(outcome).text == "done"
