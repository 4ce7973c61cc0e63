"""A key that was given, and one in a variable, keep the contract of their port."""

from geode.compliance import CredentialContract
from geode.entrypoints.compliance.shipped_credentials import GivenCredentialHarness, VariableCredentialHarness


class TestGivenCredential(CredentialContract):
    harness = GivenCredentialHarness


class TestVariableCredential(CredentialContract):
    harness = VariableCredentialHarness
