"""What every adapter over HTTP keeps beside its wire: cancelling, connections, the environment, the SDK's door."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import geode
from geode.adapters.http_json.clients import new_http_client
from geode.domain.arguments import tool_use
from geode.domain.content import Opaque
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.outcome import Answered
from geode.domain.request import Limits
from geode.domain.script import hangs, says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.histories import history
from geode.entrypoints.compliance.playing import STREAMED, failure_of, nowhere, reply_of, until
from geode.entrypoints.compliance.servers import STREAM, canned, head, tapped
from geode.entrypoints.compliance.shipped import ShippedHarness
from geode.entrypoints.compliance.wire_harness import KEY
from geode.entrypoints.emulator import sse
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart
from tests.contract.wire_fault_contract import WireFaultContract, stream_of, whole_of
from tests.contract.wires import encode, request

# What a task shows that was started on behalf of an adapter, and not by a server in the same loop.
OURS = ("geode/adapters", "httpx2", "httpcore2", "async_generator", "aclose")
PLANTED = "planted-in-the-environment"


class HttpContract(WireFaultContract):
    """Inherit, and give `harness`."""

    # ---- cancelling, slow readers --------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("times", [1, 2])
    async def test_cancelling_while_nothing_has_come_closes_the_connection(self, times: int, streamed: bool) -> None:
        emulator = self.made.emulator(hangs())
        async with tapped(serve(emulator)) as tap, new_http_client() as http:
            adapter = await self.made.connect(tap.base_url, http)
            before = asyncio.all_tasks()
            task = asyncio.create_task(adapter.acomplete(request(self.made, streamed=streamed), nowhere))
            await until(lambda: bool(emulator.received))
            await _cancelled(task, times)

            await asyncio.wait_for(tap.left.wait(), 2)
            await _nothing_left(http, before)

    @pytest.mark.parametrize("times", [1, 2])
    async def test_cancelling_in_the_middle_of_a_stream_closes_the_connection(self, times: int) -> None:
        emulator = self.made.emulator(says("x" * 40), event_delay_seconds=0.03)
        shown = asyncio.Event()

        async def show(_: Delta) -> None:
            shown.set()

        async with tapped(serve(emulator)) as tap, new_http_client() as http:
            adapter = await self.made.connect(tap.base_url, http)
            before = asyncio.all_tasks()
            task = asyncio.create_task(adapter.acomplete(request(self.made, streamed=True), show))
            await asyncio.wait_for(shown.wait(), 2)
            await _cancelled(task, times)

            await asyncio.wait_for(tap.left.wait(), 2)
            await _nothing_left(http, before)

    async def test_a_reader_that_breaks_frees_the_connection(self) -> None:
        async def take(_: Delta) -> None:
            raise LookupError

        emulator = self.made.emulator(says("x" * 40), says("next"), event_delay_seconds=0.02)
        async with new_http_client() as http:
            adapter = await self.made.connect(serve(emulator), http)
            before = asyncio.all_tasks()
            with pytest.raises(LookupError):
                await adapter.acomplete(request(self.made, streamed=True), take)
            await _nothing_left(http, before)
            assert reply_of(await adapter.acomplete(request(self.made), nowhere)).text == "next"

    async def test_a_slow_reader_is_no_silent_server(self) -> None:
        emulator = self.made.emulator(says("abcdef"))
        seen: list[Delta] = []

        async def read_slowly(delta: Delta) -> None:
            seen.append(delta)
            await asyncio.sleep(0.12)

        async with new_http_client() as http:
            adapter = await self.made.connect(serve(emulator), http)
            asked = request(self.made, streamed=True, limits=Limits(64, 5.0, 0.1))
            reply = reply_of(await adapter.acomplete(asked, read_slowly))

        assert reply.text == "abcdef"
        assert len(seen) > 1

    # ---- connections ---------------------------------------------------------------------------

    async def test_calls_after_another_use_one_connection(self) -> None:
        emulator = self.made.emulator(*[says(f"answer {number}") for number in range(6)])
        async with tapped(serve(emulator)) as tap, new_http_client() as http:
            adapter = await self.made.connect(tap.base_url, http)
            for number in range(6):
                asked = request(self.made, streamed=number < 5)
                assert reply_of(await adapter.acomplete(asked, nowhere)).text == f"answer {number}"

            assert len(tap.sent) == 1

    async def test_a_client_that_was_given_is_used_and_stays_open(self) -> None:
        emulator = self.made.emulator(says("one"), says("two"))
        async with new_http_client() as http:
            provider = self.made.provider(serve(emulator))
            for _ in range(2):
                model = f"{self.made.name}/{self.made.model}"
                assert isinstance(await geode.run("hi", model=model, providers=[provider], http=http), Answered)
                assert not http.is_closed
            assert len(_pool(http)) == 1

    async def test_a_client_of_geode_is_closed_with_its_session(self) -> None:
        emulator = self.made.emulator(says("one"))
        async with tapped(serve(emulator)) as tap:
            provider = self.made.provider(tap.base_url)
            async with geode.session(model=f"{self.made.name}/{self.made.model}", providers=[provider]) as loop:
                await loop.run("hi")
                assert tap.open == 1
            await asyncio.wait_for(tap.left.wait(), 2)

    async def test_nothing_of_the_environment_is_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for sdk in ("ANTHROPIC", "OPENAI"):
            for name in ("API_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "ADMIN_KEY", "WEBHOOK_SECRET"):
                monkeypatch.setenv(f"{sdk}_{name}", PLANTED)
            monkeypatch.setenv(f"{sdk}_BASE_URL", f"http://{PLANTED}.invalid")
            lines = ("Authorization", "x-api-key", "anthropic-version", "User-Agent", "X-Own", "content-type", "ACCEPT")
            monkeypatch.setenv(f"{sdk}_CUSTOM_HEADERS", "\n".join(f"{name}: {PLANTED}" for name in lines))
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{PLANTED}.invalid:1")

        emulator = self.made.emulator(says("one"), api_key=KEY)
        async with tapped(serve(emulator)) as tap:
            provider = self.made.provider(tap.base_url)
            outcome = await geode.run("hi", model=f"{self.made.name}/{self.made.model}", providers=[provider])

        assert isinstance(outcome, Answered), outcome
        (one,) = emulator.received
        assert one.headers["authorization"] == f"Bearer {KEY}"
        assert one.headers["content-type"] == "application/json"
        assert PLANTED.encode() not in bytes(tap.sent[0])
        assert not {"openai-organization", "openai-project", "x-api-key", "x-own"} & set(one.headers)

    # ---- the public door of the SDK that the adapters go through --------------------------------

    @STREAMED
    async def test_the_bytes_on_the_wire_are_the_bytes_that_were_encoded(self, streamed: bool) -> None:
        conversation = history("unicode", self.made.owner, self.made.opaque)
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            await adapter.acomplete(request(self.made, conversation, streamed=streamed), nowhere)

        ((top, body),) = server.requests
        assert top.startswith(f"POST {self.made.path} HTTP/1.1\r\n".encode())
        assert body == encode(self.made, conversation, streamed=streamed)
        assert top.lower().count(b"\r\ncontent-type:") == top.lower().count(b"\r\nauthorization:") == 1

    async def test_the_headers_are_those_of_the_sdk(self) -> None:
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            await adapter.acomplete(request(self.made), nowhere)
            await _sdk_call(self.made, server.base_url, http)

        ours, theirs = ({line.split(b":")[0].lower() for line in top.split(b"\r\n")[1:]} for top, _ in server.requests)
        assert ours == theirs | {name.lower().encode() for name in self.made.transport.headers}

    async def test_a_stream_is_read_while_it_comes(self) -> None:
        """The server sends its end only after the first delta was seen: an answer that is read whole would hang."""
        seen = asyncio.Event()

        async def take(_: Delta) -> None:
            seen.set()

        start, rest = stream_of(self.made, says("abc def ghi"))
        async with canned(STREAM, start, seen, rest) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            reply = reply_of(await adapter.acomplete(request(self.made, streamed=True), take))

        assert reply.text == "abc def ghi"

    async def test_silence_in_the_middle_of_a_stream_is_a_timeout(self) -> None:
        """Comments and heartbeats say nothing, and do not keep a stalled model alive."""
        start, _ = stream_of(self.made, says("abc def ghi"))
        beat = b": still here\n\n" + (b'event: ping\ndata: {"type":"ping"}\n\n' if self.made.wire != "chat" else b"")
        silence = [piece for _ in range(20) for piece in (0.05, beat)]
        async with canned(STREAM, start, *silence) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            asked = request(self.made, streamed=True, limits=Limits(64, 5.0, 0.15))
            started = time.monotonic()
            failure = failure_of(await adapter.acomplete(asked, nowhere))
            assert time.monotonic() - started < 0.6
            await asyncio.wait_for(server.gone.wait(), 2)

        assert failure.timed_out
        assert classify_retry_error(failure) is FailureClass.TIMEOUT

    async def test_a_stream_that_ends_quietly_is_cut(self) -> None:
        """A body that ends with its connection gives no error when it is cut: only the last event tells."""
        start, _ = stream_of(self.made, says("abc def ghi"))
        async with canned(STREAM, start) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.made, streamed=True), nowhere))

        assert classify_retry_error(failure) is FailureClass.CONNECTION

    async def test_a_connection_that_breaks_after_the_end_has_said_all(self) -> None:
        start, rest = stream_of(self.made, says("abc def ghi"))
        broken = head("text/event-stream", headers={"content-length": "1000000"})
        async with canned(broken, start, rest.removesuffix(sse.DONE)) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            reply = reply_of(await adapter.acomplete(request(self.made, streamed=True), nowhere))

        assert reply.text == "abc def ghi"

    @pytest.mark.parametrize("name", specification.REPLIES)
    async def test_a_server_that_does_not_stream_is_understood(self, name: str) -> None:
        """Its reply is shown too, as a stream of one piece."""
        deltas: list[Delta] = []

        async def take(delta: Delta) -> None:
            deltas.append(delta)

        whole = whole_of(self.made, specification.REPLIES[name])
        async with canned(head("application/json"), whole) as plain, new_http_client() as http:
            adapter = await self.made.connect(plain.base_url, http)
            reply = reply_of(await adapter.acomplete(request(self.made, streamed=True), take))

        assert "".join(delta.text for delta in deltas if isinstance(delta, TextPart)) == reply.text
        shown = [tool_use("", delta.name, delta.arguments) for delta in deltas if isinstance(delta, CallPart)]
        assert shown == [replace(call, id="") for call in reply.calls]
        thoughts = [delta for delta in deltas if isinstance(delta, ThinkingPart)]
        assert len(thoughts) == len([item for item in reply.items if isinstance(item, Opaque)])

    async def test_nobody_at_the_address_is_said_with_the_address(self) -> None:
        async with canned() as server:
            base_url = server.base_url
        async with new_http_client() as http:
            adapter = await self.made.connect(base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.made), nowhere))

        assert (failure.status, failure.phase) == (None, "connect")
        assert base_url in failure.message
        assert classify_retry_error(failure) is FailureClass.CONNECTION


async def _cancelled(task: asyncio.Task[Any], times: int) -> None:
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


def _pool(http: httpx2.AsyncClient) -> list[Any]:
    transport: Any = http._transport
    return list(transport._pool.connections)


async def _nothing_left(http: httpx2.AsyncClient, before: set[asyncio.Task[Any]]) -> None:
    """No connection, no task, no warning is left of a call that was broken off."""
    for _ in range(5):
        await asyncio.sleep(0)
    assert _pool(http) == []
    await asyncio.sleep(0.05)
    left = {task for task in asyncio.all_tasks() - before if any(word in repr(task) for word in OURS)}
    assert left == set()


async def _sdk_call(harness: ShippedHarness, base_url: str, http: httpx2.AsyncClient) -> None:
    """The same call by the SDK's own typed method."""
    if harness.wire == "messages":
        ours = anthropic.AsyncAnthropic(api_key=KEY, base_url=base_url, http_client=http, max_retries=0, timeout=5)
        with pytest.raises(anthropic.BadRequestError):
            await ours.messages.create(model=harness.model, max_tokens=1, messages=[{"role": "user", "content": "hi"}])
        return
    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{base_url}/v1", http_client=http, max_retries=0, timeout=5)
    if harness.wire == "responses":
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model=harness.model, input="hi")
        return
    with pytest.raises(openai.BadRequestError):
        await client.chat.completions.create(model=harness.model, messages=[{"role": "user", "content": "hi"}])
