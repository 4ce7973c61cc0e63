"""The coding plan of Z.ai keeps the contract of its wire."""

from geode.entrypoints.compliance.shipped_servers import GlmCodingPlanHarness
from tests.contract.wire_contract import WireContract


class TestGlmCodingPlan(WireContract):
    harness = GlmCodingPlanHarness
