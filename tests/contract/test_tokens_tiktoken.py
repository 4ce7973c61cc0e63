"""Counting by tiktoken, and the estimate, keep the contract of whatever counts tokens."""

from geode.domain.tokens import CountTokens, estimate_tokens
from geode.entrypoints.compliance.shipped import TiktokenHarness
from geode.entrypoints.compliance.tokens import TokenCounterContract, TokenCounterHarness


class EstimateHarness(TokenCounterHarness):
    def counter(self) -> CountTokens:
        return estimate_tokens


class TestTiktoken(TokenCounterContract):
    harness = TiktokenHarness


class TestEstimate(TokenCounterContract):
    harness = EstimateHarness
