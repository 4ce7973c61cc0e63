"""The scripted model keeps the contract of every model inside the process."""

from geode.entrypoints.compliance.adapter import ModelDoubleContract
from geode.entrypoints.compliance.shipped import ScriptedHarness


class TestScripted(ModelDoubleContract):
    harness = ScriptedHarness
