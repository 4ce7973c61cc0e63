"""The proof: every contract of a model adapter."""

from acme_adapter.harness import AcmeHarness

from geode.compliance import AdapterContract


class TestAcme(AdapterContract):
    harness = AcmeHarness
