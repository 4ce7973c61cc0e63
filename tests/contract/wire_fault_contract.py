"""What every adapter over HTTP makes of faults: spec section 7, and whatever else a server may send."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Final

import pytest

from geode.adapters.clock_manual import ManualClock
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.journal_memory import MemoryJournal
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.inputs import ModelFailed
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.policy import Policy
from geode.domain.request import Limits
from geode.domain.retry import RetryPolicy
from geode.domain.script import Reply, Step, calls, drops, fails, hangs, malformed, says
from geode.entrypoints.compliance import specification
from geode.entrypoints.compliance.playing import AT_ONCE, STREAMED, failure_of, nowhere
from geode.entrypoints.compliance.servers import STREAM, canned, head
from geode.entrypoints.compliance.shipped import ShippedHarness
from geode.entrypoints.compliance.wire_harness import KEY
from geode.entrypoints.emulator import Exchange, render_chat, render_messages, render_responses, sse
from tests.contract.wire_contract import WireContract
from tests.contract.wires import request


class WireFaultContract(WireContract):
    """Inherit, and give `harness`."""

    # ---- faults: spec section 7 ----------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize(("status", "wanted"), specification.STATUSES)
    async def test_the_server_sees_as_many_requests_as_the_policy_has_attempts(
        self, status: int, wanted: FailureClass, streamed: bool
    ) -> None:
        wanted = specification.class_of_status(status, wanted, plan=self.made.plan_ends_at_429)
        await self._attempts(fails(status), wanted, streamed=streamed)

    async def _attempts(self, step: Step, wanted: FailureClass, *, streamed: bool) -> None:
        """Ends with the fault, after three attempts or one; and is well again when the second attempt is."""
        retried = wanted in specification.RETRIED
        for script, attempts in (((step,) * 4, 3 if retried else 1), ((step, says("well")), 2 if retried else 1)):
            emulator, journal = self.made.emulator(*script), MemoryJournal()
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
        wanted = FailureClass.BILLING if self.made.codes else FailureClass.RATE_LIMIT
        await self._attempts(spent, wanted, streamed=streamed)

    @STREAMED
    @pytest.mark.parametrize("body", ["cut", "hanging", "badly packed"])
    @pytest.mark.parametrize(
        ("status", "wanted"), [(400, "request_fatal"), (401, "auth"), (402, "billing"), (429, "rate_limit")]
    )
    async def test_a_status_counts_though_its_body_cannot_be_read(
        self, status: int, wanted: str, body: str, streamed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("geode.adapters.http_json.refusals.BODY_SECONDS", 0.05)
        packed = {"content-encoding": "gzip"} if body == "badly packed" else {}
        hints = {"retry-after": "9", "request-id": "req_7", "content-length": "5" if packed else "100", **packed}
        rest = (5.0,) if body == "hanging" else ()
        async with canned(head("application/json", status, hints), b"hello", *rest) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            asked = request(self.made, streamed=streamed, limits=Limits(64, 2.0, 2.0))
            async with asyncio.timeout(2.0):  # as the loop does
                failure = failure_of(await adapter.acomplete(asked, nowhere))

        assert (failure.status, failure.hint.seconds, failure.request_id) == (status, 9.0, "req_7")
        assert classify_retry_error(failure) is FailureClass(wanted)
        assert failure.message == f"answered with a body that could not be read ({status})"

    async def test_calls_that_are_not_ours_are_left_alone(self) -> None:
        """A client that was given is watched only while it makes a call for us, and watched once."""
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            for _ in range(2):
                adapter = await self.made.connect(server.base_url, http)
                failure_of(await adapter.acomplete(request(self.made), nowhere))
            async with http.stream("POST", server.base_url, content=b"") as answer:
                assert not answer.is_stream_consumed
            assert len(http.event_hooks["response"]) == 1

    # ---- what is shown of a failure ------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("key", ["sk-SECRET\n", "sk-SECRET\r\nx: y", "k\n"])
    async def test_a_key_that_cannot_be_sent_is_said_once_and_never_shown(self, key: str, streamed: bool) -> None:
        async with canned() as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http, key=key)
            failure = failure_of(await adapter.acomplete(request(self.made, streamed=streamed), nowhere))

        assert classify_retry_error(failure) is FailureClass.AUTH
        assert failure.phase == "connect"
        assert "has white space, a line end" in failure.message
        for part in ("SECRET", "Bearer k"):
            assert part not in failure.message + failure.way_out

    @pytest.mark.parametrize("pieces", [(STREAM, 1.0), (STREAM,), (head("application/json"), b"{"), ()])
    @STREAMED
    async def test_no_message_shows_credentials(self, pieces: Any, streamed: bool) -> None:
        async with canned(*pieces) as server, new_http_client() as http:
            base_url = server.base_url.replace("http://", "http://user:PASSWORD@")
            adapter = await self.made.connect(base_url, http)
            asked = request(self.made, streamed=streamed, limits=Limits(64, 0.2, 0.2))
            failure = failure_of(await adapter.acomplete(asked, nowhere))

        assert "PASSWORD" not in repr(failure)

    @STREAMED
    async def test_a_server_that_quotes_the_key_is_not_passed_on(self, streamed: bool) -> None:
        body = b'{"error":{"message":"Incorrect API key provided: %b."}}' % KEY.encode()
        async with canned(head("application/json", 401), body) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.made, streamed=streamed), nowhere))

        assert failure.message == "Incorrect API key provided: ***. (401)"

    @STREAMED
    async def test_a_closed_client_is_said_and_not_tried_again(self, streamed: bool) -> None:
        async with canned() as server:
            async with new_http_client() as http:
                adapter = await self.made.connect(server.base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.made, streamed=streamed), nowhere))

        assert failure.message == "the HTTP client is closed"
        assert classify_retry_error(failure) is FailureClass.REQUEST_FATAL

    # ---- what a server may send: anything ------------------------------------------------------

    @pytest.mark.parametrize(
        "event",
        [
            {"type": ["x"]}, {"type": {"a": 1}}, {"choices": 5}, {"choices": [{"delta": {"tool_calls": [{"function": 5}]}}]},
            {"type": "content_block_delta", "index": ["x"], "delta": {"type": ["x"]}},
            {"type": "message_delta", "delta": 5, "usage": []}, {"type": "response.output_item.added", "item": {"type": ["x"]}},
            {"type": "response.completed", "response": {"output": [{"type": ["x"]}, {"type": {"a": 1}}], "status": ["x"]}},
            {"type": "error", "error": {"message": {"a": 1}, "type": ["x"], "code": 10**300}},
        ],
        ids=lambda event: str(event)[:60],
    )  # fmt: skip
    async def test_no_event_is_an_exception(self, event: Any) -> None:
        data = b"data: %b\n\n" % json.dumps(event).replace("000000", "0" * 5000).encode()
        start, _ = stream_of(self.made, says("abc"))
        for pieces in ((data,), (start, data)):
            async with canned(STREAM, *pieces) as server, new_http_client() as http:
                adapter = await self.made.connect(server.base_url, http)
                await adapter.acomplete(request(self.made, streamed=True), nowhere)

    async def test_an_event_without_end_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("geode.adapters.http_json.answer.MAX_EVENT_BYTES", 1000)
        async with canned(STREAM, b'data: "', *[b"x" * 300] * 10, 1.0) as server, new_http_client() as http:
            adapter = await self.made.connect(server.base_url, http)
            failure = failure_of(await adapter.acomplete(request(self.made, streamed=True), nowhere))

        assert failure.message == "sent an event of more than 1000 bytes"
        assert classify_retry_error(failure) is FailureClass.UNKNOWN

    async def test_too_large_a_request_is_not_sent_again(self) -> None:
        emulator = self.made.emulator(fails(413), says("never"))
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
        if kind == "error_in_200" and not self.made.codes:
            wanted = FailureClass.UNKNOWN
        elif self.made.streams_only:
            wanted = next(one for same, stream, one in specification.MALFORMED if same == kind and stream)
        await self._attempts(malformed(kind), wanted, streamed=streamed)

    @pytest.mark.parametrize("name", specification.HINTS)
    async def test_a_hint_is_kept(self, name: str) -> None:
        hinted, clock = specification.HINTS[name], ManualClock(time.time())
        emulator = self.made.emulator(hinted.failure, says("well"))
        retried = hinted.retried and (hinted.timed or not self.made.plan_ends_at_429)

        outcome = await self.run(emulator, clock=clock, policy=Policy())

        assert len(emulator.received) == (2 if retried else 1)
        assert isinstance(outcome, Answered) == retried
        if retried:
            assert clock.slept[0] >= hinted.seconds
        else:
            assert isinstance(outcome, Failed)
            assert hinted.shown in str(outcome.error)
            assert clock.slept == []

    @STREAMED
    async def test_silence_of_either_kind_is_a_timeout_after_all_attempts(self, streamed: bool) -> None:
        limits: dict[str, Any] = {"idle_timeout_seconds": 0.12} if streamed else {"call_timeout_seconds": 0.12}
        emulator, journal = self.made.emulator(hangs(), hangs(), hangs(), says("never")), MemoryJournal()

        started = time.monotonic()
        outcome = await self.run(emulator, streamed=streamed, journal=journal, policy=Policy(retry=AT_ONCE, **limits))

        assert time.monotonic() - started < 3
        assert isinstance(outcome, Failed)
        assert len(emulator.received) == 3
        failures = [input.failure for inputs in journal.inputs.values() for input in inputs if isinstance(input, ModelFailed)]
        assert {classify_retry_error(one) for one in failures} == {FailureClass.TIMEOUT}

    async def test_a_streamed_call_has_an_end_too(self) -> None:
        """The bound of the whole call holds although something comes all the time."""
        emulator = self.made.emulator(says("x" * 40), event_delay_seconds=0.06)
        policy = Policy(retry=RetryPolicy(attempts=1), call_timeout_seconds=0.15)

        outcome = await self.run(emulator, streamed=True, policy=policy)

        assert isinstance(outcome, Failed)
        assert len(emulator.received) == 1


_RENDER: Final = {"messages": render_messages, "responses": render_responses, "chat": render_chat}


def whole_of(harness: ShippedHarness, reply: Reply) -> bytes:
    """A reply as one body."""
    exchange = Exchange(harness.wire, {"model": harness.model}, harness.spoken)
    return json.dumps(_RENDER[harness.wire].whole(reply, exchange)).encode()


def stream_of(harness: ShippedHarness, reply: Reply) -> tuple[bytes, bytes]:
    """A reply as the bytes of a stream: up to the first delta, and what follows it."""
    protocol, exchange = harness.wire, Exchange(harness.wire, {"model": harness.model}, harness.spoken, streamed=True)
    events = _RENDER[protocol].events(reply, exchange)
    first = next(place for place, event in enumerate(events) if sse.visible(protocol, event)) + 1
    encoded = [sse.encode(protocol, event) for event in events]
    return b"".join(encoded[:first]), b"".join([*encoded[first:], *([sse.DONE] if protocol == "chat" else [])])
