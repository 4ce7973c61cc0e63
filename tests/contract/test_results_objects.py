"""The result store over a bucket keeps the contract of every store: with a bucket in memory, and with one of an S3 server."""

from geode.entrypoints.compliance.results import ResultStoreContract
from geode.entrypoints.compliance.shipped import ObjectResultsHarness
from tests.contract.buckets import S3ResultsHarness


class TestObjectResults(ResultStoreContract):
    harness = ObjectResultsHarness


class TestS3Results(ResultStoreContract):
    harness = S3ResultsHarness
