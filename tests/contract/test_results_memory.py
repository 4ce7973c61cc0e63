"""The result store in memory keeps the contract of every store."""

from geode.entrypoints.compliance.results import ResultStoreContract
from geode.entrypoints.compliance.shipped import MemoryResultsHarness


class TestMemoryResults(ResultStoreContract):
    harness = MemoryResultsHarness
