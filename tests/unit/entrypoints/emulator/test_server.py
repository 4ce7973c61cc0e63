"""The emulator over a real socket: what it answers, what it keeps, how it breaks."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx2
import pytest

from geode.domain.script import DropPoint, MalformedKind, Script, calls, drops, fails, hangs, malformed, pauses, says
from geode.entrypoints.emulator import Dialect, Emulator, running
from tests.unit.entrypoints.emulator.requests import (
    GO,
    assistant,
    chat,
    messages,
    output,
    responses,
    tool_result,
    tool_use,
    user,
)

PATH = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
BODY = {"messages": messages(), "responses": responses(), "chat": chat()}
WIRES = list(PATH)
VERSION = {"anthropic-version": "2026-10-21"}


async def _post(script: Script, wire: str = "messages", *, patience: float = 5.0, **changes: Any) -> httpx2.Response:
    dialect: Dialect | None = changes.pop("dialect", None)
    async with running(Emulator(script, dialect=dialect)) as server:
        return await _send(server.base_url, wire, patience=patience, **changes)


async def _send(base: str, wire: str = "messages", *, patience: float = 5.0, **changes: Any) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=base, timeout=patience, headers=VERSION) as client:
        return await client.post(PATH[wire], json={**BODY[wire], **changes})


async def _chunks(base: str, wire: str) -> tuple[str, Exception | None]:
    """Everything of a stream that arrived, and what ended it."""
    seen = ""
    try:
        async with (
            httpx2.AsyncClient(base_url=base, timeout=5, headers=VERSION) as client,
            client.stream("POST", PATH[wire], json={**BODY[wire], "stream": True}) as answer,
        ):
            async for part in answer.aiter_text():
                seen += part
    except httpx2.TransportError as error:
        return seen, error
    return seen, None


async def test_a_refused_request_is_kept_and_takes_no_step() -> None:
    emulator = Emulator((says("hi"),))
    async with running(emulator) as server:
        refused = await _send(server.base_url, messages=[])
        accepted = await _send(server.base_url)

    assert (refused.status_code, accepted.status_code) == (400, 200)
    assert accepted.json()["content"] == [{"type": "text", "text": "hi"}]
    first, second = emulator.received
    assert [one.rule for one in first.violations] == ["messages.anthropic.messages.required"]
    assert (first.step, second.step) == (None, says("hi"))
    assert (first.request["messages"], second.protocol, second.headers["anthropic-version"]) == ([], "messages", "2026-10-21")
    assert emulator.position == 1
    assert second.at >= first.at


async def test_a_witness_that_does_not_refuse_still_sees() -> None:
    emulator = Emulator((says("hi"),), refuse=False)
    async with running(emulator) as server:
        answer = await _send(server.base_url, messages=[])

    assert answer.status_code == 200
    assert [one.rule for one in emulator.violations] == ["messages.anthropic.messages.required"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_script_that_ran_out_says_so_and_asks_for_no_retry(wire: str) -> None:
    answer = await _post((), wire)

    assert answer.status_code == 500
    assert "0 steps" in answer.json()["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"


async def test_a_script_that_the_wire_cannot_say_says_so() -> None:
    answer = await _post((pauses("x"),), "chat")

    assert answer.status_code == 500
    assert "pause" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("wire", "status", "dialect", "error"),
    [
        ("messages", 529, None, {"type": "overloaded_error", "message": "busy"}),
        ("messages", 402, None, {"type": "billing_error", "message": "busy"}),
        ("messages", 413, None, {"type": "request_too_large", "message": "busy"}),
        ("responses", 500, None, {"type": "server_error", "message": "busy", "param": None, "code": None}),
        ("chat", 429, None, {"type": "requests", "message": "busy", "param": None, "code": "rate_limit_exceeded"}),
        ("chat", 429, "glm", {"code": "1302", "message": "busy"}),
        ("chat", 402, "openrouter", {"code": 402, "message": "busy", "metadata": {"provider_name": "Emulated"}}),
    ],
)
async def test_failures_wear_the_envelope_of_their_server(wire: str, status: int, dialect: Dialect | None, error: Any) -> None:
    answer = await _post((fails(status, message="busy", retry_after=2),), wire, dialect=dialect)

    assert (answer.status_code, answer.headers["retry-after"]) == (status, "2")
    assert answer.json()["error"] == error
    assert answer.headers["request-id" if wire == "messages" else "x-request-id"] == "req_000000"


async def test_quota_is_told_from_rate_and_codex_has_its_own_form() -> None:
    quota = await _post((fails(429, code="insufficient_quota"),), "chat")
    spend = await _post((fails(429, code="enforced_spend_limit_reached"),))
    codex = await _post((fails(400, message="no"),), "responses", dialect="codex", store=False, stream=True, instructions="x")

    assert quota.json()["error"]["type"] == quota.json()["error"]["code"] == "insufficient_quota"
    assert spend.json()["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}
    assert codex.json() == {"detail": "no"}


async def test_a_body_of_the_script_goes_out_as_it_is() -> None:
    page = await _post((fails(502, "<html>bad gateway</html>"),))
    own = await _post((fails(400, {"error": "mine"}),))

    assert (page.text, page.headers["content-type"]) == ("<html>bad gateway</html>", "text/html; charset=utf-8")
    assert own.json() == {"error": "mine"}


# The last are what a base address with a path too many makes.
NOT_SERVED = ("/v1/embeddings", "/v1/chat/completions/chat/completions", "/v1/v1/messages", "/api/anthropic/v1/messages")


async def test_bodies_keys_and_paths_that_are_not_served() -> None:
    emulator = Emulator((says("hi"),), api_key="right")
    async with running(emulator) as server, httpx2.AsyncClient(base_url=server.base_url, headers=VERSION) as client:
        wrong = await client.post("/v1/messages", json=messages(), headers={"x-api-key": "wrong"})
        broken = await client.post("/v1/messages", content=b"{")
        elsewhere = [await client.post(path, json={}) for path in NOT_SERVED]
        right = await client.post("/v1/messages", json=messages(), headers={"authorization": "Bearer right"})
        large = await client.post(
            "/v1/messages", content=json.dumps(messages(x="y" * 33_554_432)), headers={"x-api-key": "right"}
        )

    assert (wrong.status_code, wrong.json()["error"]["type"]) == (401, "authentication_error")
    assert (broken.status_code, right.status_code) == (400, 200)
    assert {one.status_code for one in elsewhere} == {404}
    assert (
        "The emulator serves /v1/messages, /v1/responses, /v1/chat/completions, not " in elsewhere[0].json()["error"]["message"]
    )
    assert (large.status_code, large.json()["error"]["type"]) == (413, "request_too_large")


async def test_responses_are_continued_only_where_they_were_stored() -> None:
    async with running(Emulator((says("a"), says("b"), says("c")))) as server:
        stored = (await _send(server.base_url, "responses")).json()["id"]
        unstored = (await _send(server.base_url, "responses", store=False)).json()["id"]
        found = await _send(server.base_url, "responses", previous_response_id=stored)
        lost = await _send(server.base_url, "responses", previous_response_id=unstored)

    assert found.status_code == 200
    assert (lost.status_code, lost.json()["error"]["code"]) == (400, "previous_response_not_found")


# ---- breaking connections -------------------------------------------------------------------------


async def test_a_hang_holds_until_the_client_gives_up() -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await _post((hangs(),), patience=0.2)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("at", ["connect", "headers"])
async def test_nothing_arrives_of_a_reply_dropped_early(wire: str, streamed: bool, at: DropPoint) -> None:
    with pytest.raises(httpx2.ReadError if at == "connect" else httpx2.RemoteProtocolError):
        await _post((drops(at),), wire, stream=streamed)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("at", "some", "all_"), [("before_output", False, False), ("after_output", True, False), ("before_end", True, True)]
)
async def test_a_dropped_stream_has_exactly_what_came_before(wire: str, at: DropPoint, some: bool, all_: bool) -> None:
    async with running(Emulator((drops(at, says("abcdefghi")),))) as server:
        seen, error = await _chunks(server.base_url, wire)

    assert isinstance(error, httpx2.RemoteProtocolError)
    assert ('"abc"' in seen, '"ghi"' in seen) == (some, all_)
    endings = ("message_delta", "response.completed", '"finish_reason":"stop"', "[DONE]")
    assert not any(ending in seen for ending in endings)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("at", ["before_output", "after_output", "before_end"])
async def test_a_dropped_body_is_shorter_than_it_said(wire: str, at: DropPoint) -> None:
    with pytest.raises(httpx2.RemoteProtocolError, match="without sending complete"):
        await _post((drops(at),), wire)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_next_request_after_a_drop_is_served(wire: str, streamed: bool) -> None:
    async with running(Emulator((drops("after_output"), says("back")))) as server:
        with pytest.raises(httpx2.RemoteProtocolError):
            await _send(server.base_url, wire, stream=streamed)
        answer = await _send(server.base_url, wire, stream=streamed)

    assert answer.status_code == 200


# ---- a 200 that is no answer ------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [False, True])
async def test_malformed_answers_are_200(wire: str, streamed: bool) -> None:
    kinds: tuple[MalformedKind, ...] = ("html", "empty", "not_json", "wrong_shape", "error_in_200")
    async with running(Emulator([malformed(kind) for kind in kinds])) as server:
        html, empty, broken, shape, error = [await _send(server.base_url, wire, stream=streamed) for _ in kinds]

    assert {one.status_code for one in (html, empty, broken, shape, error)} == {200}
    assert html.text.startswith("<html>")
    assert empty.content == b""
    data = broken.text.removeprefix("data: ")
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(data)
    assert json.loads(shape.text.removeprefix("data: ")) == {"hello": "world"}
    assert set(error.json()) >= {"error"}


@pytest.mark.parametrize(
    ("wire", "dialect", "sign"),
    [
        ("messages", None, 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"'),
        ("responses", None, 'event: response.failed\ndata: {"type":"response.failed"'),
        ("chat", None, 'data: {"error":{"message"'),
        ("chat", "openrouter", '"finish_reason":"error"'),
    ],
)
async def test_an_error_in_a_stream_is_that_servers(wire: str, dialect: Dialect | None, sign: str) -> None:
    answer = await _post((malformed("error_in_stream"),), wire, dialect=dialect, stream=True)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert sign in answer.text
    assert "[DONE]" not in answer.text
    assert "message_stop" not in answer.text


async def test_events_can_come_slowly() -> None:
    emulator = Emulator((says("abcdef"),), event_delay_seconds=0.03)
    async with running(emulator) as server:
        started = time.monotonic()
        await _send(server.base_url, stream=True)

    assert time.monotonic() - started > 0.03 * 7


async def test_a_client_may_leave_a_slow_stream() -> None:
    emulator = Emulator((says("abcdef"), says("next")), event_delay_seconds=0.05)
    async with running(emulator) as server:
        async with (
            httpx2.AsyncClient(base_url=server.base_url, headers=VERSION) as client,
            client.stream("POST", PATH["messages"], json=messages(GO, stream=True)) as answer,
        ):
            async for _ in answer.aiter_bytes():
                break
        after = await _send(server.base_url)

    assert after.json()["content"][0]["text"] == "next"


async def test_by_conversation_clients_run_side_by_side_and_again() -> None:
    emulator = Emulator((calls(("read", {})), says("done")), by_conversation=True, on_missing="restart")
    answered = messages(GO, assistant(tool_use("toolu_r0c0")), user(tool_result("toolu_r0c0")))["messages"]
    async with running(emulator) as server:

        async def run() -> list[str]:
            first = await _send(server.base_url)
            second = await _send(server.base_url, messages=answered)
            return [first.json()["stop_reason"], second.json()["stop_reason"]]

        runs = await asyncio.gather(*(run() for _ in range(4)))

    assert [*runs, await _rerun(emulator)] == [["tool_use", "end_turn"]] * 4 + [["tool_use"]]
    assert emulator.violations == ()


async def test_by_conversation_a_stored_response_counts_with_all_that_came_before_it() -> None:
    emulator = Emulator((calls(("read", {})), calls(("read", {})), says("done"), says("more")), by_conversation=True)
    kinds: list[str] = []
    last: str | None = None
    async with running(emulator) as server:
        for sent in ("go", [output("call_r0c0")], [output("call_r1c0")], "go on"):
            answer = (await _send(server.base_url, "responses", input=sent, previous_response_id=last)).json()
            last = answer["id"]
            kinds.extend(item.get("call_id") or item["content"][0]["text"] for item in answer["output"])

    assert kinds == ["call_r0c0", "call_r1c0", "done", "more"]


async def _rerun(emulator: Emulator) -> list[str]:
    async with running(emulator) as server:
        return [(await _send(server.base_url)).json()["stop_reason"]]


async def test_a_dialect_leaves_the_other_wires_alone() -> None:
    answer = await _post((fails(429),), "messages", dialect="openrouter")

    assert answer.json()["error"]["type"] == "rate_limit_error"
