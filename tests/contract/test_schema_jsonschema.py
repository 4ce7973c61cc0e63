"""The validator over jsonschema keeps the contract of every validator."""

from geode.entrypoints.compliance.schema import SchemaContract
from geode.entrypoints.compliance.shipped import JsonschemaHarness


class TestJsonschema(SchemaContract):
    harness = JsonschemaHarness
