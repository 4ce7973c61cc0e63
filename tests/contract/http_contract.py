"""What every adapter over HTTP keeps beside the contract of all adapters."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import warnings
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.http_json.clients import new_http_client
from geode.adapters.journal_memory import MemoryJournal
from geode.domain.content import Opaque, Text
from geode.domain.conversation import AssistantTurn, Conversation
from geode.domain.errors import Misuse
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.inputs import ModelFailed
from geode.domain.loop.outcome import Answered, Failed, Outcome
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.retry import RetryPolicy
from geode.domain.script import Reply, Step, calls, drops, fails, hangs, malformed, says
from geode.entrypoints.emulator import (
    Emulator,
    Exchange,
    check,
    laws,
    render_chat,
    render_messages,
    render_responses,
    running,
    sse,
)
from geode.events import Finished
from geode.ports.model import Delta
from tests.contract import specification
from tests.contract.adapter_contract import STREAMED, AdapterContract, failure_of, reply_of
from tests.contract.histories import REPLAYS, TOOLS, conversations, history, user
from tests.contract.http import KEY, HttpHarness, encode
from tests.contract.reading import FITS, expected, ids, read, same
from tests.contract.servers import STREAM, canned, head, tapped

# No waiting between attempts: how long is waited is another test's business.
AT_ONCE = RetryPolicy(base_seconds=0.0)
# What a task shows that was started on behalf of an adapter, and not by a server in the same loop.
OURS = ("geode/adapters", "httpx2", "httpcore2", "async_generator", "aclose")
RESULTS = ("tool_result", "function_call_output")
PLANTED = "planted-in-the-environment"


def read_file(path: str) -> str:
    """Read a file."""
    return f"content of {path}"


READER = geode.tool(tier="SAFE", name="read")(read_file)


class HttpContract(AdapterContract):
    """Inherit, and give `harness`."""

    harness: ClassVar[HttpHarness]

    # ---- running -------------------------------------------------------------------------------

    async def run(
        self, emulator: Emulator, *, streamed: bool = False, model: str | None = None, tool_choice: Any = None, **settings: Any
    ) -> Outcome:
        """One run of an application against the emulator."""
        async with running(emulator) as server:
            given: dict[str, Any] = {"tools": [READER], "policy": Policy(retry=AT_ONCE), **settings}
            provider = self.harness.provider(server.base_url)
            async with geode.session(model=f"lab/{model or self.harness.model}", providers=[provider], **given) as loop:
                if not streamed:
                    return await loop.run("hi", tool_choice=tool_choice)
                async for event in loop.stream("hi", tool_choice=tool_choice):
                    if isinstance(event, Finished):
                        return event.outcome
        raise AssertionError("the run did not finish")

    async def sent(self, conversation: Conversation, **changes: Any) -> dict[str, Any]:
        """The body that leaves for `conversation`, judged by the emulator."""
        emulator = self.harness.emulator(says("ok"), refuse=False)
        async with new_http_client() as http, running(emulator) as server:
            playing_adapter = await self.harness.connect(server.base_url, http)
            request = _request(self.harness, conversation, **changes)
            reply_of(await playing_adapter.acomplete(request, _nowhere))
        (one,) = emulator.received
        assert one.violations == ()
        assert laws(self.harness.wire, one.request) == ()
        return dict(one.request)

    # ---- tool choice: spec section 2 -----------------------------------------------------------

    @pytest.mark.parametrize(("spelling", "wire_values"), specification.CHOICES, ids=lambda value: json.dumps(value)[:40])
    async def test_every_spelling_has_its_value_on_the_wire(self, spelling: Any, wire_values: Any) -> None:
        wanted = wire_values[self.harness.wire]
        calling = wire_values in (specification.REQUIRED, specification.NAMED)
        script = (calls(specification.READ), says("done")) if calling else (says("done"),)
        emulator = self.harness.emulator(*script)

        outcome = await self.run(emulator, tool_choice=spelling)

        assert isinstance(outcome, Answered), outcome
        first, *later = [one.request for one in emulator.received]
        assert first["tool_choice"] == wanted
        assert all(one["tool_choice"] == specification.AUTO[self.harness.wire] for one in later), "it holds for one round"
        assert [_tool_names(self.harness, one) for one in (first, *later)] == [["read"]] * len(script)
        for one in (first, *later):
            assert one.get("parallel_tool_calls") == (True if self.harness.parallel else None)
            assert "disable_parallel_tool_use" not in json.dumps(one)

    async def test_tools_are_defined_as_the_wire_wants_them(self) -> None:
        body = await self.sent(Conversation((user("hi"),)))

        plain = [(tool.name, tool.description, tool.input_schema) for tool in TOOLS]
        assert body["tools"] == [
            {
                "messages": {"name": name, "description": text, "input_schema": schema},
                "responses": {
                    "type": "function", "name": name, "description": text, "parameters": schema, "strict": False,
                },
                "chat": {"type": "function", "function": {"name": name, "description": text, "parameters": schema}},
            }[self.harness.wire]
            for name, text, schema in plain
        ]  # fmt: skip

    async def test_without_tools_nothing_is_said_of_them(self) -> None:
        body = await self.sent(Conversation((user("hi"),)), tools=())

        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)

    @pytest.mark.parametrize("spelling", specification.UNKNOWN_CHOICES, ids=repr)
    async def test_an_unknown_choice_is_refused_before_anything_leaves(self, spelling: Any) -> None:
        emulator = self.harness.emulator(says("never"))

        with pytest.raises(Misuse, match="unknown") as raised:
            await self.run(emulator, tool_choice=spelling)

        assert "auto, none, required" in str(raised.value)
        assert emulator.received == []

    async def test_a_choice_of_a_tool_that_is_not_there_is_refused_before_anything_leaves(self) -> None:
        emulator = self.harness.emulator(says("never"))

        with pytest.raises(Misuse, match='"write".*read'):
            await self.run(emulator, tool_choice={"type": "tool", "name": "write"})

        assert emulator.received == []

    @pytest.mark.parametrize("spelling", specification.FORCED, ids=str)
    async def test_a_choice_that_the_model_does_not_take_is_refused_here(self, spelling: Any) -> None:
        for model in (*self.harness.auto_only, self.harness.model):
            emulator = self.harness.emulator(calls(specification.READ), says("done"))

            outcome = await self.run(emulator, model=model, tool_choice=spelling)

            if model not in self.harness.auto_only:
                assert isinstance(outcome, Answered)
                continue
            assert isinstance(outcome, Failed)
            shown = '"read"' if isinstance(spelling, dict) else spelling
            assert all(word in str(outcome.error) for word in ("lab", model, shown)), outcome.error
            assert emulator.received == []

    async def test_a_temperature_is_sent_or_refused_and_never_dropped(self) -> None:
        emulator = self.harness.emulator(says("done"))

        outcome = await self.run(emulator, temperature=0.5)

        if self.harness.temperature:
            assert isinstance(outcome, Answered)
            assert emulator.received[0].request["temperature"] == 0.5
        else:
            assert isinstance(outcome, Failed)
            assert "temperature" in str(outcome.error)
            assert emulator.received == []

    # ---- replay: spec section 3 ----------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("name", REPLAYS)
    async def test_a_history_is_accepted_and_says_what_was_said(self, name: str, streamed: bool) -> None:
        conversation = history(name, self.harness.owner, self.harness.opaque)
        stored = conversation.dumps()

        body = await self.sent(conversation, streamed=streamed, system="Be good.")

        self._says(body, conversation)
        assert conversation.dumps() == stored, "encoding changes nothing that is stored"
        assert _system(self.harness, body) == "Be good."

    def _says(self, body: dict[str, Any], conversation: Conversation) -> None:
        found = read(self.harness.wire, _without_system(self.harness, body))
        wanted = expected(self.harness.wire, conversation, self.harness.owner)
        assert same(found, wanted), f"it says\n{found}\nand should say\n{wanted}"
        sent = ids(found)
        assert len(set(sent)) == len(sent)
        assert all(FITS.fullmatch(id) for id in sent)
        turns = [turn for turn in conversation.turns if isinstance(turn, AssistantTurn)]
        made = [(call.id, turn.made_by) for turn in turns for call in turn.calls]
        own = [(mine, its) for (mine, by), its in zip(made, sent, strict=True) if by == self.harness.owner and FITS.fullmatch(mine)]
        assert all(mine == its for mine, its in own), "a provider gets its own ids back"

    async def test_opaque_items_go_back_byte_for_byte(self) -> None:
        item = self.harness.opaque(self.harness.owner, 1)
        spaced = Opaque(item.owner, item.kind, json.dumps(json.loads(item.json_text), ensure_ascii=True, indent=1))
        conversation = Conversation((user("go"), AssistantTurn((spaced, Text("So.")), self.harness.owner), user("and?")))
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            await adapter.acomplete(_request(self.harness, conversation), _nowhere)

        ((_, body),) = server.requests
        assert spaced.json_text.encode() in body

    @settings(max_examples=60)
    @given(data=st.data())
    def test_any_history_is_accepted_and_says_what_was_said(self, data: st.DataObject) -> None:
        conversation = data.draw(conversations(self.harness.owner, self.harness.opaque))

        body = json.loads(encode(self.harness, conversation))

        assert check(self.harness.wire, body, self.harness.spoken) == ()
        assert laws(self.harness.wire, body) == ()
        self._says(body, conversation)

    @pytest.mark.parametrize("name", ["parallel calls", "hints", "pictures"])
    async def test_the_witness_notices_a_result_out_of_place(self, name: str) -> None:
        """What the tests above rest on: a body with one result less, two swapped, or a hint too early is refused."""
        body = await self.sent(history(name, self.harness.owner, self.harness.opaque))

        broken = list(_broken(self.harness, body))
        assert len(broken) == 3
        for what, one in broken:
            found = (*check(self.harness.wire, one, self.harness.spoken), *laws(self.harness.wire, one))
            assert found, f"{what} was not noticed"

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
            failures = [input.failure for inputs in journal.inputs.values() for input in inputs if isinstance(input, ModelFailed)]
            assert {classify_retry_error(one) for one in failures} == {wanted}
            assert isinstance(outcome, Answered) == (retried and len(script) == 2)
            assert emulator.violations == ()

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
        limits = {"idle_timeout_seconds": 0.12} if streamed else {"call_timeout_seconds": 0.12}
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
        policy = Policy(retry=AT_ONCE, call_timeout_seconds=0.15)

        outcome = await self.run(emulator, streamed=True, policy=policy)

        assert isinstance(outcome, Failed)
        assert len(emulator.received) == 1

    # ---- cancelling, slow readers --------------------------------------------------------------

    @STREAMED
    @pytest.mark.parametrize("times", [1, 2])
    async def test_cancelling_while_nothing_has_come_closes_the_connection(self, times: int, streamed: bool) -> None:
        emulator = self.harness.emulator(hangs())
        async with running(emulator) as server, tapped(server.base_url) as tap, new_http_client() as http:
            adapter = await self.harness.connect(tap.base_url, http)
            before = asyncio.all_tasks()
            task = asyncio.create_task(adapter.acomplete(_request(self.harness, streamed=streamed), _nowhere))
            while not emulator.received:
                await asyncio.sleep(0.005)
            await _cancelled(task, times)

            await asyncio.wait_for(tap.left.wait(), 2)
            await _nothing_left(http, before)

    @pytest.mark.parametrize("times", [1, 2])
    async def test_cancelling_in_the_middle_of_a_stream_closes_the_connection(self, times: int) -> None:
        emulator = self.harness.emulator(says("x" * 40), event_delay_seconds=0.03)
        shown = asyncio.Event()

        async def show(_: Delta) -> None:
            shown.set()

        async with running(emulator) as server, tapped(server.base_url) as tap, new_http_client() as http:
            adapter = await self.harness.connect(tap.base_url, http)
            before = asyncio.all_tasks()
            task = asyncio.create_task(adapter.acomplete(_request(self.harness, streamed=True), show))
            await asyncio.wait_for(shown.wait(), 2)
            await _cancelled(task, times)

            await asyncio.wait_for(tap.left.wait(), 2)
            await _nothing_left(http, before)

    async def test_a_reader_that_breaks_frees_the_connection(self) -> None:
        async def take(_: Delta) -> None:
            raise LookupError

        emulator = self.harness.emulator(says("x" * 40), says("next"), event_delay_seconds=0.02)
        async with running(emulator) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            before = asyncio.all_tasks()
            with pytest.raises(LookupError):
                await adapter.acomplete(_request(self.harness, streamed=True), take)
            await _nothing_left(http, before)
            assert reply_of(await adapter.acomplete(_request(self.harness), _nowhere)).text == "next"

    async def test_a_slow_reader_is_no_silent_server(self) -> None:
        emulator = self.harness.emulator(says("abcdef"))
        seen: list[Delta] = []

        async def read_slowly(delta: Delta) -> None:
            seen.append(delta)
            await asyncio.sleep(0.12)

        async with running(emulator) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            request = _request(self.harness, streamed=True, limits=Limits(64, 5.0, 0.1))
            reply = reply_of(await adapter.acomplete(request, read_slowly))

        assert reply.text == "abcdef"
        assert len(seen) > 1

    # ---- connections ---------------------------------------------------------------------------

    async def test_calls_after_another_use_one_connection(self) -> None:
        emulator = self.harness.emulator(*[says(f"answer {number}") for number in range(6)])
        async with running(emulator) as server, tapped(server.base_url) as tap, new_http_client() as http:
            adapter = await self.harness.connect(tap.base_url, http)
            for number in range(6):
                request = _request(self.harness, streamed=number < 5)
                assert reply_of(await adapter.acomplete(request, _nowhere)).text == f"answer {number}"

            assert len(tap.sent) == 1

    async def test_a_client_that_was_given_is_used_and_stays_open(self) -> None:
        emulator = self.harness.emulator(says("one"), says("two"))
        async with running(emulator) as server, new_http_client() as http:
            for _ in range(2):
                provider = self.harness.provider(server.base_url)
                model = f"lab/{self.harness.model}"
                assert isinstance(await geode.run("hi", model=model, providers=[provider], http=http), Answered)
                assert not http.is_closed
            assert len(_pool(http)) == 1

    async def test_a_client_of_geode_is_closed_with_its_session(self) -> None:
        emulator = self.harness.emulator(says("one"))
        async with running(emulator) as server, tapped(server.base_url) as tap:
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
        async with running(emulator) as server, tapped(server.base_url) as tap:
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
            await adapter.acomplete(_request(self.harness, conversation, streamed=streamed), _nowhere)

        ((top, body),) = server.requests
        assert top.startswith(f"POST {self.harness.path} HTTP/1.1\r\n".encode())
        assert body == encode(self.harness, conversation, streamed=streamed)
        assert top.lower().count(b"\r\ncontent-type:") == top.lower().count(b"\r\nauthorization:") == 1

    async def test_the_headers_are_those_of_the_sdk(self) -> None:
        async with canned(head("application/json", 400), b"{}") as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            await adapter.acomplete(_request(self.harness), _nowhere)
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
            reply = reply_of(await adapter.acomplete(_request(self.harness, streamed=True), take))

        assert reply.text == "abc def ghi"

    async def test_silence_in_the_middle_of_a_stream_is_a_timeout(self) -> None:
        """Comments and heartbeats say nothing, and do not keep a stalled model alive."""
        start, _ = _stream(self.harness, says("abc def ghi"))
        beat = b": still here\n\n" + (b'event: ping\ndata: {"type":"ping"}\n\n' if self.harness.wire != "chat" else b"")
        silence = [piece for _ in range(20) for piece in (0.05, beat)]
        async with canned(STREAM, start, *silence) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            request = _request(self.harness, streamed=True, limits=Limits(64, 5.0, 0.15))
            started = time.monotonic()
            failure = failure_of(await adapter.acomplete(request, _nowhere))
            assert time.monotonic() - started < 0.6
            await asyncio.wait_for(server.gone.wait(), 2)

        assert failure.timed_out
        assert classify_retry_error(failure) is FailureClass.TIMEOUT

    async def test_a_stream_that_ends_quietly_is_cut(self) -> None:
        """A body that ends with its connection gives no error when it is cut: only the last event tells."""
        start, _ = _stream(self.harness, says("abc def ghi"))
        async with canned(STREAM, start) as server, new_http_client() as http:
            adapter = await self.harness.connect(server.base_url, http)
            failure = failure_of(await adapter.acomplete(_request(self.harness, streamed=True), _nowhere))

        assert classify_retry_error(failure) is FailureClass.CONNECTION

    async def test_a_server_that_does_not_stream_is_understood(self) -> None:
        emulator = self.harness.emulator(says("all at once"))
        async with running(emulator) as server, new_http_client() as http:
            answer = await http.post(
                server.base_url + self.harness.path,
                content=encode(self.harness, Conversation((user("hi"),))),
                headers={"anthropic-version": "2026-10-21"},
            )
        async with canned(head("application/json"), answer.content) as plain, new_http_client() as http:
            adapter = await self.harness.connect(plain.base_url, http)
            reply = reply_of(await adapter.acomplete(_request(self.harness, streamed=True), _nowhere))

        assert reply.text == "all at once"

    async def test_nobody_at_the_address_is_said_with_the_address(self) -> None:
        async with canned() as server:
            base_url = server.base_url
        async with new_http_client() as http:
            adapter = await self.harness.connect(base_url, http)
            failure = failure_of(await adapter.acomplete(_request(self.harness), _nowhere))

        assert (failure.status, failure.phase) == (None, "connect")
        assert base_url in failure.message
        assert classify_retry_error(failure) is FailureClass.CONNECTION


# ---- helpers -----------------------------------------------------------------------------------


async def _nowhere(_: Delta) -> None:
    """Deltas that nobody reads."""


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()


def _request(
    harness: HttpHarness, conversation: Conversation | None = None, *, streamed: bool = False, **changes: Any
) -> AdapterCallRequest:
    given: dict[str, Any] = {"tools": TOOLS, "limits": Limits(64, 5.0, 5.0), **changes}
    return AdapterCallRequest(harness.model, conversation or Conversation((user("hi"),)), streamed=streamed, **given)


def _tool_names(harness: HttpHarness, body: Any) -> list[str]:
    return [tool["function"]["name"] if harness.wire == "chat" else tool["name"] for tool in body["tools"]]


def _system(harness: HttpHarness, body: Any) -> str:
    match harness.wire:
        case "messages":
            return str(body["system"])
        case "responses":
            return str(body["instructions"])
        case "chat":
            return str(body["messages"][0]["content"])


def _without_system(harness: HttpHarness, body: dict[str, Any]) -> dict[str, Any]:
    if harness.wire != "chat":
        return body
    return {**body, "messages": [one for one in body["messages"] if one["role"] != "system"]}


def _stream(harness: HttpHarness, reply: Reply) -> tuple[bytes, bytes]:
    """A reply as the bytes of a stream: up to the first delta, and what follows it."""
    protocol, exchange = harness.wire, Exchange(harness.wire, {"model": harness.model}, harness.spoken, streamed=True)
    render = {"messages": render_messages, "responses": render_responses, "chat": render_chat}[protocol]
    events = render.events(reply, exchange)
    first = next(place for place, event in enumerate(events) if sse.visible(protocol, event)) + 1
    encoded = [sse.encode(protocol, event) for event in events]
    return b"".join(encoded[:first]), b"".join([*encoded[first:], *([sse.DONE] if protocol == "chat" else [])])


def _broken(harness: HttpHarness, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The body with one result less, with two results swapped, and with a hint before a result."""
    key = "input" if harness.wire == "responses" else "messages"
    for what in ("a missing result", "swapped results", "a hint before a result"):
        broken = deepcopy(body)
        holder: list[Any] = broken[key]
        if harness.wire == "messages":
            holder = next(one["content"] for one in holder if any(part.get("type") == "tool_result" for part in one["content"]))
        places = [place for place, one in enumerate(holder) if one.get("type") in RESULTS or one.get("role") == "tool"]
        first, second = places[:2]
        if what == "a missing result":
            del holder[second]
        elif what == "swapped results":
            holder[first], holder[second] = holder[second], holder[first]
        elif harness.wire == "messages":
            holder.insert(first, {"type": "text", "text": "a hint"})
        else:
            holder.insert(first, {"role": "user", "content": "a hint"})
        yield what, broken


async def _sdk_call(harness: HttpHarness, base_url: str, http: httpx2.AsyncClient) -> None:
    """The same call by the SDK's own typed method."""
    if harness.wire == "messages":
        ours = anthropic.AsyncAnthropic(api_key=KEY, base_url=base_url, http_client=http, max_retries=0, timeout=5)
        with pytest.raises(anthropic.BadRequestError):
            await ours.messages.create(model=harness.model, max_tokens=1, messages=[{"role": "user", "content": "hi"}])
        return
    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{base_url}/v1", http_client=http, max_retries=0, timeout=5)
    with pytest.raises(openai.BadRequestError):
        if harness.wire == "responses":
            await client.responses.create(model=harness.model, input="hi")
        else:
            await client.chat.completions.create(model=harness.model, messages=[{"role": "user", "content": "hi"}])
