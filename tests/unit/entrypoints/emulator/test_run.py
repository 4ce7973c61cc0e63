"""Starting and stopping: no signal handlers, no open ports to the world, no waiting for hung clients."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import time

import httpx2
import pytest

from geode.domain.script import hangs, says
from geode.entrypoints import emulator
from geode.entrypoints.emulator import Emulator, running, running_in_thread, serve
from tests.unit.entrypoints.emulator.requests import messages

VERSION = {"anthropic-version": "2026-10-21"}
# What a bare install lacks is simulated by making the imports fail.
WITHOUT_EXTRA = """
import sys
sys.modules["starlette"] = sys.modules["uvicorn"] = None
import geode.entrypoints.emulator as emulator
assert emulator.check("chat", {"model": "m", "messages": []})
try:
    emulator.Emulator
except ImportError as error:
    print(error)
"""


async def test_stopping_does_not_wait_for_a_hung_client() -> None:
    async with httpx2.AsyncClient(timeout=30, headers=VERSION) as client:
        hung = Emulator((hangs(),))
        async with running(hung) as server:
            waiting = asyncio.create_task(client.post(f"{server.base_url}/v1/messages", json=messages()))
            for _ in range(500):
                if hung.received:
                    break
                await asyncio.sleep(0.01)
            stopped = time.monotonic()
        assert time.monotonic() - stopped < 1
        with pytest.raises(httpx2.TransportError):
            await waiting


async def test_no_signal_handler_is_touched() -> None:
    before = signal.getsignal(signal.SIGINT)
    async with running(Emulator(())):
        assert signal.getsignal(signal.SIGINT) is before


async def test_two_emulators_run_side_by_side() -> None:
    async with (
        running(Emulator((says("a"),))) as first,
        running(Emulator((says("b"),))) as second,
        httpx2.AsyncClient(headers=VERSION) as client,
    ):
        answers = [await client.post(f"{one.base_url}/v1/messages", json=messages()) for one in (second, first)]

    assert [answer.json()["content"][0]["text"] for answer in answers] == ["b", "a"]


def test_code_without_a_loop_gets_a_thread() -> None:
    with running_in_thread(Emulator((says("hi"),))) as server:
        answer = httpx2.post(f"{server.base_url}/v1/messages", json=messages(), headers=VERSION)

    assert answer.json()["content"][0]["text"] == "hi"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(server.base_url)


@pytest.mark.parametrize("host", ["0.0.0.0", "example.org", "::", "10.0.0.1"])
def test_only_the_loopback_is_served(host: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        serve(Emulator(()), host=host)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1:{port}"):
            serve(Emulator(()), port=port)


def test_serve_ends_quietly_when_interrupted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = f"from geode.entrypoints.emulator import Emulator, serve; serve(Emulator(()), port={port}); print('ended')"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert _answers(port)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)

    assert (out, err, process.returncode) == ("ended\n", "", 0)


def _answers(port: int) -> bool:
    for _ in range(500):
        with contextlib.suppress(httpx2.TransportError):
            return httpx2.get(f"http://127.0.0.1:{port}/").status_code == 404
        time.sleep(0.02)
    return False


def test_judging_needs_no_extra_and_the_server_names_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRA], capture_output=True, text=True, check=True)

    assert "geode[emulator]" in done.stdout


@pytest.mark.parametrize("name", ["nonsense"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(emulator, name)
