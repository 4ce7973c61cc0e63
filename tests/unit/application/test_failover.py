"""A run with a chain of models: who is asked, what is told, and that nothing of another model is opened before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import geode
import geode.testing
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.application.askable import Askable, askable
from geode.domain.content import Owner
from geode.domain.errors import BillingError, ModelCallError
from geode.domain.failures import CallFailure
from geode.domain.models import ModelRow
from geode.domain.offload import ResultLimits
from geode.domain.pictures import PictureLimits
from geode.domain.policy import Policy
from geode.domain.request import Capabilities
from geode.domain.retry import RetryPolicy
from geode.domain.script import Step, calls, drops, fails, says
from geode.domain.turns import AssistantTurn
from geode.ports.events import Finished, ModelCalled, ModelSwitched, Notice, Retrying
from tests.unit.application.rig import Asks, Recorder, answered, assert_whole, loop_of, outcome_of, replayed, tasks_left, texts

ONCE = Policy(retry=RetryPolicy(attempts=1))


@geode.tool(tier="safe")
async def look() -> str:
    return "seen"


@geode.tool(tier="write")
async def write() -> str:
    return "written"


@dataclass
class Chain:
    """A loop over scripted models `a`, `b`, … and what came of it."""

    scripts: list[list[Step]]
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.models = [ScriptedModel(*steps, name=name) for name, steps in zip("abcd", self.scripts, strict=False)]
        self.seen, self.clock, self.opened = Recorder(), ManualClock(), list[str]()
        first, *others = self.models
        given = {"clock": self.clock, "observe": [self.seen], "tools": [look], "fallbacks": map(self.target, others)}
        self.loop = loop_of(model=first, **{**given, **self.more})

    def target(self, model: ScriptedModel) -> Askable:
        async def opened() -> ScriptedModel:
            self.opened.append(model.name)
            return model

        return replace(askable(model, "m"), opened=opened)

    @property
    def asked(self) -> list[int]:
        return [len(model.requests) for model in self.models]

    @property
    def switches(self) -> list[tuple[str, str, str, str, str]]:
        told = self.seen.of(ModelSwitched)
        return [(one.from_adapter, one.from_model, one.to_adapter, one.to_model, one.why) for one in told]


async def failed(chain: Chain) -> geode.Failed:
    outcome = await chain.loop.run("go")
    assert isinstance(outcome, geode.Failed), outcome
    assert_whole(outcome.conversation)
    return outcome


# ---- who is asked ------------------------------------------------------------------------------


async def test_without_a_chain_the_last_failure_ends_the_run() -> None:
    chain = Chain([[fails(503, message="one"), fails(503, message="two"), fails(529, message="last")]])
    outcome = await failed(chain)
    assert (chain.asked, chain.switches) == ([3], [])
    assert type(outcome.error) is ModelCallError
    assert outcome.failure is not None
    assert (outcome.failure.status, outcome.failure.message) == (529, "last")


async def test_all_attempts_on_one_model_then_the_next_and_every_step_is_told() -> None:
    chain = Chain([[fails(503, message="busy")] * 3, [fails(529, message="full"), says("done")]])
    assert answered(await chain.loop.run("go")).text == "done"
    assert chain.asked == [3, 2]
    assert chain.clock.slept == [1.0, 2.0, 1.0]
    assert chain.switches == [("a", "m", "b", "m", "a m: busy, 3 attempts in 3.0 s")]
    told = [
        (type(event).__name__, event.round, event.attempt)
        for event in chain.seen.events
        if isinstance(event, ModelCalled | Retrying | ModelSwitched)
    ]
    assert told == [
        ("ModelCalled", 1, 1),
        ("Retrying", 1, 1),
        ("ModelCalled", 1, 2),
        ("Retrying", 1, 2),
        ("ModelCalled", 1, 3),
        ("ModelSwitched", 1, 3),
        ("ModelCalled", 1, 1),
        ("Retrying", 1, 1),
        ("ModelCalled", 1, 2),
    ]
    assert [event.adapter for event in chain.seen.of(ModelCalled)] == ["a", "a", "a", "b", "b"]


async def test_the_run_stays_and_the_next_run_begins_with_the_primary() -> None:
    chain = Chain([[fails(503), says("second run")], [calls(("look", {})), says("done")]], {"policy": ONCE})
    outcome = answered(await chain.loop.run("go"))
    made_by = [turn.made_by for turn in outcome.conversation.turns if isinstance(turn, AssistantTurn)]
    assert made_by == [Owner("b", "m"), Owner("b", "m")]
    assert answered(await chain.loop.run("again")).text == "second run"
    assert (chain.asked, chain.opened) == ([2, 2], ["b"])


async def test_nothing_of_another_model_is_opened_before_it_is_asked() -> None:
    chain = Chain([[fails(503), says("done")], [says("never")]])
    answered(await chain.loop.run("go"))
    assert (chain.opened, chain.asked) == ([], [2, 0])


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (fails(402), "billing_error"),
        (fails(429, code="insufficient_quota"), "billing_error"),
        (fails(401), "auth_error"),
        (fails(400), "request_error"),
        (fails(404), "request_error"),
    ],
    ids=repr,
)
async def test_what_will_not_pass_asks_nobody_else(step: Step, reason: str) -> None:
    chain = Chain([[step], [says("never")], [says("never")]])
    outcome = await failed(chain)
    assert (outcome.reason, chain.asked, chain.switches, chain.opened) == (reason, [1, 0, 0], [], [])


async def test_billing_on_the_second_model_asks_no_third() -> None:
    chain = Chain([[fails(503, message="busy")], [fails(402, message="no credit")], [says("never")]], {"policy": ONCE})
    outcome = await failed(chain)
    assert chain.asked == [1, 1, 0]
    assert isinstance(outcome.error, BillingError)
    assert "Add credit" in outcome.why
    assert outcome.why.endswith(". Before that, a m: busy")


async def test_after_visible_output_nobody_else_is_asked() -> None:
    chain = Chain([[drops("after_output")], [says("never")]], {"policy": ONCE})
    events = [event async for event in chain.loop.stream("go")]
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.outcome, geode.Failed)
    assert (chain.asked, chain.opened) == ([1, 0], [])


async def test_a_stream_that_broke_before_output_leads_on() -> None:
    chain = Chain([[drops("before_output")], [says("done")]], {"policy": ONCE})
    events = [event async for event in chain.loop.stream("go")]
    assert chain.asked == [1, 1]
    assert [type(event) for event in events].count(ModelSwitched) == 1


async def test_with_the_last_one_failed_all_are_named() -> None:
    chain = Chain([[fails(503, message="x")], [fails(529, message="y")], [fails(500, message="z")]], {"policy": ONCE})
    outcome = await failed(chain)
    assert chain.asked == [1, 1, 1]
    assert outcome.why.startswith("c m: z. ")
    assert outcome.why.endswith(". Before that, a m: x; b m: y")
    assert outcome.failure == CallFailure(500, "response", "z")


# ---- what the next model does not take ---------------------------------------------------------


async def test_an_explicit_setting_is_refused_after_the_switch_and_never_dropped() -> None:
    plain = ScriptedModel(says("never"), name="b", capabilities=Capabilities(effort=False))
    chain = Chain([[fails(503, message="busy")]], {"fallbacks": [askable(plain, "m2", effort="high")], "policy": ONCE})
    outcome = await failed(chain)
    assert plain.requests == []
    assert [one[2:4] for one in chain.switches] == [("b", "m2")]
    assert outcome.reason == "request_error"
    assert outcome.why == "b: model m2 takes no effort; leave it out. Before that, a m: busy"


async def test_each_model_gets_its_own_settings() -> None:
    other = ScriptedModel(says("done"), name="b")
    chain = Chain([[fails(503)]], {"fallbacks": [askable(other, "m2", effort="low", temperature=0.5)], "policy": ONCE})
    answered(await chain.loop.run("go"))
    (request,) = other.requests
    assert (request.model, request.effort, request.temperature) == ("m2", "low", 0.5)
    (first,) = chain.models[0].requests
    assert (first.model, first.effort, first.temperature) == ("m", None, None)
    assert request.conversation == first.conversation


@pytest.mark.parametrize("error", [RuntimeError("no key"), SystemExit(3), asyncio.CancelledError("gone")], ids=repr)
async def test_a_model_that_cannot_be_opened_ends_the_run(error: BaseException) -> None:
    async def opened() -> ScriptedModel:
        raise error

    chain = Chain([[fails(503, message="busy")]], {"fallbacks": [Askable(Owner("b", "m2"), opened)], "policy": ONCE})
    outcome = await failed(chain)
    assert (outcome.reason, chain.switches) == ("model_error", [])
    why = f"b m2 cannot be asked: {type(error).__name__}: {error}. Before that, a m: busy"
    assert outcome.why == why


async def test_a_model_that_takes_too_long_to_open_ends_the_run() -> None:
    async def opened() -> ScriptedModel:
        await asyncio.Event().wait()
        raise AssertionError

    policy = replace(ONCE, call_timeout_seconds=0.05)
    chain = Chain([[fails(503)]], {"fallbacks": [Askable(Owner("b", "m2"), opened)], "policy": policy})
    assert "b m2 cannot be asked: it was not ready within 0.05 s" in (await failed(chain)).why


async def test_the_time_that_opening_takes_counts() -> None:
    clock = ManualClock()

    async def opened() -> ScriptedModel:
        clock.advance(60.0)
        return ScriptedModel(says("too late"), name="b")

    more = {"fallbacks": [Askable(Owner("b", "m2"), opened)], "policy": replace(ONCE, max_seconds=60.0), "clock": clock}
    outcome = await Chain([[fails(503)]], more).loop.run("go")
    assert isinstance(outcome, geode.Exhausted)
    assert outcome.reason == "time_budget"


# ---- the window and the pictures of the model that reads ---------------------------------------


async def test_results_are_fitted_to_the_window_of_the_model_that_is_asked() -> None:
    @geode.tool(tier="safe")
    async def much() -> str:
        return "word " * 40_000  # 200,000 characters, 50,000 tokens

    limits = ResultLimits(remedy="cut", cut_tokens=30_000)
    policy = replace(ONCE, result_limits=limits)
    model = ScriptedModel(calls(("much", {})), fails(503), name="a")
    known = Capabilities(models=(ModelRow("m2", window=128_000),))
    other = ScriptedModel(calls(("much", {})), says("done"), name="b", capabilities=known)
    clock = ManualClock()
    loop = loop_of(model=model, fallbacks=[askable(other, "m2")], tools=[much], policy=policy, clock=clock)
    first, second = texts(answered(await loop.run("go")))
    # Nothing is known of the window of "m": the limit of the policy. "m2" has one of 128,000: 5 % are 6,400 tokens.
    assert 25_000 * 4 < len(first) <= 30_000 * 4
    assert 6_000 * 4 < len(second) <= 6_400 * 4


async def test_pictures_are_made_for_the_model_that_is_asked() -> None:
    first, after = ScriptedModel(fails(503), name="a"), PictureLimits(max_bytes=10)
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
    other = ScriptedModel(calls(("shot", {})), says("done"), name="b", capabilities=Capabilities(pictures=after))

    @geode.tool(tier="safe")
    async def shot() -> geode.Image:
        return geode.Image("image/png", png)

    policy = replace(ONCE, oversize_images="refuse")
    loop = loop_of(model=first, fallbacks=[askable(other, "m2")], tools=[shot], policy=policy, clock=ManualClock())
    (text,) = texts(answered(await loop.run("go")))
    assert "image" in text


# ---- stopping, cancelling, and going on elsewhere ----------------------------------------------


async def test_stopping_while_a_model_is_opened_ends_the_run_as_stopped() -> None:
    opening = asyncio.Event()

    async def opened() -> ScriptedModel:
        opening.set()
        await asyncio.Event().wait()
        raise AssertionError

    chain = Chain([[fails(503)]], {"fallbacks": [Askable(Owner("b", "m2"), opened)], "policy": ONCE})
    running = asyncio.create_task(chain.loop.run("go"))
    await opening.wait()
    chain.loop.stop()
    assert isinstance(await running, geode.Stopped)
    assert tasks_left() == set()


async def test_cancelling_while_a_model_is_opened_passes_and_is_written_down() -> None:
    opening, journal = asyncio.Event(), MemoryJournal()

    async def opened() -> ScriptedModel:
        opening.set()
        await asyncio.Event().wait()
        raise AssertionError

    more = {"fallbacks": [Askable(Owner("b", "m2"), opened)], "policy": ONCE, "journal": journal}
    chain = Chain([[fails(503)]], more)
    running = asyncio.create_task(chain.loop.run("go"))
    await opening.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert outcome_of(replayed(journal)).reason == "stopped"


async def test_what_is_written_down_folds_to_the_same() -> None:
    journal = MemoryJournal()
    chain = Chain([[fails(503)], [calls(("look", {})), says("done")]], {"policy": ONCE, "journal": journal})
    outcome = answered(await chain.loop.run("go"))
    assert outcome_of(replayed(journal)) == outcome


async def suspended(fallback: ScriptedModel) -> str:
    """A run that had switched to `fallback` and waits for a person."""
    first = ScriptedModel(fails(503), name="a")
    loop = loop_of(
        model=first, fallbacks=[askable(fallback, "m")], tools=[write], policy=ONCE, approver=Asks(lambda call: geode.Later())
    )
    outcome = await loop.run("go")
    assert isinstance(outcome, geode.Suspended)
    return outcome.snapshot


async def test_a_suspended_run_goes_on_with_the_model_it_had_switched_to() -> None:
    snapshot = await suspended(ScriptedModel(calls(geode.testing.Called("write", {}, "w1")), name="b"))
    primary, same, seen = ScriptedModel(name="a"), ScriptedModel(says("done"), name="b"), Recorder()
    loop = loop_of(model=primary, fallbacks=[askable(same, "m")], tools=[write], observe=[seen], approver=Asks())
    answered(await loop.resume(snapshot, {"w1": geode.Approve()}))
    assert (len(primary.requests), len(same.requests)) == (0, 1)
    assert [one for one in seen.of(Notice) if one.kind == "model_changed"] == []


async def test_a_suspended_run_whose_model_is_not_in_the_chain_goes_on_with_the_session_s_own() -> None:
    snapshot = await suspended(ScriptedModel(calls(geode.testing.Called("write", {}, "w1")), name="b"))
    primary, seen = ScriptedModel(says("done"), name="a"), Recorder()
    loop = loop_of(model=primary, tools=[write], observe=[seen], approver=Asks())
    answered(await loop.resume(snapshot, {"w1": geode.Approve()}))
    assert len(primary.requests) == 1
    assert [one.text for one in seen.of(Notice) if one.kind == "model_changed"] == [
        "the run was begun with b m and goes on with a m"
    ]


async def test_a_resumed_run_whose_model_cannot_be_opened_ends() -> None:
    snapshot = await suspended(ScriptedModel(calls(geode.testing.Called("write", {}, "w1")), name="b"))

    async def opened() -> ScriptedModel:
        raise RuntimeError("no key")

    loop = loop_of(model=ScriptedModel(name="a"), fallbacks=[Askable(Owner("b", "m"), opened)], tools=[write], approver=Asks())
    outcome = await loop.resume(snapshot, {"w1": geode.Approve()})
    assert isinstance(outcome, geode.Failed)
    assert outcome.reason == "request_error"
    assert "b cannot be asked: RuntimeError: no key" in outcome.why


# ---- killed at every point ---------------------------------------------------------------------

SCRIPTS: tuple[list[Step], list[Step]] = (
    [calls(("look", {})), fails(503), fails(503)],
    [fails(503), calls(("look", {})), says("done")],
)


async def recorded(folder: Path) -> list[bytes]:
    """The journal of a run that switched in its second round."""
    more = {"journal": FileJournal(folder), "policy": Policy(retry=RetryPolicy(attempts=2))}
    answered(await Chain([*SCRIPTS], more).loop.run("go"))
    return (folder / "run_1.jsonl").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("records", range(1, 13))
async def test_a_run_killed_after_any_record_goes_on_to_its_end(tmp_path: Path, records: int) -> None:
    lines = await recorded(tmp_path / "whole")
    kept = lines[: records + 1]
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "run_1.jsonl").write_bytes(b"".join(kept))
    # Begun, a call, its result, a failure, a wait, a failure: the sixth is the last before the switch.
    had_switched = any(b'"Switched"' in line for line in kept)
    first: list[Step] = [calls(("look", {})), says("done")] if records < 3 else [says("done")]
    chain = Chain(
        [[] if had_switched else first, [calls(("look", {})), says("done")]],
        {"journal": FileJournal(tmp_path / "cut"), "policy": Policy(retry=RetryPolicy(attempts=2))},
    )
    outcome = answered(await chain.loop.resume_run("run_1"))
    assert outcome.text == "done"
    assert (chain.asked[0] == 0) == (had_switched or records >= 6)
    assert [result.kind for result in outcome.conversation.results()].count("ok") >= 1
