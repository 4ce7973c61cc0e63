"""A secret, wherever it comes from and whatever goes wrong, is in nothing that anybody reads.

Looked into are outcomes, exceptions with all that they came of and the values of variables in geode's frames, log
records of everybody at every level, events, journals, snapshots, conversations, addresses and bodies that were sent,
and the `repr` of all that geode holds. Left out, for geode does not write it: variables in the frames of SDKs and of the
HTTP client, which have to put the secret on the wire; and what those log at DEBUG of the headers of an answer.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

import geode
from geode.domain.retry import RetryPolicy
from geode.entrypoints.compliance.credentials import said_by
from geode.entrypoints.compliance.servers import STREAM, Piece, canned, head
from geode.ports.events import Event

KEY: Final = "sk-TESTKEY-1234/+x=Y2z4w6"
REFRESH: Final = "rt-TESTKEY-456"
BASIC: Final = base64.b64encode(f"user:{KEY}".encode()).decode()
CANARIES: Final = (KEY, REFRESH, BASIC, "TESTKEY", "Y2z4w6")
SOURCES: Final = ("given", "variable", "file", "command", "oauth")
JSON: Final = "application/json"
HASTY: Final = geode.Policy(retry=RetryPolicy(attempts=1), call_timeout_seconds=0.3, idle_timeout_seconds=0.3)
GEODE: Final = str(Path(geode.__file__).parent)


def _json(status: int, body: object, **headers: str) -> tuple[Piece, ...]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return head(JSON, status, named), json.dumps(body).encode()


FAULTS: Final[dict[str, tuple[Piece, ...] | None]] = {
    "401": _json(401, {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": KEY, "code": KEY}}),
    "401 that quotes the request": _json(401, {"detail": f"got 'Authorization: Bearer {KEY}', want Basic {BASIC}"}),
    "404": _json(404, {"error": {"message": f"no model for {KEY}", "code": "model_not_found"}}),
    "429 with it in its headers": _json(429, {}, retry_after=KEY, request_id=KEY, x_request_id=f"Bearer {KEY}"),
    "429 with it in the headers of its limits": _json(
        429, {}, x_ratelimit_reset_requests=KEY, anthropic_ratelimit_tokens_reset=KEY
    ),
    "502": (head("text/html", 502), f"<html><body>upstream refused {KEY}".encode()),
    "timeout": (5.0,),
    "connect error": None,
    "bad JSON": (head(JSON), f'{{"authorization": "Bearer {KEY}'.encode()),
    "JSON of another kind": (head(JSON), json.dumps({"headers": {"authorization": f"Bearer {KEY}"}}).encode()),
    "an error in a stream": (STREAM, b"data: %b\n\n" % json.dumps({"error": {"message": KEY, "type": KEY}}).encode()),
    "nonsense in a stream": (STREAM, f"data: Bearer {KEY}\n\n".encode()),
    "a stream that is cut": (STREAM, f'data: {{"choices":[{{"delta":{{}}}}],"id":"{KEY}"}}\n\n'.encode()),
}


@geode.tool(tier="dangerous")
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@dataclass
class Told:
    """Everything that somebody could read, by what it is."""

    caplog: pytest.LogCaptureFixture
    texts: dict[str, str] = field(default_factory=dict[str, str])
    events: list[Event] = field(default_factory=list[Event])
    outcome: geode.Outcome | None = None
    ours_alone: bool = False

    def add(self, what: str, *values: object) -> None:
        self.texts[what] = "\n".join([*map(str, values), *map(repr, values)])

    def error(self, what: str, error: BaseException) -> None:
        self.texts[what] = "\n".join(said_by(error, of_geode))

    def records(self) -> Iterator[str]:
        for record in self.caplog.records:
            if self.ours_alone and not record.name.startswith("geode"):
                continue
            yield f"{record.name} {record.getMessage()} {record.args!r}"
            if record.exc_info and record.exc_info[1] is not None:
                yield from said_by(record.exc_info[1], of_geode)

    def check(self) -> None:
        self.texts["log"] = "\n".join(self.records())
        self.add("events", *self.events)
        found = {what: text for what, text in self.texts.items() if any(canary in text for canary in CANARIES)}
        assert found == {}


def of_geode(file: str) -> bool:
    return file.startswith(GEODE) and "compliance" not in file


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    caplog.set_level(logging.DEBUG)
    return Told(caplog)


def private(path: Path, content: str) -> Path:
    path.touch(0o600)
    path.write_text(content)
    return path


def key_of(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the secret is, as an operator writes it."""
    monkeypatch.setenv("LAB_KEY", KEY)
    private(folder / "key", f"{KEY}\n")
    tokens = {"access_token": KEY, "refresh_token": REFRESH, "token_url": "http://127.0.0.1:9/token", "client_id": "c"}
    private(folder / "tokens", json.dumps(tokens))
    program = f"import sys; print(open({str(folder / 'key')!r}).read()); print({KEY!r}, file=sys.stderr)"
    private(folder / "program.py", program)
    return {
        "given": KEY,
        "variable": "env:LAB_KEY",
        "file": f"file:{folder / 'key'}",
        "command": f"command:{sys.executable} -I -S {folder / 'program.py'}",
        "oauth": f"oauth:{folder / 'tokens'}",
    }[source]


