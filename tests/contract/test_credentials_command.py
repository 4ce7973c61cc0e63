"""The credential that a command prints keeps the contract of its port."""

from geode.compliance import CredentialContract
from geode.entrypoints.compliance.shipped_credentials import CommandCredentialHarness


class TestCommandCredential(CredentialContract):
    harness = CommandCredentialHarness
