"""Kinds of secrets that got out, each with the id of its case."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import geode
from geode.adapters.credentials_oauth import OAuthCredential
from geode.adapters.private_files import replace_private
from geode.domain.retry import RetryPolicy
from geode.entrypoints.compliance.credentials import said_by

KEY = "sk-TESTKEY-123"
ONCE = geode.Policy(retry=RetryPolicy(attempts=1))


def _answer(status: int, body: str) -> Any:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": "application/json"}, content=body.encode())

    return answer


def _fails(error: type[httpx2.TransportError]) -> Any:
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise error(f"on the way with {request.headers['authorization']}")

    return fail


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
@pytest.mark.parametrize(
    "answer",
    [
        _answer(401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})),
        _answer(404, json.dumps({"error": {"message": f"{KEY} has no such model", "code": KEY}})),
        _fails(httpx2.ReadTimeout),
        _fails(httpx2.ConnectError),
        _answer(200, f"<{KEY}>"),
    ],
    ids=["401", "404", "timeout", "connect error", "bad JSON"],
)
async def test_se_05_a_key_is_in_no_exception_and_nothing_it_came_of(wire: Any, answer: Any) -> None:
    """Also where the server, or the HTTP client, says it."""
    events: list[object] = []
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        lab = geode.Provider("lab", wire, "https://lab.test", KEY)
        outcome = await geode.run("Hi", model="lab/m", providers=[lab], http=http, policy=ONCE, observe=events.append)
    assert isinstance(outcome, geode.Failed)
    assert outcome.error is not None
    told = "\n".join((repr(outcome), outcome.why, repr(events), *said_by(outcome.error, lambda file: file != __file__)))
    assert KEY not in told


@pytest.fixture
def _others_may_read_what_is_made() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_others_may_read_what_is_made")
@pytest.mark.parametrize("before", [None, 0o600, 0o644, 0o666])
async def test_se_13_a_file_of_credentials_is_its_owners_alone(before: int | None, tmp_path: Path) -> None:
    """However it was made, after it was made and after it was replaced; and it is replaced at once."""
    path, places = tmp_path / "tokens.json", set[int]()
    tokens = {"refresh_token": "r", "token_url": "https://sign-in.test/token", "client_id": "c"}
    if before is None:
        replace_private(path, json.dumps(tokens).encode())
    else:
        path.write_text(json.dumps(tokens))
        path.chmod(before)
    answer = _answer(200, json.dumps({"access_token": "a", "refresh_token": "r", "expires_in": 1}))
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        for _ in range(3):
            await OAuthCredential(path, lambda: 1000.0).over(http).secret()
            assert path.stat().st_mode & 0o777 == 0o600
            places.add(path.stat().st_ino)
            assert os.listdir(tmp_path) == ["tokens.json"]
    assert len(places) > 1
    assert json.loads(path.read_text())["access_token"] == "a"
