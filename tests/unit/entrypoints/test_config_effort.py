"""A configured effort is inherited: sent as it is to models that have one, left out for those that have none (spec 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.retry import RetryPolicy
from geode.domain.script import Step
from geode.entrypoints.emulator import Emulator, running
from geode.testing import ScriptedModel, default_model, fails, says
from tests.unit.entrypoints.places import PLACES, PlaceName, Places, new_places

AT_ONCE = geode.Policy(retry=RetryPolicy(base_seconds=0))
# By the rows of the shipped routing.toml.
WITH_EFFORT, WITHOUT_EFFORT = "gpt-5.2", "gpt-4o"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return new_places(tmp_path, monkeypatch)


async def asked(places: Places, *steps: Step, **settings: Any) -> tuple[geode.Outcome, list[tuple[str, Any]]]:
    """The outcome of a run, and the model and the effort of each request."""
    emulator = Emulator(steps or (says("Hello."),))
    async with running(emulator) as server:
        places.monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        places.monkeypatch.setenv("OPENAI_API_KEY", "k")
        outcome = await geode.run("Hi", policy=AT_ONCE, **settings)
    requests = [received.request for received in emulator.received]
    return outcome, [(request["model"], request.get("reasoning", {}).get("effort")) for request in requests]


@pytest.mark.parametrize("place", PLACES[1:])
async def test_a_configured_effort_is_sent_as_it_is(places: Places, place: PlaceName) -> None:
    places.say(place, "xhigh", "effort")
    _, sent = await asked(places, model=WITH_EFFORT)
    assert sent == [(WITH_EFFORT, "xhigh")]


async def test_both_may_be_configured(places: Places) -> None:
    places.write("global", f"model = '{WITH_EFFORT}'\neffort = 'low'\n")
    assert (await asked(places))[1] == [(WITH_EFFORT, "low")]


async def test_the_argument_is_stronger(places: Places) -> None:
    places.say("process", "xhigh", "effort")
    _, sent = await asked(places, model=WITH_EFFORT, effort="low")
    assert sent == [(WITH_EFFORT, "low")]


async def test_a_model_without_effort_is_asked_without_it_and_refuses_an_explicit_one(places: Places) -> None:
    places.say("process", "high", "effort")
    outcome, sent = await asked(places, model=WITHOUT_EFFORT)
    assert (outcome.text, sent) == ("Hello.", [(WITHOUT_EFFORT, None)])
    outcome, sent = await asked(places, model=WITHOUT_EFFORT, effort="high")
    assert isinstance(outcome, geode.Failed)
    assert f"model {WITHOUT_EFFORT} takes no effort; leave it out" in outcome.why
    assert sent == []


async def test_an_effort_that_the_model_does_not_take_is_refused_before_the_call(places: Places) -> None:
    places.say("process", "max", "effort")
    outcome, sent = await asked(places, model=WITH_EFFORT)
    assert isinstance(outcome, geode.Failed)
    assert f'model {WITH_EFFORT} takes no effort "max"; it takes none, low, medium, high, xhigh' in outcome.why
    assert sent == []


async def test_each_model_that_a_run_switches_to_inherits_for_itself(places: Places) -> None:
    places.say("process", "high", "effort")
    broken = [fails(500, message="not now")] * 3
    _, sent = await asked(places, *broken, says("Hello."), model=WITHOUT_EFFORT, fallbacks=[WITH_EFFORT])
    assert sent == [(WITHOUT_EFFORT, None)] * 3 + [(WITH_EFFORT, "high")]


async def test_a_model_of_a_program_inherits_nothing(places: Places) -> None:
    """What a person has configured decides no test of an application."""
    places.say("process", "high", "effort")
    given, default = ScriptedModel(says("one")), ScriptedModel(says("two"))
    await geode.run("Hi", model=given)
    with default_model(default):
        await geode.run("Hi")
    assert [request.effort for request in (*given.requests, *default.requests)] == [None, None]
