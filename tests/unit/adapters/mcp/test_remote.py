"""Servers that have an address."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geode import McpServer
from geode.adapters.mcp import remote
from geode.adapters.mcp.source import McpSource
from geode.entrypoints.compliance.servers import canned, head
from geode.ports.tool_sources import ToolSourceError
from geode.ports.tools import OutcomeUnknown, ToolError
from tests.unit.adapters.mcp.playing import Answer, Headers, Web, answered, called, listed, named, opened, web

KEY = "key-1f2e3d4c5b6a"
SSE = {"content-type": "text/event-stream"}


def at(server: Web, **settings: Any) -> McpServer:
    return McpServer("demo", url=server.base_url, **settings)


# ------------------------------------------------------------------------------------------------ headers


async def test_headers_go_with_each_request_and_are_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Authorization": "Bearer env:DEMO_KEY", "X-Whole": "env:DEMO_KEY", "X-Plain": "not env:DEMO_KEY2 here"}
    with caplog.at_level(logging.DEBUG):
        async with web(lambda message, _: answered(message)) as server:
            declared = at(server, headers=headers)
            async with listed(declared, DEMO_KEY=KEY) as (found, listing):
                assert await called(listing, "add", a=2) == "5"
                shown = f"{declared!r} {McpSource(declared)!r} {found!r} {McpSource(declared).origin}"
    assert len(server.received) >= 4
    for _, sent in server.received:
        assert (sent["authorization"], sent["x-whole"]) == (f"Bearer {KEY}", KEY)
        assert sent["x-plain"] == "not env:DEMO_KEY2 here"
    assert KEY not in shown + caplog.text


async def test_a_key_that_a_server_quotes_is_not_shown() -> None:
    def refusing(message: dict[str, Any], headers: Headers) -> Answer:
        if message["method"] != "tools/call":
            return answered(message)
        return 200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": f"no: {headers['x-key']}"}}, {}

    async with web(refusing) as server, listed(at(server, headers={"X-Key": "env:DEMO_KEY"}), DEMO_KEY=KEY) as (_, listing):
        with pytest.raises(ToolError, match=r"^add failed: no: \*\*\*$"):
            await called(listing, "add")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"jsonrpc": "2.0", "id"', "gave an answer that cannot be read"),
        (b'"' + b"x" * 2_000 + b'"', "gave an answer of more than 1,000 bytes"),
    ],
)
async def test_nobody_knows_what_a_call_did_whose_answer_cannot_be_read(
    body: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec section 7: a call that may have had an effect is outcome_unknown. The other calls keep their connection."""
    monkeypatch.setattr(remote, "MAX_EVENT", 1_000)

    def unreadable(message: dict[str, Any], _: Headers) -> Answer:
        bad = message["method"] == "tools/call" and "bad" in message["params"]["arguments"]
        return (200, body, {}) if bad else answered(message)

    async with web(unreadable) as server, listed(at(server)) as (_, listing):
        with pytest.raises(OutcomeUnknown) as caught:
            await called(listing, "add", bad=1)
        assert caught.value.detail == f'MCP server "demo" {why} during add (call_1)'
        assert await called(listing, "add") == "5"
    assert server.methods.count("initialize") == 1


@pytest.mark.parametrize("quoted", [f"user:{KEY}", f"/mcp?token={KEY}", base64.b64encode(f"user:{KEY}".encode()).decode()])
async def test_what_is_secret_in_an_address_is_not_shown_where_the_server_quotes_it(quoted: str) -> None:
    def refusing(message: dict[str, Any], _: Headers) -> Answer:
        return 200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": f"no: {quoted}"}}, {}

    async with web(refusing) as server:
        with pytest.raises(ToolSourceError) as caught:
            async with opened(McpServer("demo", url=server.base_url.replace("//", f"//user:{KEY}@") + f"?token={KEY}")):
                pass
    assert "is not understood: no: " in str(caught.value)
    assert KEY not in str(caught.value)
    assert quoted not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_is_not_followed(status: int) -> None:
    async with web(lambda message, _: answered(message)) as other:
        elsewhere = other.base_url.replace("127.0.0.1", "localhost")
        async with web(lambda *_: (status, b"", {"location": elsewhere})) as server:
            with pytest.raises(ToolSourceError, match=r'MCP server "demo" .*[Rr]edirect'):
                async with opened(at(server, headers={"X-Key": KEY})):
                    pass
    assert other.received == []


