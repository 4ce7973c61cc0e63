"""The Chat adapter keeps the contract of every adapter over HTTP, in each of its dialects."""

from tests.contract.http import HttpHarness
from tests.contract.http_contract import HttpContract


class TestOpenai(HttpContract):
    harness = HttpHarness("chat", "gpt-4.1", "openai", "openai")


class TestOpenrouter(HttpContract):
    harness = HttpHarness("chat", "mistralai/mistral-large", "openrouter", "openrouter")


class TestGlm(HttpContract):
    harness = HttpHarness("chat", "glm-5.2", "glm", "glm")


class TestGeneric(HttpContract):
    harness = HttpHarness("chat", "local-model", "generic")
