"""`fallbacks=`: what is refused at once, and what a session and a container make of it."""

from __future__ import annotations

from typing import Any

import pytest
from dependency_injector import providers

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptUnused
from geode.container import GeodeContainer
from geode.domain.errors import Misuse
from geode.events import Event, ModelSwitched
from geode.testing import ScriptedModel, fails, says

LAB = geode.Provider("lab", wire="chat", base_url="http://127.0.0.1:9/v1")


def refused(**settings: Any) -> Misuse:
    with pytest.raises(Misuse) as caught:
        geode.session(providers=[LAB], **settings)
    return caught.value


WRONG: list[tuple[Any, str, str]] = [
    ("lab/m", "fallbacks-type", "fallbacks must be a list of models, got 'lab/m'. Write fallbacks=[\"gpt-5.2\"]"),
    (7, "fallbacks-type", 'fallbacks must be a list of models, got 7. Write fallbacks=["gpt-5.2"]'),
    ([7], "fallbacks-type", "fallbacks must hold model ids or adapters, got int"),
    ([ScriptedModel], "fallbacks-type", "fallbacks must hold model ids or adapters, got ScriptedModel"),
    (["lab/m"], "fallback-twice", "fallbacks names lab m, the model itself; name each model once"),
    (["lab/n", "lab/n"], "fallback-twice", "fallbacks names lab n, which it has named before; name each model once"),
    (
        [ScriptedModel(), ScriptedModel()],
        "fallback-twice",
        "fallbacks names scripted scripted, which it has named before; give adapters names of their own",
    ),
]


@pytest.mark.parametrize(("fallbacks", "id", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_refused_when_the_session_is_made(fallbacks: Any, id: str, message: str) -> None:
    wrong = refused(model="lab/m", fallbacks=fallbacks)
    assert (wrong.id, str(wrong)) == (id, f"{message} [{id}]")


def test_an_unknown_model_is_refused_like_the_primary() -> None:
    assert refused(model="lab/m", fallbacks=["nobody-knows-this"]).id == "unknown-model"


def test_a_name_of_elsewhere_leads_here() -> None:
    assert 'session has no "fallback": that is fallbacks=[MODEL, …]' in str(refused(model="lab/m", fallback="lab/n"))


async def test_a_runtime_switches_in_each_run_anew() -> None:
    first = ScriptedModel(*[fails(503)] * 3, says("back"), name="first")
    second, seen = ScriptedModel(says("second"), name="second"), list[Event]()
    async with geode.Runtime(model=first, fallbacks=[second], clock=ManualClock(), observe=seen.append) as runtime:
        texts: list[str] = []
        for _ in range(2):
            async with runtime.session() as loop:
                texts.append((await loop.run("go")).text)
    assert texts == ["second", "back"]
    (switch,) = [event for event in seen if isinstance(event, ModelSwitched)]
    assert (switch.from_adapter, switch.to_adapter, switch.to_model) == ("first", "second", "second")


async def test_a_script_that_nobody_switched_to_is_unused() -> None:
    second = ScriptedModel(says("never"), name="second")
    with pytest.raises(ScriptUnused):
        await geode.run("go", model=ScriptedModel(says("done")), fallbacks=[second])
    assert second.requests == []


async def test_settings_go_to_every_member() -> None:
    first, second = ScriptedModel(*[fails(503)] * 3, name="first"), ScriptedModel(says("done"), name="second")
    await geode.run("go", model=first, fallbacks=[second], clock=ManualClock(), effort="low", temperature=0.5, system="Hi")
    (request,) = second.requests
    assert (request.effort, request.temperature, request.system) == ("low", 0.5, "Hi")


async def test_the_container_has_them_too() -> None:
    first, second = ScriptedModel(*[fails(503)] * 3, name="first"), ScriptedModel(says("done"), name="second")
    container = GeodeContainer(
        model=providers.Object(first), fallbacks=providers.List(providers.Object(second)), clock=ManualClock()
    )
    async with container.session() as loop:
        assert (await loop.run("go")).text == "done"


async def test_a_model_id_is_connected_when_it_is_switched_to() -> None:
    """Nobody listens at port 9: the run fails there, after the switch, with its own attempts."""
    first = ScriptedModel(*[fails(503, message="busy")] * 3, name="first")
    seen = list[Event]()
    outcome = await geode.run("go", model=first, fallbacks=["lab/m"], providers=[LAB], clock=ManualClock(), observe=seen.append)
    assert isinstance(outcome, geode.Failed)
    assert outcome.why.startswith("lab m: cannot connect to http://127.0.0.1:9/v1 (refused), 3 attempts in ")
    assert outcome.why.endswith(". Before that, first first: busy, 3 attempts in 3.0 s")
    assert [event.to_adapter for event in seen if isinstance(event, ModelSwitched)] == ["lab"]
