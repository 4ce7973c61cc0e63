"""Testing an application: scripts that fail by themselves, a default model, and no network."""

import asyncio
import os
import socket
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest

import geode
from geode.entrypoints.testing import NetworkUsed
from geode.testing import (
    Called,
    ManualClock,
    ScriptedModel,
    ScriptExhausted,
    ScriptUnused,
    calls,
    default_model,
    drops,
    fails,
    hangs,
    malformed,
    no_network,
    says,
    thinks,
)

ROOT = Path(__file__).resolve().parents[3]


# ---- ScriptedModel -----------------------------------------------------------------------------


async def test_steps_that_were_never_asked_for_fail_the_test() -> None:
    with pytest.raises(ScriptUnused, match=r"1 of 2 steps were never asked for; the next one is .*'two'"):
        await geode.run("Hi", model=ScriptedModel(says("one"), says("two")))


async def test_a_call_beyond_the_script_fails_the_test() -> None:
    @geode.tool(tier="safe")
    async def look() -> str:
        return "seen"

    with pytest.raises(ScriptExhausted, match="called 2 times, the script has 1 steps"):
        await geode.run("Hi", model=ScriptedModel(calls(("look", {}))), tools=[look])


async def test_the_first_failure_is_not_hidden_by_the_unused_steps() -> None:
    with pytest.raises(KeyError):
        async with geode.session(model=ScriptedModel(says("one"))):
            raise KeyError


async def test_what_was_asked_is_kept() -> None:
    model = ScriptedModel(says("one"), says("two"))
    async with geode.session(model=model) as loop:
        first = await loop.run("Hi")
        await loop.run("And?", conversation=first.conversation)
    assert [len(request.turns) for request in model.requests] == [1, 3]


async def test_every_step_is_played() -> None:
    @geode.tool(tier="safe")
    async def look(n: int = 0) -> str:
        return f"seen {n}"

    script = (
        fails(529, retry_after=1),
        drops("before_output"),
        thinks("hm") + says("Looking.") + calls(("look", {"n": 1}), Called("look", '{"n": 2}', id=""), ("look", "{broken")),
        says("done"),
    )
    outcome = await geode.run("Hi", model=ScriptedModel(*script), tools=[look], clock=ManualClock())
    assert isinstance(outcome, geode.Answered)
    assert [result.kind for result in outcome.conversation.results()] == ["ok", "ok", "failed"]


async def test_malformed_answers_and_silence() -> None:
    outcome = await geode.run("Hi", model=ScriptedModel(malformed("html")))
    assert isinstance(outcome, geode.Failed)
    assert outcome.reason == "model_error"
    policy = geode.Policy(call_timeout_seconds=0.02)
    outcome = await geode.run("Hi", model=ScriptedModel(hangs(), says("awake")), clock=ManualClock(), policy=policy)
    assert outcome.text == "awake"


# ---- default_model -----------------------------------------------------------------------------


async def test_a_default_model_serves_sessions_that_name_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODE_MODEL", "gpt-5.2")
    with default_model(ScriptedModel(says("default"))):
        assert (await geode.run("Hi")).text == "default"
        assert (await geode.run("Hi", model=ScriptedModel(says("named")))).text == "named"


async def test_one_default_model_serves_several_sessions_and_is_checked_at_its_end() -> None:
    with default_model(ScriptedModel(says("one"), says("two"))):
        assert [(await geode.run("Hi")).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ScriptUnused), default_model(ScriptedModel(says("one"), says("two"))):
        await geode.run("Hi")


async def test_default_models_nest_and_end() -> None:
    with default_model(ScriptedModel(says("outer"))):
        with default_model(ScriptedModel(says("inner"))):
            assert (await geode.run("Hi")).text == "inner"
        assert (await geode.run("Hi")).text == "outer"
    with pytest.raises(ValueError, match="gone"), default_model(ScriptedModel(says("never"))):
        raise ValueError("gone")
    from geode.entrypoints.routes.session_models import default

    assert default.value is None


# ---- no_network --------------------------------------------------------------------------------


def connect() -> None:
    with socket.socket() as sock:
        sock.connect(("127.0.0.1", 9))


def send() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("127.0.0.1", 9))


@pytest.mark.parametrize(
    "use",
    [
        connect,
        send,
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: socket.getaddrinfo("example.invalid", 80),
        lambda: socket.gethostbyname("example.invalid"),
        lambda: urllib.request.urlopen("http://127.0.0.1:9"),
        lambda: asyncio.run(open_stream()),
    ],
)
def test_inside_no_network_nothing_connects(use: object) -> None:
    assert callable(use)
    with no_network(), pytest.raises(NetworkUsed, match=r"no_network\(\)"):
        use()


async def open_stream() -> None:
    await asyncio.open_connection("127.0.0.1", 9)


async def test_a_run_over_a_real_adapter_says_that_it_tried() -> None:
    lab = geode.Provider("lab", wire="chat", base_url="http://127.0.0.1:9/v1")
    with no_network(), pytest.raises(BaseExceptionGroup) as caught:
        await geode.run("Hi", model="lab/m", providers=[lab])
    assert caught.value.subgroup(NetworkUsed) is not None


def test_after_no_network_everything_is_as_before() -> None:
    before = (socket.socket.connect, socket.socket.sendto, socket.getaddrinfo)
    with pytest.raises(KeyError), no_network():
        raise KeyError
    assert (socket.socket.connect, socket.socket.sendto, socket.getaddrinfo) == before
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_the_fixture_no_network_comes_with_the_package(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import socket

def test_offline(no_network):
    socket.create_connection(("127.0.0.1", 9))

def test_online():
    try:
        socket.create_connection(("127.0.0.1", 9))
    except OSError:
        pass
"""
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plugin = "geode.entrypoints.pytest_plugin"
    options = ["-q", "-p", plugin, "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini"), str(tmp_path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options], capture_output=True, text=True, check=False, env=environment
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "NetworkUsed" in done.stdout
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"geode": plugin}
