"""What every adapter over HTTP keeps beside its wire: faults, cancelling, connections, the environment, the SDK's door."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.journal_memory import MemoryJournal
from geode.domain.conversation import Conversation
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.inputs import ModelFailed
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.policy import Policy
from geode.domain.request import Limits
from geode.domain.retry import RetryPolicy
from geode.domain.script import Reply, Step, calls, drops, fails, hangs, malformed, says
from geode.entrypoints.emulator import Exchange, render_chat, render_messages, render_responses, sse
from geode.ports.model import Delta
from tests.contract import specification
from tests.contract.adapter_contract import STREAMED, failure_of, reply_of, until
from tests.contract.histories import history, user
from tests.contract.http import KEY, HttpHarness, encode, nowhere, request, serve
from tests.contract.servers import STREAM, canned, head, tapped
from tests.contract.wire_contract import AT_ONCE, WireContract

# What a task shows that was started on behalf of an adapter, and not by a server in the same loop.
OURS = ("geode/adapters", "httpx2", "httpcore2", "async_generator", "aclose")
PLANTED = "planted-in-the-environment"


class HttpContract(WireContract):
    """Inherit, and give `harness`."""

    # ---- faults: spec section 7 ----------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize(("status", "wanted"), specification.STATUSES)
    async def test_the_server_sees_as_many_requests_as_the_policy_has_attempts(
        self, status: int, wanted: FailureClass, streamed: bool
    ) -> None:
        await self._attempts(fails(status), wanted, streamed=streamed)

    async def _attempts(self, step: Step, wanted: FailureClass, *, streamed: bool) -> None:
        """Ends with the fault, after three attempts or one; and is well again when the second attempt is."""
        retried = wanted in specification.RETRIED
        for script, attempts in (((step,) * 4, 3 if retried else 1), ((step, says("well")), 2 if retried else 1)):
            emulator, journal = self.harness.emulator(*script), MemoryJournal()
            outcome = await self.run(emulator, streamed=streamed, journal=journal)

            assert len(emulator.received) == attempts
            failures = [
                input.failure for inputs in journal.inputs.values() for input in inputs if isinstance(input, ModelFailed)
            ]
            assert {classify_retry_error(one) for one in failures} == {wanted}
            assert isinstance(outcome, Answered) == (retried and len(script) == 2)
            assert emulator.violations == ()

    @STREAMED
    async def test_a_spent_quota_is_no_rate_limit(self, streamed: bool) -> None:
        """The status says wait, the code says pay: it is not tried again, whatever the server says of waiting."""
        spent = fails(429, code="insufficient_quota", retry_after=0)
        await self._attempts(spent, FailureClass.BILLING, streamed=streamed)

    async def test_too_large_a_request_is_not_sent_again(self) -> None:
        emulator = self.harness.emulator(fails(413), says("never"))
        outcome = await self.run(emulator)

        assert not isinstance(outcome, Answered)
        assert len(emulator.received) == 1

    @pytest.mark.parametrize(("at", "streamed", "wanted"), specification.DROPS)
    async def test_a_cut_connection_is_tried_again_unless_something_was_shown(
        self, at: Any, streamed: bool, wanted: FailureClass
    ) -> None:
        await self._attempts(drops(at), wanted, streamed=streamed)

    @pytest.mark.parametrize("at", ["after_output", "before_end"])
    async def test_arguments_of_a_call_are_visible_output(self, at: Any) -> None:
        await self._attempts(drops(at, calls(specification.READ)), FailureClass.STREAM_INTERRUPTED, streamed=True)

    @pytest.mark.parametrize(("kind", "streamed", "wanted"), specification.MALFORMED)
    async def test_a_200_without_an_answer_is_judged(self, kind: Any, streamed: bool, wanted: FailureClass) -> None:
        await self._attempts(malformed(kind), wanted, streamed=streamed)

    @pytest.mark.parametrize("name", specification.HINTS)
    async def test_a_hint_is_kept(self, name: str) -> None:
        hinted, clock = specification.HINTS[name], ManualClock(time.time())
        emulator = self.harness.emulator(hinted.failure, says("well"))

        outcome = await self.run(emulator, clock=clock, policy=Policy())

        assert len(emulator.received) == (2 if hinted.retried else 1)
        assert isinstance(outcome, Answered) == hinted.retried
        if hinted.retried:
            assert clock.slept[0] >= hinted.seconds
        else:
            assert isinstance(outcome, Failed)
            assert hinted.shown in str(outcome.error)
            assert clock.slept == []

    @STREAMED
    async def test_a_server_that_says_nothing_is_a_timeout(self, streamed: bool) -> None:
        limits: dict[str, Any] = {"idle_timeout_seconds": 0.12} if streamed else {"call_timeout_seconds": 0.12}
        emulator, journal = self.harness.emulator(hangs(), hangs(), hangs(), says("never")), MemoryJournal()

        started = time.monotonic()
        outcome = await self.run(emulator, streamed=streamed, journal=journal, policy=Policy(retry=AT_ONCE, **limits))

        assert time.monotonic() - started < 3
        assert isinstance(outcome, Failed)
        assert len(emulator.received) == 3
        failures = [input.failure for inputs in journal.inputs.values() for input in inputs if isinstance(input, ModelFailed)]
        assert {classify_retry_error(one) for one in failures} == {FailureClass.TIMEOUT}

    async def test_a_streamed_call_has_an_end_too(self) -> None:
        """The bound of the whole call holds although something comes all the time."""
        emulator = self.harness.emulator(says("x" * 40), event_delay_seconds=0.06)
        policy = Policy(retry=RetryPolicy(attempts=1), call_timeout_seconds=0.15)

        outcome = await self.run(emulator, streamed=True, policy=policy)

        assert isinstance(outcome, Failed)
        assert len(emulator.received) == 1

    # ---- cancelling, slow readers --------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("times", [1, 2])
    async def test_cancelling_while_nothing_has_come_closes_the_connection(self, times: int, streamed: bool) -> None:
        emulator = self.harness.emulator(hangs())
        async with tapped(serve(emulator)) as tap, new_http_client() as http:
            adapter = await self.harness.connect(tap.base_url, http)
            before = asyncio.all_tasks()
            task = asyncio.create_task(adapter.acomplete(request(self.harness, streamed=streamed), nowhere))
            await until(lambda: bool(emulator.received))
            await _cancelled(task, times)

            await asyncio.wait_for(tap.left.wait(), 2)
            await _nothing_left(http, before)

    @pytest.mark.parametrize("times", [1, 2])
    async def test_cancelling_in_the_middle_of_a_stream_closes_the_connection(self, times: int) -> None:
        emulator = self.harness.emulator(says("x" * 40), event_delay_seconds=0.03)
        shown = asyncio.Event()

        async def show(_: Delta) -> None:
            shown.set()

        async with tapped(serve(emulator)) as tap, new_http_client() as http:
            adapter = await self.harness.connect(tap.base_url, http)
            before = asyncio.all_tasks()
            task = asyncio.create_task(adapter.acomplete(request(self.harness, streamed=True), show))
            await asyncio.wait_for(shown.wait(), 2)
            await _cancelled(task, times)

            await asyncio.wait_for(tap.left.wait(), 2)
            await _nothing_left(http, before)

    async def test_a_reader_that_breaks_frees_the_connection(self) -> None:
        async def take(_: Delta) -> None:
            raise LookupError

        emulator = self.harness.emulator(says("x" * 40), says("next"), event_delay_seconds=0.02)
        async with new_http_client() as http:
            adapter = await self.harness.connect(serve(emulator), http)
            before = asyncio.all_tasks()
            with pytest.raises(LookupError):
                await adapter.acomplete(request(self.harness, streamed=True), take)
            await _nothing_left(http, before)
            assert reply_of(await adapter.acomplete(request(self.harness), nowhere)).text == "next"

    async def test_a_slow_reader_is_no_silent_server(self) -> None:
        emulator = self.harness.emulator(says("abcdef"))
        seen: list[Delta] = []

        async def read_slowly(delta: Delta) -> None:
            seen.append(delta)
            await asyncio.sleep(0.12)

        async with new_http_client() as http:
            adapter = await self.harness.connect(serve(emulator), http)
            asked = request(self.harness, streamed=True, limits=Limits(64, 5.0, 0.1))
            reply = reply_of(await adapter.acomplete(asked, read_slowly))

        assert reply.text == "abcdef"
        assert len(seen) > 1

    # ---- connections ---------------------------------------------------------------------------

    async def test_calls_after_another_use_one_connection(self) -> None:
        emulator = self.harness.emulator(*[says(f"answer {number}") for number in range(6)])
        async with tapped(serve(emulator)) as tap, new_http_client() as http:
            adapter = await self.harness.connect(tap.base_url, http)
            for number in range(6):
                asked = request(self.harness, streamed=number < 5)
                assert reply_of(await adapter.acomplete(asked, nowhere)).text == f"answer {number}"

            assert len(tap.sent) == 1

    async def test_a_client_that_was_given_is_used_and_stays_open(self) -> None:
        emulator = self.harness.emulator(says("one"), says("two"))
        async with new_http_client() as http:
            provider = self.harness.provider(serve(emulator))
            for _ in range(2):
                model = f"lab/{self.harness.model}"
                assert isinstance(await geode.run("hi", model=model, providers=[provider], http=http), Answered)
                assert not http.is_closed
            assert len(_pool(http)) == 1

    async def test_a_client_of_geode_is_closed_with_its_session(self) -> None:
        emulator = self.harness.emulator(says("one"))
        async with tapped(serve(emulator)) as tap:
            provider = self.harness.provider(tap.base_url)
            async with geode.session(model=f"lab/{self.harness.model}", providers=[provider]) as loop:
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

        emulator = self.harness.emulator(says("one"), api_key=KEY)
        async with tapped(serve(emulator)) as tap:
            provider = self.harness.provider(tap.base_url)
            outcome = await geode.run("hi", model=f"lab/{self.harness.model}", providers=[provider])

        assert isinstance(outcome, Answered), outcome
        (one,) = emulator.received
        assert one.headers["authorization"] == f"Bearer {KEY}"
        assert one.headers["content-type"] == "application/json"
        assert PLANTED.encode() not in bytes(tap.sent[0])
        assert not {"openai-organization", "openai-project", "x-api-key", "x-own"} & set(one.headers)

    # ---- the public door of the SDK that the adapters go through --------------------------------

    @STREAMED
    async def test_the_bytes_on_the_wire_are_the_bytes_that_were_encoded(self, streamed: bool) -> None:
        conversation = history("unicode", self.harness.owner, self.harness.opaque)
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            await adapter.acomplete(request(self.harness, conversation, streamed=streamed), nowhere)

        ((top, body),) = server.requests
        assert top.startswith(f"POST {self.harness.path} HTTP/1.1\r\n".encode())
        assert body == encode(self.harness, conversation, streamed=streamed)
        assert top.lower().count(b"\r\ncontent-type:") == top.lower().count(b"\r\nauthorization:") == 1

    async def test_the_headers_are_those_of_the_sdk(self) -> None:
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            await adapter.acomplete(request(self.harness), nowhere)
            await _sdk_call(self.harness, server.base_url, http)

        ours, theirs = ({line.split(b":")[0].lower() for line in top.split(b"\r\n")[1:]} for top, _ in server.requests)
        assert ours == theirs

    async def test_a_stream_is_read_while_it_comes(self) -> None:
        """The server sends its end only after the first delta was seen: an answer that is read whole would hang."""
        seen = asyncio.Event()

        async def take(_: Delta) -> None:
            seen.set()

        start, rest = _stream(self.harness, says("abc def ghi"))
        async with canned(STREAM, start, seen, rest) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            reply = reply_of(await adapter.acomplete(request(self.harness, streamed=True), take))

        assert reply.text == "abc def ghi"

    async def test_silence_in_the_middle_of_a_stream_is_a_timeout(self) -> None:
        """Comments and heartbeats say nothing, and do not keep a stalled model alive."""
        start, _ = _stream(self.harness, says("abc def ghi"))
        beat = b": still here\n\n" + (b'event: ping\ndata: {"type":"ping"}\n\n' if self.harness.wire != "chat" else b"")
        silence = [piece for _ in range(20) for piece in (0.05, beat)]
        async with canned(STREAM, start, *silence) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            asked = request(self.harness, streamed=True, limits=Limits(64, 5.0, 0.15))
            started = time.monotonic()
            failure = failure_of(await adapter.acomplete(asked, nowhere))
            assert time.monotonic() - started < 0.6
            await asyncio.wait_for(server.gone.wait(), 2)

        assert failure.timed_out
        assert classify_retry_error(failure) is FailureClass.TIMEOUT

    async def test_a_stream_that_ends_quietly_is_cut(self) -> None:
        """A body that ends with its connection gives no error when it is cut: only the last event tells."""
        start, _ = _stream(self.harness, says("abc def ghi"))
        async with canned(STREAM, start) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.harness, streamed=True), nowhere))

        assert classify_retry_error(failure) is FailureClass.CONNECTION

    async def test_a_connection_that_breaks_after_the_end_has_said_all(self) -> None:
        start, rest = _stream(self.harness, says("abc def ghi"))
        broken = head("text/event-stream", headers={"content-length": "1000000"})
        async with canned(broken, start, rest.removesuffix(sse.DONE)) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            reply = reply_of(await adapter.acomplete(request(self.harness, streamed=True), nowhere))

        assert reply.text == "abc def ghi"

    async def test_a_server_that_does_not_stream_is_understood(self) -> None:
        emulator = self.harness.emulator(says("all at once"))
        async with new_http_client() as http:
            answer = await http.post(
                serve(emulator) + self.harness.path,
                content=encode(self.harness, Conversation((user("hi"),))),
                headers={"anthropic-version": "2026-10-21"},
            )
        async with canned(head("application/json"), answer.content) as plain, new_http_client() as http:
            adapter = await self.harness.connect(plain.base_url, http)
            reply = reply_of(await adapter.acomplete(request(self.harness, streamed=True), nowhere))

        assert reply.text == "all at once"

    async def test_nobody_at_the_address_is_said_with_the_address(self) -> None:
        async with canned() as server:
            base_url = server.base_url
        async with new_http_client() as http:
            adapter = await self.harness.connect(base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.harness), nowhere))

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


def _stream(harness: HttpHarness, reply: Reply) -> tuple[bytes, bytes]:
    """A reply as the bytes of a stream: up to the first delta, and what follows it."""
    protocol, exchange = harness.wire, Exchange(harness.wire, {"model": harness.model}, harness.spoken, streamed=True)
    render = {"messages": render_messages, "responses": render_responses, "chat": render_chat}[protocol]
    events = render.events(reply, exchange)
    first = next(place for place, event in enumerate(events) if sse.visible(protocol, event)) + 1
    encoded = [sse.encode(protocol, event) for event in events]
    return b"".join(encoded[:first]), b"".join([*encoded[first:], *([sse.DONE] if protocol == "chat" else [])])


async def _sdk_call(harness: HttpHarness, base_url: str, http: httpx2.AsyncClient) -> None:
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