async def test_what_is_secret_in_an_address_reaches_the_server_and_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with web(lambda message, _: answered(message)) as server:
            declared = McpServer("demo", url=server.base_url.replace("//", f"//user:{KEY}@") + f"?key={KEY}")
            async with listed(declared) as (_, listing):
                assert await called(listing, "add") == "5"
        with pytest.raises(ToolSourceError) as caught:
            async with opened(declared):
                pass
    basic = base64.b64encode(f"user:{KEY}".encode()).decode()
    assert {(sent["authorization"], sent["path"]) for _, sent in server.received} == {(f"Basic {basic}", f"/mcp?key={KEY}")}
    shown = f"{declared!r} {caught.value!r} {McpSource(declared).origin} {caplog.text}"
    assert KEY not in shown
    assert basic not in shown


# ------------------------------------------------------------------------------------------------ sessions that expire


class Sessions:
    """A server that gives each handshake a session, and knows those in `known` alone."""

    def __init__(self, *, forgets: bool = False, body: Mapping[str, Any] | bytes = b"") -> None:
        self.given, self.known = list[str](), set[str]()
        self.forgets, self.body = forgets, body
        self.calls = list[tuple[str, bool]]()

    def __call__(self, message: dict[str, Any], headers: Headers) -> Answer:
        session = headers.get("mcp-session-id", "")
        if message["method"] == "initialize":
            assert session == ""
            name = f"session-{len(self.given)}"
            self.given.append(name)
            if not (self.forgets and self.given[1:]):
                self.known.add(name)
            return answered(message, mcp_session_id=name)
        if message["method"] == "tools/call":
            self.calls.append((session, session in self.known))
        if session not in self.known and not message["method"].startswith("notifications/"):
            return 404, self.body, {}
        return answered(message)


GONE = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}


@pytest.mark.parametrize("body", [b"", b"<html>", {"error": "gone"}, GONE])
async def test_a_session_that_expired_is_begun_anew_once_and_the_call_sent_once_more(body: Mapping[str, Any] | bytes) -> None:
    sessions = Sessions(body=body)
    async with web(sessions) as server, listed(at(server)) as (found, listing):
        sessions.known.clear()
        assert await called(listing, "add") == "5"
        assert found.changed()  # another session may have other tools
    assert sessions.given == ["session-0", "session-1"]
    assert sessions.calls == [("session-0", False), ("session-1", True)]


async def test_calls_under_way_share_the_new_session() -> None:
    sessions = Sessions()
    async with web(sessions) as server, listed(at(server)) as (_, listing):
        sessions.known.clear()
        assert await asyncio.gather(*(called(listing, "add") for _ in range(8))) == ["5"] * 8
    assert sessions.given == ["session-0", "session-1"]
    assert sum(known for _, known in sessions.calls) == 8
    assert len(sessions.calls) <= 16


async def test_a_second_404_is_an_error() -> None:
    sessions = Sessions(forgets=True)
    async with web(sessions) as server, listed(at(server)) as (_, listing):
        sessions.known.clear()
        with pytest.raises(ToolError, match=r"^add failed: answered 404 in a new session too$") as caught:
            await called(listing, "add")
        assert not isinstance(caught.value, OutcomeUnknown)
    assert sessions.given == ["session-0", "session-1"]
    assert len(sessions.calls) == 2


async def test_a_listing_in_a_session_that_expired_is_made_in_a_new_one() -> None:
    sessions = Sessions()
    async with web(sessions) as server, listed(at(server)) as (found, _):
        sessions.known.clear()
        assert [tool.spec.name for tool in (await found.listing()).tools] == ["add"]
    assert sessions.given == ["session-0", "session-1"]


async def test_a_404_inside_of_an_answer_is_an_error_of_the_tool() -> None:
    def answer(message: dict[str, Any], _: Headers) -> Answer:
        if message["method"] != "tools/call":
            return answered(message, mcp_session_id="one")
        return 200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": 404, "message": "no such row"}}, {}

    async with web(answer) as server, listed(at(server)) as (_, listing):
        with pytest.raises(ToolError, match=r"^add failed: no such row$"):
            await called(listing, "add")
    assert server.methods.count("initialize") == 1
    assert server.methods.count("tools/call") == 1


