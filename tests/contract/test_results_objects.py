"""The result store over a bucket keeps the contract of every store: with a bucket in memory, and with one of an S3 server."""

from geode.entrypoints.compliance.results import DurableResultStoreContract
from geode.entrypoints.compliance.shipped import ObjectResultsHarness
from tests.contract.buckets import S3ResultsHarness


class TestObjectResults(DurableResultStoreContract):
    harness = ObjectResultsHarness


class TestS3Results(DurableResultStoreContract):
    harness = S3ResultsHarness
