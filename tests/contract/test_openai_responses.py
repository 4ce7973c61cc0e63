"""The Responses adapter keeps the contract of every adapter, and of those over HTTP: at OpenAI and elsewhere."""

from geode.entrypoints.compliance.shipped import ResponsesHarness, ResponsesOpenaiHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract


class TestOpenaiResponses(HttpContract, PausingContract):
    harness = ResponsesOpenaiHarness


class TestResponsesElsewhere(HttpContract, PausingContract):
    harness = ResponsesHarness
