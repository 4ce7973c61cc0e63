"""The credential that is renewed keeps the contract of its port."""

from geode.compliance import CredentialContract
from geode.entrypoints.compliance.shipped_credentials import OAuthCredentialHarness


class TestOAuthCredential(CredentialContract):
    harness = OAuthCredentialHarness
