"""The coding plan of Z.ai keeps the contract of its wire; and what is its own."""

import json

import pytest

import geode
from geode.domain.loop.outcome import Failed
from geode.domain.policy import Policy
from geode.domain.script import Fails, says
from geode.domain.targets import BUILT_IN
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.playing import AT_ONCE
from geode.entrypoints.compliance.servers import canned, head
from geode.entrypoints.compliance.shipped_servers import GlmCodingPlanHarness
from geode.entrypoints.emulator import Emulator
from tests.contract.wire_contract import WireContract

MODEL, KEY = "glm-coding-plan/glm-5.2", "a-key-of-the-plan"
PATH = "/api/coding/paas/v4"


class TestGlmCodingPlan(WireContract):
    harness = GlmCodingPlanHarness


@pytest.fixture(autouse=True)
def _paid_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZAI_CODING_API_KEY", KEY)


async def test_the_plan_has_an_address_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wire facts F: the same key at the other address is answered 429, code 1113."""
    shipped = BUILT_IN["glm-coding-plan"].transport
    assert shipped is not None
    assert shipped.base_url == f"https://api.z.ai{PATH}"
    async with canned(head("application/json", 400), b"{}") as server:
        monkeypatch.setenv("ZAI_CODING_BASE_URL", server.base_url + PATH)
        await geode.run("hi", model=MODEL)

    ((top, body),) = server.requests
    lines = top.lower().split(b"\r\n")
    assert lines[0] == b"post /api/coding/paas/v4/chat/completions http/1.1"
    assert f"authorization: bearer {KEY}".encode() in lines
    assert json.loads(body)["model"] == "glm-5.2"


@pytest.mark.parametrize(
    ("body", "attempts"),
    [
        ({"error": {"message": "Too many requests."}}, 1),  # no hint and no code: the plan is used up (spec section 7)
        ({"error": {"code": "1302", "message": "High concurrency usage of this API."}}, 3),  # its code says that it passes
    ],
    ids=["no hint", "its code"],
)
async def test_a_429_of_the_plan(body: dict[str, dict[str, str]], attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator((*[Fails(429, body=body)] * attempts, says("never")), dialect="glm")
    monkeypatch.setenv("ZAI_CODING_BASE_URL", f"{serve(emulator)}/v1")

    outcome = await geode.run("hi", model=MODEL, policy=Policy(retry=AT_ONCE))

    assert isinstance(outcome, Failed), outcome
    assert len(emulator.received) == attempts
    assert (outcome.reason == "billing_error") == (attempts == 1)
    assert ("wait for the reset" in str(outcome.error)) == (attempts == 1)
