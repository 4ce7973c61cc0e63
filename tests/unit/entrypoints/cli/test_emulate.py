"""`geode emulate`: its default script, its log, and what it refuses to do."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from geode.domain.script import Script, calls, drops, fails, says, thinks
from geode.entrypoints.cli.emulate import GREETING, banner, read_script
from geode.entrypoints.cli.emulator_log import LoggedEmulator
from geode.entrypoints.cli.main import main
from geode.entrypoints.emulator import running

CHAT = {"model": "my-llama", "messages": [{"role": "user", "content": "Hi"}]}


async def posted(script: Script, *bodies: object, once: bool = False) -> list[int]:
    emulator = LoggedEmulator(script, on_missing="error" if once else "restart", by_conversation=not once)
    async with running(emulator) as server, httpx2.AsyncClient(base_url=server.base_url) as client:
        return [(await client.post("/v1/chat/completions", json=body)).status_code for body in bodies]


async def test_the_default_script_greets_any_number_of_clients(capsys: pytest.CaptureFixture[str]) -> None:
    replied = {"role": "assistant", "content": "Hello"}
    longer = {**CHAT, "messages": [*CHAT["messages"], replied, {"role": "user", "content": "And?"}]}
    assert await posted(GREETING, CHAT, CHAT, longer, CHAT) == [200] * 4
    log = capsys.readouterr().err.splitlines()
    assert [line.count("Hello again") for line in log] == [0, 0, 1, 0]


@pytest.mark.sends_broken_requests
async def test_each_request_is_one_line_with_what_became_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    script = (thinks("hm") + says("one") + calls(("add", {})), fails(529), drops("headers"), says("streamed"))
    bad = {"model": "my-llama", "messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}
    stream = {**CHAT, "stream": True}
    with pytest.raises(httpx2.TransportError):
        await posted(script, bad, CHAT, CHAT, CHAT, once=True)
    assert await posted((says("streamed"),), stream, CHAT, once=True) == [200, 500]
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines[0].startswith("chat       my-llama              whole     refused   400 chat.")
    assert " at /messages/0" in lines[0]
    assert [line.partition("→ ")[2] for line in lines[1:]] == [
        'thinks "hm"; says "one"; calls add',
        "fails with 529",
        "drops",
        'says "streamed"',
        "the script has no more steps",
    ]
    assert "streamed  accepted" in lines[4]


async def test_requests_that_come_at_once_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    async def slowly(model: str) -> AsyncIterator[bytes]:
        text = json.dumps({**CHAT, "model": model}).encode()
        yield text[:10]
        await asyncio.sleep(0.1)
        yield text[10:]

    async with (
        running(LoggedEmulator(GREETING, by_conversation=True)) as server,
        httpx2.AsyncClient(base_url=server.base_url) as client,
    ):
        await asyncio.gather(*(client.post("/v1/chat/completions", content=slowly(f"m{one}")) for one in range(5)))
    models = [line.split()[2] for line in capsys.readouterr().err.splitlines()]
    assert sorted(models) == [f"m{one}" for one in range(5)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("[", "Expecting value: line 1 column 2"),
        ('[{"sings": "la"}]', "script step 1 has unknown sings; accepted: says, thinks"),
        ("[7]", "script step 1 must be an object"),
        ("7", "must be a JSON list of steps"),
        ('{"says": "hi"}', "must be a JSON list of steps"),
    ],
)
def test_a_script_that_cannot_be_played_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    path = tmp_path / "script.json"
    if text is not None:
        path.write_text(text)
    assert main(["emulate", "--script", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"--script {path}: " in err
    assert said in err


def test_a_script_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('[{"says": "é", "calls": [["add", {"a": 1}]]}, {"fails": 529}]', "utf-8")
    assert read_script(str(path)) == (says("é") + calls(("add", {"a": 1})), fails(529))


def test_a_port_that_is_taken_is_said_before_anything_is_promised(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["emulate", "--port", str(port)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"--host 127.0.0.1 --port {port}: Address already in use; --port 0 takes a free one" in err


@pytest.mark.parametrize("host", ["0.0.0.0", "example.com", "::"])
def test_only_the_loopback_is_served(capsys: pytest.CaptureFixture[str], host: str) -> None:
    assert main(["emulate", "--host", host]) == 2
    assert "a loopback address only" in capsys.readouterr().err


def test_addresses_are_written_as_urls() -> None:
    assert "http://[::1]:80/v1 " in banner("::1", 80)
    assert "http://127.0.0.1:80 " in banner("127.0.0.1", 80)
