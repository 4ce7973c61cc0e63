"""The result store over a folder keeps the contract of every store."""

from geode.entrypoints.compliance.results import DurableResultStoreContract
from geode.entrypoints.compliance.shipped import FileResultsHarness


class TestFileResults(DurableResultStoreContract):
    harness = FileResultsHarness
