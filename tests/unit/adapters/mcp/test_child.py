"""Servers that are programs: what they print, what they are given, and how they end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from geode import McpServer
from geode.adapters.mcp import child as adapter
from geode.adapters.mcp import opened as reopening
from geode.adapters.mcp.inspection import inspected
from geode.adapters.mcp.opened import OpenServer
from geode.adapters.mcp.source import McpSource, Status
from geode.domain.errors import Misuse
from geode.ports.tool_sources import ToolSourceError
from geode.ports.tools import OutcomeUnknown, ToolError
from tests.unit.adapters.mcp.playing import called, child, diary, is_alive, listed, named, opened, until

NOISE = [
    "Server v1.2 starting",
    "",
    '{"level":"info","msg":"ready"}',
    '{"jsonrpc":"1.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0"}',
    "[1, 2]",
    "null",
    "\x1b[32mready\x1b[0m",
    "[" * 5_000,
]


# ------------------------------------------------------------------------------------------------ what it prints


async def test_lines_that_are_no_messages_are_skipped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    plan = {"at_start": NOISE, "before_answer": NOISE}
    with caplog.at_level(logging.INFO, "geode.mcp"):
        async with listed(child(plan)) as (_, listing):
            assert await called(listing, "add", a=1) == 'add({"a": 1})'
    logged = [record.getMessage() for record in caplog.records if record.name == "geode.mcp"]
    assert logged[0] == 'MCP server "demo" printed what is no message: Server v1.2 starting'
    assert len(logged) == 16  # the empty lines are not worth it, and what is too deep is a line as any
    assert max(map(len, logged)) < 400


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--token", "key-1f2e3d4c5b6a"], "['--token', '***']"),
        (["--token=key-1f2e3d4c5b6a"], "['--token=***']"),
        (["-e", "TOKEN=key-1f2e3d4c5b6a"], "['-e', 'TOKEN=***']"),
        (["postgres://u:key-1f2e3d4c5b6a@db/x"], "['postgres://u:***@db/x']"),
        (["--at=https://h/?key=key-1f2e3d4c5b6a"], "['--at=***']"),
        (["https://h/?key=key-1f2e3d4c5b6a&n=1"], "['https://h/?key=***&n=1']"),
        (["--yes", "--quiet", "@scope/package"], "['--yes', '--quiet', '***']"),
        (["-y", "@scope/package"], "['-y', '@scope/package']"),
    ],
)
async def test_the_value_of_an_argument_is_not_shown_where_the_program_prints_it(arguments: list[str], shown: str) -> None:
    program = "import sys; sys.exit(str(sys.argv[1:]))"
    with pytest.raises(ToolSourceError) as caught:
        async with opened(McpServer("demo", command=[sys.executable, "-c", program, *arguments])):
            pass
    assert str(caught.value) == f'MCP server "demo" ended with code 1; last stderr: "{shown}"'


async def test_what_is_logged_of_such_lines_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "geode.mcp"):
        async with opened(child({"at_start": ["noise"] * 500})):
            pass
    assert sum(record.name == "geode.mcp" for record in caplog.records) == 20


async def test_a_flood_on_standard_error_blocks_nobody() -> None:
    async with listed(child({"flood": 3_000_000})) as (_, listing):
        assert await called(listing, "add", a=1) == 'add({"a": 1})'


@pytest.mark.parametrize("letters", [70_000, 5_000_000])
async def test_a_long_line_is_one_message(letters: int) -> None:
    async with listed(child({"tools": named("long")})) as (_, listing):
        assert await called(listing, "long", letters=letters) == "x" * letters


async def test_a_line_without_end_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MAX_LINE", 100_000)
    async with listed(child({"tools": named("long")})) as (_, listing):
        with pytest.raises(OutcomeUnknown) as caught:
            await called(listing, "long", letters=1_000_000)
        assert caught.value.detail == 'MCP server "demo" sent a line of more than 100,000 bytes during long (call_1)'
        assert len(await called(listing, "long", letters=3)) == 3


# ------------------------------------------------------------------------------------------------ what it is given


async def environment_of(server: McpServer, **environ: str) -> dict[str, str]:
    async with listed(server, **environ) as (_, listing):
        found: dict[str, str] = json.loads(await called(listing, "environment"))
    return found


PLAN = {"tools": named("environment")}
SECRETS = {"OPENAI_API_KEY": "sk-live-one", "AWS_SECRET_ACCESS_KEY": "two", "DEMO_DB": "postgres://u:three@db"}


async def test_a_child_has_what_programs_need_and_no_secret() -> None:
    found = await environment_of(child(PLAN), **SECRETS, LC_TIME="de_DE", HOME="/home/lab")
    assert found["HOME"] == "/home/lab"
    assert found["LC_TIME"] == "de_DE"
    allowed = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"}
    assert {name for name in found if not name.startswith("LC_")} <= allowed


async def test_a_child_has_the_variables_that_are_named_for_it() -> None:
    found = await environment_of(child(PLAN, env=["DEMO_DB"]), **SECRETS)
    assert found["DEMO_DB"] == "postgres://u:three@db"
    assert not {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"} & found.keys()


async def test_a_child_has_the_values_that_are_given_for_it() -> None:
    found = await environment_of(child(PLAN, env={"DEMO_DB": "mine", "HOME": "/nowhere"}), **SECRETS)
    assert (found["DEMO_DB"], found["HOME"]) == ("mine", "/nowhere")


async def test_what_a_child_was_given_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    value = "token-9f8e7d6c5b4a"
    program = "import os, sys; print('noise', os.environ['KEY']); sys.exit('refused: ' + os.environ['KEY'])"
    server = McpServer("demo", command=[sys.executable, "-I", "-S", "-c", program, "arg-" + value], env={"KEY": value})
    source = McpSource(server)
    with caplog.at_level(logging.DEBUG), pytest.raises(ToolSourceError) as caught:
        async with source.opened():
            pass
    assert str(caught.value) == 'MCP server "demo" ended with code 1; last stderr: "refused: ***"'
    assert value not in f"{server!r} {source!r} {source.origin} {source.status} {caplog.text} {caught.value!r}"


async def test_it_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(Path(__file__).with_name("child.py").read_text())
    server = McpServer("demo", command=[sys.executable, "server.py", "{}"], cwd=str(tmp_path))
    async with listed(server) as (_, listing):
        assert [tool.spec.name for tool in listing.tools] == ["add"]


# ------------------------------------------------------------------------------------------------ how it ends


async def test_one_that_dies_at_start_says_why() -> None:
    with pytest.raises(ToolSourceError) as caught:
        async with opened(child({"exit": 4, "stderr": "reading settings\nno licence found\n\n"})):
            pass
    assert str(caught.value) == 'MCP server "demo" ended with code 4; last stderr: "no licence found"'


async def test_one_that_does_not_start_in_time_is_ended(tmp_path: Path) -> None:
    server = child({"hang": "start", "diary": str(tmp_path / "diary"), "stderr": "waiting\n"}, start_timeout_seconds=0.5)
    began = time.monotonic()
    with pytest.raises(ToolSourceError, match=r"did not start within 0.5 s"):
        async with opened(server):
            pass
    assert time.monotonic() - began < 5
    assert [is_alive(one["pid"]) for one in diary(tmp_path / "diary")] in ([False], [])


async def test_opening_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    before = asyncio.all_tasks()

    async def held() -> None:
        async with opened(child({"hang": "start", "diary": str(tmp_path / "diary")})):
            pass

    task = asyncio.create_task(held())
    await until(lambda: diary(tmp_path / "diary"))
    task.cancel()
    await asyncio.wait({task}, timeout=10)
    assert task.cancelled()
    assert not is_alive(diary(tmp_path / "diary")[0]["pid"])
    await until(lambda: asyncio.all_tasks() == before)


async def test_one_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("no program")
    (tmp_path / "server").chmod(0o755)
    with pytest.raises(ToolSourceError, match=r'MCP server "demo" cannot be started: Exec format error'):
        async with opened(McpServer("demo", command=[str(tmp_path / "server")])):
            pass


async def test_one_that_speaks_another_protocol_says_why() -> None:
    program = "import json, sys; print(json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': {}}), flush=True); sys.stdin.read()"
    with pytest.raises(ToolSourceError, match=r'MCP server "demo" is not understood'):
        async with opened(McpServer("demo", command=[sys.executable, "-I", "-S", "-c", program])):
            pass


async def test_a_crash_in_a_call_is_told_and_the_server_started_again(tmp_path: Path) -> None:
    plan = {"tools": named("add", "crash"), "diary": str(tmp_path / "diary")}
    async with listed(child(plan)) as (found, listing):
        with pytest.raises(OutcomeUnknown) as caught:
            await called(listing, "crash")
        assert str(caught.value) == (
            "the server of crash was lost before it answered; it may or may not have had its effect. Check before calling again"
        )
        told = 'MCP server "demo" ended with code 3 during crash (call_1); last stderr: "the disk is full"'
        assert caught.value.detail == told
        assert found.changed()
        assert (await found.listing()).left_out == (told,)
        assert not found.changed()
        assert await called(listing, "add", a=2) == 'add({"a": 2})'
    told_to = diary(tmp_path / "diary")
    assert len({one["pid"] for one in told_to}) == 2
    assert [one["params"]["name"] for one in told_to if one["method"] == "tools/call"] == ["crash", "add"]


@pytest.mark.parametrize("annotations", [{"readOnlyHint": True}, {"idempotentHint": True}])
async def test_a_crash_of_what_may_be_repeated_is_a_plain_failure(annotations: dict[str, bool]) -> None:
    tools = [{**named("crash")[0], "annotations": annotations}]
    async with listed(child({"tools": tools}, trusted=True)) as (_, listing):
        with pytest.raises(ToolError, match=r"the server of crash was lost before it answered") as caught:
            await called(listing, "crash")
    assert not isinstance(caught.value, OutcomeUnknown)


async def test_other_calls_of_a_server_that_crashes_fail_too_and_each_is_told() -> None:
    async with listed(child({"tools": named("hang", "crash")})) as (_, listing):
        waiting = [asyncio.create_task(called(listing, "hang")) for _ in range(3)]
        await asyncio.sleep(0.1)
        with pytest.raises(OutcomeUnknown):
            await called(listing, "crash")
        found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in found] == [OutcomeUnknown] * 3


async def test_one_that_crashes_again_and_again_is_started_again_after_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        if seconds >= reopening.FIRST_PAUSE_SECONDS:
            pauses.append(seconds)
        await sleep(min(seconds, 0.01))

    async with listed(child({"tools": named("crash")})) as (_, listing):
        monkeypatch.setattr("asyncio.sleep", noted)
        for _ in range(10):
            with pytest.raises(OutcomeUnknown):
                await called(listing, "crash")
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30]


async def test_a_server_that_is_gone_for_good_is_told_by_its_tools_and_its_listing(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(Path(__file__).with_name("child.py").read_text())
    server = McpServer("demo", command=[sys.executable, str(program), json.dumps({"tools": named("crash", "add")})])
    source = McpSource(server)
    async with source.opened() as found:
        listing = await found.listing()
        assert source.status == Status("ready", "", "by hand", "7", "2025-06-18", 2)
        program.unlink()
        with pytest.raises(OutcomeUnknown):
            await called(listing, "crash")
        with pytest.raises(ToolError, match=r"^add was not called: its server cannot be reached$") as caught:
            await called(listing, "add")
        assert caught.value.detail.startswith('MCP server "demo" ended with code 2 during add (call_1); last stderr: "')
        status = source.status
        assert status.state == "failed"
        assert 'MCP server "demo" ended with code 2' in status.why
        with pytest.raises(ToolSourceError, match=r'MCP server "demo" ended with code 2 during tools/list'):
            await found.listing()
        assert not found.changed()  # not again at the next round already


async def test_closing_ends_a_child_that_stays_and_all_that_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    plan = {"ignore_sigterm": True, "stay": True, "grandchild": str(pid_file), "diary": str(tmp_path / "diary")}
    before = asyncio.all_tasks()
    async with listed(child(plan)):
        grandchild = int(pid_file.read_text())
        assert is_alive(grandchild)
        began = time.monotonic()
    assert time.monotonic() - began < 8
    await until(lambda: not is_alive(grandchild))
    assert not is_alive(diary(tmp_path / "diary")[0]["pid"])
    await until(lambda: asyncio.all_tasks() == before)


async def test_what_a_crashed_server_had_started_is_ended_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    async with listed(child({"grandchild": str(pid_file), "tools": named("crash")})) as (_, listing):
        grandchild = int(pid_file.read_text())
        # Its output is still held open by what it had started: that it has ended is learnt all the same.
        with pytest.raises(OutcomeUnknown) as caught:
            await asyncio.wait_for(called(listing, "crash"), 10)
        assert caught.value.detail.startswith('MCP server "demo" ended with code 3 during crash (call_1)')
    await until(lambda: not is_alive(grandchild))


def test_the_end_of_the_loop_ends_the_child(tmp_path: Path) -> None:
    """Nobody closes it: the loop is cancelled as a whole, as Ctrl-C does."""

    kept = list[object]()

    async def main() -> None:
        context = McpSource(child({"stay": True, "diary": str(tmp_path / "diary")})).opened()
        await context.__aenter__()
        kept.append(context)

    asyncio.run(main())
    deadline = time.monotonic() + 10
    pid = diary(tmp_path / "diary")[0]["pid"]
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)


# ------------------------------------------------------------------------------------------------ before it is opened


def test_a_command_that_is_not_there_is_misuse() -> None:
    with pytest.raises(Misuse) as caught:
        McpSource(McpServer("demo", command=["no-such-mcp", "--key", "s3cret"])).check()
    assert str(caught.value) == (
        'MCP server "demo": command "no-such-mcp" not found on PATH. '
        'McpServer("demo", required=False) goes on without it [mcp-start]'
    )


def test_the_path_is_that_of_the_child(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    McpSource(McpServer("demo", command=["server"], env={"PATH": str(tmp_path)})).check()
    McpSource(McpServer("demo", command=["./server"], cwd=str(tmp_path))).check()
    with pytest.raises(Misuse, match=r"not found on PATH"):
        McpSource(McpServer("demo", command=["server"])).check()


def test_a_variable_that_is_not_set_is_misuse() -> None:
    with pytest.raises(Misuse, match=r'MCP server "demo": not set: DEMO_DB \(named in env=\)\. McpServer'):
        McpSource(McpServer("demo", command=[sys.executable], env=["DEMO_DB", "HOME"]), {"HOME": "/"}).check()
    with pytest.raises(Misuse, match=r"not set: DEMO_KEY \(named in the header Authorization\)"):
        McpSource(McpServer("demo", url="http://127.0.0.1:9/", headers={"Authorization": "Bearer env:DEMO_KEY"}), {}).check()


def test_a_package_that_is_not_installed_is_misuse_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode.adapters.mcp.source.find_spec", lambda _: None)
    with pytest.raises(Misuse, match=r'MCP server "demo" needs the package mcp: pip install "geode\[mcp\]" \[missing-extra\]'):
        McpSource(child({})).check()


def test_nothing_heavy_is_imported_before_a_source_is_opened() -> None:
    program = (
        "import sys; import geode.adapters.mcp.source as s, geode.adapters.mcp.inspection, geode\n"
        "s.McpSource(geode.McpServer('demo', command=[sys.executable])).check()\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'mcp', 'mcp_types', 'anyio', 'httpx2', 'pydantic'}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "[]\n"


async def test_an_optional_one_says_it_when_it_is_opened() -> None:
    with pytest.raises(ToolSourceError, match=r'^MCP server "demo": command "no-such-mcp" not found on PATH \[mcp-start\]$'):
        async with opened(McpServer("demo", command=["no-such-mcp"], required=False)):
            pass


def test_two_servers_are_told_apart_by_what_they_are_and_not_by_their_names() -> None:
    def origin(*command: str, name: str = "demo", **more: Any) -> str:
        return McpSource(McpServer(name, command=command, **more)).origin

    assert origin("a", "b") == origin("a", "b", name="other")
    assert (
        len({origin("a", "b"), origin("a b"), origin("a", "b", cwd="/"), McpSource(McpServer("demo", url="http://a/b")).origin})
        == 4
    )


# ------------------------------------------------------------------------------------------------ beside another


async def test_a_broken_server_takes_nothing_from_another() -> None:
    broken, whole = child({"tools": named("crash")}, "broken"), child({"tools": named("add", "sub")}, "whole")
    async with listed(broken) as (_, bad), listed(whole) as (_, good):
        with pytest.raises(ToolError):
            await called(bad, "crash")
        assert [tool.spec.name for tool in good.tools] == ["add", "sub"]
        assert await called(good, "add", a=1) == 'add({"a": 1})'


async def test_looking_at_a_server_once() -> None:
    found = await inspected(child({"tools": [*named("add"), {"name": "bad"}]}))
    assert (found.status.state, found.status.server_name, found.status.server_version) == ("ready", "by hand", "7")
    assert (found.status.protocol_version, found.status.tools) == ("2025-06-18", 1)
    assert [tool.name for tool in found.tools] == ["add"]
    assert found.notices[0].startswith("MCP server \"demo\": the tool 'bad' is left out")
    broken = await inspected(child({"exit": 2, "stderr": "boom"}))
    assert (broken.status.state, broken.status.why) == ("failed", 'MCP server "demo" ended with code 2; last stderr: "boom"')
    unlisted = await inspected(child({"crash_in_list": 5}))
    assert unlisted.status.state == "failed"
    assert unlisted.status.why == 'MCP server "demo" ended with code 5 during tools/list'


async def test_the_status_of_a_source_follows_it() -> None:
    source = McpSource(child({}), os.environ)
    states: list[str] = [source.status.state]
    context = source.opened()
    opening = asyncio.create_task(_entered(context))
    await asyncio.sleep(0)
    states.append(source.status.state)
    await opening
    states.append(source.status.state)
    await context.__aexit__(None, None, None)
    states.append(source.status.state)
    assert states == ["closed", "connecting", "ready", "closed"]


async def _entered(context: AbstractAsyncContextManager[OpenServer]) -> OpenServer:
    return await context.__aenter__()
