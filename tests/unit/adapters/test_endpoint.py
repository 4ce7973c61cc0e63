"""What a request is sent with, and that no SDK and no log has it: over the SDKs as they are, on a transport of the test's."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from typing import Any, Literal

import httpx2
import pytest
from pydantic import SecretStr

from geode.adapters.anthropic_messages.model import messages_model
from geode.adapters.chat_completions.model import chat_model
from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.http_json.model import HttpModel
from geode.adapters.openai_responses.model import responses_model
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.request import AdapterCallRequest, Limits
from geode.ports.credentials import CredentialError, CredentialUnavailable
from tests.unit.cases.turns import user

KEY = "sk-canary-4b7e91d05a"
WIRES = ("messages", "responses", "chat")
each_wire = pytest.mark.parametrize("wire", WIRES)


class Key:
    """A credential that says what was done with it, and gives another secret after each refusal."""

    source = "the lab's safe"

    def __init__(self, *secrets: str) -> None:
        self.secrets, self.refusals = list(secrets or (KEY,)), list[str]()

    async def secret(self) -> SecretStr:
        if not self.secrets:
            raise CredentialError(f"{self.source} is empty: fill it")
        return SecretStr(self.secrets[0])

    def refused(self, secret: SecretStr) -> None:
        self.refusals.append(secret.get_secret_value())
        self.secrets.pop(0)


class Answers:
    """A transport that keeps the requests and answers all of them alike."""

    def __init__(self, status: int = 400, headers: dict[str, str] | None = None, body: bytes = b"{}") -> None:
        self.requests: list[httpx2.Request] = []
        self.status, self.headers, self.body = status, headers or {}, body

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return httpx2.Response(self.status, headers=self.headers, content=self.body)

    def client(self, **settings: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self), **settings)


def model(wire: str, endpoint: Endpoint, http: httpx2.AsyncClient) -> HttpModel:
    make: dict[str, Callable[[str, Endpoint, httpx2.AsyncClient], HttpModel]] = {
        "messages": messages_model,
        "responses": responses_model,
        "chat": chat_model,
    }
    return make[wire]("lab", endpoint, http)


async def ask(adapter: HttpModel, *, streamed: bool = False) -> CallFailure:
    request = AdapterCallRequest("m", Conversation((user("hi"),)), streamed=streamed, limits=Limits(64, 5.0, 5.0))

    async def nowhere(_: object) -> None:
        """Nobody looks."""

    return (await adapter.acomplete(request, nowhere)).failure()


@each_wire
async def test_each_request_is_sent_with_the_secret_of_that_moment(wire: str) -> None:
    key, answers = Key(KEY, "second"), Answers()
    adapter = model(wire, Endpoint("https://lab.test/v1", "the test", key), answers.client())
    await ask(adapter)
    key.secrets.pop(0)
    await ask(adapter, streamed=True)
    assert [one.headers["authorization"] for one in answers.requests] == [f"Bearer {KEY}", "Bearer second"]
    assert all(one.headers.get_list("authorization") == [one.headers["authorization"]] for one in answers.requests)


@each_wire
async def test_a_server_that_wants_no_key_is_sent_none(wire: str) -> None:
    answers = Answers()
    await ask(model(wire, Endpoint("https://lab.test/v1", "the test"), answers.client()))
    assert "authorization" not in answers.requests[0].headers


@each_wire
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_401_is_told_to_the_credential_and_nothing_is_sent_again(wire: str, *, streamed: bool) -> None:
    key, answers = Key(KEY, "second"), Answers(401)
    adapter = model(wire, Endpoint("https://lab.test/v1", "the test", key), answers.client())
    failure = await ask(adapter, streamed=streamed)
    assert (failure.status, classify_retry_error(failure)) == (401, FailureClass.AUTH)
    assert (key.refusals, len(answers.requests)) == ([KEY], 1)


@pytest.mark.parametrize("status", [400, 402, 403, 404, 429, 500])
async def test_no_other_status_is(status: int) -> None:
    key = Key()
    await ask(model("chat", Endpoint("https://lab.test/v1", "the test", key), Answers(status).client()))
    assert key.refusals == []


@each_wire
@pytest.mark.parametrize("streamed", [False, True])
async def test_without_a_secret_nothing_leaves_and_nothing_is_tried_again(wire: str, *, streamed: bool) -> None:
    key, answers = Key(), Answers()
    key.secrets.clear()
    failure = await ask(model(wire, Endpoint("https://lab.test/v1", "the test", key), answers.client()), streamed=streamed)
    assert answers.requests == []
    assert (failure.status, failure.phase, failure.error_type) == (None, "connect", "authentication_error")
    assert failure.message == "the lab's safe is empty: fill it"
    assert classify_retry_error(failure) is FailureClass.AUTH


async def test_a_secret_that_is_not_to_be_had_now_is_a_connection_that_failed() -> None:
    """It passes by itself: the policy may try again (spec section 7)."""

    class Busy(Key):
        async def secret(self) -> SecretStr:
            raise CredentialUnavailable("the lab's safe is busy")

    answers = Answers()
    failure = await ask(model("chat", Endpoint("https://lab.test/v1", "the test", Busy()), answers.client()))
    assert (failure.message, classify_retry_error(failure)) == ("the lab's safe is busy", FailureClass.CONNECTION)
    assert answers.requests == []


async def test_a_strangers_secret_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    answers = Answers()
    failure = await ask(model("chat", Endpoint("https://lab.test/v1", "", Key("sk SECRET\n")), answers.client()))
    assert failure.message.startswith("the key from the lab's safe has white space")
    assert "SECRET" not in repr(failure)
    assert answers.requests == []


# ---- what else goes with it ------------------------------------------------------------------------


@each_wire
async def test_headers_of_an_endpoint_go_with_each_request(wire: str) -> None:
    headers = {"originator": "geode", "User-Agent": "geode", "anthropic-beta": "b"}
    answers = Answers()
    await ask(model(wire, Endpoint("https://lab.test/v1", "", Key(), headers, key_header="x-api-key"), answers.client()))
    sent = answers.requests[0].headers
    assert {name: sent[name] for name in headers} == headers
    assert (sent["x-api-key"], sent["authorization"]) == (KEY, f"Bearer {KEY}")


@pytest.mark.parametrize("key_header", ["", "x-api-key"])
async def test_no_other_server_gets_the_secret(key_header: Literal["", "x-api-key"]) -> None:
    """A host's client may follow to another one: `Authorization` is left behind, and what is not would not go."""
    answers = Answers(307, {"location": "https://elsewhere.test/"})
    http = answers.client(follow_redirects=True, max_redirects=2)
    await ask(model("chat", Endpoint("https://lab.test/v1", "", Key(), key_header=key_header), http))
    elsewhere = [one for one in answers.requests if one.url.host == "elsewhere.test"]
    assert bool(elsewhere) == (not key_header)
    assert not any(KEY in str(list(one.headers.raw)) for one in elsewhere)


