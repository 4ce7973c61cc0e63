"""The scripted model keeps the contract of every adapter."""

from tests.contract.adapter_contract import AdapterContract
from tests.contract.scripted import ScriptedHarness


class TestScripted(AdapterContract):
    harness = ScriptedHarness()
