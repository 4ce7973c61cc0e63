"""The Chat adapter keeps the contract of every adapter over HTTP; what its dialects change is the wire."""

from tests.contract.http import HttpHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import WireContract


class TestOpenai(HttpContract):
    harness = HttpHarness("chat", "gpt-4.1", "openai", "openai")


class TestOpenrouter(WireContract):
    harness = HttpHarness("chat", "mistralai/mistral-large", "openrouter", "openrouter", calls_need_tools=True)


class TestGlm(WireContract):
    harness = HttpHarness("chat", "glm-5.2", "glm", "glm")


class TestGeneric(WireContract):
    harness = HttpHarness("chat", "local-model", "generic")
