"""OpenRouter keeps the contract of its wire, with marks for the cache of the model behind it."""

from geode.entrypoints.compliance.shipped_servers import OpenrouterPaygHarness
from tests.contract.wire_contract import WireContract


class TestOpenrouterPayg(WireContract):
    harness = OpenrouterPaygHarness
