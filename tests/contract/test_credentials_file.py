"""The credential that a file holds keeps the contract of its port."""

from geode.compliance import CredentialContract
from geode.entrypoints.compliance.shipped_credentials import FileCredentialHarness


class TestFileCredential(CredentialContract):
    harness = FileCredentialHarness