@each_wire
async def test_credentials_of_an_address_are_sent_and_are_in_no_address(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answers = Answers()
    endpoint = Endpoint("https://me:p%40ss-WORD@lab.test/v1", "", Key())
    await ask(model(wire, endpoint, answers.client()))
    (request,) = answers.requests
    assert request.headers["authorization"] == "Basic " + base64.b64encode(b"me:p@ss-WORD").decode()
    assert str(request.url).startswith("https://lab.test/v1/")
    assert "WORD" not in caplog.text
    assert "WORD" not in endpoint.discreet("p%40ss-WORD, p@ss-WORD, bWU6cEBzcy1XT1JE and me:p%40ss-WORD")


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://lab.test/v1", "https://lab.test/v1"),
        ("https://me:pass@lab.test:8/v1", "https://lab.test:8/v1"),
        ("http://me@lab.test", "http://lab.test"),
        ("https://@lab.test", "https://lab.test"),
        ("https://lab.test/v1/@team", "https://lab.test/v1/@team"),
    ],
)
def test_the_address_that_a_client_is_given(base_url: str, url: str) -> None:
    assert Endpoint(base_url, "").url == url


# ---- who has it ------------------------------------------------------------------------------------


@each_wire
@pytest.mark.parametrize("streamed", [False, True])
async def test_no_log_of_an_sdk_or_a_client_has_it(wire: str, caplog: pytest.LogCaptureFixture, *, streamed: bool) -> None:
    """Not at DEBUG either, where one SDK logs the options of each call."""
    caplog.set_level(logging.DEBUG)
    endpoint = Endpoint("https://lab.test/v1", "the test", Key(), key_header="x-api-key")
    await ask(model(wire, endpoint, Answers(401).client()), streamed=streamed)
    assert any(record.name.split(".")[0] in ("anthropic", "openai") for record in caplog.records)
    assert KEY not in caplog.text
    assert not any(KEY in repr(record.args) for record in caplog.records)


@each_wire
async def test_no_sdk_object_has_it(wire: str) -> None:
    async with Answers().client() as http:
        adapter = model(wire, Endpoint("https://lab.test/v1", "the test", Key()), http)
        await ask(adapter)
        client: Any = adapter.exchange.client
        found = (repr(vars(client)), str(client.api_key), str(client.default_headers), repr(adapter), repr(adapter.exchange))
        assert not any(KEY in one for one in found)


@pytest.mark.parametrize("where", ["retry-after", "request-id", "x-request-id"])
async def test_what_a_server_quotes_in_a_header_is_not_passed_on(where: str) -> None:
    adapter = model("messages", Endpoint("https://lab.test", "", Key()), Answers(429, {where: f"Bearer {KEY}"}).client())
    failure = await ask(adapter)
    assert KEY not in repr(failure)


async def test_what_a_server_quotes_beside_a_reply_is_not_passed_on() -> None:
    body = b'{"model":"m/%b","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{}}' % KEY.encode()
    answers = Answers(200, {"x-request-id": KEY, "content-type": "application/json"}, body)
    adapter = model("chat", Endpoint("https://lab.test/v1", "", Key()), answers.client())
    request = AdapterCallRequest("m", Conversation((user("hi"),)))

    async def nowhere(_: object) -> None:
        """Nobody looks."""

    reply = (await adapter.acomplete(request, nowhere)).unwrap()
    assert (reply.text, reply.request_id) == ("hi", "***")
    assert KEY not in repr(reply)
