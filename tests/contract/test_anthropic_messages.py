"""The Messages adapter keeps the contract of every adapter over HTTP."""

from tests.contract.http import HttpHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract

AUTO_ONLY = ("claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-1")


class TestAnthropicMessages(HttpContract, PausingContract):
    harness = HttpHarness(
        "messages", "claude-opus-5", "anthropic", auto_only=AUTO_ONLY, temperature=False, calls_need_tools=True
    )
