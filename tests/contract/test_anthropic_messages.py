"""The Messages adapter keeps the contract of every adapter, and of those over HTTP."""

from geode.entrypoints.compliance.shipped import MessagesHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract


class TestAnthropicMessages(HttpContract, PausingContract):
    harness = MessagesHarness