@asynccontextmanager
async def served(pieces: tuple[Piece, ...] | None) -> AsyncIterator[str]:
    async with canned(*(pieces or ())) as server:
        address = server.base_url
        if pieces is not None:
            yield address
    if pieces is None:
        yield address


async def run(told: Told, provider: geode.Provider, folder: Path, *, streamed: bool = False, ended: bool = True) -> None:
    """One run that ends as it may, and then all that can be read of it."""
    sent: list[str] = []

    async def look(request: httpx2.Request) -> None:
        sent.append(f"{request.method} {request.url} {(await request.aread()).decode()}")

    async with httpx2.AsyncClient(event_hooks={"request": [look], "response": []}, trust_env=False) as http:
        runtime = geode.Runtime(
            model="lab/m",
            providers=[provider],
            tools=[delete],
            approve=lambda _: geode.Later(),
            observe=told.events.append,
            journal=folder / "journal",
            policy=HASTY,
            http=http,
        )
        async with runtime, runtime.session() as loop:
            if streamed:
                told.events += [event async for event in loop.stream("Hi")]
                told.outcome = getattr(told.events[-1], "outcome", None)
            else:
                told.outcome = await loop.run("Hi")
            adapter: Any = next(iter(runtime._adapters.values()))[1]
            client = adapter.exchange.client
            held = (runtime, loop, adapter, adapter.exchange, adapter.exchange.endpoint, adapter.exchange.endpoint.credential)
            told.add("what geode holds", *held, *(vars(one) for one in held if hasattr(one, "__dict__")))
            told.add("the SDK's client", client, vars(client), client.default_headers)
    told.add("what was sent", *sent)
    told.add("the provider", provider, provider.target)
    told.add("the journal", *_texts(folder / "journal"))
    outcome = told.outcome
    assert outcome is not None
    told.add("the outcome", outcome, outcome.text, outcome.conversation.dumps())
    if isinstance(outcome, geode.Failed):
        told.add("why", outcome.why)
        assert outcome.error is not None
        told.error("the exception", outcome.error)
    else:
        assert not ended, outcome


