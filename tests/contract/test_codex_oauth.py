"""The adapter for the ChatGPT backend keeps the contract of every adapter, and of those over HTTP; and what is its own."""

import json
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.adapters.http_json.clients import new_http_client
from geode.domain.content import Opaque
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.policy import Policy
from geode.domain.script import says, thinks
from geode.domain.turns import AssistantTurn
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.histories import user
from geode.entrypoints.compliance.playing import nowhere, reply_of
from geode.entrypoints.compliance.servers import canned, head
from geode.entrypoints.compliance.shipped_servers import CodexOAuthHarness
from geode.entrypoints.emulator import Emulator
from geode.events import Event, Notice
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract
from tests.contract.wires import request

MODEL = "codex-oauth/gpt-5.3-codex"
TOKEN = "eyJ-an-access-token"
# Of the SDK, of HTTP, and of the declaration: nothing else goes along.
OF_HTTP = {"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host"}


class TestCodexOAuth(HttpContract, PausingContract):
    harness = CodexOAuthHarness


@pytest.fixture
def signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder with the file that the operator wrote at sign-in."""
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o700)
    path = folder / "codex-oauth.json"
    path.write_text(json.dumps({"access_token": TOKEN}))
    path.chmod(0o600)
    return tmp_path


async def asked(emulator: Emulator, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> geode.Outcome:
    monkeypatch.setenv("CODEX_BASE_URL", serve(emulator))
    return await geode.run("hi", model=MODEL, **settings)


@pytest.mark.usefixtures("signed_in")
async def test_it_says_who_it_is_and_passes_for_no_other_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec section 8: geode never presents itself as another client. Wire facts F: an honest originator works."""
    emulator = Emulator((says("hello"),), dialect="codex", api_key=TOKEN)

    assert isinstance(await asked(emulator, monkeypatch), Answered)

    (one,) = emulator.received
    own = {name: value for name, value in one.headers.items() if name not in OF_HTTP and not name.startswith("x-stainless-")}
    assert own == {"originator": "geode", "user-agent": "geode"}
    assert one.headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(
    ("system", "instructions"), [("Be brief.", "Be brief."), ("", "Answer the user."), (" ", "Answer the user.")]
)
async def test_what_the_backend_insists_on(system: str, instructions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wire facts F: instructions, nothing stored, a stream, and no bound of the output, which observers are told."""
    emulator, told = Emulator((says("hello"),), dialect="codex"), list[str]()

    def note(event: Event) -> None:
        told.extend([event.text] if isinstance(event, Notice) else [])

    outcome = await asked(emulator, monkeypatch, system=system, policy=Policy(max_output_tokens=99), observe=note)

    assert isinstance(outcome, Answered)
    body = emulator.received[0].request
    assert (body["instructions"], body["store"], body["stream"]) == (instructions, False, True)
    assert not {"max_output_tokens", "temperature", "previous_response_id"} & set(body)
    assert told == ["codex-oauth takes no bound of output tokens: the request goes out without one"]


@pytest.mark.usefixtures("signed_in")
async def test_a_temperature_is_refused_before_anything_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator((says("never"),), dialect="codex")

    outcome = await asked(emulator, monkeypatch, temperature=0.5)

    assert isinstance(outcome, Failed)
    assert str(outcome.error) == "codex-oauth: model gpt-5.3-codex takes no temperature; leave it out"
    assert emulator.received == []


@pytest.mark.usefixtures("signed_in")
async def test_the_sentence_of_an_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"detail":"Instructions are not valid"}'
    async with canned(head("application/json", 400), body) as server:
        monkeypatch.setenv("CODEX_BASE_URL", server.base_url)
        outcome = await geode.run("hi", model=MODEL)

    assert isinstance(outcome, Failed)
    assert "Instructions are not valid" in str(outcome.error)


async def test_reasoning_goes_back_without_an_id() -> None:
    """Nothing is stored there that an id could name; the encrypted content is all it needs."""
    harness = CodexOAuthHarness()
    emulator = harness.emulator(thinks("hm", "SIGNED") + says("Four."), says("ok"))
    async with new_http_client() as http:
        adapter = await harness.connect(serve(emulator), http)
        first = reply_of(await adapter.acomplete(request(harness), nowhere))
        turns = (user("hi"), AssistantTurn(first.items, harness.owner), user("and?"))
        reply_of(await adapter.acomplete(request(harness, Conversation(turns)), nowhere))

    (thought,) = [item for item in first.items if isinstance(item, Opaque)]
    (sent,) = [item for item in emulator.received[1].request["input"] if item.get("type") == "reasoning"]
    assert sent == json.loads(thought.json_text)
    assert set(sent) == {"type", "summary", "encrypted_content"}
    assert sent["encrypted_content"] == "SIGNED"


async def test_a_file_that_is_not_there_says_which_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))

    with pytest.raises(geode.Misuse) as caught:
        await geode.run("hi", model=MODEL)

    assert str(tmp_path / "credentials" / "codex-oauth.json") in str(caught.value)
    assert "sign in" in str(caught.value)
