"""The Chat adapter keeps the contract of every adapter; what its dialects change is the wire."""

from geode.entrypoints.compliance import shipped
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import WireContract


class TestOpenai(HttpContract):
    harness = shipped.ChatOpenaiHarness


class TestOpenrouter(WireContract):
    harness = shipped.ChatOpenrouterHarness


class TestGlm(WireContract):
    harness = shipped.ChatGlmHarness


class TestGeneric(WireContract):
    harness = shipped.ChatHarness