# ------------------------------------------------------------------------------------------------ what goes wrong


def failing(status: int, body: Any = b"", **headers: str) -> Any:
    def answer(message: dict[str, Any], _: Headers) -> Answer:
        return (status, body, headers) if message["method"] == "tools/call" else answered(message)

    return answer


@pytest.mark.parametrize(
    ("status", "unknown"),
    [(400, False), (401, False), (403, False), (404, False), (500, True), (502, True), (504, True)],
)
async def test_a_status_is_told_and_touches_no_other_call(status: int, unknown: bool) -> None:
    async with web(failing(status, {"error": "x"})) as server, listed(at(server)) as (found, listing):
        with pytest.raises(ToolError) as caught:
            await called(listing, "add")
        assert isinstance(caught.value, OutcomeUnknown) is unknown
        assert f"answered {status}" in f"{caught.value} {caught.value.detail}"
        assert [tool.spec.name for tool in (await found.listing()).tools] == ["add"]
    assert server.methods.count("initialize") == 1
    assert server.methods.count("tools/call") == 1


async def test_a_server_that_goes_away_fails_the_call_and_is_found_again_when_it_is_back() -> None:
    sessions = Sessions()
    async with web(sessions) as first:
        port = int(first.base_url.rsplit(":", 1)[1].partition("/")[0])
        context = McpSource(at(first)).opened()
        found = await context.__aenter__()
        listing = await found.listing()
    with pytest.raises(ToolError, match=r"^add was not called: its server cannot be reached$") as caught:
        await called(listing, "add")
    assert not isinstance(caught.value, OutcomeUnknown)
    assert "ConnectError" in caught.value.detail
    with pytest.raises(ToolSourceError, match=r'MCP server "demo" was lost'):
        await found.listing()
    again = Web(replies=sessions)

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await again.answer(reader, writer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handled, "127.0.0.1", port)
    try:
        assert await called(listing, "add") == "5"
    finally:
        await context.__aexit__(None, None, None)
        server.close()
    assert sessions.given == ["session-0"]


class Breaking(Web):
    """Breaks the connection instead of answering a call."""

    async def answered(self, message: dict[str, Any], headers: Headers, writer: asyncio.StreamWriter) -> bool:
        return str(message["method"]) == "tools/call"


async def test_a_call_whose_connection_breaks_may_have_had_its_effect() -> None:
    server = Breaking()
    async with server.listening(server.answer, "/mcp"), listed(at(server)) as (found, listing):
        with pytest.raises(OutcomeUnknown, match=r"^the server of add was lost before it answered"):
            await called(listing, "add")
        assert [tool.spec.name for tool in (await found.listing()).tools] == ["add"]


async def test_nobody_at_an_address_is_told_with_the_reason() -> None:
    async with web(lambda message, _: answered(message)) as server:
        url = server.base_url
    with pytest.raises(ToolSourceError, match=r'^MCP server "demo" was lost \(ConnectError'):
        async with opened(McpServer("demo", url=url)):
            pass


@pytest.mark.parametrize("status", [401, 403, 404, 500])
async def test_a_server_that_refuses_the_handshake_is_told_with_its_status(status: int) -> None:
    async with web(lambda *_: (status, b"<html>no</html>", {"content-type": "text/html"})) as server:
        with pytest.raises(ToolSourceError, match=rf'^MCP server "demo" answered {status}$'):
            async with opened(at(server)):
                pass


async def test_a_page_of_another_kind_is_told() -> None:
    async with web(lambda *_: (200, b"<html>", {"content-type": "text/html"})) as server:
        with pytest.raises(ToolSourceError, match=r'MCP server "demo" is not understood: Unexpected content type: text/html'):
            async with opened(at(server)):
                pass


# ------------------------------------------------------------------------------------------------ time


