"""The server answers what breaks a rule with the status of the real one, in the envelope of its provider."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from geode.domain.script import says, thinks
from geode.entrypoints.emulator import Emulator, build_app
from tests.unit.entrypoints.emulator.test_refused import REFUSED, filled

PATH = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}


async def _answer(case: dict[str, Any]) -> tuple[httpx2.Response, Emulator]:
    given, headers = case.get("given", {}), dict(case.get("headers", {}))
    emulator = Emulator(
        (says("hi"),), dialect=case["dialect"], api_key="right" if headers else None, check_signatures="signatures" in given
    )
    emulator.models = frozenset(given["models"]) if "models" in given else None
    emulator.reasoned |= set(given.get("reasoned", ()))
    if case["rule"].endswith("version_header"):
        headers = {"x-api-key": "right"}
    elif case["protocol"] == "messages":
        headers["anthropic-version"] = given.get("version", "2023-06-01")
    transport = httpx2.ASGITransport(app=build_app(emulator))
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator") as client:
        return await client.post(PATH[case["protocol"]], json=filled(case), headers=headers), emulator


def _error(case: dict[str, Any], body: dict[str, Any]) -> tuple[Any, Any]:
    """Type and code of a body that has the form of its provider, and no other."""
    dialect, protocol = case["dialect"], case["protocol"]
    if dialect == "codex":
        assert body.keys() == {"detail"}
        return None, None
    error = body["error"]
    if protocol == "messages":
        assert (body["type"], set(body), set(error)) == ("error", {"type", "error", "request_id"}, {"type", "message"})
        return error["type"], None
    assert body.keys() == {"error"}
    if dialect == "glm":
        # The rules that it shares with others have the words of the others inside.
        assert error.keys() == {"code", "message"}
        return None, error["code"]
    if dialect == "openrouter":
        assert isinstance(error["code"], int)
        return None, str(error["code"])
    assert error.keys() == {"message", "type", "param", "code"}
    return error["type"], error["code"]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["rule"])
async def test_a_refusal_wears_the_envelope_of_its_provider(case: dict[str, Any]) -> None:
    answer, emulator = await _answer(case)

    assert answer.status_code == case["status"]
    assert _error(case, answer.json()) == (case["type"], case["code"])
    assert case["rule"] in {one.rule for one in emulator.violations}


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"])
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    emulator = Emulator((says("hi"),))
    transport = httpx2.ASGITransport(app=build_app(emulator))
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator") as client:
        answers = [await client.post(path, content=body) for path in PATH.values()]

    assert [answer.status_code for answer in answers] == [400] * 3
    assert [one.rule for one in emulator.violations] == ["http.body"] * 3


async def test_a_lone_surrogate_that_is_quoted_in_the_answer_breaks_nothing() -> None:
    emulator = Emulator((says("hi"),))
    transport = httpx2.ASGITransport(app=build_app(emulator))
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator") as client:
        answer = await client.post(
            PATH["chat"], content=b'{"model": "gpt-4o", "messages": [{"role": "\\ud800", "content": ""}]}'
        )

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_the_server_binds_thinking_to_what_it_was_asked() -> None:
    emulator = Emulator((thinks("hm") + says("hi"), says("again")))
    tools = [{"name": "read", "input_schema": {"type": "object", "properties": {}}}]
    asked: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 64, "messages": [{"role": "user", "content": "go"}]}
    transport = httpx2.ASGITransport(app=build_app(emulator))
    headers = {"anthropic-version": "2026-10-21"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://emulator", headers=headers) as client:
        first = (await client.post(PATH["messages"], json=asked)).json()
        turns = [*asked["messages"], {"role": "assistant", "content": first["content"]}, {"role": "user", "content": "more"}]
        changed = await client.post(PATH["messages"], json={**asked, "messages": turns, "tools": tools})
        same = await client.post(PATH["messages"], json={**asked, "messages": turns})

    assert (changed.status_code, same.status_code) == (400, 200)
    assert [one.rule for one in emulator.violations] == ["messages.anthropic.thinking.prefix_changed"]
