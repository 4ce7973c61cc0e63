"""The adapter over `codex` keeps the contract of every adapter."""

from geode.entrypoints.compliance.adapter import AdapterContract
from geode.entrypoints.compliance.shipped_programs import CodexCliHarness


class TestCodexCli(AdapterContract):
    harness = CodexCliHarness