async def test_pings_that_never_end_do_not_hold_up_the_start() -> None:
    """Each of them would begin the time of a single read anew."""
    pings = [piece for _ in range(2_000) for piece in (b":ping\n\n", 0.05)]
    async with canned(head("text/event-stream"), *pings) as server:
        began = time.monotonic()
        with pytest.raises(ToolSourceError, match=r"did not start within 0.3 s"):
            async with opened(McpServer("demo", url=server.base_url, start_timeout_seconds=0.3)):
                pass
        assert time.monotonic() - began < 5


@dataclass(slots=True)
class Pinging(Web):
    """Answers a method with pings for ever."""

    method: str = ""

    async def answered(self, message: dict[str, Any], headers: Headers, writer: asyncio.StreamWriter) -> bool:
        if message["method"] != self.method:
            return False
        writer.write(head("text/event-stream"))
        while True:
            writer.write(b":ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.05)


async def test_pings_that_never_end_do_not_hold_up_a_listing() -> None:
    server = Pinging(method="tools/list")
    async with server.listening(server.answer, "/mcp"), opened(at(server, list_timeout_seconds=0.3)) as found:
        began = time.monotonic()
        with pytest.raises(ToolSourceError, match=r"did not list its tools within 0.3 s"):
            await found.listing()
        assert time.monotonic() - began < 5


async def test_pings_that_never_end_do_not_hold_up_a_call() -> None:
    server = Pinging(method="tools/call")
    async with server.listening(server.answer, "/mcp"), listed(at(server, call_timeout_seconds=0.3)) as (found, listing):
        with pytest.raises(OutcomeUnknown, match=r"did not finish within 0.3 s"):
            await called(listing, "add")
        assert (await found.listing()).tools


async def test_a_server_that_answers_nothing_more_is_closed_soon() -> None:
    def answer(message: dict[str, Any], _: Headers) -> Answer | None:
        return answered(message, mcp_session_id="one") if message["method"] in ("initialize", "tools/list") else None

    async with web(answer) as server:
        async with listed(at(server, call_timeout_seconds=0.2)) as (_, listing):
            with pytest.raises(OutcomeUnknown):
                await called(listing, "add")
            began = time.monotonic()
        assert time.monotonic() - began < 6


@pytest.mark.parametrize("letters", [70_000, 5_000_000])
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_large_answer_is_an_answer(letters: int, streamed: bool) -> None:
    def answer(message: dict[str, Any], _: Headers) -> Answer:
        if message["method"] != "tools/call":
            return answered(message)
        result = {"content": [{"type": "text", "text": "x" * letters}]}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return (200, f"event: message\ndata: {json.dumps(reply)}\n\n".encode(), SSE) if streamed else (200, reply, {})

    async with web(answer) as server, listed(at(server)) as (_, listing):
        assert await called(listing, "add") == "x" * letters


async def test_a_large_body_of_tools_keeps_its_order() -> None:
    names = [f"tool_{number}" for number in range(500)]

    def answer(message: dict[str, Any], _: Headers) -> Answer:
        if message["method"] != "tools/list":
            return answered(message)
        return 200, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": named(*names)}}, {}

    async with web(answer) as server, listed(at(server)) as (_, listing):
        assert [tool.spec.name for tool in listing.tools] == names


# ------------------------------------------------------------------------------------------------ beside programs

FRESH = """
import asyncio, sys

from geode import McpServer
from geode.adapters.mcp.source import McpSource
from geode.ports.tool_sources import ToolSourceError


async def what_became_of(server):
    try:
        async with McpSource(server).opened() as source:
            return len((await source.listing()).tools)
    except ToolSourceError as error:
        return str(error)


async def main():
    program = McpServer("program", command=[sys.executable, sys.argv[1]])
    address = McpServer("address", url="http://127.0.0.1:1/mcp")
    print(*await asyncio.gather(what_became_of(program), what_became_of(address)), sep="\\n")


asyncio.run(main())
"""
SERVER = """
from mcp.server import MCPServer

server = MCPServer("demo")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run()
"""


def test_a_program_and_an_address_are_opened_side_by_side_in_a_new_process(tmp_path: Path) -> None:
    """Both are the first to need the protocol's package, each in a thread of its own."""
    (tmp_path / "server.py").write_text(SERVER)
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path / "server.py")], capture_output=True, text=True, check=True, timeout=120
    )
    tools, lost = done.stdout.splitlines()
    assert tools == "1"
    assert lost.startswith('MCP server "address" was lost')
