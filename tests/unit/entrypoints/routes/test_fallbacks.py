"""`fallbacks=`: what is refused at once, and what a session and a container make of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import providers

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.scripted.model import ScriptUnused
from geode.container import GeodeContainer
from geode.domain.errors import Misuse
from geode.entrypoints.routes.registry import forget_adapters
from geode.entrypoints.routes.session_models import SessionModels
from geode.entrypoints.settings import Settings
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


# ---- chains of routing.toml, and settings that do not fit ------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "sk-some-key")
    forget_adapters()
    yield tmp_path
    forget_adapters()


@pytest.mark.parametrize(
    ("model", "chain"),
    [
        ("gpt-6-sol", ["claude-opus-5-5"]),
        ("openai/gpt-6-sol", ["claude-opus-5-5"]),
        ("openai-payg/gpt-6-sol", ["claude-opus-5-5"]),
        ("codex-oauth/gpt-6-sol", []),
        ("gpt-5.2", []),
        ("claude-opus-5-5", []),
    ],
)
def test_a_chain_is_that_of_the_model_however_its_id_is_written(model: str, chain: list[str], home: Path) -> None:
    """A model that was named is never replaced by one that stands for another (CF-04)."""
    (home / "routing.toml").write_text('[model.fallbacks]\nopenai = ["gpt-6-sol", "claude-opus-5-5"]\n')
    tokens = home / "credentials" / "codex-oauth.json"
    tokens.parent.mkdir(mode=0o700)
    tokens.touch(0o600)
    tokens.write_text('{"access_token": "t", "expires_at": 4102444800}')
    assert [id for _, id in SessionModels(Settings(model=model)).fallbacks] == chain


def test_what_is_given_is_stronger_than_the_chain(home: Path) -> None:
    (home / "routing.toml").write_text('[model.fallbacks]\nopenai = ["gpt-6-sol", "claude-opus-5-5"]\n')
    assert SessionModels(Settings(model="gpt-6-sol", fallbacks=[])).fallbacks == ()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"effort": "xhigh", "fallbacks": ["claude-opus-4-6"]}, 'model claude-opus-4-6 takes no effort "xhigh"'),
        ({"effort": "low", "fallbacks": ["gpt-4o"]}, "model gpt-4o takes no effort; leave it out"),
        ({"temperature": 0.5, "fallbacks": ["claude-opus-4-6"]}, "model claude-opus-4-6 takes no temperature"),
        ({"thinking": "adaptive", "fallbacks": ["gpt-5.1"]}, "model gpt-5.1 takes no thinking setting on this wire"),
    ],
)
def test_a_setting_that_a_fallback_does_not_take_is_told_before_anything_leaves(settings: Any, said: str, home: Path) -> None:
    with pytest.raises(Misuse) as caught:
        geode.session(model="gpt-5.2", **settings)
    assert caught.value.id == "fallback-setting"
    assert said in str(caught.value)


def test_a_stored_effort_is_left_out_for_a_fallback_without(home: Path) -> None:
    (home / "config.toml").write_text('effort = "low"\n')
    geode.session(model="gpt-5.2", fallbacks=["gpt-4o"])
