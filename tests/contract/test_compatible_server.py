"""Servers that are declared in `routing.toml`, each with its quirks, keep the contract of every adapter."""

from geode.entrypoints.compliance import shipped_servers
from geode.entrypoints.compliance.adapter import AdapterContract
from tests.contract.wire_contract import WireContract


class TestNullContent(WireContract):
    harness = shipped_servers.NullContentHarness


class TestEmptyContent(WireContract):
    harness = shipped_servers.EmptyContentHarness


class TestAbsentContent(WireContract):
    harness = shipped_servers.AbsentContentHarness


class TestTextOnly(AdapterContract):
    harness = shipped_servers.TextOnlyHarness
