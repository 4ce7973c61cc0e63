"""The adapter over `claude` keeps the contract of every adapter."""

from geode.entrypoints.compliance.adapter import AdapterContract
from geode.entrypoints.compliance.shipped_programs import ClaudeCliHarness


class TestClaudeCli(AdapterContract):
    harness = ClaudeCliHarness
