"""Messages with a token keeps the contract of its wire; and what is its own."""

import pytest

import geode
from geode.domain.loop.outcome import Answered
from geode.domain.script import says
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.shipped_servers import AnthropicOAuthHarness
from geode.entrypoints.emulator import Emulator
from tests.contract.wire_contract import WireContract

MODEL = "anthropic-oauth/claude-opus-5"
# Such a token is refused with a 401 where the beta is not named (wire facts F), and by the emulator too.
TOKEN = "sk-ant-oat01-a-token"


class TestAnthropicOAuth(WireContract):
    harness = AnthropicOAuthHarness


@pytest.mark.parametrize("declared", ["by its variables", "by a Provider in its place"])
async def test_a_token_goes_as_a_bearer_with_its_beta_and_as_no_key(declared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator((says("hello"),), dialect="anthropic", api_key=TOKEN)
    at = serve(emulator)
    if declared == "by its variables":
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", TOKEN)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", at)
        outcome = await geode.run("hi", model=MODEL)
    else:
        outcome = await geode.run("hi", model=MODEL, providers=[geode.Provider("anthropic-oauth", "messages", at, TOKEN)])

    assert isinstance(outcome, Answered), outcome
    (one,) = emulator.received
    assert one.headers["authorization"] == f"Bearer {TOKEN}"
    assert one.headers["anthropic-beta"] == "oauth-2025-04-20"
    assert "x-api-key" not in one.headers
    assert "claude" not in " ".join(f"{name}: {value}" for name, value in one.headers.items()).lower(), "it is no other client"
