"""The Responses adapter keeps the contract of every adapter, and of those over HTTP."""

from geode.entrypoints.compliance.shipped import ResponsesHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract


class TestOpenaiResponses(HttpContract, PausingContract):
    harness = ResponsesHarness
