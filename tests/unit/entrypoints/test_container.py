"""geode as a part of a host's container: sample (n) of the surface, and what a host would try next."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from dependency_injector import containers, providers
from dependency_injector.errors import Error

import geode
from geode.container import GeodeContainer
from geode.ports import SessionFactory
from geode.testing import ManualClock, MemoryJournal, ScriptedModel, calls, says


@dataclass
class Db:
    users: dict[str, int]


class UserTools:
    def __init__(self, db: Db) -> None:
        self.db = db

    @geode.tool(tier="safe")
    def count(self, country: str) -> int:
        """Number of users of a country."""
        return self.db.users[country]


class Service:
    def __init__(self, sessions: SessionFactory) -> None:
        self.sessions = sessions

    async def answer(self, question: str) -> str:
        async with self.sessions() as loop:
            return (await loop.run(question)).text


class App(containers.DeclarativeContainer):
    db = providers.Singleton(Db, users={"FR": 42})
    users = providers.Singleton(UserTools, db)
    tools = providers.List(users.provided.count)
    geode = providers.Container(GeodeContainer, model=providers.Object("gpt-5.2"), tools=tools)
    service = providers.Factory(Service, sessions=geode.session.provider)


async def test_a_model_is_overridden_in_a_test() -> None:
    app = App()
    app.check_dependencies()
    with app.geode.model.override(providers.Object(ScriptedModel(says("fake")))):
        assert await app.service().answer("How many?") == "fake"


async def test_the_tools_are_those_of_the_host_and_its_other_adapters_are_used() -> None:
    app, journal = App(), MemoryJournal()
    model = ScriptedModel(calls(("count", {"country": "FR"})), says("42"))
    with (
        app.geode.model.override(providers.Object(model)),
        app.geode.journal.override(providers.Object(journal)),
        app.geode.clock.override(providers.Object(ManualClock(1_000.0))),
    ):
        async with app.geode.session() as loop:
            outcome = await loop.run("How many in FR?")
    assert [result.text for result in outcome.conversation.results()] == ["42"]
    (inputs,) = journal.inputs.values()
    assert {input.at for input in inputs} == {1_000.0}


async def test_own_types_are_rendered_as_the_host_says() -> None:
    app = App()
    model = ScriptedModel(calls(("count", {"country": "FR"})), says("42"))
    renderers = {int: lambda count: f"{count} users"}
    with app.geode.model.override(providers.Object(model)), app.geode.renderers.override(providers.Object(renderers)):
        async with app.geode.session() as loop:
            outcome = await loop.run("How many in FR?")
    assert [result.text for result in outcome.conversation.results()] == ["42 users"]


async def test_each_session_is_its_own_and_the_runtime_is_one() -> None:
    app = App()
    with app.geode.model.override(providers.Object(ScriptedModel(says("one"), says("two")))):
        assert app.geode.session() is not app.geode.session()
        assert app.geode.runtime() is app.geode.runtime()
        async with app.geode.runtime() as runtime:
            async with runtime.session() as loop:
                assert (await loop.run("?")).text == "one"
            async with runtime.session() as loop:
                assert (await loop.run("?")).text == "two"


def test_what_is_no_adapter_of_a_port_is_refused_by_name() -> None:
    app = App()
    with app.geode.clock.override(providers.Object("noon")), pytest.raises(Error, match="Clock"):
        app.geode.session()


def test_a_setting_that_cannot_work_is_misuse_when_the_session_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(geode.Misuse, match="set OPENAI_API_KEY"):
        App().geode.session()