def _texts(folder: Path) -> list[str]:
    found = [path.read_text() for path in folder.glob("**/*") if path.is_file()]
    assert found
    return found


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("source", SOURCES)
async def test_a_call_that_fails_does_not_tell_its_key(
    source: str, fault: str, streamed: bool, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(source, tmp_path, monkeypatch)
    told.ours_alone = "headers" in fault
    async with served(FAULTS[fault]) as address:
        provider = geode.Provider("lab", "chat", address, key)
        await run(told, provider, tmp_path, streamed=streamed)
    told.check()


@pytest.mark.parametrize("wire", ["messages", "responses"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_nor_on_another_wire(wire: Any, fault: str, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told.ours_alone = "headers" in fault
    async with served(FAULTS[fault]) as address:
        await run(told, geode.Provider("lab", wire, address, KEY), tmp_path, streamed=True)
    told.check()


@pytest.mark.parametrize("source", SOURCES)
async def test_a_run_that_waits_does_not_keep_its_key(
    source: str, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "delete", "arguments": '{"path":"a"}'}}
    reply = {"choices": [{"message": {"content": None, "tool_calls": [called]}, "finish_reason": "tool_calls"}], "usage": {}}
    key = key_of(source, tmp_path, monkeypatch)
    async with served(_json(200, {**reply, "model": KEY}, x_request_id=KEY)) as address:
        told.ours_alone = True
        await run(told, geode.Provider("lab", "chat", address, key), tmp_path, ended=False)
    assert isinstance(told.outcome, geode.Suspended), told.outcome
    told.add("the snapshot", told.outcome.snapshot)
    told.check()


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
async def test_a_cancelled_call_does_not_tell_its_key(wire: Any, told: Told, tmp_path: Path) -> None:
    async with served((5.0,)) as address:
        policy = geode.Policy(retry=RetryPolicy(attempts=1))
        provider = geode.Provider("lab", wire, address, KEY)
        async with geode.session(model="lab/m", providers=[provider], policy=policy, observe=told.events.append) as loop:
            task = asyncio.create_task(loop.run("Hi"))
            for _ in range(200):
                if told.events:
                    break
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
    told.error("the cancellation", caught.value)
    told.check()


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
async def test_an_exception_of_a_hosts_client_does_not_tell_its_key(wire: Any, told: Told) -> None:
    """One that nobody expects is logged with its traceback."""

    def broken(request: httpx2.Request) -> httpx2.Response:
        raise LookupError(request.url.path)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(broken)) as http:
        provider = geode.Provider("lab", wire, "https://lab.test", KEY)
        told.outcome = await geode.run("Hi", model="lab/m", providers=[provider], http=http, policy=HASTY)
    assert isinstance(told.outcome, geode.Failed)
    told.add("the outcome", told.outcome, told.outcome.why)
    assert told.outcome.error is not None
    told.error("the exception", told.outcome.error)
    told.check()


# ---- sources that fail -----------------------------------------------------------------------------


def broken_sources(folder: Path) -> dict[str, str]:
    """By what is wrong with it, a source that has secrets in it and gives none."""
    tokens = {"access_token": KEY, "refresh_token": REFRESH, "expires_at": 1, "token_url": "https://x.test", "client_id": "c"}
    for name, content in {
        "two": f"{KEY} {KEY}",
        "open": KEY,
        "cut": json.dumps(tokens)[:-3],
        "number": json.dumps({**tokens, "expires_at": KEY}),
        "spaced": json.dumps({**tokens, "access_token": f"{KEY} x"}),
        "http": json.dumps({**tokens, "token_url": f"http://x.test/{KEY}"}),
    }.items():
        private(folder / name, content)
    (folder / "open").chmod(0o644)
    return {
        "a damaged file": f"file:{folder / 'two'}",
        "an open file": f"file:{folder / 'open'}",
        "a damaged variable": "env:BAD_KEY",
        "no JSON": f"oauth:{folder / 'cut'}",
        "no time": f"oauth:{folder / 'number'}",
        "no token": f"oauth:{folder / 'spaced'}",
        "no address": f"oauth:{folder / 'http'}",
        "no program": f"command:no-such-program-here --token {KEY}",
    }


@pytest.mark.parametrize(
    "fault",
    ["a damaged file", "an open file", "a damaged variable", "no JSON", "no time", "no token", "no address", "no program"],
)
def test_a_source_that_is_refused_at_the_start_does_not_tell(
    fault: str, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAD_KEY", f"{KEY} {KEY}")
    provider = geode.Provider("lab", "chat", "https://lab.test", broken_sources(tmp_path)[fault])
    with pytest.raises(geode.Misuse) as caught:
        geode.session(model="lab/m", providers=[provider])
    told.error("the misuse", caught.value)
    told.check()


def _token_server(status: int, body: object) -> tuple[Piece, ...]:
    return _json(status, body, set_cookie=f"t={REFRESH}")


@pytest.mark.parametrize(
    ("pieces", "passes"),
    [
        (_token_server(400, {"error": "invalid_grant", "error_description": f"{REFRESH} was used before {KEY}"}), False),
        (_token_server(400, {"error": REFRESH}), False),
        (_token_server(500, {"error": {"message": f"cannot store {REFRESH}"}}), True),
        (_token_server(200, {"access_token": f"{KEY} {KEY}", "refresh_token": REFRESH}), False),
        (_token_server(200, {"refresh_token": REFRESH}), False),
        ((head(JSON), f'{{"access_token": "{KEY}'.encode()), False),
        ((5.0,), True),
        (None, True),
    ],
    ids=["reused", "as a word", "500", "damaged", "none", "cut", "silent", "nobody"],
)
async def test_a_renewal_that_fails_does_not_tell(
    pieces: tuple[Piece, ...] | None, *, passes: bool, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geode.adapters.credentials_oauth._ANSWER_SECONDS", 0.3)
    told.ours_alone = True
    async with served(pieces) as sign_in:
        tokens = {"access_token": KEY, "refresh_token": REFRESH, "expires_at": 1, "token_url": sign_in, "client_id": "c"}
        private(tmp_path / "tokens", json.dumps(tokens))
        provider = geode.Provider("lab", "chat", "https://lab.test", f"oauth:{tmp_path / 'tokens'}")
        told.outcome = await geode.run("Hi", model="lab/m", providers=[provider], observe=told.events.append, policy=LONGER)
    assert isinstance(told.outcome, geode.Failed)
    assert told.outcome.reason == ("model_error" if passes else "auth_error")
    told.add("the outcome", told.outcome, told.outcome.why)
    assert told.outcome.error is not None
    told.error("the exception", told.outcome.error)
    told.check()


LONGER: Final = geode.Policy(retry=RetryPolicy(attempts=1), call_timeout_seconds=20.0)


@pytest.mark.parametrize(
    "program",
    [
        "import sys; print(KEY, file=sys.stderr); sys.exit(1)",
        "import sys; print(KEY); print('no good:', KEY, file=sys.stderr); sys.exit(1)",
        "print(KEY, KEY)",
        "import time; print(KEY, flush=True); time.sleep(60)",
        "print(KEY * 9000)",
    ],
)
async def test_a_command_that_fails_does_not_tell(program: str, told: Told, tmp_path: Path) -> None:
    from geode.adapters.credentials_command import CommandCredential
    from geode.ports import CredentialError

    private(tmp_path / "program.py", f"KEY = {KEY!r}\n{program}")
    command = f"{sys.executable} -I -S {tmp_path / 'program.py'}"
    credential = CommandCredential(command, lambda: 0.0, deadline_seconds=1.0 if "sleep" in program else 20.0)
    with pytest.raises(CredentialError) as caught:
        await credential.secret()
    told.error("the exception", caught.value)
    told.add("the credential", credential, vars(credential))
    told.check()
