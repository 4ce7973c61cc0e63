"""Z.ai, paid by use, keeps the contract of its wire with a model that always thinks."""

from geode.entrypoints.compliance.shipped_servers import GlmPaygHarness
from tests.contract.wire_contract import WireContract


class TestGlmPayg(WireContract):
    harness = GlmPaygHarness
