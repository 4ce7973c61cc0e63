"""The Responses adapter keeps the contract of every adapter over HTTP."""

from tests.contract.http import HttpHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract


class TestOpenaiResponses(HttpContract, PausingContract):
    harness = HttpHarness("responses", "gpt-4.1", "openai", parallel=True)
